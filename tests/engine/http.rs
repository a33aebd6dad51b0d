//! As much HTTP/1 as the host needs to ask an engine, to stand between it and defib, and to receive webhooks. Blocking,
//! one request a connection, written anew here on purpose: what judges defib shares no code with it.

use std::io::{self, BufRead, Read, Write};

/// Nobody who is well-behaved sends more, and a test that meets it shall fail and not eat the memory.
const BODY_AT_MOST: u64 = 64 * 1024 * 1024;

/// First line and headers of a request or an answer.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Request or status line.
    pub(crate) first: String,
    /// In order, as they came.
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    /// Reads one head; `None` where the other side closed without sending anything.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let first = read_line(from)?;
        if first.is_empty() {
            return Ok(None);
        }
        let mut headers = Vec::new();
        loop {
            let line = read_line(from)?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
                None if line.is_empty() => return Ok(Some(Self { first, headers })),
                None => return Err(io::Error::other(format!("not a header: {line:?}"))),
            }
        }
    }

    /// The value of a header, in whatever case its name was sent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let same = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers.iter().find(same).map(|(_, value)| value.as_str())
    }

    /// The n-th word of the first line: 0 and 1 are a request's method and path, 1 an answer's status.
    pub(crate) fn word(&self, n: usize) -> &str {
        self.first.split_whitespace().nth(n).unwrap_or_default()
    }

    /// An answer's status.
    pub(crate) fn status(&self) -> u16 {
        self.word(1).parse().unwrap_or_default()
    }

    /// Reads the body that belongs to a request's head.
    pub(crate) fn read_request_body(&self, from: &mut impl Read) -> io::Result<Vec<u8>> {
        if self.header("Transfer-Encoding").is_some() {
            return Err(io::Error::other("a chunked request is not understood here"));
        }
        let length = self.header("Content-Length").map_or(Ok(0), str::parse);
        let length: u64 = length.map_err(io::Error::other)?;
        let mut body = Vec::new();
        from.take(length.min(BODY_AT_MOST)).read_to_end(&mut body)?;
        Ok(body)
    }
}

/// Up to the line's end, which is taken off; empty at the end of the stream.
fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(64 * 1024).read_line(&mut line)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

/// Writes a request after which the other side closes. HTTP/1.0, so that an answer of unknown length ends with the
/// connection and is not chunked.
pub(crate) fn write_request(
    to: &mut impl Write,
    method: &str,
    path: &str,
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: engine\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    // In one piece: who answers and closes after the head would break a second write.
    to.write_all(&[head.as_bytes(), body].concat())?;
    to.flush()
}

/// Reads an answer's body that ends with the connection or its stated length.
pub(crate) fn read_answer_body(head: &Head, from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = head.header("Content-Length").and_then(|length| length.parse().ok());
    let mut body = Vec::new();
    from.take(length.unwrap_or(BODY_AT_MOST)).read_to_end(&mut body)?;
    Ok(body)
}

/// Writes a whole answer and says that the connection closes after it.
pub(crate) fn write_answer(
    to: &mut impl Write,
    status: u16,
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 {status} Chosen\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    to.write_all(body)?;
    to.flush()
}
