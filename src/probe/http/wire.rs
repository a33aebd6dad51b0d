//! What truly passed over a connection, noted below hyper: when the request left, when the first byte came, how it ended.
//!
//! hyper's errors say what it made of it, in words that may change; the class of a sample rests on the bytes and the
//! system's own errors. Two things are refused here: a head without end (hyper bounds one head, not a hundred `100 Continue`
//! before it), and reading before the request was sent, which would make the class of a server that speaks first depend on
//! who is faster.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Instant,
};

/// Read at most so much at a time. hyper doubles its buffer whenever a read fills it, which is meant for downloads; a body
/// is counted here and thrown away, and hundreds of probes at a time should take kilobytes each.
const PIECE: usize = 2 * 1024;

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sight {
    /// When the last byte of the request was handed to the kernel.
    pub(super) asked: Option<Instant>,
    /// When the answer's first byte came.
    pub(super) first_byte: Option<Instant>,
    /// The other side closed its half.
    pub(super) ended: bool,
    /// The system ended the connection: its error number, and its words.
    pub(super) broke: Option<(i32, String)>,
    /// The head went over the cap.
    pub(super) head_without_end: bool,
    head_whole: bool,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Notes {
    sight: Sight,
    waiting: Option<Waker>,
}

/// A handle on what was seen.
#[derive(Clone, Debug)]
pub(super) struct Seen(Arc<Mutex<Notes>>);

impl Seen {
    /// What was seen so far.
    pub(super) fn look(&self) -> Sight {
        self.notes().sight.clone()
    }

    /// From here on the cap on heads no longer holds.
    pub(super) fn head_is_whole(&self) {
        self.notes().sight.head_whole = true;
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broke(&self, fault: &io::Error) {
        let notes = &mut *self.notes();
        let number = fault.raw_os_error().unwrap_or(0);
        notes.sight.broke.get_or_insert_with(|| (number, fault.to_string()));
    }
}

/// A connection whose passing bytes are noted.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    seen: Seen,
    head_cap: usize,
}

/// Takes notes on `stream`, and lets no more than `head_cap` bytes be read before the head is whole.
pub(super) fn watch(stream: TcpStream, head_cap: usize) -> (Watched, Seen) {
    let seen = Seen(Arc::default());
    (Watched { stream, seen: seen.clone(), head_cap }, seen)
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let notes = &mut *self.seen.notes();
            if notes.sight.asked.is_none() {
                notes.waiting = Some(context.waker().clone());
                return Poll::Pending;
            }
            if !notes.sight.head_whole && notes.sight.bytes >= self.head_cap {
                notes.sight.head_without_end = true;
                return Poll::Ready(Err(io::Error::other("the answer's head is too large")));
            }
        }
        let room = buffer.remaining().min(PIECE);
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(room));
        match Pin::new(&mut self.stream).poll_read(context, &mut piece) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                let came = piece.filled().len();
                buffer.advance(came);
                let sight = &mut self.seen.notes().sight;
                if came > 0 {
                    sight.bytes += came;
                    sight.first_byte.get_or_insert_with(super::instant);
                } else if room > 0 {
                    sight.ended = true;
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(fault)) => {
                self.seen.broke(&fault);
                Poll::Ready(Err(fault))
            }
        }
    }
}

impl Watched {
    fn sent(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let waiting = match &written {
            Poll::Pending => None,
            Poll::Ready(Ok(_)) => {
                let notes = &mut *self.seen.notes();
                notes.sight.asked = Some(super::instant());
                notes.waiting.take()
            }
            Poll::Ready(Err(fault)) => {
                self.seen.broke(fault);
                self.seen.notes().waiting.take()
            }
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
        written
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.sent(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
