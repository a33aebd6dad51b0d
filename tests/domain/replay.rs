//! A run that was journalled is decided again from the journal.

use crate::rig::*;
use defib::{
    domain::{moment::BootId, name::HostName, observation::Observation, record::Decision},
    journal::{
        entry::{Entry, Origin},
        reader::Reader,
        replay::replay,
        segment::Bounds,
        writer::Journal,
    },
};

#[tokio::test]
async fn the_same_is_decided_again_from_the_journal() {
    let mut rig = Rig::new(policy(vec![probed("web"), service("db")]));
    rig.add("web");
    rig.add_with("db", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(120));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    rig.containers.get_mut("db").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("db", Behaviour::Hangs);
    rig.run(seconds(900));
    rig.behave("db", Behaviour::Fine);
    rig.run(seconds(1200));

    let dir = tempfile::tempdir().unwrap();
    let (started, _) = rig.observed[0];
    let origin = Origin { host: HostName::new("host"), boot_id: BootId("boot".into()), started };
    let observed: Vec<_> =
        rig.observed.iter().filter(|(_, observation)| *observation != Observation::Woke).collect();
    // The queue is bounded, and a rig is faster than any disk: closing waits until all is written.
    for chunk in observed.chunks(400) {
        let mut journal = Journal::begin(dir.path(), origin.clone(), Bounds::default()).unwrap();
        for (at, observation) in chunk {
            journal.note(*at, observation);
        }
        journal.close().await;
    }

    let entries: Vec<Entry> =
        Reader::of(dir.path()).unwrap().map(|entry| entry.unwrap().1).collect();
    let coalesced = entries.iter().filter(|entry| matches!(entry, Entry::Repeated { .. })).count();
    assert!(coalesced > 0, "the passes of an hour are not all kept");
    let lives = replay(entries);
    assert_eq!(lives.len(), 1);
    assert_eq!(lives[0].lost, 0);
    let again = lives[0]
        .decisions
        .iter()
        .map(|decided| decided.decision.clone())
        .collect::<Vec<Decision>>();
    let then =
        rig.decisions.iter().map(|(_, decision)| decision.clone()).collect::<Vec<Decision>>();
    assert!(then.len() > 10, "{then:?}");
    assert_eq!(again, then);
}
