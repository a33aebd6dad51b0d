//! The event stream: lines cut anywhere, lines that are none, and how it ends.

use super::*;
use crate::docker::adapter::events::EVENT_LIMIT;

fn event(action: &str) -> String {
    format!(
        r#"{{"Type":"container","Action":"{action}","Actor":{{"ID":"ab12"}},"timeNano":1704103200000000000}}"#
    )
}

/// A scripted engine whose event stream says what is handed to the sender.
fn streaming() -> (Scripted, mpsc::Sender<Vec<u8>>) {
    let (sender, pieces) = mpsc::channel();
    (Scripted::docker(Reply::Streams(Arc::new(Mutex::new(pieces)))), sender)
}

#[tokio::test]
async fn a_line_cut_anywhere_is_one_event_also_when_the_wait_for_it_was_dropped() {
    let (scripted, say) = streaming();
    let mut events = scripted.engine().events(Some(EngineMs(1500))).await.unwrap();
    assert!(scripted.requests()[1].ends_with("&since=1.500000000"), "{:?}", scripted.requests());
    let line = format!("{}\n", event("die"));
    let (first, second) = line.as_bytes().split_at(25);
    say.send(first.to_vec()).unwrap();
    let waited = timeout(Duration::from_millis(100), events.next()).await;
    assert!(waited.is_err(), "{waited:?}");
    say.send(second.to_vec()).unwrap();
    let heard = events.next().await.unwrap();
    assert_eq!(heard.action, crate::domain::observation::EventAction::Died { exit_code: None });
}

#[tokio::test]
async fn lines_that_cannot_be_read_cost_themselves() {
    let (scripted, say) = streaming();
    let mut events = scripted.engine().events(None).await.unwrap();
    let mut bytes = b"{\"broken\n\xff\xfe\n".to_vec();
    bytes.extend(event("exec_start: x").as_bytes());
    bytes.extend(b"\n\n");
    bytes.extend(vec![b'x'; EVENT_LIMIT * 2]);
    bytes.extend(format!("\n{}\n", event("stop")).as_bytes());
    say.send(bytes).unwrap();
    let heard = events.next().await.unwrap();
    assert_eq!(heard.action, crate::domain::observation::EventAction::Stopped);
}

#[tokio::test]
async fn a_stream_that_ends_says_so() {
    let (scripted, say) = streaming();
    let mut events = scripted.engine().events(None).await.unwrap();
    drop(say);
    let Err(LookFailure::Unreachable(text)) = events.next().await else { panic!("no end") };
    assert_eq!(text, "unix:///the.sock: the engine closed its event stream");
}

#[tokio::test]
async fn a_silent_stream_ends_also_where_the_wait_is_dropped_again_and_again() {
    let (scripted, say) = streaming();
    let mut events = scripted.engine_within(short()).events(None).await.unwrap();
    let waiting = async {
        loop {
            // Shorter than the idle limit each time, as a `select!` in a busy loop would do.
            if let Ok(ended) = timeout(Duration::from_millis(50), events.next()).await {
                return ended;
            }
        }
    };
    let ended = timeout(Duration::from_secs(10), waiting).await.expect("it never ends");
    assert_eq!(ended, Err(LookFailure::TimedOut(Duration::from_millis(300))));
    drop(say);
}
