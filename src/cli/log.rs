//! The log of a command: on stderr, so that what a command says is not mixed with it.
//!
//! Written by a thread of its own out of a bounded queue ([`queue`]): no reader of the log can hold up or end the daemon.
//! Panics go the same way, since the usual hook would write to stderr from where it happened.

pub mod fields;
pub mod queue;

use fields::{Fields, escaped};
use queue::{MOST_WAITING, Queue};
use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, IsTerminal, Write},
    panic, thread,
    time::Duration,
};
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, filter::LevelFilter, fmt::MakeWriter, util::SubscriberInitExt,
};

/// What waits when the process ends is written within this, or not at all.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// The log; what it still holds is written when it is dropped, within a second.
pub struct Log {
    queue: Queue,
}

impl Log {
    /// A line for people that is no log line, such as why the process ends.
    pub fn say(&self, line: &str) {
        say(&self.queue, line);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.queue.flush(FLUSH_WITHIN);
        self.queue.close();
    }
}

fn say(queue: &Queue, line: &str) {
    // The queue takes everything, or counts it as lost.
    drop(writeln!(queue.clone(), "{line}"));
}

/// Begins the log. `DEFIB_LOG` as in `info,defib::docker=debug`, else `default`. What bollard logs at `debug` holds whole
/// bodies, secrets of environments included: it is never let through.
///
/// # Errors
/// Where the system cannot start a thread.
pub fn to_stderr(default: LevelFilter) -> io::Result<Log> {
    let queue = Queue::start(Stderr, MOST_WAITING)?;
    let said = std::env::var_os("DEFIB_LOG").unwrap_or_default();
    let (filter, passed_over) = filter(default, &said.to_string_lossy());
    let lines = queue.clone();
    let coloured = io::stderr().is_terminal();
    let begun = subscriber(filter, coloured, move || lines.clone()).try_init();
    if let Err(problem) = begun {
        say(&queue, &format!("defib: there is no log, another one was begun before: {problem}"));
    }
    say_panics(queue.clone());
    for part in passed_over {
        tracing::warn!(
            "`{part}` in DEFIB_LOG is passed over: write a level, or a target and its level, as in \
             `info,defib::docker=debug`"
        );
    }
    Ok(Log { queue })
}

/// What makes lines of events, one each, whatever is in them ([`fields`]).
pub fn subscriber<W>(filter: EnvFilter, coloured: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(coloured)
        .fmt_fields(Fields)
        .with_writer(writer)
        // It would be said on stderr, past the queue.
        .log_internal_errors(false)
        .finish()
}

/// The filter, and what in `said` could not be understood. Read part by part, because the library's own lenient reading
/// writes to stderr by itself.
fn filter(default: LevelFilter, said: &str) -> (EnvFilter, Vec<String>) {
    let (good, bad): (Vec<&str>, Vec<&str>) = said
        .split(',')
        .filter(|part| !part.is_empty())
        .partition(|part| part.parse::<tracing_subscriber::filter::Directive>().is_ok());
    let builder = EnvFilter::builder().with_default_directive(default.into());
    let filter = builder
        .parse(good.join(","))
        .unwrap_or_else(|_| EnvFilter::default().add_directive(default.into()));
    let filter = match "bollard=info".parse() {
        // A cap, and not a reason to log where nothing was to be logged.
        Ok(cap) if !said.is_empty() || default >= LevelFilter::INFO => filter.add_directive(cap),
        Ok(_) | Err(_) => filter,
    };
    (filter, bad.into_iter().map(str::to_owned).collect())
}

/// Panics become lines of the log, whatever its level.
fn say_panics(queue: Queue) {
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let mut line = format!("defib: thread `{name}` {}", escaped(&panic.to_string()));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            line.push_str(&format!("\n{trace}"));
        }
        say(&queue, &line);
    }));
}

/// The process's stderr without the standard library's lock: a thread that hangs in writing must hold nothing that
/// another one wants.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(io::stderr(), bytes) {
                // Somebody made it non-blocking, for us too: then we wait here.
                Err(rustix::io::Errno::AGAIN) => wait_for_room()?,
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait_for_room() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let stderr = io::stderr();
    match poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_in_the_filter_is_named_and_the_rest_holds() {
        let (filter, passed_over) = filter(LevelFilter::INFO, "debug,,defib=loud,hyper=warn");
        assert_eq!(passed_over, ["defib=loud"]);
        let shown = filter.to_string();
        assert!(shown.contains("hyper=warn") && shown.contains("debug"), "{shown}");
        assert!(shown.contains("bollard=info"), "{shown}");
    }

    #[test]
    fn a_log_that_is_off_stays_off_unless_something_is_said() {
        assert_eq!(filter(LevelFilter::OFF, "").0.to_string(), "off");
        assert!(filter(LevelFilter::OFF, "warn").0.to_string().contains("warn"));
    }
}
