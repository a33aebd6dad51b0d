//! The terminal sink: whole blocks, in order, and never at the price of the runtime.

use crate::samples::{berlin, hurried, notice, order, page};
use defib::{
    domain::observation::DeliveryOutcome,
    notify::{
        plain::Style,
        port::Sink,
        terminal::{Terminal, TerminalSink},
    },
};
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

/// Keeps what is written; each write waits for a word from the test, if it has a door.
struct Screen {
    shown: Arc<Mutex<Vec<u8>>>,
    entered: Option<Sender<()>>,
    door: Option<Receiver<()>>,
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(entered) = &self.entered {
            entered.send(()).ok();
        }
        if let Some(door) = &self.door {
            door.recv().ok();
        }
        self.shown.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal that is opened once.
fn terminal(screen: impl Write + Send + 'static) -> Terminal {
    let screen = Mutex::new(Some(screen));
    Terminal::opened_by(move || Box::new(screen.lock().unwrap().take().expect("opened once")))
}

fn text(shown: &Mutex<Vec<u8>>) -> String {
    String::from_utf8(shown.lock().unwrap().clone()).unwrap()
}

#[tokio::test]
async fn a_message_is_delivered_once_it_stands_there() {
    let shown = Arc::new(Mutex::new(vec![]));
    let screen = Screen { shown: shown.clone(), entered: None, door: None };
    let sink = TerminalSink::on(&terminal(screen), Style::Plain, berlin()).unwrap();
    assert_eq!(sink.deliver(order(notice(), 1)).await, DeliveryOutcome::Delivered);
    assert!(text(&shown).starts_with("NOTICE: account-server is unhealthy"));
    assert_eq!(sink.deliver(order(page(), 1)).await, DeliveryOutcome::Delivered);
    assert!(text(&shown).contains("\nPAGE: account-server is unhealthy"));
}

#[tokio::test]
async fn a_terminal_that_stands_still_costs_an_attempt_its_deadline_and_no_more() {
    let shown = Arc::new(Mutex::new(vec![]));
    let ((entered, has_entered), (open, door)) = (channel(), channel());
    let screen = Screen { shown: shown.clone(), entered: Some(entered), door: Some(door) };
    let sink = TerminalSink::on(&terminal(screen), Style::Plain, berlin()).unwrap();
    let soon = Duration::from_millis(50);
    let first = sink.deliver(hurried(notice(), soon)).await;
    assert!(matches!(first, DeliveryOutcome::Unknown(_)), "{first:?}");
    has_entered.recv().unwrap();
    // The thread hangs in the first block. Sixteen wait behind it, and the next one is turned away at once.
    let waiting: Vec<_> = (0..16).map(|_| sink.deliver(hurried(page(), soon))).collect();
    for outcome in futures_util::future::join_all(waiting).await {
        assert_eq!(
            outcome,
            DeliveryOutcome::Unknown("the terminal did not take it in time".to_owned())
        );
    }
    let turned_away = sink.deliver(order(page(), 1)).await;
    assert_eq!(turned_away, DeliveryOutcome::Unknown("the terminal stands still".to_owned()));
    // It moves again: what was given up is not written, what comes now is.
    drop(open);
    let mut last = sink.deliver(order(notice(), 2)).await;
    while last == turned_away {
        tokio::task::yield_now().await;
        last = sink.deliver(order(notice(), 2)).await;
    }
    assert_eq!(last, DeliveryOutcome::Delivered);
    assert_eq!(text(&shown).matches("NOTICE:").count(), 2);
    assert_eq!(text(&shown).matches("PAGE:").count(), 0);
}

#[tokio::test]
async fn sinks_of_a_config_that_is_read_again_have_the_same_writer() {
    let shown = Arc::new(Mutex::new(vec![]));
    let screen = Screen { shown: shown.clone(), entered: None, door: None };
    // It can't be opened twice.
    let terminal = terminal(screen);
    for _ in 0..3 {
        let sink = TerminalSink::on(&terminal, Style::Plain, berlin()).unwrap();
        assert_eq!(sink.deliver(order(notice(), 1)).await, DeliveryOutcome::Delivered);
    }
    assert_eq!(text(&shown).matches("NOTICE:").count(), 3);
}

struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_closed_terminal_is_broken() {
    let sink = TerminalSink::on(&terminal(Closed), Style::Plain, berlin()).unwrap();
    assert_eq!(
        sink.deliver(order(page(), 1)).await,
        DeliveryOutcome::NotSent("the terminal cannot be written to: broken pipe".to_owned())
    );
}
