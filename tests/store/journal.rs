//! What goes into the journal comes out of it, but for secrets and what means nothing; whatever becomes of its files.

use defib::{
    domain::{
        moment::{AwakeMs, BootId, BootMs, EngineMs, Moment, WallMs},
        name::{
            ContainerId, HostName, LookId, ProbeName, ReplicaName, Seq, ServiceName, StartedAt,
        },
        observation::{
            ContainerState, Health, HealthEntry, HealthResult, HealthStatus, Inspection, Listed,
            Listing, LookFailure, Observation, Phases, ProbeOutcome, RestartPolicy, Sample, Target,
        },
    },
    journal::{
        entry::{Entry, Origin},
        reader::{Damage, Reader},
        segment::Bounds,
        writer::Journal,
    },
};
use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

fn at(ms: u64) -> Moment {
    Moment { awake: AwakeMs(ms), boot: BootMs(ms + 1), wall: WallMs(ms as i64 + 2) }
}

fn origin() -> Origin {
    Origin { host: HostName::new("db-1"), boot_id: BootId(Arc::from("boot")), started: at(0) }
}

const SMALL: Bounds = Bounds { segment_bytes: 4_000, total_bytes: 20_000 };

fn sample(replica: &str, outcome: ProbeOutcome, total_ms: u64) -> Observation {
    Observation::Sampled(Sample {
        target: Target { replica: ReplicaName::new(replica), probe: ProbeName::new("http") },
        service: ServiceName::new("web"),
        instance: None,
        outcome,
        phases: Phases { total: Duration::from_millis(total_ms), ..Phases::default() },
        address: Some("10.0.0.2:80".to_owned()),
        lag: Duration::from_millis(total_ms % 3),
        skipped: 0,
    })
}

fn pass(replica: &str, total_ms: u64) -> Observation {
    sample(replica, ProbeOutcome::Ok { status: Some(200) }, total_ms)
}

fn inspection(look: u64, status: HealthStatus, failing_streak: u32, output: &str) -> Observation {
    let time = EngineMs(look as i64);
    let log = vec![HealthEntry {
        start: time,
        end: time,
        result: HealthResult::Passed,
        output: output.to_owned(),
    }];
    Observation::Inspected {
        look: LookId(look),
        container: ContainerId::new("c1"),
        answer: Ok(Box::new(Inspection {
            id: ContainerId::new("c1"),
            name: "web".to_owned(),
            image: "web:1".to_owned(),
            labels: BTreeMap::from([
                ("app".to_owned(), "web".to_owned()),
                ("STRIPE_API_KEY".to_owned(), "sk_live_1".to_owned()),
            ]),
            state: ContainerState::Running,
            started_at: StartedAt::new("2026-11-29T10:00:00Z"),
            started: Some(EngineMs(1)),
            finished: None,
            exit_code: None,
            engine_now: time,
            health: Some(Health { status, failing_streak, log }),
            healthcheck: None,
            restart_policy: RestartPolicy::No,
            auto_remove: false,
            stop_timeout: None,
            stop_signal: None,
            addresses: Vec::new(),
            network_parent: None,
            pid: Some(1),
        })),
    }
}

/// Writes a journal of its own life and closes it.
async fn written(dir: &Path, bounds: Bounds, observed: &[(Moment, Observation)]) {
    let mut journal = Journal::begin(dir, origin(), bounds).unwrap();
    for (at, observation) in observed {
        journal.note(*at, observation);
    }
    journal.close().await;
}

/// The entries without headers, and what could not be read.
fn read(dir: &Path) -> (Vec<Entry>, Vec<Damage>) {
    let (mut entries, mut damage) = (Vec::new(), Vec::new());
    for one in Reader::of(dir).unwrap() {
        match one {
            Ok((_, Entry::Began(header))) => assert_eq!(header.origin, origin()),
            Ok((_, entry)) => entries.push(entry),
            Err(one) => damage.push(one),
        }
    }
    (entries, damage)
}

fn seen(observed: &[(Moment, Observation)]) -> Vec<Entry> {
    observed.iter().cloned().map(|(at, observation)| Entry::Seen { at, observation }).collect()
}

/// Observations of which each is kept whole.
fn eventful(count: u64) -> Vec<(Moment, Observation)> {
    (0..count)
        .map(|n| match n % 4 {
            0 => (at(n), sample("a", ProbeOutcome::Refused, n)),
            1 => (at(n), Observation::Committed(Seq(n))),
            2 => (at(n), Observation::EventsLost(LookFailure::TimedOut(Duration::from_millis(n)))),
            _ => (at(n), Observation::Woke),
        })
        .collect()
}

fn segments(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn what_goes_in_comes_out_in_order_over_several_lives() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("journal");
    let (first, second) = (eventful(60), eventful(40));
    written(&journal, Bounds { segment_bytes: 4_000, total_bytes: 1 << 20 }, &first).await;
    assert!(segments(&journal).len() > 1);
    written(&journal, Bounds::default(), &second).await;
    let (entries, damage) = read(&journal);
    assert!(damage.is_empty(), "{damage:?}");
    let mut expected = seen(&first);
    expected.extend(seen(&second));
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn segments_and_their_sum_stay_within_the_bounds_and_the_newest_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    for life in 0..4 {
        let observed: Vec<_> =
            (0..100).map(|n| (at(n), Observation::Committed(Seq(life * 1_000 + n)))).collect();
        written(dir.path(), SMALL, &observed).await;
        let sizes: Vec<_> =
            segments(dir.path()).iter().map(|path| fs::metadata(path).unwrap().len()).collect();
        assert!(sizes.iter().all(|size| *size <= SMALL.segment_bytes), "{sizes:?}");
        assert!(sizes.iter().sum::<u64>() <= SMALL.total_bytes, "{sizes:?}");
    }
    let (entries, damage) = read(dir.path());
    assert!(damage.is_empty());
    let kept: Vec<_> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Seen { observation: Observation::Committed(seq), .. } => seq.0,
            other => panic!("{other:?}"),
        })
        .collect();
    let all: Vec<u64> = (0..4).flat_map(|life| (0..100).map(move |n| life * 1_000 + n)).collect();
    assert!(kept.len() > 50 && all.ends_with(&kept), "{kept:?}");
}

#[tokio::test]
async fn a_torn_tail_anywhere_is_an_end_and_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let observed = eventful(6);
    written(dir.path(), Bounds::default(), &observed).await;
    let path = segments(dir.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let mut reader = Reader::of(dir.path()).unwrap();
        let mut entries = 0;
        for one in &mut reader {
            one.unwrap();
            entries += 1;
        }
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(entries, lines);
        let ends_whole = length == 0 || whole[length - 1] == b'\n';
        assert_eq!(reader.torn().is_empty(), ends_whole, "cut at {length}");
    }
    // And the next life goes on behind it.
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, damage) = read(dir.path());
    assert!(damage.is_empty());
    assert_eq!(entries[5..], seen(&observed));
}

#[tokio::test]
async fn a_flipped_bit_costs_the_line_it_is_in_and_is_reported_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let observed = eventful(8);
    written(dir.path(), Bounds::default(), &observed).await;
    let path = segments(dir.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let intact = Reader::of(dir.path()).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 7);
        fs::write(&path, &bytes).unwrap();
        let (mut entries, mut damaged) = (Vec::new(), Vec::new());
        for one in Reader::of(dir.path()).unwrap() {
            match one {
                Ok(entry) => entries.push(entry),
                Err(Damage::Line { place, .. }) => damaged.push(place.offset),
                Err(other) => panic!("{other}"),
            }
        }
        // A flipped newline takes the line behind it along; one that was made parts a line in two.
        let lost = intact.len() - entries.len();
        assert!((1..=2).contains(&lost), "{lost} lines lost at {place}");
        assert!(entries.iter().all(|entry| intact.contains(entry)), "nothing else is read");
        let last_newline = whole.len() - 1;
        assert!(place == last_newline || !damaged.is_empty(), "reported, at {place}");
        assert!(damaged.iter().all(|offset| *offset <= place as u64 + 1), "{damaged:?} {place}");
    }
}

#[tokio::test]
async fn a_segment_of_a_later_version_is_left_out_whole() {
    let dir = tempfile::tempdir().unwrap();
    let observed = eventful(4);
    written(dir.path(), Bounds::default(), &observed).await;
    let path = segments(dir.path()).remove(0);
    let text = fs::read_to_string(&path).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let json = header[9..].replace("\"version\":1", "\"version\":9");
    assert_ne!(json, header[9..]);
    let crc = crc32fast::hash(json.as_bytes());
    fs::write(&path, format!("{crc:08x} {json}\n{rest}")).unwrap();
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, damage) = read(dir.path());
    assert_eq!(entries, seen(&observed));
    assert!(matches!(damage.as_slice(), [Damage::Newer { found: 9, .. }]), "{damage:?}");
}

#[tokio::test]
async fn passes_become_one_line_and_failures_are_kept_each() {
    let dir = tempfile::tempdir().unwrap();
    let mut observed: Vec<_> = (0..20).map(|n| (at(n * 10), pass("a", n))).collect();
    observed.push((at(200), sample("a", ProbeOutcome::Refused, 1)));
    observed.push((at(210), sample("a", ProbeOutcome::Refused, 1)));
    observed.push((at(220), pass("a", 5)));
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, _) = read(dir.path());
    let mut expected = seen(&observed[..5]);
    expected.push(Entry::Repeated {
        count: 15,
        from: at(50),
        at: at(190),
        slowest: Some(Duration::from_millis(19)),
        observation: pass("a", 19),
    });
    expected.extend(seen(&observed[20..]));
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn a_pass_that_differs_ends_the_run_and_other_targets_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let created = sample("a", ProbeOutcome::Ok { status: Some(201) }, 1);
    let mut observed: Vec<_> =
        (0..30).map(|n| (at(n), pass(if n % 2 == 0 { "a" } else { "b" }, 1))).collect();
    observed.push((at(30), created.clone()));
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, _) = read(dir.path());
    let repeated: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Repeated { count, observation: Observation::Sampled(sample), .. } => {
                Some((*count, sample.target.replica.as_str().to_owned()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(repeated, [(10, "a".to_owned()), (10, "b".to_owned())]);
    assert_eq!(entries[11], Entry::Seen { at: at(30), observation: created });
}

#[tokio::test]
async fn a_long_run_is_told_of_every_five_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let observed: Vec<_> = (0..=60).map(|n| (at(n * 10_000), pass("a", 1))).collect();
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, _) = read(dir.path());
    let repeated: Vec<_> = entries[5..].iter().map(|entry| entry.at().unwrap().awake.0).collect();
    assert_eq!(entries.len(), 7, "{entries:?}");
    assert!(repeated[0] <= 50_000 + 300_000 + 30_000, "{repeated:?}");
    assert_eq!(repeated[1], 600_000);
}

#[tokio::test]
async fn inspections_of_the_healthy_and_lists_that_stay_the_same_are_left_out_too() {
    let dir = tempfile::tempdir().unwrap();
    let list = |name: &str| {
        Observation::Listed(Listing {
            containers: vec![Listed {
                id: ContainerId::new("c1"),
                name: name.to_owned(),
                image: "i".to_owned(),
                state: ContainerState::Running,
                labels: BTreeMap::new(),
            }],
            undecodable: 0,
        })
    };
    let mut observed = Vec::new();
    for n in 0..20 {
        observed.push((at(n), inspection(n, HealthStatus::Healthy, 0, &format!("ok {n}"))));
        observed.push((at(n), list("web")));
        observed.push((at(n), Observation::UnhealthyListed(Vec::new())));
    }
    for n in 20..23 {
        observed.push((at(n), inspection(n, HealthStatus::Healthy, 2, "no")));
    }
    observed.push((at(30), list("web2")));
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, _) = read(dir.path());
    let repeated =
        entries.iter().filter(|entry| matches!(entry, Entry::Repeated { count: 15, .. })).count();
    assert_eq!((entries.len(), repeated), (5 * 3 + 3 + 3 + 1, 3));
}

#[tokio::test]
async fn secrets_do_not_reach_the_disk_and_output_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let output = format!("GET /?token=abcdef failed {}", "x".repeat(5_000));
    let observed = [(at(1), inspection(1, HealthStatus::Unhealthy, 3, &output))];
    written(dir.path(), Bounds::default(), &observed).await;
    let text = fs::read_to_string(&segments(dir.path())[0]).unwrap();
    assert!(!text.contains("sk_live_1") && !text.contains("abcdef"), "{text}");
    let (entries, _) = read(dir.path());
    let [Entry::Seen { observation: Observation::Inspected { answer: Ok(read), .. }, .. }] =
        entries.as_slice()
    else {
        panic!("{entries:?}")
    };
    assert_eq!(read.labels["app"], "web");
    assert_eq!(read.labels["STRIPE_API_KEY"], "[redacted]");
    let kept = &read.health.as_ref().unwrap().log[0].output;
    assert!(kept.starts_with("GET /?token=[redacted] failed xxx") && kept.len() < 1_100, "{kept}");
}

#[tokio::test]
async fn an_entry_that_is_too_large_is_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let names = (0..100_000).map(|n| ContainerId::new(format!("{n:064}"))).collect();
    let observed =
        [(at(1), Observation::UnhealthyListed(names)), (at(2), Observation::Committed(Seq(1)))];
    written(dir.path(), Bounds::default(), &observed).await;
    let (entries, _) = read(dir.path());
    assert_eq!(entries[0], Entry::Lost { count: 1 });
    assert_eq!(entries[1..], seen(&observed[1..]));
}

#[tokio::test]
async fn a_queue_that_is_full_drops_and_counts_and_never_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let observed: Vec<_> = (0..20_000).map(|n| (at(n), Observation::Committed(Seq(n)))).collect();
    let mut journal = Journal::begin(dir.path(), origin(), Bounds::default()).unwrap();
    for (at, observation) in &observed {
        journal.note(*at, observation);
    }
    journal.close().await;
    let (entries, damage) = read(dir.path());
    assert!(damage.is_empty());
    let (mut kept, mut lost) = (0, 0);
    for entry in entries {
        match entry {
            Entry::Lost { count } => lost += count,
            _ => kept += 1,
        }
    }
    assert_eq!(kept + lost, 20_000, "every entry is there or is counted as missing");
}
