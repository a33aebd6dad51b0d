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
    EnvFilter,
    filter::{Directive, LevelFilter},
    fmt::MakeWriter,
    util::SubscriberInitExt,
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
    for (part, why) in passed_over {
        tracing::warn!("`{part}` in DEFIB_LOG is passed over: {why}");
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

/// What can't be understood of `DEFIB_LOG`.
const NO_DIRECTIVE: &str =
    "write a level, or a target and its level, as in `info,defib::docker=debug`";

/// What is not let through, whoever asks for it.
const HOLDS_SECRETS: &str =
    "what bollard logs below `info` holds whole bodies, secrets of environments included";

/// The filter, and the parts of `said` that are passed over, with why. Read part by part, because the library's own lenient
/// reading writes to stderr by itself, and because a longer target would win over the cap.
fn filter(default: LevelFilter, said: &str) -> (EnvFilter, Vec<(String, &'static str)>) {
    let (mut good, mut passed_over) = (Vec::new(), Vec::new());
    for part in said.split(',').filter(|part| !part.is_empty()) {
        if part.parse::<Directive>().is_err() {
            passed_over.push((part.to_owned(), NO_DIRECTIVE));
        } else if is_of_bollard(part) {
            passed_over.push((part.to_owned(), HOLDS_SECRETS));
        } else {
            good.push(part);
        }
    }
    let builder = EnvFilter::builder().with_default_directive(default.into());
    let filter = builder
        .parse(good.join(","))
        .unwrap_or_else(|_| EnvFilter::default().add_directive(default.into()));
    // A cap, and not a reason to log where nothing, or less, was to be logged: only a level for everything lets bollard say
    // more, since what names a target is about that target alone.
    let mut levels = good.iter().filter_map(|part| part.trim().parse::<LevelFilter>().ok());
    let of_everything =
        levels.next_back().unwrap_or(if good.is_empty() { default } else { LevelFilter::OFF });
    let is_capped = good.iter().any(|part| part.trim().starts_with("bollard="));
    let filter = match "bollard=info".parse() {
        Ok(cap) if of_everything > LevelFilter::INFO && !is_capped => filter.add_directive(cap),
        Ok(_) | Err(_) => filter,
    };
    (filter, passed_over)
}

/// Whether it asks for more of bollard than is let through. Without a level it asks for all there is.
fn is_of_bollard(part: &str) -> bool {
    // `target`, `target=level`, and `target[span{field=value}]=level`.
    let target = part.split(['=', '[']).next().unwrap_or_default().trim();
    let level = part.rsplit_once('=').map_or("", |(_, level)| level.trim());
    // The library reads nothing as a level, the lowest; in a directive it asks for all.
    let level = Some(level).filter(|level| !level.is_empty()).and_then(|level| level.parse().ok());
    target.starts_with("bollard")
        && level.is_none_or(|level: LevelFilter| level > LevelFilter::INFO)
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
        assert_eq!(passed_over, [("defib=loud".to_owned(), NO_DIRECTIVE)]);
        let shown = filter.to_string();
        assert!(shown.contains("hyper=warn") && shown.contains("debug"), "{shown}");
        assert!(shown.contains("bollard=info"), "{shown}");
    }

    #[test]
    fn a_log_that_is_off_stays_off_unless_something_is_said() {
        assert_eq!(filter(LevelFilter::OFF, "").0.to_string(), "off");
        assert!(filter(LevelFilter::OFF, "warn").0.to_string().contains("warn"));
    }

    #[test]
    fn bollard_is_capped_where_it_would_say_more_and_let_through_nowhere() {
        for said in [
            "off",
            "warn",
            "info",
            "defib=debug",
            "defib=debug,warn",
            "[act]=off",
            "loud",
            "debug,off",
        ] {
            let shown = filter(LevelFilter::INFO, said).0.to_string();
            assert!(!shown.contains("bollard"), "{said}: {shown}");
        }
        for said in ["debug", "trace", "defib=warn,debug", "5", "off,debug"] {
            let shown = filter(LevelFilter::INFO, said).0.to_string();
            assert!(shown.contains("bollard=info"), "{said}: {shown}");
        }
        assert!(filter(LevelFilter::DEBUG, "").0.to_string().contains("bollard=info"));
    }

    #[test]
    fn nothing_makes_bollard_log_whole_bodies() {
        for part in [
            "bollard=debug",
            "bollard::docker=debug",
            "bollard::docker=TRACE",
            "bollard::docker",
            "bollard::docker[request]=trace",
            "bollard[request{method=\"GET\"}]=5",
            "bollard::uri=",
        ] {
            let (filter, passed_over) = filter(LevelFilter::INFO, &format!("warn,{part},debug"));
            assert_eq!(passed_over, [(part.to_owned(), HOLDS_SECRETS)]);
            let shown = filter.to_string();
            assert!(shown.contains("bollard=info") && !shown.contains("bollard:"), "{shown}");
            assert!(!shown.contains('['), "{shown}");
        }
        for part in ["bollard=off", "bollard::docker=warn", "bollard::docker=info"] {
            let (filter, passed_over) = filter(LevelFilter::INFO, part);
            assert!(passed_over.is_empty(), "{passed_over:?}");
            assert!(filter.to_string().contains(part), "{filter}");
        }
    }
}
