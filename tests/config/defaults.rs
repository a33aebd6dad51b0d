//! Every key in the list of keys is read, and its default is what the list says. So a key can't be listed and ignored, and
//! the docs, which are compared with the list, can't say a default that does not hold.

use crate::{loaded, problems};
use defib::config::keys::{KEYS, Key, Table, Use};

/// A file in which everything that is needed stands around one key.
fn around(key: &Key, value: &str) -> String {
    let line = format!("{} = {value}\n", key.name);
    let service = "[[service]]\nname = 'a'\ncontainers = { name = 'a' }\n";
    match key.table {
        Table::File => line,
        Table::Fleet => format!("[fleet]\n{line}"),
        Table::Engine => format!("[engine]\n{line}"),
        Table::State => format!("[state]\n{line}"),
        Table::Watch => format!("[watch]\n{line}"),
        Table::HostLimits => format!("[host_limits]\n{line}"),
        Table::HostBudget => format!("[host_limits.budget]\n{line}"),
        Table::Brake => format!("[host_limits.brake]\n{line}"),
        Table::Settling => format!("[settling]\n{line}"),
        Table::Treatment => format!("[defaults]\n{line}{service}{line}"),
        Table::Service if key.name == "name" => {
            format!("[[service]]\ncontainers = {{ name = 'a' }}\n{line}")
        }
        Table::Service if key.name == "containers" => format!("[[service]]\nname = 'a'\n{line}"),
        Table::Service => {
            format!(
                "{service}{line}[[service]]\nname = 'postgres'\ncontainers = {{ name = 'b' }}\n"
            )
        }
        Table::Budget => format!("{service}[service.budget]\n{line}"),
        Table::Backoff => format!("{service}[service.backoff]\n{line}"),
        Table::Containers => format!("[[service]]\nname = 'a'\n[[service.containers]]\n{line}"),
        Table::Probe if key.name == "http" => format!("{service}[[service.probe]]\n{line}"),
        Table::Probe => format!("{service}[[service.probe]]\nhttp = ':80/'\n{line}"),
        Table::Sink if ["slack", "webhook", "terminal"].contains(&key.name) => {
            format!("[sink.a]\n{line}")
        }
        Table::Sink => format!("[sink.a]\nterminal = {{}}\n{line}"),
        Table::Slack if key.name == "allow_http" => {
            format!("[sink.a.slack]\nurl_file = '/a'\n{line}")
        }
        Table::Slack => format!("[sink.a.slack]\n{line}"),
        Table::Webhook if key.name.starts_with("url") => format!("[sink.a.webhook]\n{line}"),
        Table::Webhook => format!("[sink.a.webhook]\nurl = 'https://a/b'\n{line}"),
        Table::Terminal => format!("[sink.a.terminal]\n{line}"),
        Table::Host if key.name == "match" => format!("[[host]]\nnever_act = false\n{line}"),
        Table::Host => format!("[[host]]\nmatch = '*'\n{line}"),
    }
}

fn usable() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.used == Use::Now)
}

#[test]
fn every_key_is_read_and_its_example_can_be_used() {
    for key in usable() {
        loaded(&around(key, key.example));
    }
}

#[test]
fn every_default_written_out_changes_nothing() {
    for key in usable() {
        let Some(default) = key.default else { continue };
        let with = around(key, default);
        let line = format!("{} = {default}\n", key.name);
        let without = with.replace(&line, "");
        let mut explicit = loaded(&with).config;
        // A sink that names every severity gets what one gets that names none.
        for sink in &mut explicit.policy.sinks {
            if sink.severities.len() == 3 {
                sink.severities.clear();
            }
        }
        assert_eq!(explicit, loaded(&without).config, "{line}");
    }
}

#[test]
fn every_example_differs_from_its_default_and_so_does_what_it_means() {
    for key in usable() {
        if key.default.is_none() || key.name == "via" {
            continue;
        }
        let (example, default) = (around(key, key.example), around(key, key.default.unwrap()));
        assert_ne!(loaded(&example).config, loaded(&default).config, "{}", key.name);
    }
}

#[test]
fn every_key_of_a_later_version_is_refused_by_name() {
    let mut refused = 0;
    for key in KEYS.iter().filter(|key| key.used == Use::Later) {
        let problems = problems(&around(key, "'x'"));
        let title = format!("`{}` is not supported in this version", key.name);
        assert!(problems.iter().any(|problem| problem.title == title), "{title}:\n{problems}");
        refused += 1;
    }
    assert!(refused > 10);
}

#[test]
fn every_secret_in_the_file_is_refused_by_name() {
    for key in KEYS.iter().filter(|key| matches!(key.used, Use::Never(_))) {
        let problems = problems(&around(key, "'hunter2'"));
        let title = format!("`{}` does not stand in the config", key.name);
        assert!(problems.iter().any(|problem| problem.title == title), "{title}:\n{problems}");
        assert!(!problems.to_string().contains("hunter2"));
    }
}

#[test]
fn a_key_stands_once_in_its_table() {
    let mut names: Vec<_> = KEYS.iter().map(|key| (key.table.heading(), key.name)).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
