use super::*;
use crate::docker::raw::events::{self, Heard};
use crate::domain::observation::{HealthResult, HealthStatus};
use bytes::Bytes;

fn answer(body: &str) -> Answer {
    Answer { date: Some(EngineMs(1_704_103_300_000)), body: Bytes::from(body.to_owned()) }
}

fn read_docker(body: &str) -> Inspection {
    decode(&answer(body), Flavour::Docker).unwrap()
}

/// What Engine 20.10 says, shortened by what is not read.
const RUNNING: &str = r#"{"Id":"71e995d0070a","Created":"2024-01-01T09:00:00Z","Path":"/bin/serve","Args":[],
  "State":{"Status":"running","Running":true,"Paused":false,"Restarting":false,"OOMKilled":false,"Dead":false,
    "Pid":19571,"ExitCode":0,"Error":"","StartedAt":"2024-01-01T10:00:00.71149922Z","FinishedAt":"0001-01-01T00:00:00Z",
    "Health":{"Status":"unhealthy","FailingStreak":2,"Log":[
      {"Start":"2024-01-01T10:01:00Z","End":"2024-01-01T10:01:01.5Z","ExitCode":-1,"Output":"Health check exceeded timeout (1s)"}]}},
  "Image":"sha256:aa","Name":"/web","RestartCount":0,
  "HostConfig":{"NetworkMode":"front","RestartPolicy":{"Name":"on-failure","MaximumRetryCount":3},"AutoRemove":true},
  "Config":{"Image":"shop/web:1.2","Labels":{"com.docker.compose.service":"web"},"StopTimeout":45,
    "Healthcheck":{"Test":["CMD-SHELL","check"],"Interval":1000000000,"Retries":2}},
  "NetworkSettings":{"IPAddress":"","Networks":{
    "front":{"IPAddress":"172.18.0.2","GlobalIPv6Address":"fd00::2"},
    "back":{"IPAddress":"172.19.0.7","GlobalIPv6Address":""}}}}"#;

#[test]
fn a_name_that_acts_on_a_screen_is_the_same_in_list_inspection_and_event() {
    let odd = r"we\u001b[2Jb\u202e";
    let labels = format!(
        r#""Labels":{{"com.docker.compose.project":"{odd}","com.docker.compose.service":"{odd}","team":"{odd}"}}"#
    );
    let row = format!(
        r#"[{{"Id":"ab12","Names":["/{odd}"],"Image":"{odd}","State":"running",{labels}}}]"#
    );
    let whole = format!(
        r#"{{"Id":"ab12","Name":"/{odd}","State":{{"Status":"running","StartedAt":"{odd}"}},
            "Config":{{"Image":"{odd}",{labels}}},
            "NetworkSettings":{{"Networks":{{"{odd}":{{"IPAddress":"172.18.0.2"}}}}}}}}"#
    );
    let event = format!(
        r#"{{"Type":"container","Action":"start","Actor":{{"ID":"ab12","Attributes":{{"name":"{odd}"}}}},"time":1704103200}}"#
    );
    let shown = r"we\u{1b}[2Jb\u{202e}";
    let listed = crate::docker::raw::list::decode(row.as_bytes()).unwrap().containers.remove(0);
    let seen = read_docker(&whole);
    assert_eq!((listed.name.as_str(), listed.image.as_str()), (shown, shown));
    assert_eq!((seen.name.as_str(), seen.image.as_str()), (shown, shown));
    assert_eq!((seen.started_at.as_str(), seen.addresses[0].0.as_str()), (shown, shown));
    assert_eq!(listed.labels, seen.labels);
    assert_eq!(seen.labels["com.docker.compose.service"], shown);
    assert_eq!(seen.labels["team"], "we\u{1b}[2Jb\u{202e}", "by others services are matched");
    let Heard::Event(event) = events::decode(event.as_bytes()) else { panic!("no event") };
    assert_eq!(event.name.as_deref(), Some(shown));
}

#[test]
fn a_running_container_is_read() {
    let seen = read_docker(RUNNING);
    assert_eq!((seen.id.as_str(), seen.name.as_str()), ("71e995d0070a", "web"));
    assert_eq!((seen.image.as_str(), seen.labels.len()), ("shop/web:1.2", 1));
    assert_eq!(seen.state, ContainerState::Running);
    assert_eq!(seen.started_at.as_str(), "2024-01-01T10:00:00.71149922Z");
    assert_eq!(seen.started, Some(EngineMs(1_704_103_200_711)));
    assert_eq!((seen.finished, seen.exit_code, seen.pid), (None, None, Some(19571)));
    assert_eq!(seen.engine_now, EngineMs(1_704_103_300_000));
    let health = seen.health.unwrap();
    assert_eq!((health.status, health.failing_streak), (HealthStatus::Unhealthy, 2));
    assert_eq!(health.log[0].result, HealthResult::Failed);
    let wanted = Healthcheck {
        interval: Duration::from_secs(1),
        timeout: DEFAULT_TIMEOUT,
        start_period: Duration::ZERO,
        retries: 2,
    };
    assert_eq!(seen.healthcheck, Some(wanted));
    assert_eq!(seen.restart_policy, RestartPolicy::OnFailure { max_retries: 3 });
    assert_eq!((seen.auto_remove, seen.stop_timeout), (true, Some(Duration::from_secs(45))));
    let address = |name: &str, ip: &str| (name.to_owned(), ip.parse().unwrap());
    assert_eq!(
        seen.addresses,
        [
            address("back", "172.19.0.7"),
            address("front", "172.18.0.2"),
            address("front", "fd00::2")
        ]
    );
    assert_eq!(seen.network_parent, None);
}

#[test]
fn an_exited_container_has_its_exit_code_and_a_new_one_has_none() {
    let seen = read_docker(
        r#"{"Id":"a","Name":"/x","State":{"Status":"exited","Pid":0,"ExitCode":137,
            "StartedAt":"2024-01-01T10:00:00Z","FinishedAt":"2024-01-01T10:00:05Z"}}"#,
    );
    assert_eq!((seen.state, seen.exit_code, seen.pid), (ContainerState::Exited, Some(137), None));
    assert_eq!(seen.finished, Some(EngineMs(1_704_103_205_000)));
    let seen = read_docker(
        r#"{"Id":"a","State":{"Status":"created","Pid":0,"ExitCode":0,
            "StartedAt":"0001-01-01T00:00:00Z","FinishedAt":"0001-01-01T00:00:00Z"}}"#,
    );
    assert_eq!((seen.state, seen.exit_code), (ContainerState::Created, None));
    assert_eq!((seen.started, seen.name.as_str()), (None, "a"));
}

#[test]
fn a_flag_weighs_more_than_a_word_that_says_running() {
    let state = |flag: &str| {
        read_docker(&format!(r#"{{"Id":"a","State":{{"Status":"running","{flag}":true}}}}"#)).state
    };
    assert_eq!(state("Paused"), ContainerState::Paused);
    assert_eq!(state("Restarting"), ContainerState::Restarting);
    assert_eq!(state("Running"), ContainerState::Running);
}

#[test]
fn missing_objects_leave_their_fields_unknown() {
    for rest in [
        "",
        r#","Config":null,"HostConfig":null,"NetworkSettings":null"#,
        r#","Config":7,"HostConfig":"x","NetworkSettings":[]"#,
    ] {
        let seen = read_docker(&format!(r#"{{"Id":"a","State":{{}}{rest}}}"#));
        assert_eq!(seen.state, ContainerState::Unknown(String::new()), "{rest}");
        assert_eq!((seen.health, seen.healthcheck, seen.stop_timeout), (None, None, None));
        assert_eq!((seen.restart_policy, seen.auto_remove), (RestartPolicy::No, false));
        assert_eq!((seen.addresses.len(), seen.started_at.as_str()), (0, ""));
    }
}

#[test]
fn odd_fields_cost_themselves() {
    let seen = read_docker(
        r#"{"Id":"a","Name":5,"Image":"sha256:aa","State":{"Status":"levitating","Pid":"12","ExitCode":null,
            "StartedAt":17,"Health":"fine"},
          "Config":{"Image":null,"Labels":{"n":1,"ok":"yes"},"StopTimeout":"10",
            "Healthcheck":{"Test":["CMD","x"],"Interval":-5,"Timeout":9223372036854775807,"Retries":-1}},
          "HostConfig":{"NetworkMode":"container:f00","RestartPolicy":{"Name":"sometimes"},"AutoRemove":"no"},
          "NetworkSettings":{"Networks":{"n":null,"o":{"IPAddress":"not one"},"p":{"IPAddress":"10.0.0.1"}}}}"#,
    );
    assert_eq!(seen.state, ContainerState::Unknown("levitating".to_owned()));
    assert_eq!((seen.name.as_str(), seen.image.as_str(), seen.pid), ("a", "sha256:aa", None));
    assert_eq!((seen.labels.len(), seen.stop_timeout, seen.auto_remove), (1, None, false));
    let check = seen.healthcheck.unwrap();
    assert_eq!((check.interval, check.timeout, check.retries), (DEFAULT_INTERVAL, LONGEST_SPAN, 3));
    assert_eq!(seen.restart_policy, RestartPolicy::No);
    assert_eq!(seen.network_parent, Some(ContainerId::new("f00")));
    assert_eq!(seen.addresses, [("p".to_owned(), "10.0.0.1".parse().unwrap())]);
}

#[test]
fn a_disabled_healthcheck_is_none() {
    for check in [
        "null",
        "{}",
        r#"{"Test":[]}"#,
        r#"{"Test":["NONE"]}"#,
        r#"{"Test":null}"#,
        r#"{"Test":"x"}"#,
    ] {
        let body = format!(r#"{{"Id":"a","State":{{}},"Config":{{"Healthcheck":{check}}}}}"#);
        assert_eq!(read_docker(&body).healthcheck, None, "{check}");
    }
}

#[test]
fn a_stop_timeout_without_end_is_a_day() {
    let timeout = |seconds: &str| {
        let body = format!(r#"{{"Id":"a","State":{{}},"Config":{{"StopTimeout":{seconds}}}}}"#);
        read_docker(&body).stop_timeout
    };
    assert_eq!(timeout("-1"), Some(LONGEST_SPAN));
    assert_eq!(timeout("99999999999"), Some(LONGEST_SPAN));
    assert_eq!(timeout("0"), Some(Duration::ZERO));
    assert_eq!(timeout("null"), None);
}

#[test]
fn without_a_date_the_latest_time_in_the_answer_is_now() {
    let undated = Answer { date: None, ..answer(RUNNING) };
    let seen = decode(&undated, Flavour::Docker).unwrap();
    assert_eq!(seen.engine_now, EngineMs(1_704_103_261_500));
}

#[test]
fn what_says_nothing_is_garbled() {
    for body in [
        "",
        "[]",
        "{}",
        "null",
        r#"{"Id":"a"}"#,
        r#"{"Id":"a","State":null}"#,
        r#"{"Id":"a/../b","State":{}}"#,
    ] {
        assert!(
            matches!(decode(&answer(body), Flavour::Docker), Err(CallError::Garbled(_))),
            "{body}"
        );
    }
}

#[test]
fn podmans_empty_health_is_not_evaluated() {
    let body = r#"{"Id":"a","State":{"Status":"stopped","Health":{"Status":"","FailingStreak":0,"Log":null}}}"#;
    let seen = decode(&answer(body), Flavour::Podman).unwrap();
    assert_eq!((seen.state, seen.health), (ContainerState::Exited, None));
}
