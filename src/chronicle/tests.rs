use super::*;
use crate::{
    cli::log,
    domain::{
        acting::{attempt::Ending, hold::Hold},
        message::{IncidentKind, MessageKind},
        moment::{AwakeMs, BootId, BootMs, Stamp, WallMs},
        name::{AttemptId, ContainerId, IncidentId, ReplicaName, Seq, ServiceName, SinkName},
        observation::{Listed, Listing},
        record::OnBoot,
        telling::{
            incident::{Content, Incident, IncidentKey},
            story::{Stage, Story},
        },
    },
    log_of::Kept,
    notify::text::acts_on_a_screen,
};
use std::collections::BTreeMap;
use tracing_subscriber::EnvFilter;

const NOW: Moment = Moment { awake: AwakeMs(1), boot: BootMs(1), wall: WallMs(1) };

/// What is logged meanwhile, as `defib run` writes it, without its times.
fn logged(happens: impl FnOnce()) -> Vec<String> {
    let log = Kept::default();
    let writer = log.clone();
    let subscriber = log::subscriber(EnvFilter::new("debug"), false, move || writer.clone());
    tracing::subscriber::with_default(subscriber, happens);
    let text = log.text();
    let untimed =
        |line: &str| line.split_once("Z ").unwrap_or_else(|| panic!("{line}")).1.trim().to_owned();
    text.split_terminator('\n').map(untimed).collect()
}

fn observed(observations: Vec<Observation>) -> Vec<String> {
    logged(|| {
        let mut chronicle = Chronicle::new(None).with_hold_file("/run/defib/hold".into());
        for observation in observations {
            chronicle.observed(NOW, &observation);
        }
    })
}

fn decided(name: &str, decision: Decision) -> Vec<String> {
    let record = DecisionRecord {
        at: Stamp { boot_id: BootId("b".into()), moment: NOW },
        service: Some(ServiceName::new(name)),
        replica: Some(ReplicaName::new(name)),
        decision,
    };
    logged(|| Chronicle::new(None).say(&record))
}

#[test]
fn containers_that_cannot_be_read_are_logged_when_their_number_changes() {
    let listing =
        |undecodable| Observation::Listed(Listing { containers: Vec::new(), undecodable });
    let told = observed([0, 2, 2, 0, 0, 1].map(listing).to_vec());
    assert!(told.len() == 2 && told.iter().all(|line| line.contains("can't be read")), "{told:?}");
    assert!(told[0].ends_with("containers=2") && told[1].ends_with("containers=1"), "{told:?}");
}

#[test]
fn no_text_from_outside_begins_a_line_or_acts_in_one() {
    for hostile in [
        "web\n2026-11-30T10:00:00.000000Z ERROR page: forged",
        "web\r\nforged",
        "web\rforged",
        "web\u{1b}[2K\u{1b}]0;forged\u{7}",
        "web\u{9b}2J",
        "web\u{202e}degrof",
        "web\u{2028}forged\u{2029}\u{85}forged",
        "web\u{200b}\0",
    ] {
        let (text, attempt) = (|| hostile.to_owned(), AttemptId(1));
        let key =
            IncidentKey { service: Some(ServiceName::new(hostile)), kind: IncidentKind::Unhealthy };
        let sink = SinkName::new(hostile);
        let decisions = [
            Decision::TroubleBegan { shows: text() },
            Decision::TroubleOver,
            Decision::FailsAgain { shows: text() },
            Decision::StandsStill { state: "stopped, exit code 137".to_owned() },
            Decision::RunsAgain,
            Decision::Held(Hold::Touched(text())),
            Decision::Ended(attempt, Ending::NotCured(text())),
            Decision::Ended(attempt, Ending::Refused(text())),
            Decision::Ended(attempt, Ending::NotOurs(text())),
            Decision::BrakeReleased(text()),
            Decision::Opened(IncidentId(1), key.clone(), Severity::Page),
            Decision::Opened(IncidentId(1), key, Severity::Notice),
            Decision::Undeliverable(sink, IncidentId(1), text()),
        ];
        let row = Listed {
            id: ContainerId::new("c"),
            name: text(),
            image: text(),
            state: ContainerState::Unknown(text()),
            labels: BTreeMap::new(),
        };
        let observations = [
            Observation::ListFailed { full: true, failure: LookFailure::Unreachable(text()) },
            Observation::EventsLost(LookFailure::Engine { status: 500, message: text() }),
            Observation::Refused { seq: Seq(1), reason: text() },
            Observation::MemoryLost(text()),
            Observation::Listed(Listing { containers: vec![row], undecodable: 0 }),
        ];
        let said = decisions.into_iter().map(|decision| (1, decided(hostile, decision))).chain(
            observations.into_iter().map(|seen| {
                // A list also says that the engine answers again, where it did not.
                (1, observed(vec![seen]))
            }),
        );
        for (lines, told) in said {
            assert_eq!(told.len(), lines, "{told:?}");
            assert!(!told[0].contains(acts_on_a_screen), "{told:?}");
        }
    }
}

#[test]
fn what_acts_is_shown_escaped_and_quotes_read_plainly() {
    let told = decided(
        "web\n\u{202e}",
        Decision::TroubleBegan { shows: r#"Docker's "check" said ünïcode"#.to_owned() },
    );
    assert_eq!(
        told,
        [
            r#"WARN web\n\u{202e} is unhealthy: Docker's "check" said ünïcode service="web\n\u{202e}""#
        ]
    );
}

#[test]
fn a_stream_on_which_nothing_came_is_opened_anew_without_a_warning() {
    let idle = || Observation::EventsLost(LookFailure::TimedOut(Duration::from_secs(600)));
    let told = observed(vec![
        Observation::EventsOpened,
        idle(),
        Observation::EventsOpened,
        idle(),
        Observation::EventsOpened,
    ]);
    assert_eq!(told, ["DEBUG nothing came by the event stream for 10m; opening it anew"; 2]);
}

#[test]
fn a_stream_that_was_cut_or_cannot_be_opened_is_warned_of_once() {
    let lost = |failure| Observation::EventsLost(failure);
    let no_answer = || lost(LookFailure::TimedOut(Duration::from_secs(10)));
    let told = observed(vec![
        Observation::EventsOpened,
        lost(LookFailure::TimedOut(Duration::from_secs(600))),
        no_answer(),
        no_answer(),
        Observation::EventsOpened,
        lost(LookFailure::Unreachable("the engine closed its event stream".to_owned())),
    ]);
    let levels: Vec<&str> = told.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(levels, ["DEBUG", "WARN", "INFO", "WARN"], "{told:?}");
    assert!(told[1].contains("no answer within 10s"), "{told:?}");
}

#[test]
fn what_a_sink_says_is_logged_as_it_was_said() {
    let why = r#"it answered 400: "no such channel" for 'ops'"#.to_owned();
    let [line] = &decided("a", Decision::SinkFails(SinkName::new("oncall"), why.clone(), 60))[..]
    else {
        panic!("one line");
    };
    assert!(line.contains(&format!("messages do not arrive at oncall: {why}; ")), "{line}");
}

#[test]
fn a_sink_that_asks_to_wait_is_a_warning_that_says_for_how_long() {
    let why = "the sink answered 429".to_owned();
    let said = decided("a", Decision::SinkWaits(SinkName::new("slack"), why, 45));
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with(
            "WARN slack asks to wait: the sink answered 429; what is owed is kept, the next attempt is in 45s"
        ),
        "{said:?}"
    );
}

fn incident(number: u64, service: &str, headline: &str) -> Record {
    let story =
        Story { level: Severity::Page, stage: Stage::Failing, given_up: 0, grown: 0, reminders: 0 };
    let kept = Incident {
        id: IncidentId(number),
        key: IncidentKey {
            service: Some(ServiceName::new(service)),
            kind: IncidentKind::Unhealthy,
        },
        since: NOW,
        ended: None,
        story,
        reminded: NOW,
        seen_well: false,
        reminders_before: 0,
        content: Content { headline: headline.to_owned(), ..Content::default() },
    };
    Record::Incident(Box::new(OnBoot { boot_id: BootId("b".into()), kept }))
}

/// What is logged of batches of records, each about the service.
fn chronicled(service: &str, batches: Vec<Vec<Result<Record, Decision>>>) -> Vec<String> {
    let at = Stamp { boot_id: BootId("b".into()), moment: NOW };
    let decided = |decision| {
        Record::Decided(Box::new(DecisionRecord {
            at: at.clone(),
            service: Some(ServiceName::new(service)),
            replica: None,
            decision,
        }))
    };
    logged(|| {
        let mut chronicle = Chronicle::new(None);
        for batch in batches {
            let records = batch.into_iter().map(|record| record.unwrap_or_else(decided)).collect();
            chronicle.decided(NOW, &Batch { seq: Seq(1), records, effects: Vec::new() });
        }
    })
}

#[test]
fn a_line_about_an_incident_reads_alone() {
    let (id, sink) = (IncidentId(7), || SinkName::new("slack"));
    let key = IncidentKey { service: Some(ServiceName::new("web")), kind: IncidentKind::Unhealthy };
    let told = |kind| Err(Decision::Told(sink(), id, kind));
    let lines = chronicled(
        "web",
        vec![
            vec![
                Err(Decision::Opened(id, key.clone(), Severity::Notice)),
                Ok(incident(7, "web", "web is unhealthy")),
            ],
            vec![told(MessageKind::Opened)],
            vec![Err(Decision::Raised(id, Severity::Page)), Ok(incident(7, "web", "web is down"))],
            vec![told(MessageKind::Raised)],
            vec![Err(Decision::Resolved(id)), Ok(incident(7, "web", "web runs again: 1 of 1 run"))],
            vec![told(MessageKind::Resolved), Ok(Record::Forgotten(RecordKey::incident(&key)))],
            // Nothing is known of it any more, or not yet, as after a start.
            vec![told(MessageKind::Reminder)],
        ],
    );
    let sentences: Vec<&str> =
        lines.iter().map(|line| line.split_once(" incident=7 ").unwrap().0).collect();
    assert_eq!(
        sentences,
        [
            "WARN notice: web is unhealthy",
            "INFO slack was told that it began: web is unhealthy",
            "ERROR now a page: web is down",
            "INFO slack was told that it is more urgent now: web is down",
            "INFO resolved: web runs again: 1 of 1 run",
            "INFO slack was told that it is over: web runs again: 1 of 1 run",
            "INFO slack was told again: incident 7 of web",
        ]
    );
}

#[test]
fn what_a_person_has_to_act_on_is_an_error() {
    for hold in [
        Hold::BudgetSpent { restarts: 3, refill_after_ms: 0 },
        Hold::CannotRecord,
        Hold::ActionsRefused,
    ] {
        let said = decided("web", Decision::Held(hold));
        assert!(said.len() == 1 && said[0].starts_with("ERROR web "), "{said:?}");
    }
    let said = decided("web", Decision::Held(Hold::Paused));
    assert!(said[0].starts_with("INFO web is not restarted: "), "{said:?}");
    // The next attempt is up to defib.
    let ending = Ending::NotCured("not healthy within 1m".to_owned());
    let said = decided("web", Decision::Ended(AttemptId(1), ending));
    assert!(said[0].starts_with("WARN web: the attempt did not help: "), "{said:?}");
}

#[test]
fn a_recovery_without_a_restart_is_logged() {
    let said = decided("web", Decision::Recovered);
    assert!(said.len() == 1 && said[0].starts_with("INFO web is healthy again; "), "{said:?}");
}

#[test]
fn the_hold_file_is_logged_with_its_path_and_how_to_go_on() {
    let said = observed(vec![Observation::HoldFile(true), Observation::HoldFile(false)]);
    assert!(said[0].starts_with("WARN `/run/defib/hold` exists, "), "{said:?}");
    assert!(said[0].ends_with("to go on: rm /run/defib/hold"), "{said:?}");
    assert_eq!(said[1], "INFO `/run/defib/hold` is gone: acting again");
}

#[test]
fn an_engine_that_is_not_there_is_one_line_and_not_another_for_its_events() {
    let gone = || LookFailure::Unreachable("there is no such socket".to_owned());
    let said = observed(vec![
        Observation::ListFailed { full: true, failure: gone() },
        Observation::EventsLost(gone()),
        Observation::EventsLost(gone()),
        Observation::EventsLost(LookFailure::TimedOut(Duration::from_secs(10))),
    ]);
    let levels: Vec<&str> = said.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(levels, ["ERROR", "DEBUG", "WARN"], "{said:?}");
    assert!(said[2].starts_with("WARN the event stream can't be opened: "), "{said:?}");
}

#[test]
fn the_engine_answers_again_when_both_its_lists_are_answered() {
    let fails = |full, text: &str| Observation::ListFailed {
        full,
        failure: LookFailure::Unreachable(text.to_owned()),
    };
    let listed = || Observation::Listed(Listing { containers: Vec::new(), undecodable: 0 });
    let by_health = || Observation::UnhealthyListed(Vec::new());
    // The filtered list fails for hours while the full one is answered, and each fails for a reason of its own.
    let one = || vec![fails(false, "no filter"), listed()];
    let both = vec![fails(true, "gone"), fails(false, "no filter"), fails(true, "gone"), listed()];
    let end = vec![by_health(), listed(), by_health()];
    let said = observed([one(), one(), both, one(), end].concat());
    let sentences: Vec<&str> = said
        .iter()
        .map(|line| line.split_once(';').map_or(line.as_str(), |(say, _)| say))
        .collect();
    assert_eq!(
        sentences,
        [
            "ERROR the container engine can't be asked: no filter",
            "ERROR the container engine can't be asked: gone",
            "INFO the container engine answers again",
        ]
    );
    // Both fail of the same, which is one line, and is over when both are answered.
    let said =
        observed(vec![fails(true, "gone"), fails(false, "gone"), by_health(), listed(), listed()]);
    assert_eq!(said.len(), 2, "{said:?}");
}

#[test]
fn a_store_that_refuses_is_one_line_until_it_takes_commits_again() {
    let full = || Observation::Refused { seq: Seq(1), reason: "the disk is full".to_owned() };
    let committed = || Observation::Committed(Seq(2));
    let said = observed(vec![committed(), full(), full(), committed(), committed(), full()]);
    let levels: Vec<&str> = said.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(levels, ["ERROR", "INFO", "ERROR"], "{said:?}");
}

#[test]
fn a_damaged_store_reads_alone() {
    let why = "the state was damaged (file is not a database); it is kept as /state.db.damaged-1";
    let said = observed(vec![Observation::MemoryLost(why.to_owned())]);
    assert_eq!(said, [format!("ERROR {why}; defib goes on without what was lost")]);
}

#[test]
fn that_no_probe_runs_any_more_is_said_once() {
    let ended = Observation::ProberEnded("broken".to_owned());
    let said = observed(vec![ended.clone(), ended]);
    assert_eq!(said, [format!("ERROR {BROKE_DOWN}")]);
}
