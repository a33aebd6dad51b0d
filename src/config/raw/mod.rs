//! What was typed: the file's tables as they stand, each value with its place, nothing filled in and nothing judged.
//!
//! Apart from what it means (`validate/`), so that each of the two can be read by itself: here is which keys there are and
//! of which kind, there is which values make sense. Refuses unknown keys, wrong kinds, and keys of later versions.

mod reader;
mod refused;

use super::{
    keys::Table,
    problem::{Problems, Span},
};
use reader::Reader;
pub(super) use reader::{At, TableOrText, Word};
use toml::{Spanned, de::DeTable};

/// The whole file.
#[derive(Debug, Default)]
pub(super) struct RawFile<'a> {
    pub(super) fleet_name: Option<At<&'a str>>,
    pub(super) engine_address: Option<At<&'a str>>,
    pub(super) state_dir: Option<At<&'a str>>,
    pub(super) watch: RawWatch<'a>,
    pub(super) host_limits: RawHostLimits<'a>,
    pub(super) settling: RawSettling<'a>,
    pub(super) defaults: RawTreatment<'a>,
    pub(super) services: Vec<RawService<'a>>,
    pub(super) sinks: Vec<RawSink<'a>>,
    /// There are sinks, be they refused.
    pub(super) has_sinks: bool,
    pub(super) hosts: Vec<RawHost<'a>>,
    /// Where sections stand that there are not: what seems to be missing may be in them.
    pub(super) unknown: Vec<Span>,
}

/// `[watch]`
#[derive(Debug, Default)]
pub(super) struct RawWatch<'a> {
    pub(super) unlisted: Option<At<&'a str>>,
    pub(super) autoheal_labels: Option<At<bool>>,
}

/// `[host_limits]`
#[derive(Debug, Default)]
pub(super) struct RawHostLimits<'a> {
    pub(super) max_concurrent: Option<At<i64>>,
    pub(super) budget: Option<RawHostBudget<'a>>,
    pub(super) brake: Option<TableOrText<'a, RawBrake>>,
}

/// `budget` of `[host_limits]`
#[derive(Debug)]
pub(super) struct RawHostBudget<'a> {
    pub(super) restarts: Option<At<i64>>,
    pub(super) within: Option<At<&'a str>>,
}

/// `brake` of `[host_limits]`
#[derive(Debug)]
pub(super) struct RawBrake {
    pub(super) services: Option<At<i64>>,
    pub(super) percent: Option<At<i64>>,
}

/// `[settling]`
#[derive(Debug, Default)]
pub(super) struct RawSettling<'a> {
    pub(super) own_start: Option<At<&'a str>>,
    pub(super) host_boot: Option<At<&'a str>>,
    pub(super) engine_start: Option<At<&'a str>>,
}

/// What `[defaults]` and `[[service]]` share.
#[derive(Debug, Default)]
pub(super) struct RawTreatment<'a> {
    pub(super) restart: Option<At<&'a str>>,
    pub(super) page_after: Option<At<&'a str>>,
    pub(super) restart_after: Option<At<&'a str>>,
    pub(super) settle: Option<At<&'a str>>,
    pub(super) start_grace: Option<At<&'a str>>,
    pub(super) budget: Option<RawBudget<'a>>,
    pub(super) backoff: Option<RawBackoff<'a>>,
    pub(super) recover_within: Option<At<&'a str>>,
    pub(super) stable_for: Option<At<&'a str>>,
    pub(super) severity: Option<At<&'a str>>,
    pub(super) page: Option<At<&'a str>>,
    pub(super) max_acting: Option<At<i64>>,
    pub(super) min_healthy: Option<At<i64>>,
    pub(super) runbook: Option<At<&'a str>>,
    pub(super) note: Option<At<&'a str>>,
}

/// `budget` of a service.
#[derive(Debug)]
pub(super) struct RawBudget<'a> {
    pub(super) restarts: Option<At<i64>>,
    pub(super) refill_after_healthy: Option<At<&'a str>>,
}

/// `backoff` of a service.
#[derive(Debug)]
pub(super) struct RawBackoff<'a> {
    pub(super) at: Span,
    pub(super) first: Option<At<&'a str>>,
    pub(super) max: Option<At<&'a str>>,
}

/// `[[service]]`
#[derive(Debug)]
pub(super) struct RawService<'a> {
    pub(super) at: Span,
    pub(super) name: Option<At<&'a str>>,
    pub(super) containers: Option<At<Vec<RawContainers<'a>>>>,
    pub(super) replicas: Option<At<i64>>,
    pub(super) depends_on: Option<At<Vec<At<&'a str>>>>,
    pub(super) stateful: Option<At<bool>>,
    pub(super) treatment: RawTreatment<'a>,
    pub(super) probes: Vec<RawProbe<'a>>,
    /// It has a name, be it one of the wrong kind.
    pub(super) is_named: bool,
    /// It says which containers it has, be it in a way that is refused.
    pub(super) has_containers: bool,
    /// It has probes, be they refused.
    pub(super) has_probes: bool,
}

/// `containers` of a service.
#[derive(Debug)]
pub(super) struct RawContainers<'a> {
    pub(super) at: Span,
    pub(super) compose: Option<At<&'a str>>,
    pub(super) name: Option<At<&'a str>>,
    pub(super) label: Option<At<&'a str>>,
    pub(super) image: Option<At<&'a str>>,
    /// It says which, be it in a way that is refused.
    pub(super) says_which: bool,
}

/// `[[service.probe]]`
#[derive(Debug)]
pub(super) struct RawProbe<'a> {
    pub(super) at: Span,
    pub(super) http: Option<At<&'a str>>,
    pub(super) via: Option<At<&'a str>>,
    pub(super) network: Option<At<&'a str>>,
    pub(super) name: Option<At<&'a str>>,
    pub(super) every: Option<At<&'a str>>,
    pub(super) timeout: Option<At<&'a str>>,
    pub(super) fall: Option<At<i64>>,
    pub(super) rise: Option<At<i64>>,
    pub(super) status: Option<At<Vec<At<Word<'a>>>>>,
    pub(super) method: Option<At<&'a str>>,
    pub(super) headers: Vec<(At<&'a str>, At<&'a str>)>,
    pub(super) body_cap: Option<At<Vec<At<Word<'a>>>>>,
    pub(super) may_restart: Option<At<bool>>,
    /// It says what is asked, be it in a way that is refused.
    pub(super) asks_something: bool,
}

/// `[sink.NAME]`
#[derive(Debug)]
pub(super) struct RawSink<'a> {
    pub(super) name: At<&'a str>,
    pub(super) slack: Option<RawSlack<'a>>,
    pub(super) webhook: Option<RawWebhook<'a>>,
    pub(super) terminal: Option<Span>,
    pub(super) severities: Option<At<Vec<At<&'a str>>>>,
    pub(super) timeout: Option<At<&'a str>>,
    /// It says where messages go, be it in a way that is refused.
    pub(super) goes_somewhere: bool,
}

/// One secret, by where it is.
#[derive(Debug)]
pub(super) struct RawSecrets<'a> {
    pub(super) at: Span,
    pub(super) file: Option<At<&'a str>>,
    pub(super) env: Option<At<&'a str>>,
    pub(super) credential: Option<At<&'a str>>,
    /// One is named, be it in a way that is refused.
    pub(super) is_named: bool,
}

/// `slack` of a sink.
#[derive(Debug)]
pub(super) struct RawSlack<'a> {
    pub(super) url_from: RawSecrets<'a>,
    pub(super) allow_http: Option<At<bool>>,
}

/// `webhook` of a sink.
#[derive(Debug)]
pub(super) struct RawWebhook<'a> {
    pub(super) url: Option<At<&'a str>>,
    pub(super) url_from: RawSecrets<'a>,
    pub(super) secret: RawSecrets<'a>,
    pub(super) secret_files: Option<At<Vec<At<&'a str>>>>,
    pub(super) allow_http: Option<At<bool>>,
}

/// `[[host]]`
#[derive(Debug)]
pub(super) struct RawHost<'a> {
    pub(super) at: Span,
    pub(super) matches: Option<At<&'a str>>,
    pub(super) never_act: Option<At<bool>>,
    /// It says which hosts, be it in a way that is refused.
    pub(super) is_named: bool,
}

/// Mirrors the file. What does not fit is told and left out.
pub(super) fn read<'a>(file: &'a Spanned<DeTable<'a>>, problems: &mut Problems) -> RawFile<'a> {
    let mut reader = Reader::new(Table::File, file.get_ref(), 0..0, problems);
    let raw = RawFile {
        fleet_name: reader.table("fleet", Table::Fleet, |fleet| fleet.text("name")).flatten(),
        engine_address: reader
            .table("engine", Table::Engine, |engine| engine.text("address"))
            .flatten(),
        state_dir: reader.table("state", Table::State, |state| state.text("dir")).flatten(),
        watch: reader.table("watch", Table::Watch, watch).unwrap_or_default(),
        host_limits: reader
            .table("host_limits", Table::HostLimits, host_limits)
            .unwrap_or_default(),
        settling: reader.table("settling", Table::Settling, settling).unwrap_or_default(),
        defaults: reader.table("defaults", Table::Treatment, treatment).unwrap_or_default(),
        services: reader.tables("service", Table::Service, service),
        sinks: reader.named_tables("sink", Table::Sink, sink),
        has_sinks: reader.has("sink"),
        hosts: reader.tables("host", Table::Host, host),
        unknown: reader.unknown_keys(),
    };
    reader.finish();
    raw
}

fn watch<'a>(watch: &mut Reader<'a, '_>) -> RawWatch<'a> {
    RawWatch { unlisted: watch.text("unlisted"), autoheal_labels: watch.flag("autoheal_labels") }
}

fn host_limits<'a>(limits: &mut Reader<'a, '_>) -> RawHostLimits<'a> {
    RawHostLimits {
        max_concurrent: limits.number("max_concurrent"),
        budget: limits.table("budget", Table::HostBudget, |budget| RawHostBudget {
            restarts: budget.number("restarts"),
            within: budget.text("within"),
        }),
        brake: limits.table_or_text("brake", Table::Brake, |brake| RawBrake {
            services: brake.number("services"),
            percent: brake.number("percent"),
        }),
    }
}

fn settling<'a>(settling: &mut Reader<'a, '_>) -> RawSettling<'a> {
    RawSettling {
        own_start: settling.text("own_start"),
        host_boot: settling.text("host_boot"),
        engine_start: settling.text("engine_start"),
    }
}

fn treatment<'a>(table: &mut Reader<'a, '_>) -> RawTreatment<'a> {
    RawTreatment {
        restart: table.text("restart"),
        page_after: table.text("page_after"),
        restart_after: table.text("restart_after"),
        settle: table.text("settle"),
        start_grace: table.text("start_grace"),
        budget: table.table("budget", Table::Budget, |budget| RawBudget {
            restarts: budget.number("restarts"),
            refill_after_healthy: budget.text("refill_after_healthy"),
        }),
        backoff: table.table("backoff", Table::Backoff, |backoff| RawBackoff {
            at: backoff.at.clone(),
            first: backoff.text("first"),
            max: backoff.text("max"),
        }),
        recover_within: table.text("recover_within"),
        stable_for: table.text("stable_for"),
        severity: table.text("severity"),
        page: table.text("page"),
        max_acting: table.number("max_acting"),
        min_healthy: table.number("min_healthy"),
        runbook: table.text("runbook"),
        note: table.text("note"),
    }
}

fn service<'a>(service: &mut Reader<'a, '_>) -> RawService<'a> {
    RawService {
        at: service.at.clone(),
        name: service.text("name"),
        containers: service.one_or_more("containers", Table::Containers, |containers| {
            RawContainers {
                at: containers.at.clone(),
                compose: containers.text("compose"),
                name: containers.text("name"),
                label: containers.text("label"),
                image: containers.text("image"),
                says_which: ["compose", "name", "label", "image"]
                    .iter()
                    .any(|key| containers.has(key))
                    || containers.has_refused_keys(),
            }
        }),
        replicas: service.number("replicas"),
        depends_on: service.texts("depends_on"),
        stateful: service.flag("stateful"),
        treatment: treatment(service),
        probes: service.tables("probe", Table::Probe, probe),
        is_named: service.has("name") || service.has_refused_keys(),
        has_containers: service.has("containers") || service.has_refused_keys(),
        has_probes: service.has("probe") || service.has_refused_keys(),
    }
}

fn probe<'a>(probe: &mut Reader<'a, '_>) -> RawProbe<'a> {
    RawProbe {
        at: probe.at.clone(),
        http: probe.text("http"),
        via: probe.text("via"),
        network: probe.text("network"),
        name: probe.text("name"),
        every: probe.text("every"),
        timeout: probe.text("timeout"),
        fall: probe.number("fall"),
        rise: probe.number("rise"),
        status: probe.words("status"),
        method: probe.text("method"),
        headers: probe.pairs("headers"),
        body_cap: probe.words("body_cap"),
        may_restart: probe.flag("may_restart"),
        asks_something: probe.has("http") || probe.has_refused_keys(),
    }
}

fn sink<'a>(name: At<&'a str>, sink: &mut Reader<'a, '_>) -> RawSink<'a> {
    RawSink {
        name,
        slack: sink.table("slack", Table::Slack, |slack| RawSlack {
            url_from: url_from(slack),
            allow_http: slack.flag("allow_http"),
        }),
        webhook: sink.table("webhook", Table::Webhook, |webhook| RawWebhook {
            url: webhook.text("url"),
            url_from: url_from(webhook),
            secret: RawSecrets {
                at: webhook.at.clone(),
                file: webhook.text("secret_file"),
                env: webhook.text("secret_env"),
                credential: webhook.text("secret_credential"),
                is_named: webhook.has("secret"),
            },
            secret_files: webhook.texts("secret_files"),
            allow_http: webhook.flag("allow_http"),
        }),
        terminal: {
            let at = sink.key_at("terminal");
            sink.table("terminal", Table::Terminal, |_| ()).and(at)
        },
        severities: sink.texts("severities"),
        timeout: sink.text("timeout"),
        goes_somewhere: ["slack", "webhook", "terminal"].iter().any(|key| sink.has(key))
            || sink.has_refused_keys(),
    }
}

fn url_from<'a>(sink: &mut Reader<'a, '_>) -> RawSecrets<'a> {
    let keys = ["url", "url_file", "url_env", "url_credential"];
    RawSecrets {
        at: sink.at.clone(),
        file: sink.text("url_file"),
        env: sink.text("url_env"),
        credential: sink.text("url_credential"),
        is_named: keys.iter().any(|key| sink.has(key)) || sink.has_refused_keys(),
    }
}

fn host<'a>(host: &mut Reader<'a, '_>) -> RawHost<'a> {
    RawHost {
        at: host.at.clone(),
        matches: host.text("match"),
        never_act: host.flag("never_act"),
        is_named: host.has("match") || host.has_refused_keys(),
    }
}
