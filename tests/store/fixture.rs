//! A store as each released version left it, opened by this one.
//!
//! While version 1 is unreleased its records may still change their shape: then make the fixture anew with
//! `cargo test --test store -- --ignored make_the_version_1_fixture`. After the release it never changes again.

use crate::given::{history, open_inline, reasons, state};
use defib::{
    domain::name::Seq,
    store::{history::read_history, port::Store},
};
use std::{fs, path::Path};

fn fixture() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/fixtures/version-1.db"))
}

#[test]
fn a_store_of_version_1_is_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(fixture(), dir.path().join("state.db")).unwrap();
    let (mut opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.undecodable, []);
    assert_eq!(opened.damaged, None);
    assert_eq!(opened.records, vec![state("pager", 4), state("slack", 1)]);
    assert_eq!(opened.last_seq, Seq(12));
    opened.store.submit(Seq(13), vec![state("slack", 2), history("later")]).unwrap();
    drop(opened);
    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.records.len(), 3);
    let told = read_history(dir.path(), 10, None).unwrap();
    assert_eq!(reasons(&told.records), ["in its grace", "budget spent", "later"]);
}

#[tokio::test]
#[ignore = "writes the fixture that the test above reads"]
async fn make_the_version_1_fixture() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, _answers) = open_inline(dir.path()).unwrap();
    opened.store.submit(Seq(11), vec![state("slack", 1), history("in its grace")]).unwrap();
    opened.store.submit(Seq(12), vec![state("pager", 4), history("budget spent")]).unwrap();
    Box::new(opened.store).close().await;
    // Not a copy: the store's mode is for its owner alone, and everybody runs the tests.
    fs::write(fixture(), fs::read(dir.path().join("state.db")).unwrap()).unwrap();
}
