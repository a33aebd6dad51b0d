//! How much of how things stand is shown: an answer is never larger than what is read of it ([`ANSWER_BYTES`]).
//!
//! Texts from outside, names and whole lists are cut here and nowhere else, by what they take as JSON, which writes one control
//! character as six bytes. Every field is named, so that a new one has to be given its bound.
//!
//! [`ANSWER_BYTES`]: crate::operator::ANSWER_BYTES

use super::snapshot::{IncidentStatus, RefusedReload, ReplicaStatus, SinkStatus, Snapshot};
use crate::notify::text::{Room, cut, fitting};

/// Longest name, and longest text of a replica: what a check printed may be kilobytes, of which its incident has more.
const TEXT: usize = 300;

/// Longest headline: it may name several services.
const HEADLINE: usize = 600;

/// Longest sentence about defib itself: it ends with what to do.
const SENTENCE: usize = 2_000;

/// So much of a list of what fails.
const LISTED: Room = Room { lines: 5, each: TEXT, total: 1_000 };

/// So many rows of a kind: one host has 1,000 containers at most, as far as defib is made for it.
const ROWS: usize = 1_000;

/// Nobody has so many.
const SINKS: usize = 100;

/// What somebody wants so, and what is wrong with defib itself, is a handful.
const SENTENCES: usize = 16;

impl Snapshot {
    /// What of it is shown. What is well is left out first, and that something is, is said.
    pub(super) fn bounded(self) -> Self {
        let Self {
            version,
            at_ms,
            host,
            messages_reach_somebody,
            pages_reach_somebody,
            problems,
            notes,
            restarts_nothing,
            hold_file,
            refused_reload,
            mut replicas,
            replicas_not_shown,
            mut unmatched,
            probing,
            mut incidents,
            mut sinks,
        } = self;
        if replicas.len() > ROWS {
            replicas.sort_by_key(|replica| replica.verdict == "healthy");
        }
        if sinks.len() > SINKS {
            sinks.sort_by_key(|sink| sink.works);
        }
        let left_out = [
            (first(&mut replicas, ROWS), "replicas"),
            (first(&mut unmatched, ROWS), "services that match nothing"),
            (first(&mut incidents, ROWS), "incidents"),
            (first(&mut sinks, SINKS), "sinks"),
        ];
        let mut notes = sentences(notes);
        for (number, what) in left_out.into_iter().filter(|(number, _)| *number > 0) {
            notes.push(format!("{number} more {what} are not shown"));
        }
        Self {
            version,
            at_ms,
            host: text(host),
            messages_reach_somebody,
            pages_reach_somebody,
            problems: sentences(problems),
            notes,
            restarts_nothing,
            hold_file: hold_file.map(|path| up_to(SENTENCE, &path)),
            refused_reload: refused_reload.map(|RefusedReload { since_ms, why }| RefusedReload {
                since_ms,
                why: up_to(SENTENCE, &why),
            }),
            replicas: replicas.into_iter().map(ReplicaStatus::bounded).collect(),
            replicas_not_shown: replicas_not_shown + left_out[0].0,
            unmatched: unmatched.into_iter().map(text).collect(),
            probing,
            incidents: incidents.into_iter().map(IncidentStatus::bounded).collect(),
            sinks: sinks.into_iter().map(SinkStatus::bounded).collect(),
        }
    }
}

impl ReplicaStatus {
    fn bounded(self) -> Self {
        let Self {
            service,
            name,
            verdict,
            verdict_for_ms,
            state,
            trouble,
            failures,
            failing,
            begins_to_fail,
            nothing_to_judge_by,
            hold,
            hold_for_ms,
            in_hand,
            recovery_awaited,
            restarts_spent,
            restarts_allowed,
            could_not_look,
            doubles,
        } = self;
        Self {
            service: text(service),
            name: text(name),
            verdict: text(verdict),
            verdict_for_ms,
            state: text(state),
            trouble: trouble.map(text),
            failures,
            failing: listed(&failing),
            begins_to_fail: listed(&begins_to_fail),
            nothing_to_judge_by,
            hold: hold.map(text),
            hold_for_ms,
            in_hand,
            recovery_awaited,
            restarts_spent,
            restarts_allowed,
            could_not_look: could_not_look.map(text),
            doubles: listed(&doubles),
        }
    }
}

impl IncidentStatus {
    fn bounded(self) -> Self {
        let Self { id, service, kind, severity, stage, headline, since_ms, ended_ms } = self;
        Self {
            id,
            service: service.map(text),
            kind: text(kind),
            severity: text(severity),
            stage: text(stage),
            headline: up_to(HEADLINE, &headline),
            since_ms,
            ended_ms,
        }
    }
}

impl SinkStatus {
    fn bounded(self) -> Self {
        let Self {
            name,
            takes_pages,
            proven,
            works,
            broken,
            lacks,
            broken_for_ms,
            waiting,
            next_attempt_ms,
            undeliverable,
        } = self;
        Self {
            name: text(name),
            takes_pages,
            proven,
            works,
            broken: broken.map(|why| up_to(SENTENCE, &why)),
            lacks: lacks.map(|why| up_to(SENTENCE, &why)),
            broken_for_ms,
            waiting,
            next_attempt_ms,
            undeliverable: listed(&undeliverable),
        }
    }
}

/// Keeps so many, and says how many are left out.
fn first<T>(rows: &mut Vec<T>, most: usize) -> usize {
    let left_out = rows.len().saturating_sub(most);
    rows.truncate(most);
    left_out
}

fn text(text: String) -> String {
    up_to(TEXT, &text)
}

fn up_to(most: usize, text: &str) -> String {
    cut(text, most, as_json).into_owned()
}

fn sentences(mut all: Vec<String>) -> Vec<String> {
    all.truncate(SENTENCES);
    all.iter().map(|sentence| up_to(SENTENCE, sentence)).collect()
}

fn listed(lines: &[String]) -> Vec<String> {
    fitting(lines, LISTED, as_json)
}

/// What a character takes, at most.
fn as_json(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        c if c.is_ascii_control() => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{operator::ANSWER_BYTES, status::snapshot::ProbingStatus};

    fn whole(long: &str, rows: usize) -> Snapshot {
        let (long, lines) = (long.to_owned(), vec![long.to_owned(); 100]);
        let replica = ReplicaStatus {
            service: long.clone(),
            name: long.clone(),
            verdict: "unhealthy".to_owned(),
            verdict_for_ms: u64::MAX,
            state: long.clone(),
            trouble: Some(long.clone()),
            failures: u32::MAX,
            failing: lines.clone(),
            begins_to_fail: lines.clone(),
            nothing_to_judge_by: false,
            hold: Some(long.clone()),
            hold_for_ms: Some(u64::MAX),
            in_hand: false,
            recovery_awaited: false,
            restarts_spent: u32::MAX,
            restarts_allowed: u32::MAX,
            could_not_look: Some(long.clone()),
            doubles: lines.clone(),
        };
        let incident = IncidentStatus {
            id: u64::MAX,
            service: Some(long.clone()),
            kind: "unhealthy".to_owned(),
            severity: "page".to_owned(),
            stage: "failing".to_owned(),
            headline: long.clone(),
            since_ms: i64::MIN,
            ended_ms: Some(i64::MIN),
        };
        let sink = SinkStatus {
            name: long.clone(),
            takes_pages: false,
            proven: false,
            works: false,
            broken: Some(long.clone()),
            lacks: Some(long.clone()),
            broken_for_ms: Some(u64::MAX),
            waiting: usize::MAX,
            next_attempt_ms: Some(u64::MAX),
            undeliverable: lines.clone(),
        };
        Snapshot {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at_ms: i64::MIN,
            host: long.clone(),
            messages_reach_somebody: false,
            pages_reach_somebody: false,
            problems: lines.clone(),
            notes: lines,
            restarts_nothing: false,
            hold_file: Some(long.clone()),
            refused_reload: Some(RefusedReload { since_ms: i64::MIN, why: long.clone() }),
            replicas: vec![replica; rows],
            replicas_not_shown: 0,
            unmatched: vec![long; rows],
            probing: ProbingStatus {
                targets: usize::MAX,
                pool: usize::MAX,
                in_flight: usize::MAX,
                queued: usize::MAX,
                lag_p99_ms: u64::MAX,
                lag_max_ms: u64::MAX,
                skipped: u64::MAX,
            },
            incidents: vec![incident; rows],
            sinks: vec![sink; rows],
        }
    }

    #[test]
    fn an_answer_is_never_larger_than_what_is_read_of_it() {
        for long in ["ü\"".repeat(2_000), "\u{1}".repeat(2_000), "🙂".repeat(2_000)] {
            let answer = serde_json::to_vec(&whole(&long, 1_500).bounded()).unwrap();
            let bytes = u64::try_from(answer.len()).unwrap();
            assert!(bytes < ANSWER_BYTES, "{bytes} bytes of {:?}", long.chars().next());
        }
    }

    #[test]
    fn what_is_well_is_left_out_first_and_that_something_is_is_said() {
        let mut many = whole("x", 1_000);
        let well = ReplicaStatus { verdict: "healthy".to_owned(), ..many.replicas[0].clone() };
        many.replicas.splice(0..0, vec![well; 7]);
        many.notes.clear();
        let shown = many.bounded();
        assert_eq!((shown.replicas.len(), shown.replicas_not_shown), (1_000, 7));
        assert!(shown.replicas.iter().all(|replica| replica.verdict == "unhealthy"));
        assert_eq!(shown.notes, ["7 more replicas are not shown", "900 more sinks are not shown"]);
    }

    #[test]
    fn what_is_short_is_shown_as_it_is() {
        let mut few = whole("the check printed \"this\"", 2);
        few.problems.truncate(3);
        few.notes.clear();
        for replica in &mut few.replicas {
            replica.failing.truncate(2);
            replica.begins_to_fail.clear();
            replica.doubles.clear();
        }
        for sink in &mut few.sinks {
            sink.undeliverable.clear();
        }
        assert_eq!(few.clone().bounded(), few);
    }
}
