//! Lines on their way to the log: those who log never wait.
//!
//! Whoever reads the log may stand still (a full pipe, a paused terminal), be gone (a closed pipe) or have no room (a full
//! disk). None of that is a reason to stop watching, so lines go into a queue, and a thread of its own, which may hang,
//! writes them. The queue is bounded in bytes; what has no room in it, or can't be written, is dropped and counted, and
//! the count is logged in the place of the lost lines as soon as the log takes lines again.
//!
//! `tracing-appender` does nearly this. It was not taken because it bounds the number of lines and not their bytes, starts
//! its own thread, does not say what was lost, and says on stderr that its end took too long: there it waits for the very
//! reader that it has just given up.
//!
//! Refuses: to block, to fail, and to lose lines without saying so.

use crate::tasks;
use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tracing_subscriber::fmt::{
    format::Writer,
    time::{FormatTime, SystemTime},
};

/// Bytes that may wait: some thousand lines, a start with many warnings among them; less than what one list of 1,000
/// containers takes.
pub const MOST_WAITING: usize = 1024 * 1024;

/// Where lines are left. Cheap to clone; each write is one line, or several that belong together.
#[derive(Clone)]
pub struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    most: usize,
    waiting: Mutex<Waiting>,
    /// There is something to write, or nothing comes any more.
    came: Condvar,
    /// Everything is written.
    done: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Line>,
    bytes: usize,
    /// Had no room behind the last of `lines`.
    lost: u64,
    /// The thread has taken something that is not written yet.
    writing: bool,
    closed: bool,
}

#[derive(Default)]
struct Line {
    lost_before: u64,
    text: Vec<u8>,
}

impl Queue {
    /// Starts the thread that owns `out`, with room for `most` bytes.
    ///
    /// # Errors
    /// Where the system cannot start another thread.
    pub fn start(out: impl Write + Send + 'static, most: usize) -> io::Result<Self> {
        let (came, done) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { most, waiting: Mutex::default(), came, done });
        let of_thread = Arc::clone(&shared);
        tasks::thread("log", move || write_out(&of_thread, out))?;
        Ok(Self { shared })
    }

    /// Waits until everything is written, or `within` has passed. True where it is.
    pub fn flush(&self, within: Duration) -> bool {
        let waited = self.shared.done.wait_timeout_while(
            self.shared.lock(),
            within,
            |waiting: &mut Waiting| !waiting.is_done(),
        );
        waited.unwrap_or_else(PoisonError::into_inner).0.is_done()
    }

    /// Nothing more comes: the thread ends when it has written what waits.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.came.notify_all();
    }

    fn push(&self, text: &[u8]) {
        let mut waiting = self.shared.lock();
        if waiting.bytes.saturating_add(text.len()) > self.shared.most {
            waiting.lost = waiting.lost.saturating_add(1);
        } else {
            let lost_before = std::mem::take(&mut waiting.lost);
            waiting.bytes += text.len();
            waiting.lines.push_back(Line { lost_before, text: text.to_owned() });
        }
        drop(waiting);
        self.shared.came.notify_one();
    }
}

impl Write for Queue {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.push(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Waiting {
    fn is_done(&self) -> bool {
        self.lines.is_empty() && self.lost == 0 && !self.writing
    }
}

impl Shared {
    // A panic elsewhere leaves the queue as whole as it was: each change is one line.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next line; an empty one where lines were lost and none came since; `None` at the end. What was taken before is
    /// written by now.
    fn next(&self) -> Option<Line> {
        let mut waiting = self.lock();
        waiting.writing = false;
        if waiting.is_done() {
            self.done.notify_all();
        }
        waiting = self
            .came
            .wait_while(waiting, |waiting| waiting.is_done() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
        let line = match waiting.lines.pop_front() {
            Some(line) => line,
            None if waiting.lost > 0 => {
                Line { lost_before: std::mem::take(&mut waiting.lost), text: Vec::new() }
            }
            None => return None,
        };
        waiting.bytes -= line.text.len();
        waiting.writing = true;
        Some(line)
    }
}

fn write_out(shared: &Shared, out: impl Write) {
    let mut pen = Pen { out, is_torn: false };
    let mut lost = 0_u64;
    while let Some(line) = shared.next() {
        lost = lost.saturating_add(line.lost_before);
        if lost > 0 && pen.put(said_of(lost).as_bytes()) {
            lost = 0;
        }
        if !line.text.is_empty() && (lost > 0 || !pen.put(&line.text)) {
            lost = lost.saturating_add(1);
        }
    }
}

/// In the form of the log's other lines; where what is lost is no log (the demo), it says nothing of one.
fn said_of(lost: u64) -> String {
    let mut line = String::new();
    // Without a time, where that can't be had.
    if SystemTime.format_time(&mut Writer::new(&mut line)).is_err() {
        line.clear();
    }
    let lines = if lost == 1 { "line was" } else { "lines were" };
    line.push_str(&format!(
        "  WARN {lost} {lines} lost here: nobody read on, or nothing could be written\n"
    ));
    line
}

struct Pen<W> {
    out: W,
    /// The last line broke off in its middle.
    is_torn: bool,
}

impl<W: Write> Pen<W> {
    /// Whether all of it was written.
    fn put(&mut self, text: &[u8]) -> bool {
        if self.is_torn {
            if self.out.write_all(b"\n").is_err() {
                return false;
            }
            self.is_torn = false;
        }
        let mut rest = text;
        while !rest.is_empty() {
            match self.out.write(rest) {
                Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.is_torn = rest.len() < text.len();
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    /// Far longer than anything here takes.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// What the log's other end does with one write.
    enum Reader {
        Takes,
        TakesOf(usize),
        Refuses,
    }

    /// A log whose other end answers each write when the test says so, and which tells what it is given.
    struct Slow {
        given: SyncSender<String>,
        answers: Receiver<Reader>,
    }

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let whole = String::from_utf8(text.to_owned()).unwrap();
            self.given.send(whole).map_err(io::Error::other)?;
            match self.answers.recv().map_err(io::Error::other)? {
                Reader::Takes => Ok(text.len()),
                Reader::TakesOf(bytes) => Ok(bytes),
                Reader::Refuses => Err(io::ErrorKind::StorageFull.into()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Log {
        queue: Queue,
        given: Receiver<String>,
        answers: SyncSender<Reader>,
    }

    fn log(most: usize) -> Log {
        let (given_to, given) = sync_channel(100);
        let (answers, answered) = sync_channel(100);
        let queue = Queue::start(Slow { given: given_to, answers: answered }, most).unwrap();
        Log { queue, given, answers }
    }

    impl Log {
        fn says(&mut self, line: &str) {
            self.queue.write_all(line.as_bytes()).unwrap();
        }

        /// What is being written, which then is answered so.
        fn given(&self, answer: Reader) -> String {
            let given = self.given.recv_timeout(PATIENCE).unwrap();
            self.answers.send(answer).unwrap();
            given
        }
    }

    #[test]
    fn whoever_logs_does_not_wait_for_a_reader_that_stands_still_and_what_was_lost_is_said() {
        let mut log = log(8);
        log.says("one\n");
        // Taken, and not answered: the queue is empty, the reader stands still.
        assert_eq!(log.given.recv_timeout(PATIENCE).unwrap(), "one\n");
        for line in ["two\n", "six\n", "seven\n", "eight\n"] {
            log.says(line);
        }
        assert!(!log.queue.flush(Duration::ZERO));
        log.answers.send(Reader::Takes).unwrap();
        assert_eq!(log.given(Reader::Takes), "two\n");
        assert_eq!(log.given(Reader::Takes), "six\n");
        let told = log.given(Reader::Takes);
        assert!(told.contains(" WARN 2 lines were lost here: nobody read on"), "{told}");
        log.says("ten\n");
        assert_eq!(log.given(Reader::Takes), "ten\n");
        assert!(log.queue.flush(PATIENCE));
    }

    #[test]
    fn what_was_lost_is_said_before_the_line_that_came_after_it() {
        let mut log = log(8);
        log.says("one\n");
        assert_eq!(log.given.recv_timeout(PATIENCE).unwrap(), "one\n");
        log.says("two\n");
        log.says("eleven\n");
        log.says("six\n");
        log.answers.send(Reader::Takes).unwrap();
        assert_eq!(log.given(Reader::Takes), "two\n");
        assert!(log.given(Reader::Takes).contains(" 1 line was lost here: "));
        assert_eq!(log.given(Reader::Takes), "six\n");
    }

    #[test]
    fn a_log_that_cannot_be_written_is_tried_again_with_each_line() {
        let mut log = log(100);
        log.says("one\n");
        assert_eq!(log.given(Reader::Refuses), "one\n");
        log.says("two\n");
        assert!(log.given(Reader::Refuses).contains(" 1 line was lost here: "));
        log.says("six\n");
        assert!(log.given(Reader::Takes).contains(" 2 lines were lost here: "));
        assert_eq!(log.given(Reader::Takes), "six\n");
        assert!(log.queue.flush(PATIENCE));
    }

    #[test]
    fn a_line_that_broke_off_does_not_run_into_the_next() {
        let mut log = log(100);
        log.says("one\n");
        assert_eq!(log.given(Reader::TakesOf(2)), "one\n");
        assert_eq!(log.given(Reader::Refuses), "e\n");
        log.says("two\n");
        assert_eq!(log.given(Reader::Takes), "\n");
        assert!(log.given(Reader::Takes).contains(" 1 line was lost here: "));
        assert_eq!(log.given(Reader::Takes), "two\n");
    }

    #[test]
    fn what_waits_at_the_end_is_written() {
        let mut log = log(100);
        log.says("one\n");
        log.says("two\n");
        log.queue.close();
        assert_eq!(log.given(Reader::Takes), "one\n");
        assert_eq!(log.given(Reader::Takes), "two\n");
        assert!(log.queue.flush(PATIENCE));
        assert!(log.given.recv_timeout(PATIENCE).is_err(), "its thread has ended");
    }
}
