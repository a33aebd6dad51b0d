//! What a healthcheck said, sorted into what is evidence against the container and what is not (S5).
//!
//! Docker writes exit code −1 for two things that could not differ more: the check ran into its timeout, which is how a hung
//! service looks, and the check could not be executed at all, which says nothing of the service (moby 41410, 40737, 51343).
//! The text tells them apart, and only there: a code that is not negative is the check's own, and what it prints is its own
//! business (a client's "rpc error: …" is how a gRPC service that fails looks). Podman writes −1 only for the timeout, without
//! saying so in the text, 125 where its own exec failed, and recasts to 1 every exit code of the check itself and also what
//! its runtime could not execute: there the text has to be asked beside a code of the check's own.

use super::{Field, LONGEST_WORD, read, text, time::engine_time};
use crate::{
    docker::connection::Flavour,
    domain::observation::{Health, HealthEntry, HealthResult, HealthStatus},
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What Docker itself keeps of a check's output.
const LONGEST_OUTPUT: usize = 4096;

/// What Docker keeps; Podman may be told to keep more.
const LONGEST_LOG: usize = 5;

/// How Docker begins the text of a check that ran into its own timeout.
const TIMED_OUT: &str = "Health check exceeded timeout";

/// What Podman and its runtimes write in the place of a check's output where they could not execute it. Nothing that checks
/// print as well: Podman calls its runtime as a program, so that "rpc error: " can only be the check's.
const NOT_EXECUTED: [&str; 5] =
    ["OCI runtime ", "cannot exec in a ", "failed to start exec", "Error: exec", "exec failed: "];

/// What shells write where there is no such command, or none that can be executed, under exit codes 126 and 127.
const NO_COMMAND: [&str; 5] =
    ["not found", "no such file", "permission denied", "cannot execute", "exec format error"];

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawHealth<'a> {
    #[serde(borrow, default)]
    status: Field<'a>,
    #[serde(borrow, default)]
    failing_streak: Field<'a>,
    #[serde(borrow, default)]
    log: Field<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawEntry<'a> {
    #[serde(borrow, default)]
    start: Field<'a>,
    #[serde(borrow, default)]
    end: Field<'a>,
    #[serde(borrow, default)]
    exit_code: Field<'a>,
    #[serde(borrow, default)]
    output: Field<'a>,
}

/// Reads `State.Health`. `None` where there is nothing evaluated: absent, `none`, or no status, no log and no healthcheck
/// configured (which Podman writes for every container without one).
pub(super) fn decode(field: Field<'_>, configured: bool, flavour: Flavour) -> Option<Health> {
    let raw: RawHealth<'_> = read(field)?;
    let word: String = read(raw.status).unwrap_or_default();
    let entries: Vec<Option<&RawValue>> = read(raw.log).unwrap_or_default();
    if word == "none" || (word.is_empty() && entries.is_empty() && !configured) {
        return None;
    }
    let skip = entries.len().saturating_sub(LONGEST_LOG);
    let log = entries.into_iter().skip(skip).filter_map(|raw| entry(raw, flavour)).collect();
    let streak = read::<i64>(raw.failing_streak).unwrap_or(0).max(0);
    Some(Health {
        status: status(&word),
        failing_streak: u32::try_from(streak).unwrap_or(u32::MAX),
        log,
    })
}

/// The engine's word for a health.
pub(super) fn status(word: &str) -> HealthStatus {
    match word {
        "starting" => HealthStatus::Starting,
        "healthy" => HealthStatus::Healthy,
        "unhealthy" => HealthStatus::Unhealthy,
        other => HealthStatus::Unknown(text::cleaned(other, LONGEST_WORD)),
    }
}

/// One result. Without any readable time it cannot be placed and is left out; with one, the other is taken to be the same.
fn entry(field: Field<'_>, flavour: Flavour) -> Option<HealthEntry> {
    let raw: RawEntry<'_> = read(field)?;
    let when = |field| read::<String>(field).and_then(|text| engine_time(&text));
    let (start, end) = match (when(raw.start), when(raw.end)) {
        (Some(start), Some(end)) => (start, end),
        (Some(only), None) | (None, Some(only)) => (only, only),
        (None, None) => return None,
    };
    let output: String = read(raw.output).unwrap_or_default();
    Some(HealthEntry {
        start,
        end,
        result: result(read(raw.exit_code), &output, flavour),
        output: text::cleaned(&output, LONGEST_OUTPUT),
    })
}

/// What one exit code with its text shows.
fn result(exit_code: Option<i64>, output: &str, flavour: Flavour) -> HealthResult {
    let Some(code) = exit_code else { return HealthResult::CouldNotRun };
    if code == 0 {
        return HealthResult::Passed;
    }
    if output.starts_with(TIMED_OUT) {
        return HealthResult::Failed;
    }
    match (code, flavour) {
        (-1, Flavour::Podman) => HealthResult::Failed,
        (125, Flavour::Podman) | (..=-1, _) => HealthResult::CouldNotRun,
        (126 | 127, _) if names_no_command(output) => HealthResult::CouldNotRun,
        (_, Flavour::Podman) if names_no_execution(output) => HealthResult::CouldNotRun,
        (_, Flavour::Docker | Flavour::Podman) => HealthResult::Failed,
    }
}

/// Whether this is Podman's word, or its runtime's, for a check that was not executed.
fn names_no_execution(output: &str) -> bool {
    NOT_EXECUTED.iter().any(|beginning| output.starts_with(beginning))
}

/// Whether this is a shell that found no command to run. One that threw its words away (`2>/dev/null`) counts too: 126 and
/// 127 are the shell's own codes, and a check that means "failing" has 253 others.
fn names_no_command(output: &str) -> bool {
    let output = output.to_ascii_lowercase();
    output.trim().is_empty() || NO_COMMAND.iter().any(|words| output.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::moment::EngineMs;

    fn read_health(json: &str) -> Option<Health> {
        let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
        decode(Some(&raw), true, Flavour::Docker)
    }

    #[test]
    fn each_exit_code_is_sorted_by_what_it_proves() {
        use HealthResult::{CouldNotRun, Failed, Passed};
        let oci = "OCI runtime exec failed: exec failed: unable to start container process: exec: \
                   \"/bin/nosuch\": stat /bin/nosuch: no such file or directory: unknown";
        let cases = [
            (Some(0), "", Passed),
            (Some(0), "OCI runtime is fine", Passed),
            (Some(1), "no answer", Failed),
            (Some(1), oci, Failed),
            (Some(137), "", Failed),
            (Some(-1), "Health check exceeded timeout (3s)", Failed),
            (Some(-1), "Health check exceeded timeout (3s): begun\n", Failed),
            (Some(-1), oci, CouldNotRun),
            (Some(-1), "cannot exec in a stopped state: unknown", CouldNotRun),
            (Some(-1), "context deadline exceeded", CouldNotRun),
            (Some(-1), "", CouldNotRun),
            (Some(-1), "rpc error: code = Unavailable desc = transport is closing", CouldNotRun),
            (Some(-9), "", CouldNotRun),
            (Some(126), "sh: /check: Permission denied\n", CouldNotRun),
            (Some(127), "/bin/sh: curl: not found\n", CouldNotRun),
            (Some(127), "bash: line 1: curl: command not found", CouldNotRun),
            (Some(127), "", CouldNotRun),
            (Some(127), "queue is stuck", Failed),
            (Some(1), "curl: not found in cache", Failed),
            (None, "anything", CouldNotRun),
        ];
        for (code, output, wanted) in cases {
            assert_eq!(result(code, output, Flavour::Docker), wanted, "{code:?} {output:?}");
        }
    }

    #[test]
    fn what_a_check_prints_is_its_own_where_the_code_is() {
        let printed = [
            "rpc error: code = Unavailable desc = connection refused",
            "exec failed: no backend answers",
            "Error: exec of the query failed",
            "failed to start exec of the job",
            "OCI runtime is out of slots",
            "cannot exec in a read-only transaction",
        ];
        for output in printed {
            for code in [1, 2, 125, 137] {
                let result = result(Some(code), output, Flavour::Docker);
                assert_eq!(result, HealthResult::Failed, "{code} {output:?}");
            }
        }
        let result = result(Some(1), printed[0], Flavour::Podman);
        assert_eq!(result, HealthResult::Failed, "Podman speaks no gRPC with its runtime");
    }

    #[test]
    fn on_podman_the_text_tells_what_its_runtime_could_not_execute() {
        for output in [
            "OCI runtime error: crun: executable file `curl` not found in $PATH",
            "exec failed: unable to start container process",
        ] {
            let result = result(Some(1), output, Flavour::Podman);
            assert_eq!(result, HealthResult::CouldNotRun, "{output:?}");
        }
    }

    #[test]
    fn on_podman_minus_one_is_the_timeout_and_125_its_own_failure() {
        assert_eq!(result(Some(-1), "begun", Flavour::Podman), HealthResult::Failed);
        assert_eq!(result(Some(-1), "", Flavour::Podman), HealthResult::Failed);
        assert_eq!(result(Some(125), "", Flavour::Podman), HealthResult::CouldNotRun);
        assert_eq!(result(Some(125), "", Flavour::Docker), HealthResult::Failed);
        assert_eq!(result(Some(1), "", Flavour::Podman), HealthResult::Failed);
    }

    #[test]
    fn a_log_is_read_oldest_first_and_kept_to_its_last_five() {
        let entry = |n: u32| {
            format!(
                r#"{{"Start":"2024-01-01T10:00:0{n}.5+01:00","End":"2024-01-01T09:00:0{n}.75Z",
                    "ExitCode":{n},"Output":"run {n}"}}"#
            )
        };
        let log: Vec<_> = (0..8).map(entry).collect();
        let health = read_health(&format!(
            r#"{{"Status":"unhealthy","FailingStreak":3,"Log":[{}]}}"#,
            log.join(",")
        ))
        .unwrap();
        assert_eq!((health.status, health.failing_streak), (HealthStatus::Unhealthy, 3));
        let outputs: Vec<_> = health.log.iter().map(|entry| entry.output.as_str()).collect();
        assert_eq!(outputs, ["run 3", "run 4", "run 5", "run 6", "run 7"]);
        assert_eq!(health.log[0].start, EngineMs(1_704_099_603_500));
        assert_eq!(health.log[0].end, EngineMs(1_704_099_603_750));
    }

    #[test]
    fn a_huge_or_hostile_output_is_cut_and_cleaned() {
        let health = read_health(&format!(
            r#"{{"Status":"unhealthy","FailingStreak":1,"Log":[{{"Start":"2024-01-01T09:00:00Z","ExitCode":1,
                "Output":"\u001b[2Jü{}"}}]}}"#,
            "€".repeat(9000)
        ))
        .unwrap();
        let output = &health.log[0].output;
        assert!((4094..=4096).contains(&output.len()), "{}", output.len());
        assert!(output.starts_with("\u{fffd}[2Jü€"));
        assert_eq!(health.log[0].end, health.log[0].start);
    }

    #[test]
    fn what_a_check_prints_of_secrets_is_hidden_and_what_it_shows_is_not_changed() {
        let health = read_health(
            r#"{"Status":"unhealthy","FailingStreak":1,"Log":[{"Start":"2024-01-01T09:00:00Z","ExitCode":-1,
                "Output":"Health check exceeded timeout (3s): password=hunter2 postgres://a:hunter2@db {\"token\":\"hunter2\"}"}]}"#,
        )
        .unwrap();
        let entry = &health.log[0];
        assert_eq!(entry.result, HealthResult::Failed);
        assert!(!entry.output.contains("hunter2"), "{}", entry.output);
        assert!(
            entry.output.starts_with(
                "Health check exceeded timeout (3s): password=[redacted] postgres://a:["
            )
        );
    }

    #[test]
    fn odd_entries_cost_themselves() {
        let health = read_health(
            r#"{"Status":"healthy","FailingStreak":-4,"Log":[null,7,"x",{},{"Start":"never"},
                {"Start":"2024-01-01T09:00:00Z","End":null,"ExitCode":"0","Output":{}},
                {"End":"2024-01-01T09:00:00Z","ExitCode":0,"Output":"\ud800"}]}"#,
        )
        .unwrap();
        assert_eq!(health.failing_streak, 0);
        let results: Vec<_> = health.log.iter().map(|entry| entry.result).collect();
        assert_eq!(results, [HealthResult::CouldNotRun, HealthResult::Passed]);
    }

    #[test]
    fn nothing_evaluated_is_none_and_never_a_status() {
        let json = |text| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            decode(Some(&raw), false, Flavour::Podman)
        };
        assert_eq!(decode(None, true, Flavour::Docker), None);
        assert_eq!(json(r#"{"Status":"","FailingStreak":0,"Log":null}"#), None);
        assert_eq!(json(r#"{"Status":"none","FailingStreak":0,"Log":null}"#), None);
        assert_eq!(json("7"), None);
        let unknown = |word: &str| Some(HealthStatus::Unknown(word.to_owned()));
        assert_eq!(read_health(r#"{"Status":""}"#).map(|h| h.status), unknown(""));
        assert_eq!(read_health(r#"{"Status":"reset"}"#).map(|h| h.status), unknown("reset"));
    }
}
