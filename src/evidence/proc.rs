//! Evidence from `/proc`: what the first thread is doing, and what waits in the accept queues of the container's network.
//!
//! Small reads of files that the kernel makes up, beside everything else, on a thread that may wait.
//!
//! A table of sockets is read no further than needed. The kernel makes it up row by row: first what listens, then by a walk
//! through the table of all connections of the whole host, which takes it 2 to 10 ms even where there are none. That is
//! longer than everything else between a verdict and a restart, so it is read until the first row that does not listen, or
//! until as many rows as the network has sockets by the kernel's count.

use super::port::EvidenceReader;
use crate::{docker::port::Pending, domain::name::Instance, redact, tasks};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
};

/// So many listening sockets are looked at in each table: more than any service has.
const MOST_ROWS: usize = 256;

/// A message has room for so many queues.
const MOST_QUEUES: usize = 4;

/// State `LISTEN` in the kernel's table.
const LISTEN: &str = "0A";

/// Reads `/proc` of this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcReader;

impl EvidenceReader for ProcReader {
    fn gather(&self, _: Instance, pid: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async move {
            let Some(pid) = pid else {
                return Vec::new();
            };
            // The kernel may keep a reader waiting for the process's own locks: nothing else may wait with it.
            let read = tasks::blocking(move || {
                let process = Path::new("/proc").join(pid.to_string());
                first_thread(&process).into_iter().chain(full_queues(&process)).collect()
            });
            read.await.unwrap_or_else(|| vec!["the evidence could not be read".to_owned()])
        })
    }
}

/// What the process's first thread is doing, by the kernel's words.
fn first_thread(process: &Path) -> Option<String> {
    let state = fs::read_to_string(process.join("status")).ok()?;
    let state = state.lines().find_map(|line| line.strip_prefix("State:"))?.trim();
    let waits_in = fs::read_to_string(process.join("wchan"))
        .ok()
        .filter(|name| !name.is_empty() && name != "0");
    let name = fs::read_to_string(process.join("comm")).ok()?;
    let place =
        waits_in.map(|place| format!(", waiting in the kernel's {place}")).unwrap_or_default();
    // A process may call itself what it likes.
    Some(format!("first process `{}`: state {state}{place}", redact::text(name.trim())))
}

/// Listening sockets on which connections wait to be accepted.
fn full_queues(process: &Path) -> Vec<String> {
    [("net/tcp", "net/sockstat", "TCP:"), ("net/tcp6", "net/sockstat6", "TCP6:")]
        .into_iter()
        .flat_map(|(table, counts, kind)| {
            let sockets = fs::read_to_string(process.join(counts))
                .ok()
                .and_then(|counts| sockets_in_use(&counts, kind))
                .unwrap_or(MOST_ROWS);
            listening(&process.join(table), sockets.min(MOST_ROWS))
        })
        .filter_map(|row| waiting_connections(&row))
        .take(MOST_QUEUES)
        .map(|(port, waiting)| format!("port {port}: {waiting} connections wait to be accepted"))
        .collect()
}

/// How many sockets of a kind there are, by the kernel's count.
fn sockets_in_use(counts: &str, kind: &str) -> Option<usize> {
    let line = counts.lines().find_map(|line| line.strip_prefix(kind))?;
    let mut fields = line.split_ascii_whitespace().skip_while(|field| *field != "inuse").skip(1);
    fields.next()?.parse().ok()
}

/// The rows of what listens, which are a table's first; at most `most`.
fn listening(table: &Path, most: usize) -> Vec<String> {
    let Ok(file) = fs::File::open(table) else {
        return Vec::new();
    };
    // A byte at a time: the kernel makes up another row as soon as it is asked for one byte more than it has.
    let rows = BufReader::with_capacity(1, file).lines().map_while(Result::ok).skip(1);
    rows.take(most).take_while(|row| row.split_ascii_whitespace().nth(3) == Some(LISTEN)).collect()
}

/// A row's port and queue, where it listens and something waits.
fn waiting_connections(row: &str) -> Option<(u16, u32)> {
    let mut fields = row.split_ascii_whitespace().skip(1);
    let (local, _, state, queues) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    let waiting = u32::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
    (state == LISTEN && waiting > 0).then_some((port, waiting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn only_listening_sockets_with_a_queue_are_told_of() {
        let row = "   0: 0100007F:1F90 00000000:0000 0A 00000000:000001FE 00:00000000 00000000     0        0 1 1";
        assert_eq!(waiting_connections(row), Some((8080, 510)));
        assert_eq!(waiting_connections(&row.replace("000001FE", "00000000")), None);
        assert_eq!(waiting_connections(&row.replace(" 0A ", " 01 ")), None);
        assert_eq!(waiting_connections("garbage"), None);
    }

    #[test]
    fn the_kernel_counts_sockets_by_their_kind() {
        let counts =
            "sockets: used 9\nTCP: inuse 4 orphan 0 tw 2 alloc 6 mem 1\nUDP: inuse 7 mem 0\n";
        assert_eq!(sockets_in_use(counts, "TCP:"), Some(4));
        assert_eq!(sockets_in_use("TCP6: inuse 0\n", "TCP6:"), Some(0));
        assert_eq!(sockets_in_use("TCP: orphan 0\n", "TCP:"), None);
    }

    #[test]
    fn a_full_queue_of_this_very_network_is_found_and_an_empty_one_is_not() {
        let [full, idle] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [full_at, idle_at] = [&full, &idle].map(|listener| listener.local_addr().unwrap());
        let _waits = TcpStream::connect(full_at).unwrap();
        let rows = listening(Path::new("/proc/self/net/tcp"), MOST_ROWS);
        let queues: Vec<_> = rows.iter().filter_map(|row| waiting_connections(row)).collect();
        assert!(queues.contains(&(full_at.port(), 1)), "{rows:?}");
        assert!(queues.iter().all(|(port, _)| *port != idle_at.port()), "{rows:?}");
        assert!(rows.iter().all(|row| row.contains(" 0A ")), "{rows:?}");
    }

    #[test]
    fn this_very_process_can_be_read() {
        let found = first_thread(Path::new("/proc/self")).unwrap();
        assert!(found.contains("state "), "{found}");
    }
}
