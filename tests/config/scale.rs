//! Large files, good and bad.

use crate::{meaning, problems};
use std::fmt::Write as _;

/// A chain of services, each with a probe, and with one key more.
fn chain(services: usize, more: &str) -> String {
    let mut text = String::new();
    for index in 0..services {
        let before = index.saturating_sub(1);
        let depends = if index == 0 { String::new() } else { format!("\"service-{before}\"") };
        write!(
            text,
            "[[service]]\nname = \"service-{index}\"\ncontainers = {{ compose = \"fleet/service-{index}\" }}\n\
             depends_on = [{depends}]\n{more}\n\n  [[service.probe]]\n  http = \":4000/health\"\n\n"
        )
        .unwrap();
    }
    text
}

/// The bound is a second in a release build; a loaded machine with a debug build gets ten. What it catches is anything
/// that grows with the square of the services, which takes minutes.
#[expect(clippy::disallowed_methods, reason = "it is the real time that is bounded here")]
fn within_ten_seconds<T>(work: impl FnOnce() -> T) -> T {
    let began = std::time::Instant::now();
    let value = work();
    let took = began.elapsed();
    println!("took {took:?}");
    assert!(took.as_secs() < 10, "took {took:?}");
    value
}

#[test]
fn five_thousand_services_are_read_quickly() {
    let text = chain(5_000, "");
    let config = within_ten_seconds(|| meaning(&text));
    assert_eq!(config.policy.services.len(), 5_000);
}

#[test]
fn five_thousand_mistakes_are_counted_and_the_first_thousand_shown() {
    let text = chain(5_000, "restrat = \"auto\"");
    let rendered = within_ten_seconds(|| problems(&text).to_string());
    assert!(rendered.contains("service-0") || rendered.contains("restrat"));
    assert!(
        rendered.ends_with("and 4000 errors and 1 warning more, not shown: mend these first"),
        "{}",
        &rendered[rendered.len() - 200..]
    );
}

#[test]
fn an_error_is_told_however_many_warnings_stand_before_it() {
    let warned = "[[host]]\nmatch = 'a'\n".repeat(1_500);
    let text =
        format!("{warned}[[host]]\nmatch = ''\nnever_act = true\n[sink.a]\nterminal = {{}}\n");
    let problems = within_ten_seconds(|| problems(&text));
    assert_eq!((problems.errors(), problems.warnings()), (1, 1_500));
    assert!(problems.iter().any(|problem| problem.title == "`match` is empty"));
    let rendered = problems.to_string();
    assert!(
        rendered.ends_with("and 501 warnings more, not shown: mend these first"),
        "{}",
        &rendered[rendered.len() - 200..]
    );
}

#[test]
fn five_thousand_services_of_one_name_are_told_quickly() {
    let text = "[[service]]\nname = 'a'\ncontainers = { name = 'a' }\n".repeat(5_000);
    let problems = within_ten_seconds(|| {
        let problems = problems(&text);
        problems.to_string();
        problems
    });
    assert_eq!(problems.errors(), 2 * 4_999);
}

#[test]
fn a_circle_of_five_thousand_is_one_problem() {
    let text = chain(5_000, "").replacen("depends_on = []", "depends_on = [\"service-4999\"]", 1);
    let problems = within_ten_seconds(|| problems(&text));
    assert_eq!(problems.errors(), 1, "{problems}");
    assert!(problems.to_string().contains("4992 more"), "{problems}");
}

#[test]
fn one_line_of_four_megabytes_is_named_and_not_shown() {
    let text = format!("x = \"{}\"", "y".repeat(4 * 1024 * 1024 - 10));
    let rendered = within_ten_seconds(|| problems(&text).to_string());
    assert!(rendered.contains("--> defib.toml:1:1"), "{rendered}");
    assert!(rendered.len() < 1_000);
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    for text in
        ["x = ".to_owned() + &"[".repeat(100_000), "x = ".to_owned() + &"{ a = ".repeat(100_000)]
    {
        assert!(within_ten_seconds(|| problems(&text)).errors() > 0);
    }
}
