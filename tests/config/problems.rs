//! Every problem as a person reads it: the snapshots beside this file are to be read like prose.

use crate::problems;
use defib::config::problem::{Level, Style};

/// Each text's problems, one after the other.
#[track_caller]
fn told(texts: &[&str]) -> String {
    let mut told = String::new();
    for text in texts {
        let problems = problems(text);
        assert!(!problems.is_empty(), "nothing is wrong with:\n{text}");
        told.push_str(&problems.render(Style::Plain));
    }
    told
}

const WEB: &str = "[[service]]\nname = 'web'\ncontainers = { name = 'web' }\n";
const SINK: &str = "[sink.a]\nterminal = {}\n";

/// A service with these lines, and a sink.
fn service(lines: &str) -> String {
    format!("{SINK}{WEB}{lines}")
}

/// A service with a probe with these lines, and a sink.
fn probe(lines: &str) -> String {
    format!("{SINK}{WEB}[[service.probe]]\nhttp = ':80/'\n{lines}")
}

#[track_caller]
fn told_of(make: fn(&str) -> String, lines: &[&str]) -> String {
    let texts: Vec<String> = lines.iter().map(|lines| make(lines)).collect();
    told(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn of_the_text_itself() {
    insta::assert_snapshot!(told(&[
        "[fleet]\nname = windy\n",
        "[fleet]\nname = \"windy\n",
        "[fleet]\nname = 'a'\nname = 'b'\n",
        "[fleet\nname = 'a'\n",
        "[fleet]\nname 'a'\n",
        "[[service]]\nname = 'a'\n[service]\n",
    ]));
}

#[test]
fn all_in_one_run_also_where_the_text_is_broken() {
    insta::assert_snapshot!(told(&[
        "[fleet]\nname = windy prod\n\n[watch]\nunlisted = 'some'\n\n[[service]]\nname = 'a\nrestart = 'sometimes'\n\n\
         [[service]]\nname = 'b'\ncontainers = { name = 'b' }\ndepends_on = ['a']\n  [[service.probe]]\n  http = ':80/'\n  \
         fall = 0\n"
    ]));
}

#[test]
fn of_keys_that_do_not_exist() {
    insta::assert_snapshot!(told(&[
        "[fleat]\nname = 'a'\n[sink.a]\nterminal = {}\n",
        "[sink.a]\nterminal = {}\n[defaults]\nrestrat = 'auto'\nreplicas = 1\ncolour = 'red'\nhttp = ':80/'\n",
        "[sink.a]\nterminal = {}\n[fleet]\nrestart = 'auto'\n[engine]\ncolour = 'red'\n",
        "[sink.a]\nslak = { url_file = '/a' }\n",
    ]));
}

#[test]
fn of_keys_of_a_later_version() {
    insta::assert_snapshot!(told(&[
        "[[route]]\nseverity = ['page']\n[heartbeat]\nurl_file = '/a'\n[sink.mail]\nsmtp = { host = 'h' }\n[sink.a]\nterminal = {}\n\
         [[service]]\nname = 'redis'\nexpect_ping = '10m'\n[[service.probe]]\ntcp = ':6379'\n",
        &probe("via = 'netns'\n"),
        &format!("{SINK}[[service]]\nname = 'a'\nprobe = [{{ http = 'https://a/b' }}]"),
    ]));
}

#[test]
fn of_values_of_the_wrong_kind() {
    insta::assert_snapshot!(told(&[
        "service = 3\nsink = []\n[fleet]\nname = 3\n[watch]\nautoheal_labels = 'yes'\n",
        &service(
            "settle = 5\nmin_healthy = 1.5\nbudget = 3\ndepends_on = 'a'\nmax_acting = 99999999999999999999\n"
        ),
        &probe("headers = ['a']\nstatus = true\nbody_cap = [1, 2]\ntimeout = { total = '2s' }\n"),
        "[service]\nname = 'a'\n",
        "[sink]\noncall = 'https://hooks.example.org/x'\n",
        "[[service]]\nname = ['a']\ncontainers = ['a']\nprobe = [{ http = 80 }, 3]\n[sink.a]\nterminal = {}\n",
    ]));
}

#[test]
fn of_what_stands_above_the_services() {
    insta::assert_snapshot!(told(&[
        "[fleet]\nname = ''\n[engine]\naddress = '/var/run/docker.sock'\n[state]\ndir = 'state'\n[watch]\nunlisted = 'healthcheked'\n\
         [sink.a]\nterminal = {}\n",
        "[engine]\naddress = 'tcp://h:2375'\n[sink.a]\nterminal = {}\n",
        "[engine]\naddress = 'docker'\n[sink.a]\nterminal = {}\n",
        "[host_limits]\nmax_concurrent = 0\nbudget = { restarts = 0, within = '0s' }\nbrake = { services = 0, percent = 120 }\n\
         [sink.a]\nterminal = {}\n",
        "[host_limits]\nbrake = 'on'\n[settling]\nown_start = '5'\n[sink.a]\nterminal = {}\n",
        "[[host]]\nnever_act = true\n[[host]]\nmatch = ''\nnever_act = true\n[[host]]\nmatch = 'a'\n[sink.a]\nterminal = {}\n",
    ]));
}

#[test]
fn of_how_a_service_is_treated() {
    insta::assert_snapshot!(told_of(
        service,
        &[
            "restart = 'aut'\nseverity = 'notice'\npage = 'now'\n",
            "page_after = '5'\nrestart_after = '0 failures'\nsettle = '3 sec'\nstart_grace = '1.5m'\n",
            "recover_within = '0s'\nstable_for = '0s'\nmax_acting = 0\nmin_healthy = -1\n",
            "budget = { restarts = 0, refill_after_healthy = '0s' }\nbackoff = { first = '10m' }\n",
            "runbook = 'see the wiki'\n",
            "stable_for = '2000d'\nmax_acting = 4000000000\n",
            &format!("note = '{}'\n", "very long ".repeat(101)),
        ]
    ));
}

#[test]
fn of_one_service() {
    insta::assert_snapshot!(told(&[
        &format!("{SINK}[[service]]\ncontainers = {{ name = 'a' }}\n"),
        &format!("{SINK}[[service]]\nname = 'a'\n"),
        &format!("{SINK}[[service]]\nname = ''\ncontainers = {{ name = 'a' }}\n"),
        &format!("{SINK}[[service]]\nname = 'a/b'\ncontainers = {{ name = 'a' }}\n"),
        &format!("{SINK}[[service]]\nname = \"a\\u001b[31m\"\ncontainers = {{ name = 'a' }}\n"),
        &format!("{SINK}[[service]]\nname = 'unlisted'\ncontainers = {{ name = 'a' }}\n"),
        &format!("{SINK}[[service]]\nname = 'a'\ncontainers = []\n"),
        &format!(
            "{SINK}[[service]]\nname = 'a'\nreplicas = 1\nprobe = [{{ http = 'http://h/' }}]\n"
        ),
        &service("replicas = 0\n"),
        &service("replicas = 2\nmin_healthy = 2\nprobe = [{ http = ':80/' }]\n"),
    ]));
}

#[test]
fn a_name_with_something_that_nobody_sees_is_refused() {
    for c in [
        '\u{ad}',
        '\u{61c}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{3164}',
        '\u{e0041}',
        '\u{200d}',
    ] {
        let told = told(&[&format!(
            "{SINK}[[service]]\nname = \"we{c}b\"\ncontainers = {{ name = 'a' }}\n"
        )]);
        assert!(told.contains("it holds characters that can't be seen"), "{c:?}: {told}");
    }
    crate::loaded(&format!(
        "{SINK}[[service]]\nname = \"❤\u{fe0f}\"\ncontainers = {{ name = 'a' }}\n"
    ));
}

#[test]
fn of_containers() {
    let containers = |lines: &str| format!("{SINK}[[service]]\nname = 'a'\ncontainers = {lines}\n");
    insta::assert_snapshot!(told_of(
        containers,
        &[
            "{}",
            "{ name = 'a', label = 'b' }",
            "[{ name = '' }, { name = '/a' }, { name = 'a b' }]",
            "[{ compose = 'a' }, { compose = 'a/b*' }, { label = '=v' }, { label = 'k=*' }]",
        ]
    ));
}

#[test]
fn of_services_together() {
    let two = |lines: &str| {
        format!("{WEB}[[service]]\nname = 'db'\ncontainers = {{ name = 'db' }}\n{lines}{SINK}")
    };
    insta::assert_snapshot!(told(&[
        &format!("{SINK}{WEB}{}", WEB.replace("{ name = 'web' }", "{ name = 'other' }")),
        &format!("{SINK}{WEB}{}", WEB.replace("name = 'web'\nc", "name = 'other'\nc")),
        &service("depends_on = ['webb', 'web']\n"),
        &two("depends_on = ['wbe', 'postgres', 'web', 'web']\n"),
        &format!(
            "{SINK}{WEB}depends_on = ['api']\n[[service]]\nname = 'api'\ncontainers = {{ name = 'api' }}\ndepends_on = ['db']\n\
             [[service]]\nname = 'db'\ncontainers = {{ name = 'db' }}\ndepends_on = ['web']\n"
        ),
    ]));
}

#[test]
fn of_a_dependency_that_may_never_be_seen_healthy() {
    let db = "[[service]]\nname = 'db'\ncontainers = { name = 'db' }\n";
    let needs = |name: &str, rest: &str| {
        format!(
            "[[service]]\nname = '{name}'\ncontainers = {{ name = '{name}' }}\n\
             depends_on = ['db']\n{rest}"
        )
    };
    let web = needs("web", "");
    let warned = |text: &str| {
        let loaded = crate::loaded(text);
        loaded.warnings.iter().any(|warning| warning.title.contains("`db` has no probe"))
    };
    insta::assert_snapshot!(told(&[&format!("{SINK}{web}{db}{}", needs("api", ""))]));
    assert!(!warned(&format!("{SINK}{web}{db}[[service.probe]]\nhttp = ':80/'\n")));
    assert!(!warned(&format!(
        "{SINK}{web}[[service]]\nname = 'db'\n[[service.probe]]\nhttp = 'http://db.example/'\n"
    )));
    assert!(!warned(&format!("{SINK}{}{db}", needs("web", "restart = 'never'\n"))));
    assert!(!warned(&format!("{SINK}{db}")), "nothing needs it");
}

#[test]
fn of_a_probes_pace_and_thresholds() {
    insta::assert_snapshot!(told_of(
        probe,
        &[
            "fall = 0\nrise = 0\n",
            "every = '0s'\n",
            "timeout = '0ms'\n",
            "every = '5s'\ntimeout = '10s'\n",
            "timeout = '10s'\n",
            "every = '1s'\n",
            "every = '5s'\ntimeout = '5s'\n",
        ]
    ));
}

#[test]
fn what_would_take_away_what_a_key_is_for_is_refused() {
    let limits = |lines: &str| format!("{SINK}[host_limits]\n{lines}");
    let sink = |lines: &str| format!("[sink.a]\nterminal = {{}}\n{lines}");
    for (text, title) in [
        (
            service("budget = { refill_after_healthy = '59s' }"),
            "`refill_after_healthy` must be at least 1m",
        ),
        (limits("budget = { within = '1ms' }"), "`within` must be at least 1m"),
        (limits("max_concurrent = 65"), "`max_concurrent` must be at most 64"),
        (service("recover_within = '999ms'"), "`recover_within` must be at least 1s"),
        (service("stable_for = '1ms'"), "`stable_for` must be at least 1s"),
        (probe("every = '2ms'\ntimeout = '2ms'"), "`every` must be at least 500ms"),
        (probe("every = '25h'"), "`every` must be at most 1d"),
        (limits("brake = { percent = 2000000 }"), "`percent` must be at most 100"),
        (limits("brake = { percent = 101 }"), "`percent` must be at most 100"),
        (service("min_healthy = 1000001"), "`min_healthy` must be at most 1000000"),
        (probe("timeout = '1ms'"), "`timeout` must be at least 100ms"),
        (probe("fall = 1001"), "`fall` must be at most 1000"),
        (probe("rise = 1001"), "`rise` must be at most 1000"),
        (sink("timeout = '1ms'"), "`timeout` must be at least 1s"),
        (sink("timeout = '301s'"), "`timeout` must be at most 5m"),
        (
            service("page_after = '4294967295 failures'"),
            "`page_after` takes a number of failures, a duration, or both",
        ),
        (
            service("restart_after = '2 failures or 366d'"),
            "`restart_after` takes a number of failures, a duration, or both",
        ),
    ] {
        let problems = problems(&text);
        let told: Vec<_> = problems.iter().filter(|one| one.title == title).collect();
        assert!(told.len() == 1 && !told[0].cause.is_empty(), "{title}:\n{problems}");
    }
    for text in [
        service(
            "budget = { refill_after_healthy = '1m' }\nstable_for = '1s'\nrecover_within = '1s'",
        ),
        limits("max_concurrent = 64\nbudget = { restarts = 100000, within = '1m' }"),
        probe("every = '500ms'\ntimeout = '100ms'\nfall = 1000"),
        service("page_after = '1000 failures or 1d'\nrestart_after = '1ms'"),
        sink("timeout = '1s'"),
    ] {
        crate::loaded(&text);
    }
}

#[test]
fn a_url_restarts_nothing_and_may_not_say_so() {
    let url = |rest: &str| format!("{SINK}{WEB}[[service.probe]]\nhttp = 'http://a/'\n{rest}\n");
    let told = problems(&url("may_restart = true")).to_string();
    assert!(told.contains("`may_restart = true` has no meaning for a URL"), "{told}");
    crate::loaded(&url("may_restart = false"));
    crate::loaded(&probe("may_restart = true\n"));
}

#[test]
fn no_probe_carries_a_secret() {
    for header in [
        "x-access-key = 'a'",
        "X-Api-Key = 'a'",
        "x-auth-token = 'a'",
        "session-cookie = 'a'",
        "x-auth = 'Basic dXNlcjpwYXNz'",
        "x = 'whsec_MfKQ9r8GKYqrTwjU'",
    ] {
        let told = problems(&probe(&format!("headers = {{ {header} }}\n"))).to_string();
        assert!(told.contains("a probe is recorded and shown"), "{header}: {told}");
    }
    for http in [":80/h?token=abc", "http://h/x?a=1&api_key=abc", ":80/h?sig=3fa9c1d2"] {
        let told =
            problems(&format!("{SINK}{WEB}[[service.probe]]\nhttp = '{http}'\n")).to_string();
        assert!(told.contains("a probe's address must not hold a secret"), "{http}: {told}");
    }
    crate::loaded(&probe("headers = { accept = 'text/html', x-request-source = 'defib' }\n"));
    crate::loaded(&format!("{SINK}{WEB}[[service.probe]]\nhttp = ':80/h?full=1&page=2'\n"));
}

#[test]
fn of_what_a_probe_asks_and_asserts() {
    insta::assert_snapshot!(told_of(
        probe,
        &[
            "status = '299-200'\n",
            "status = ['2xx', 99, 200, '200-299']\n",
            "status = []\n",
            "method = 'get'\n",
            "method = 'CONNECT'\n",
            "body_cap = '64kb'\n",
            "body_cap = 0\n",
            "body_cap = '1000MiB'\n",
            "via = 'adress'\n",
            "headers = { Authorization = 'Bearer hunter2', Host = 'a', host = 'b', Connection = 'x', 'a b' = 'c', d = \"e\\r\\nf\" }\n",
            "[[service.probe]]\nhttp = ':80/'\n",
            "name = 'x'\n[[service.probe]]\nhttp = ':81/'\nname = 'x'\n",
            "name = ''\n",
        ]
    ));
}

#[test]
fn of_where_a_probe_goes() {
    let http = |value: &str| format!("{SINK}{WEB}[[service.probe]]\nhttp = '{value}'\n");
    insta::assert_snapshot!(told_of(
        http,
        &[
            "",
            "/health",
            ":0/health",
            ":99999/",
            "web:80/health",
            "ftp://a/",
            "http://user:hunter2@a/",
            "http://a:b:c/",
            "http://",
            ":80/a b",
            ":80/#x"
        ]
    ));
    insta::assert_snapshot!(told(&[
        &format!("{SINK}[[service]]\nname = 'a'\n[[service.probe]]\nhttp = ':80/'\n"),
        &format!("{SINK}{WEB}[[service.probe]]\nname = 'x'\n"),
        &format!(
            "{SINK}{WEB}[[service.probe]]\nhttp = 'http://a/'\nvia = 'address'\nnetwork = 'b'\n"
        ),
    ]));
}

#[test]
fn of_sinks() {
    insta::assert_snapshot!(told(&[
        WEB,
        "[sink.a]\nseverities = ['page']\n",
        "[sink.a]\nslack = { url_file = '/a' }\nterminal = {}\n",
        "[sink.a]\nslack = {}\n",
        "[sink.a]\nslack = { url_file = '/a', url_env = 'A' }\n",
        "[sink.a]\nslack = { url = 'https://hooks.example.org/hunter2' }\n",
        "[sink.a]\nslack = { url_file = 'slack.url' }\n",
        "[sink.a]\nslack = { url_file = 'https://hooks.example.org/hunter2' }\n",
        "[sink.a]\nslack = { url_env = 'https://hooks.example.org/hunter2' }\n",
        "[sink.a]\nslack = { url_credential = '../x' }\n",
        "[sink.a]\nwebhook = { url = 'hooks.example.org', secret = 'hunter2' }\n",
        "[sink.a]\nwebhook = { url = 'http://h/' }\n",
        "[sink.a]\nwebhook = { url = 'https://u:hunter2@h/', url_file = '/a' }\n",
        "[sink.a]\nwebhook = { url = 'https://h/', secret_file = '/a', secret_files = ['/a', '/b', '/c'] }\n",
        "[sink.a]\nterminal = {}\nseverities = []\ntimeout = '0s'\n",
        "[sink.a]\nterminal = {}\nseverities = ['pages', 'page', 'page']\n",
    ]));
}

#[test]
fn of_severities_that_nobody_gets() {
    insta::assert_snapshot!(told(&[
        "[sink.a]\nterminal = {}\nseverities = ['notice']\n[sink.b]\nslack = { url_file = '/b' }\nseverities = ['ticket']\n",
        "[sink.a]\nterminal = {}\nseverities = ['page', 'ticket']\n",
    ]));
}

#[test]
fn they_come_in_the_order_of_the_file_with_line_and_column() {
    let problems = problems(&service(
        "settle = '3'\nrestart = 'x'\n  [[service.probe]]\n  http = ':80'\n  # ü\n  fall = 0 # ü\n",
    ));
    let places: Vec<_> = problems.iter().map(|problem| problems.place(problem)).collect();
    assert_eq!(places, [(6, 10), (7, 11), (11, 10)]);
    assert_eq!((problems.errors(), problems.warnings()), (3, 0));
    assert!(problems.to_string().contains("--> defib.toml:11:10"));
}

#[test]
fn warnings_are_apart_from_errors() {
    let loaded = crate::loaded(&probe("every = '5s'\ntimeout = '5s'\n"));
    assert_eq!((loaded.warnings.errors(), loaded.warnings.warnings()), (0, 1));
    assert!(loaded.warnings.iter().all(|problem| problem.level == Level::Warning));
}

#[test]
fn no_problem_lets_a_terminal_obey_the_file() {
    let told =
        told(&["[sink.a]\nterminal = {}\n# \u{1b}[31m\n\"\\u001b[31m\\u202e\" = 3 # \u{1b}[31m\n"]);
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told:?}");
}

#[test]
fn of_words_that_other_tools_have_and_of_keys_in_the_wrong_place() {
    insta::assert_snapshot!(told(&[
        &probe("interval = '5s'\nretries = 3\nstatus_code = 200\n"),
        &service("start_period = '60s'\nfirst = '5s'\nlisted = 3\n"),
        &format!("{SINK}[[host]]\nname = 'a'\nnever_act = true\n"),
        "[sink.a]\nurl_file = '/a'\nengine = 'unix:///a'\n",
        "[sink]\nslack = { url_file = '/a' }\n",
        "[sink.a]\nslack = { url_file = '/a', timeot = '5s' }\n",
        &service("evry = '5s'\nimage = 'web'\nrestart_after = 3\n"),
        "[[sink]]\nterminal = {}\n",
        &service("restart = true\n[watch]\nunlisted = false\n[host_limits]\nbrake = false\n"),
        &service("note = \u{201c}x\u{201d}\n"),
    ]));
}

#[test]
fn a_min_healthy_that_weighs_nothing_is_warned_of() {
    let warned = |rest: &str| {
        let text = format!(
            "[sink.a]\nterminal = {{}}\n[[service]]\nname = 'web'\ncontainers = {{ name = 'web' }}\n{rest}"
        );
        let loaded = defib::config::parse("defib.toml", &text, &crate::host()).unwrap();
        loaded.warnings.iter().any(|warning| warning.title.contains("`min_healthy`"))
    };
    assert!(warned("min_healthy = 1\n"));
    assert!(warned("min_healthy = 1\n[[service.probe]]\nhttp = 'http://a.example/'\n"));
    assert!(!warned("min_healthy = 0\n"));
    assert!(!warned("min_healthy = 1\n[[service.probe]]\nhttp = ':80/'\n"));
}

#[test]
fn two_services_with_one_rule_are_told_with_a_caret_at_each() {
    let text = "[sink.a]\nterminal = {}\n\
                [[service]]\nname = 'a'\ncontainers = [{ name = 'x' }, { label = 'y=z' }]\n\
                [[service]]\nname = 'b'\ncontainers = [{ image = 'i' }, { label = 'y=z' }]\n";
    let problems = problems(text);
    let problem = problems.iter().next().unwrap();
    let rule = "{ label = 'y=z' }";
    assert_eq!(&text[problem.at.clone()], rule);
    assert_eq!(&text[problem.also[0].0.clone()], rule);
    assert_eq!(
        (problem.at.start, problem.also[0].0.start),
        (text.rfind(rule).unwrap(), text.find(rule).unwrap())
    );
}
