use super::*;
use crate::domain::record::SinkRecord;
use std::{fs, os::unix::fs::symlink};

#[test]
fn whatever_stands_under_the_name_of_the_hold_file_holds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(HOLD);
    let mut held = hold_file(path.clone());
    assert!(!held());
    fs::write(&path, "").unwrap();
    assert!(held());
    fs::remove_file(&path).unwrap();
    assert!(!held());
    symlink(dir.path().join("nowhere"), &path).unwrap();
    assert!(held(), "a link that leads nowhere");
    fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    assert!(held(), "a link to itself");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(held(), "a directory");
}

#[test]
fn a_directory_that_cannot_be_looked_into_holds_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let mut held = hold_file(run.join(HOLD));
    assert!(!held(), "no directory, no file");
    // Root may read everything, but nobody can go through these.
    fs::write(&run, "a file").unwrap();
    assert!(held());
    fs::remove_file(&run).unwrap();
    symlink(&run, &run).unwrap();
    assert!(held());
    fs::remove_file(&run).unwrap();
    fs::create_dir(&run).unwrap();
    assert!(!held());
}

#[test]
fn pages_have_arrived_where_a_sink_for_them_was_proven_as_it_is_now() {
    let text = "[sink.a]\nterminal = {}\n[sink.b]\nterminal = {}\nseverities = ['ticket']\n";
    let host = HostName::new("kit-1");
    let mut config = config::parse("defib.toml", text, &host).unwrap().config;
    for sink in &mut config.policy.sinks {
        sink.definition = 7;
    }
    let arrived = |sink: &str, definition| {
        let sink = SinkName::new(sink);
        let record = Record::Sink(SinkRecord { sink, proven: true, definition });
        pages_have_arrived(&config, &HostClock::new(), &[record])
    };
    assert!(arrived("a", 7));
    assert!(!arrived("a", 8), "it went elsewhere then");
    assert!(!arrived("b", 7), "it takes no pages");
    assert!(!pages_have_arrived(&config, &HostClock::new(), &[]));
}
