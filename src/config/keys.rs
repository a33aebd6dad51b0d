//! Every key there is, with what it takes, its default and an example.
//!
//! One list for four uses: unknown keys are compared with it, wrong kinds are answered with its example, keys that this
//! version does not know yet are told apart from typing errors, and `docs/CONFIG.md` is checked against it. A test sets
//! every key to its example and to its default, so that no key stands here without being read.

/// A table of the file, under the name it has in the docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The file itself.
    File,
    /// `[fleet]`
    Fleet,
    /// `[engine]`
    Engine,
    /// `[state]`
    State,
    /// `[watch]`
    Watch,
    /// `[host_limits]`
    HostLimits,
    /// `host_limits.budget`
    HostBudget,
    /// `host_limits.brake`
    Brake,
    /// `[settling]`
    Settling,
    /// What `[defaults]` and `[[service]]` share.
    Treatment,
    /// `[[service]]` alone.
    Service,
    /// `budget` of a service.
    Budget,
    /// `backoff` of a service.
    Backoff,
    /// `containers` of a service.
    Containers,
    /// `[[service.probe]]`
    Probe,
    /// `[sink.NAME]`
    Sink,
    /// `slack` of a sink.
    Slack,
    /// `webhook` of a sink.
    Webhook,
    /// `terminal` of a sink.
    Terminal,
    /// `[[host]]`
    Host,
}

impl Table {
    /// All, in the order of the docs.
    pub const ALL: [Table; 20] = [
        Table::File,
        Table::Fleet,
        Table::Engine,
        Table::State,
        Table::Watch,
        Table::HostLimits,
        Table::HostBudget,
        Table::Brake,
        Table::Settling,
        Table::Treatment,
        Table::Service,
        Table::Budget,
        Table::Backoff,
        Table::Containers,
        Table::Probe,
        Table::Sink,
        Table::Slack,
        Table::Webhook,
        Table::Terminal,
        Table::Host,
    ];

    /// As it is called in problems and in the docs' headings.
    pub fn heading(self) -> &'static str {
        match self {
            Table::File => "the file",
            Table::Fleet => "`[fleet]`",
            Table::Engine => "`[engine]`",
            Table::State => "`[state]`",
            Table::Watch => "`[watch]`",
            Table::HostLimits => "`[host_limits]`",
            Table::HostBudget => "`budget` of `[host_limits]`",
            Table::Brake => "`brake` of `[host_limits]`",
            Table::Settling => "`[settling]`",
            Table::Treatment => "`[defaults]` and `[[service]]`",
            Table::Service => "`[[service]]`",
            Table::Budget => "`budget` of a service",
            Table::Backoff => "`backoff` of a service",
            Table::Containers => "`containers` of a service",
            Table::Probe => "`[[service.probe]]`",
            Table::Sink => "`[sink.NAME]`",
            Table::Slack => "`slack` of a sink",
            Table::Webhook => "`webhook` of a sink",
            Table::Terminal => "`terminal` of a sink",
            Table::Host => "`[[host]]`",
        }
    }
}

/// Whether a key can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It can.
    Now,
    /// A later version will know it. Refused, since a key that is silently ignored is believed to work.
    Later,
    /// Never, and what to do instead.
    Never(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// In which table.
    pub table: Table,
    /// Its name.
    pub name: &'static str,
    /// What it takes, with the unit.
    pub takes: &'static str,
    /// What holds without it, as TOML; `None` where nothing in the file says the same.
    pub default: Option<&'static str>,
    /// An example, as TOML.
    pub example: &'static str,
    /// Whether it can be used.
    pub used: Use,
}

const fn key(
    table: Table,
    name: &'static str,
    takes: &'static str,
    default: Option<&'static str>,
    example: &'static str,
) -> Key {
    Key { table, name, takes, default, example, used: Use::Now }
}

const fn later(table: Table, name: &'static str) -> Key {
    Key { table, name, takes: "", default: None, example: "", used: Use::Later }
}

const fn never(table: Table, name: &'static str, instead: &'static str) -> Key {
    Key { table, name, takes: "", default: None, example: "", used: Use::Never(instead) }
}

pub(super) const DURATION: &str = "duration";
const NUMBER: &str = "number";
const TEXT: &str = "text";
const TABLE: &str = "table";
pub(super) const TABLES: &str = "tables";
/// Of the brake alone.
pub(super) const TABLE_OR_OFF: &str = r#"table, or "off""#;
const FLAG: &str = "true or false";
pub(super) const THRESHOLD: &str = "failures, duration, or both";

use Table::*;

/// All keys, in the order of the docs.
pub const KEYS: &[Key] = &[
    key(File, "fleet", TABLE, None, r#"{ name = "prod" }"#),
    key(File, "engine", TABLE, None, r#"{ address = "unix:///var/run/docker.sock" }"#),
    key(File, "state", TABLE, None, r#"{ dir = "/var/lib/defib" }"#),
    key(File, "watch", TABLE, None, r#"{ unlisted = "all" }"#),
    key(File, "host_limits", TABLE, None, "{ max_concurrent = 2 }"),
    key(File, "settling", TABLE, None, r#"{ own_start = "10s" }"#),
    key(File, "defaults", TABLE, None, r#"{ restart = "dry" }"#),
    key(File, "service", TABLES, None, r#"[{ name = "web", containers = { name = "web-*" } }]"#),
    key(File, "sink", TABLE, None, "{ console = { terminal = {} } }"),
    key(File, "host", TABLES, None, r#"[{ match = "staging-*", never_act = true }]"#),
    later(File, "route"),
    later(File, "maintenance"),
    later(File, "heartbeat"),
    key(Fleet, "name", TEXT, Some(r#""default""#), r#""windy-prod""#),
    key(Engine, "address", TEXT, None, r#""unix:///var/run/docker.sock""#),
    key(State, "dir", "absolute path", None, r#""/var/lib/defib""#),
    key(
        Watch,
        "unlisted",
        r#""healthchecked", "all", "none""#,
        Some(r#""healthchecked""#),
        r#""none""#,
    ),
    key(Watch, "autoheal_labels", FLAG, Some("false"), "true"),
    key(HostLimits, "max_concurrent", NUMBER, Some("4"), "2"),
    key(
        HostLimits,
        "budget",
        TABLE,
        Some(r#"{ restarts = 6, within = "30m" }"#),
        r#"{ restarts = 10, within = "1h" }"#,
    ),
    key(
        HostLimits,
        "brake",
        TABLE_OR_OFF,
        Some("{ services = 3, percent = 20 }"),
        "{ services = 5, percent = 10 }",
    ),
    key(HostBudget, "restarts", NUMBER, Some("6"), "10"),
    key(HostBudget, "within", DURATION, Some(r#""30m""#), r#""1h""#),
    key(Brake, "services", NUMBER, Some("3"), "5"),
    key(Brake, "percent", "number from 0 to 100", Some("20"), "10"),
    key(Settling, "own_start", DURATION, Some(r#""60s""#), r#""10s""#),
    key(Settling, "host_boot", DURATION, Some(r#""5m""#), r#""2m""#),
    key(Settling, "engine_start", DURATION, Some(r#""5m""#), r#""2m""#),
    key(Treatment, "restart", r#""auto", "dry", "never""#, Some(r#""auto""#), r#""dry""#),
    key(Treatment, "page_after", THRESHOLD, Some(r#""5 failures""#), r#""5 failures or 60s""#),
    key(Treatment, "restart_after", THRESHOLD, Some(r#""3 failures""#), r#""1 failure""#),
    key(Treatment, "settle", DURATION, Some(r#""3s""#), r#""10s""#),
    key(Treatment, "start_grace", DURATION, Some(r#""60s""#), r#""2m""#),
    key(
        Treatment,
        "budget",
        TABLE,
        Some(r#"{ restarts = 3, refill_after_healthy = "30m" }"#),
        "{ restarts = 5 }",
    ),
    key(
        Treatment,
        "backoff",
        TABLE,
        Some(r#"{ first = "10s", max = "5m" }"#),
        r#"{ first = "30s" }"#,
    ),
    key(Treatment, "recover_within", DURATION, Some(r#""90s""#), r#""5m""#),
    key(Treatment, "stable_for", DURATION, Some(r#""10m""#), r#""30m""#),
    key(Treatment, "severity", r#""page", "ticket""#, Some(r#""page""#), r#""ticket""#),
    key(
        Treatment,
        "page",
        r#""if_not_cured", "at_once""#,
        Some(r#""if_not_cured""#),
        r#""at_once""#,
    ),
    key(Treatment, "max_acting", NUMBER, Some("1"), "2"),
    key(Treatment, "min_healthy", NUMBER, Some("0"), "1"),
    key(Treatment, "runbook", "http or https URL", None, r#""https://wiki.example.org/web""#),
    key(Treatment, "note", TEXT, None, r#""Login for every product.""#),
    later(Treatment, "stuck_stop"),
    later(Treatment, "rollout_within"),
    key(Service, "name", TEXT, None, r#""account-server""#),
    key(
        Service,
        "containers",
        "table, or list of tables",
        None,
        r#"{ compose = "windy/account-server" }"#,
    ),
    key(Service, "replicas", NUMBER, None, "2"),
    key(Service, "depends_on", "list of names of services", Some("[]"), r#"["postgres"]"#),
    key(Service, "stateful", FLAG, None, "true"),
    key(Service, "probe", TABLES, None, r#"[{ http = ":4000/health" }]"#),
    later(Service, "hosts"),
    later(Service, "expect"),
    later(Service, "expect_ping"),
    later(Service, "recovery_command"),
    later(Service, "after_restart"),
    key(Budget, "restarts", NUMBER, Some("3"), "5"),
    key(Budget, "refill_after_healthy", DURATION, Some(r#""30m""#), r#""1h""#),
    key(Backoff, "first", DURATION, Some(r#""10s""#), r#""30s""#),
    key(Backoff, "max", DURATION, Some(r#""5m""#), r#""10m""#),
    key(Containers, "compose", r#""project/service""#, None, r#""windy/account-server""#),
    key(Containers, "name", "text, `*` for any characters", None, r#""account-*""#),
    key(Containers, "label", r#""key" or "key=value""#, None, r#""team=id""#),
    key(
        Containers,
        "image",
        "text, `*` for any characters",
        None,
        r#""registry.example.org/account:*""#,
    ),
    key(Probe, "http", r#"":port/path" or URL"#, None, r#"":4000/health""#),
    key(Probe, "via", r#""address""#, Some(r#""address""#), r#""address""#),
    key(Probe, "network", TEXT, None, r#""backend""#),
    key(Probe, "name", TEXT, None, r#""health""#),
    key(Probe, "every", DURATION, Some(r#""5s""#), r#""30s""#),
    key(Probe, "timeout", DURATION, Some(r#""2s""#), r#""500ms""#),
    key(Probe, "fall", NUMBER, Some("3"), "5"),
    key(Probe, "rise", NUMBER, Some("2"), "1"),
    key(Probe, "status", "statuses and ranges", Some(r#""200-299""#), r#""200-299, 304""#),
    key(Probe, "method", TEXT, Some(r#""GET""#), r#""HEAD""#),
    key(Probe, "headers", "table of text", Some("{}"), r#"{ accept = "application/json" }"#),
    key(Probe, "body_cap", "size", Some(r#""64KiB""#), r#""1MiB""#),
    key(Probe, "may_restart", FLAG, None, "true"),
    later(Probe, "tcp"),
    later(Probe, "send"),
    later(Probe, "expect"),
    later(Probe, "number"),
    later(Probe, "failing"),
    later(Probe, "degraded_over"),
    later(Probe, "body"),
    later(Probe, "body_file"),
    key(Sink, "slack", TABLE, None, r#"{ url_file = "/etc/defib/slack.url" }"#),
    key(Sink, "webhook", TABLE, None, r#"{ url = "https://hooks.example.org/defib" }"#),
    key(Sink, "terminal", TABLE, None, "{}"),
    key(
        Sink,
        "severities",
        r#"list of "page", "ticket", "notice""#,
        Some(r#"["page", "ticket", "notice"]"#),
        r#"["page", "ticket"]"#,
    ),
    key(Sink, "timeout", DURATION, Some(r#""10s""#), r#""5s""#),
    later(Sink, "smtp"),
    later(Sink, "pagerduty"),
    later(Sink, "ntfy"),
    later(Sink, "command"),
    later(Sink, "fallback"),
    key(Slack, "url_file", "absolute path", None, r#""/etc/defib/slack.url""#),
    key(Slack, "url_env", "name of a variable", None, r#""SLACK_URL""#),
    key(Slack, "url_credential", "name of a systemd credential", None, r#""slack-url""#),
    key(Slack, "allow_http", FLAG, Some("false"), "true"),
    never(Slack, "url", "put it into a file and name that: `url_file = \"/etc/defib/slack.url\"`"),
    key(Webhook, "url", "http or https URL", None, r#""https://hooks.example.org/defib""#),
    key(Webhook, "url_file", "absolute path", None, r#""/etc/defib/webhook.url""#),
    key(Webhook, "url_env", "name of a variable", None, r#""WEBHOOK_URL""#),
    key(Webhook, "url_credential", "name of a systemd credential", None, r#""webhook-url""#),
    key(Webhook, "secret_file", "absolute path", None, r#""/etc/defib/webhook.secret""#),
    key(Webhook, "secret_files", "one or two absolute paths", None, r#"["/etc/new", "/etc/old"]"#),
    key(Webhook, "secret_env", "name of a variable", None, r#""WEBHOOK_SECRET""#),
    key(Webhook, "secret_credential", "name of a systemd credential", None, r#""webhook-secret""#),
    key(Webhook, "allow_http", FLAG, Some("false"), "true"),
    never(
        Webhook,
        "secret",
        "put it into a file and name that: `secret_file = \"/etc/defib/webhook.secret\"`",
    ),
    key(Host, "match", "text, `*` for any characters", None, r#""staging-*""#),
    key(Host, "never_act", FLAG, Some("false"), "true"),
];

/// The keys that a table takes: `[[service]]` also takes what it shares with `[defaults]`.
pub fn keys_of(table: Table) -> impl Iterator<Item = &'static Key> {
    let also = (table == Table::Service).then_some(Table::Treatment);
    KEYS.iter().filter(move |key| key.table == table || Some(key.table) == also)
}
