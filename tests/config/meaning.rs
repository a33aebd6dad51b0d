//! What a file means, where it says something.

use crate::{loaded, meaning};
use defib::{
    config::sink::NamedSink,
    domain::{
        message::Severity,
        name::{HostName, ServiceName, SinkName},
        policy::{
            Backoff, ContainerMatch, HttpProbe, PageWhen, Place, ProbeSpec, RestartMode,
            ServiceBudget, ServicePolicy, Threshold, Unlisted,
        },
    },
    notify::{
        config::{SinkConfig, WebhookUrl},
        plain::Style,
        secret::SecretSource,
    },
};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const TERMINAL: SinkConfig = SinkConfig::Terminal { style: Style::Plain };
const MINUTE: Duration = Duration::from_secs(60);

fn one(text: &str) -> Arc<ServicePolicy> {
    meaning(text).policy.services[0].clone()
}

fn http(service: &ServicePolicy, probe: usize) -> &HttpProbe {
    let ProbeSpec::Http(http) = &service.probes[probe].spec;
    http
}

#[test]
fn a_service_without_more_has_every_default() {
    let config = meaning("[[service]]\nname = 'web'\ncontainers = { name = 'web' }");
    assert_eq!(
        *config.policy.services[0],
        ServicePolicy {
            name: ServiceName::new("web"),
            containers: vec![ContainerMatch::Name("web".into())],
            replicas: None,
            severity: Severity::Page,
            page: PageWhen::IfNotCured,
            restart: RestartMode::Auto,
            page_after: Threshold { failures: Some(5), failing_for: None },
            restart_after: Threshold { failures: Some(3), failing_for: None },
            settle: 3 * SECOND,
            start_grace: 60 * SECOND,
            budget: ServiceBudget { restarts: 3, refill_after_healthy: 30 * MINUTE },
            backoff: Backoff { first: 10 * SECOND, max: 5 * MINUTE },
            recover_within: 90 * SECOND,
            stable_for: 10 * MINUTE,
            max_acting: 1,
            min_healthy: 0,
            stateful: None,
            depends_on: vec![],
            runbook: None,
            note: None,
            probes: vec![],
        }
    );
}

#[test]
fn a_probe_without_more_has_every_default() {
    let service =
        one("[[service]]\nname = 'a'\ncontainers = { name = 'a' }\nprobe = [{ http = ':80/x' }]");
    let probe = &service.probes[0];
    assert_eq!(probe.name.as_str(), "http :80/x");
    assert_eq!((probe.every, probe.timeout), (5 * SECOND, 2 * SECOND));
    assert_eq!((probe.fall, probe.rise, probe.may_restart), (3, 2, None));
    assert_eq!(
        *http(&service, 0),
        HttpProbe {
            place: Place::Replica { port: 80, network: None },
            path: "/x".into(),
            method: "GET".into(),
            headers: vec![],
            status: vec![(200, 299)],
            body_cap: 65_536,
            cap_is_ok: false,
        }
    );
}

#[test]
fn a_service_says_only_what_differs_from_the_defaults_also_within_a_budget() {
    let service = one(
        "[defaults]\nrestart = 'dry'\nbudget = { restarts = 7, refill_after_healthy = '1h' }\nrunbook = 'https://w/all'\n\
         [[service]]\nname = 'a'\ncontainers = { name = 'a' }\nbudget = { restarts = 1 }\nbackoff = { max = '10m' }",
    );
    assert_eq!(service.restart, RestartMode::Dry);
    assert_eq!(service.budget, ServiceBudget { restarts: 1, refill_after_healthy: 60 * MINUTE });
    assert_eq!(service.backoff, Backoff { first: 10 * SECOND, max: 10 * MINUTE });
    assert_eq!(service.runbook.as_deref(), Some("https://w/all"));
}

#[test]
fn containers_are_matched_in_four_ways_and_by_any_of_a_list() {
    let service = one(
        "[[service]]\nname = 'a'\ncontainers = [{ compose = 'p/s' }, { name = 'a-*' }, { label = 'k=v=w' }, { label = 'k' }, \
         { image = 'r:5000/i:*' }]",
    );
    let label = |value: Option<&str>| ContainerMatch::Label {
        key: "k".into(),
        value: value.map(Into::into),
    };
    assert_eq!(
        service.containers,
        [
            ContainerMatch::Compose { project: "p".into(), service: "s".into() },
            ContainerMatch::Name("a-*".into()),
            label(Some("v=w")),
            label(None),
            ContainerMatch::Image("r:5000/i:*".into()),
        ]
    );
}

#[test]
fn a_url_alone_is_a_service() {
    let service = one(
        "[[service]]\nname = 'login'\nprobe = [{ http = 'http://h:81/p?q=1', method = 'HEAD', name = 'x', \
         headers = { Accept = 'a' }, status = [204, '200-201', 304], body_cap = '1MiB', may_restart = false }]",
    );
    assert_eq!(service.containers, []);
    assert_eq!(
        *http(&service, 0),
        HttpProbe {
            place: Place::Url { host: "h".into(), port: 81 },
            path: "/p?q=1".into(),
            method: "HEAD".into(),
            headers: vec![("Accept".into(), "a".into())],
            status: vec![(200, 201), (204, 204), (304, 304)],
            body_cap: 1_048_576,
            cap_is_ok: false,
        }
    );
    assert_eq!(service.probes[0].may_restart, Some(false));
}

#[test]
fn a_probes_name_leaves_out_the_query() {
    let service = one("[[service]]\nname = 'a'\nprobe = [{ http = 'http://h/p?x=1' }]");
    assert_eq!(service.probes[0].name.as_str(), "http http://h/p");
}

#[test]
fn pace_and_thresholds_leave_a_probes_definition_as_it_is() {
    let definition = |more: &str| {
        one(&format!("[[service]]\nname = 'a'\nprobe = [{{ http = 'http://h/p'{more} }}]")).probes
            [0]
        .definition
    };
    assert_eq!(
        definition(""),
        definition(", every = '60s', timeout = '1s', fall = 9, rise = 9, name = 'n'")
    );
    assert_ne!(definition(""), definition(", status = 204"));
}

#[test]
fn dependencies_and_replicas_are_taken_as_they_stand() {
    let config = meaning(
        "[[service]]\nname = 'a'\ncontainers = { name = 'a' }\nreplicas = 3\nmin_healthy = 2\nmax_acting = 2\nstateful = false\n\
         depends_on = ['b']\nnote = ' n '\n[[service]]\nname = 'b'\ncontainers = { name = 'b' }",
    );
    let a = &config.policy.services[0];
    assert_eq!((a.replicas, a.min_healthy, a.max_acting, a.stateful), (Some(3), 2, 2, Some(false)));
    assert_eq!(a.depends_on, [ServiceName::new("b")]);
    assert_eq!(a.note.as_deref(), Some("n"));
}

#[test]
fn containers_without_a_service_are_tickets_and_restarted_only_if_labelled() {
    let unlisted = |text: &str| meaning(text).policy.unlisted_service;
    let service = unlisted("[defaults]\nseverity = 'page'\nsettle = '9s'\nmax_acting = 5");
    assert_eq!(service.severity, Severity::Ticket);
    assert_eq!(service.restart, RestartMode::IfLabelled);
    assert_eq!((service.settle, service.max_acting), (9 * SECOND, 1));
    assert_eq!(unlisted("[defaults]\nrestart = 'never'").restart, RestartMode::Never);
    assert_eq!(unlisted("[defaults]\nrestart = 'dry'").restart, RestartMode::Dry);
}

#[test]
fn without_a_config_what_has_a_healthcheck_is_watched_and_the_terminal_told() {
    let host = HostName::new("h");
    let config = defib::config::Config::without_config(&host);
    assert_eq!(config.policy, defib::config::without_config(&host));
    assert_eq!(config.policy.host, host);
    assert_eq!(config.policy.unlisted, Unlisted::Healthchecked);
    assert_eq!(config.policy.unlisted_service.restart, RestartMode::IfLabelled);
    assert!(config.policy.services.is_empty());
    assert_eq!(config.policy.sinks.len(), 1);
    assert_eq!(config.sinks[0].config, TERMINAL);
    assert_eq!(config.sinks[0].name, config.policy.sinks[0].name);
    assert_eq!((config.engine, config.state_dir), (None, None));
}

#[test]
fn an_empty_file_means_the_same_as_none() {
    let host = crate::host();
    assert_eq!(meaning(""), defib::config::Config::without_config(&host));
    assert_eq!(loaded("").warnings.warnings(), 1);
}

#[test]
fn sinks_come_in_the_order_of_the_file_with_what_they_take() {
    let config = meaning(
        "[sink.z]\nslack = { url_file = '/z', allow_http = true }\nseverities = ['page']\ntimeout = '3s'\n\
         [sink.m]\nwebhook = { url = 'https://m/x', secret_files = ['/new', '/old'] }\n\
         [sink.a]\nwebhook = { url_env = 'A', secret_credential = 's' }\n[sink.b]\nterminal = {}",
    );
    let file = |path: &str| SecretSource::File(path.into());
    let named = |name: &str, config| NamedSink { name: SinkName::new(name), config };
    let webhook = |url, secrets| SinkConfig::Webhook { url, secrets, allow_http: false };
    assert_eq!(
        config.sinks,
        [
            named("z", SinkConfig::Slack { url: file("/z"), allow_http: true }),
            named(
                "m",
                webhook(WebhookUrl::Plain("https://m/x".into()), vec![file("/new"), file("/old")])
            ),
            named(
                "a",
                webhook(
                    WebhookUrl::Secret(SecretSource::Env("A".into())),
                    vec![SecretSource::Credential("s".into())]
                )
            ),
            named("b", TERMINAL),
        ]
    );
    let names: Vec<_> = config.policy.sinks.iter().map(|sink| sink.name.as_str()).collect();
    assert_eq!(names, ["z", "m", "a", "b"]);
    assert_eq!(config.policy.sinks[0].severities, [Severity::Page]);
    assert_eq!(config.policy.sinks[0].deadline, 3 * SECOND);
    assert_eq!(config.policy.sinks[1].deadline, 10 * SECOND);
}

#[test]
fn never_act_holds_on_the_hosts_that_match() {
    let never = |pattern: &str| {
        meaning(&format!("[[host]]\nmatch = '{pattern}'\nnever_act = true")).policy.never_act
    };
    assert!(never("kit-1"));
    assert!(never("kit-*"));
    assert!(!never("kit-2"));
    assert!(!meaning("[[host]]\nmatch = '*'\nnever_act = false").policy.never_act);
}

#[test]
fn the_brake_can_be_off() {
    assert_eq!(meaning("[host_limits]\nbrake = 'off'").policy.limits.brake, None);
    let brake = meaning("[host_limits]\nbrake = { percent = 50 }").policy.limits.brake.unwrap();
    assert_eq!((brake.services, brake.percent), (3, 50));
}

#[test]
fn the_shipped_files_mean_something_and_warn_of_nothing_but_what_only_the_engine_knows() {
    for (file, services, warned) in [("config/minimal.toml", 1, 0), ("config/defib.toml", 3, 1)] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let loaded = defib::config::load(&path, &crate::host()).unwrap();
        let of_healthchecks =
            loaded.warnings.iter().filter(|warning| warning.cause.contains("a healthcheck"));
        assert_eq!(of_healthchecks.count(), warned, "{file}:\n{}", loaded.warnings);
        assert_eq!(loaded.warnings.warnings(), warned, "{file}:\n{}", loaded.warnings);
        assert_eq!(loaded.config.policy.services.len(), services, "{file}");
    }
}
