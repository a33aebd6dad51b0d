//! The services of a run, their containers and policies, and the same once more in the referee's words.

use super::SINKS;
use crate::{
    account::{HealthcheckRule, Ms, ProbeRule, Rules, ServiceRule},
    random::Random,
    time::WALL_MS,
};
use defib::{
    docker::simulated::script::ContainerScript,
    domain::{
        message::Severity,
        name::{HostName, ProbeName, ServiceName, SinkName},
        observation::{Healthcheck, RestartPolicy},
        policy::{
            Backoff, BrakePolicy, ContainerMatch, HostBudget, HostLimits, HttpProbe, Looking,
            PageWhen, Place, Policy, ProbePolicy, ProbeSpec, RestartMode, ServiceBudget,
            ServicePolicy, Settling, SinkPolicy, Threshold, Unlisted,
        },
    },
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// All services of a run.
pub struct House {
    /// What defib is told.
    pub policy: Policy,
    /// What the referee is told.
    pub rules: Rules,
    /// The containers, each with the name of its replica.
    pub containers: Vec<(String, ContainerScript)>,
}

/// One service needs another.
pub struct Need {
    /// Which does.
    pub dependent: String,
    /// What it needs.
    pub needed: String,
    /// That is called healthy for long after it has passed last, and the dependent is restarted more than once meanwhile.
    pub outlived: bool,
}

/// Draws the services.
pub fn draw(random: &mut Random) -> House {
    let mut services = Vec::new();
    let mut rules = Vec::new();
    let mut containers = Vec::new();
    let template = unlisted_policy(random);
    let sizes: &[&[usize]] =
        &[&[2, 2, 1, 1, 1, 1], &[3, 2, 1, 1, 1], &[2, 2, 2, 1, 1], &[1, 1, 3, 1, 1, 1]];
    for (number, &size) in random.pick(sizes).iter().enumerate() {
        // The last ones are not in the config now and then.
        if number >= 4 && random.percent(50) {
            for one in 0..size {
                let name = format!("loose-{number}-{one}");
                unlisted(random, &template, &name, &mut rules, &mut containers);
            }
        } else {
            listed(random, number, size, &mut services, &mut rules, &mut containers);
        }
    }
    let limits = HostLimits {
        max_concurrent: u32::try_from(*random.pick(&[1_u64, 2, 4, 4])).unwrap_or(4),
        budget: HostBudget {
            restarts: u32::try_from(*random.pick(&[2_u64, 4, 6, 6])).unwrap_or(6),
            within: Duration::from_mins(30),
        },
        brake: random.percent(85).then_some(BrakePolicy { services: 3, percent: 20 }),
    };
    let settling = Settling {
        own_start: Duration::from_secs(*random.pick(&[5, 20, 60])),
        host_boot: Duration::from_secs(*random.pick(&[60, 300])),
        engine_start: Duration::from_secs(*random.pick(&[30, 120])),
    };
    let looking = Looking {
        unhealthy_every: Duration::from_secs(*random.pick(&[5, 10])),
        list_every: Duration::from_secs(*random.pick(&[30, 60])),
    };
    let dry_run = random.percent(3);
    let never_act = random.percent(3);
    House {
        rules: Rules {
            wall_began: WALL_MS,
            sinks: SINKS.iter().map(|name| (*name).to_owned()).collect(),
            choosy: BTreeMap::new(),
            services: rules,
            max_concurrent: limits.max_concurrent as usize,
            host_budget: (limits.budget.restarts as usize, ms(limits.budget.within)),
            brake: limits.brake.map(|brake| (brake.services as usize, brake.percent as usize)),
            own_start: ms(settling.own_start),
            host_boot: ms(settling.host_boot),
            hands_off: dry_run || never_act,
            list_every: ms(looking.list_every),
        },
        policy: Policy {
            fleet: "fleet".to_owned(),
            host: HostName::new("host"),
            dry_run,
            never_act,
            unlisted: Unlisted::Healthchecked,
            unlisted_service: Arc::new(template),
            autoheal_labels: false,
            only_label: None,
            limits,
            settling,
            services,
            sinks: SINKS.iter().map(|name| sink(name)).collect(),
            looking,
        },
        containers,
    }
}

fn sink(name: &str) -> SinkPolicy {
    SinkPolicy {
        name: SinkName::new(name),
        severities: Vec::new(),
        deadline: Duration::from_secs(10),
        definition: 1,
        lacks: None,
    }
}

/// In some runs the second sink is for what somebody has to act on alone.
pub fn choosy_sink(random: &mut Random, house: &mut House) {
    let [_, name] = SINKS;
    if random.percent(15) {
        let taken = vec![Severity::Page, Severity::Ticket];
        let sinks = house.policy.sinks.iter_mut();
        for sink in sinks.filter(|sink| sink.name.as_str() == name) {
            sink.severities.clone_from(&taken);
        }
        house.rules.choosy.insert(name.to_owned(), taken);
    }
}

fn ms(span: Duration) -> Ms {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn failures(count: u64) -> Threshold {
    Threshold { failures: Some(u32::try_from(count).unwrap_or(3)), failing_for: None }
}

/// Some services are told of, or restarted, when they have been failing for so long: alone, or beside a count.
pub fn thresholds_by_time(random: &mut Random, house: &mut House) {
    let mut by_time = |threshold: &mut Threshold| {
        if random.percent(15) {
            let span = Duration::from_secs(*random.pick(&[5, 20, 45]));
            threshold.failing_for = Some(span);
            threshold.failures = threshold.failures.filter(|_| random.percent(50));
        }
    };
    for policy in &mut house.policy.services {
        let policy = Arc::make_mut(policy);
        by_time(&mut policy.page_after);
        by_time(&mut policy.restart_after);
        let name = policy.name.as_str();
        if let Some(rule) = house.rules.services.iter_mut().find(|rule| rule.name == name) {
            rule.page_after = policy.page_after.failures.unwrap_or(u32::MAX);
            rule.page_after_ms = policy.page_after.failing_for.map(ms);
            rule.restart_after = policy.restart_after.failures.unwrap_or(u32::MAX);
            rule.restart_after_ms = policy.restart_after.failing_for.map(ms);
        }
    }
}

/// In some runs services need others: each only such that come before it, so that nothing runs in a circle. Of what two services
/// match nobody can say that it is well; it is needed by nobody here. Which two of a pair fail together is said as well: the
/// dependent and what it needs.
pub fn dependencies(random: &mut Random, house: &mut House) -> Vec<Need> {
    let mut pairs = Vec::new();
    if !random.percent(40) {
        return pairs;
    }
    let fit = |rule: &&ServiceRule| rule.listed && rule.rival.is_none();
    let names: Vec<String> =
        house.rules.services.iter().filter(fit).map(|rule| rule.name.clone()).collect();
    for (place, name) in names.iter().enumerate().skip(1) {
        if !random.percent(40) {
            continue;
        }
        let needed = random.pick(&names[..place]).clone();
        let services = house.policy.services.iter_mut();
        for policy in services.filter(|policy| policy.name.as_str() == name) {
            Arc::make_mut(policy).depends_on.push(ServiceName::new(needed.as_str()));
        }
        for rule in house.rules.services.iter_mut().filter(|rule| rule.name == *name) {
            rule.depends_on.push(needed.clone());
        }
        let outlived = random.percent(25) && slow_to_turn(house, &needed);
        if outlived {
            quick_to_restart(house, name);
        }
        pairs.push(Need { dependent: name.clone(), needed, outlived });
    }
    pairs
}

/// Has a service judged by nothing but a healthcheck that takes long to turn, if it has one: it is called healthy for long
/// after it has passed last.
fn slow_to_turn(house: &mut House, name: &str) -> bool {
    let Some(rule) = house.rules.services.iter_mut().find(|rule| rule.name == name) else {
        return false;
    };
    let Some(checked) = &mut rule.healthcheck else { return false };
    (checked.interval, checked.retries) = (20_000, 4);
    rule.probes.clear();
    let of_it = |replica: &String| rule.replicas.contains(replica);
    for (_, script) in house.containers.iter_mut().filter(|(replica, _)| of_it(replica)) {
        if let Some(check) = &mut script.healthcheck {
            (check.interval, check.retries) = (Duration::from_secs(20), 4);
        }
    }
    for policy in house.policy.services.iter_mut().filter(|policy| policy.name.as_str() == name) {
        Arc::make_mut(policy).probes.clear();
    }
    true
}

/// Has a service restarted again soon after a restart in vain.
fn quick_to_restart(house: &mut House, name: &str) {
    for rule in house.rules.services.iter_mut().filter(|rule| rule.name == name) {
        (rule.start_grace, rule.recover_within, rule.budget.0) = (5_000, 20_000, 3);
    }
    for policy in house.policy.services.iter_mut().filter(|policy| policy.name.as_str() == name) {
        let policy = Arc::make_mut(policy);
        policy.start_grace = Duration::from_secs(5);
        policy.recover_within = Duration::from_secs(20);
        policy.budget.restarts = 3;
        policy.backoff.first = Duration::from_secs(5);
    }
}

fn policy(random: &mut Random, name: &str) -> ServicePolicy {
    ServicePolicy {
        name: ServiceName::new(name),
        containers: Vec::new(),
        replicas: None,
        severity: if random.percent(80) { Severity::Page } else { Severity::Ticket },
        page: if random.percent(25) { PageWhen::AtOnce } else { PageWhen::IfNotCured },
        restart: RestartMode::Auto,
        page_after: failures(random.between(3, 6)),
        restart_after: failures(random.between(2, 5)),
        settle: Duration::from_secs(*random.pick(&[0, 3, 3, 10])),
        start_grace: Duration::from_secs(*random.pick(&[5, 20, 60])),
        budget: ServiceBudget {
            restarts: u32::try_from(random.between(1, 3)).unwrap_or(3),
            refill_after_healthy: Duration::from_mins(*random.pick(&[4, 10, 30])),
        },
        backoff: Backoff {
            first: Duration::from_secs(*random.pick(&[5, 10, 20])),
            max: Duration::from_secs(*random.pick(&[40, 120, 300])),
        },
        recover_within: Duration::from_secs(*random.pick(&[20, 45, 90])),
        stable_for: Duration::from_secs(*random.pick(&[30, 60, 180])),
        max_acting: u32::try_from(*random.pick(&[1_u64, 1, 1, 2])).unwrap_or(1),
        min_healthy: 0,
        stateful: Some(false),
        depends_on: Vec::new(),
        runbook: None,
        note: None,
        probes: Vec::new(),
    }
}

fn probe(random: &mut Random, number: u64) -> ProbePolicy {
    ProbePolicy {
        name: ProbeName::new(format!("http-{number}")),
        definition: number + 1,
        spec: ProbeSpec::Http(HttpProbe {
            place: Place::Replica { port: 8080, network: None },
            path: "/health".to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            status: vec![(200, 299)],
            body_cap: 65_536,
            cap_is_ok: false,
        }),
        every: Duration::from_secs(*random.pick(&[5, 5, 10, 15])),
        timeout: Duration::from_secs(*random.pick(&[1, 2])),
        fall: u32::try_from(random.between(2, 3)).unwrap_or(3),
        rise: u32::try_from(random.between(1, 2)).unwrap_or(2),
        may_restart: None,
    }
}

fn healthcheck(random: &mut Random) -> Healthcheck {
    Healthcheck {
        interval: Duration::from_secs(*random.pick(&[5, 10, 20])),
        timeout: Duration::from_secs(*random.pick(&[2, 4])),
        start_period: Duration::from_secs(*random.pick(&[0, 10, 30])),
        retries: u32::try_from(random.between(2, 4)).unwrap_or(3),
    }
}

fn script(random: &mut Random, name: &str) -> ContainerScript {
    let mut script = ContainerScript::named(name);
    script.stop_timeout = random.pick(&[None, Some(1), Some(5), Some(30)]).map(Duration::from_secs);
    script.restart_policy = random
        .pick(&[
            RestartPolicy::No,
            RestartPolicy::UnlessStopped,
            RestartPolicy::Always,
            RestartPolicy::OnFailure { max_retries: 2 },
        ])
        .to_owned();
    script.boots_in = Duration::from_millis(*random.pick(&[0, 500, 3_000]));
    script
}

fn listed(
    random: &mut Random,
    number: usize,
    size: usize,
    services: &mut Vec<Arc<ServicePolicy>>,
    rules: &mut Vec<ServiceRule>,
    containers: &mut Vec<(String, ContainerScript)>,
) {
    let name = format!("service-{number}");
    let mut policy = policy(random, &name);
    let probes = *random.pick(&[0_u64, 1, 1, 1, 2]);
    policy.probes = (0..probes).map(|number| probe(random, number)).collect();
    let checked = probes == 0 || random.percent(40);
    let checked = checked.then(|| healthcheck(random));
    policy.restart = *random.pick(&[
        RestartMode::Auto,
        RestartMode::Auto,
        RestartMode::Auto,
        RestartMode::Auto,
        RestartMode::Auto,
        RestartMode::Auto,
        RestartMode::Dry,
        RestartMode::Never,
    ]);
    policy.replicas = random.percent(60).then_some(u32::try_from(size).unwrap_or(1));
    if size > 1 && random.percent(30) {
        policy.min_healthy = 1;
    }
    let stateful = random.percent(15);
    policy.stateful = Some(stateful);
    let compose = random.percent(40);
    policy.containers = vec![if compose {
        ContainerMatch::Compose { project: "shop".to_owned(), service: name.clone() }
    } else {
        ContainerMatch::Name(format!("{name}-*"))
    }];
    let mut container = script(random, &name);
    container.healthcheck = checked;
    // A mistyped path: it answers, and never rightly.
    let mistyped = probes > 0 && checked.is_none() && random.percent(8);
    if mistyped {
        container.answers = 404;
    }
    container.auto_remove = container.restart_policy == RestartPolicy::No && random.percent(20);
    let mut replicas = Vec::new();
    for one in 1..=size {
        let mut container = container.clone();
        container.name = format!("{name}-{one}");
        let replica = if compose {
            container = container
                .with_label("com.docker.compose.project", "shop")
                .with_label("com.docker.compose.service", name.clone())
                .with_label("com.docker.compose.container-number", one.to_string());
            format!("shop/{name}/{one}")
        } else {
            container.name.clone()
        };
        replicas.push(replica.clone());
        containers.push((replica, container));
    }
    let rival = random.percent(4).then(|| rival(random, number));
    let (may_act, because) = match policy.restart {
        RestartMode::Auto if rival.is_some() => (false, "two services match it"),
        RestartMode::Auto => (true, ""),
        RestartMode::Dry => (false, "its policy is dry"),
        RestartMode::Never => (false, "its policy is never"),
        RestartMode::IfLabelled => (false, "it has no label"),
    };
    let mut rule = rule(&policy, &container, replicas, may_act, because);
    rule.rival = rival.as_ref().map(|rival| rival.name.to_string());
    rules.push(rule);
    services.push(Arc::new(policy));
    services.extend(rival.map(Arc::new));
}

/// A service of the config that matches what another one has: by its name, which Compose's containers have too.
fn rival(random: &mut Random, number: usize) -> ServicePolicy {
    let mut rival = policy(random, &format!("rival-{number}"));
    rival.containers = vec![ContainerMatch::Name(format!("service-{number}-*"))];
    rival.replicas = random.percent(50).then_some(1);
    rival
}

fn unlisted_policy(random: &mut Random) -> ServicePolicy {
    let mut template = policy(random, "unlisted");
    template.restart = RestartMode::IfLabelled;
    template.severity = Severity::Ticket;
    template
}

fn unlisted(
    random: &mut Random,
    template: &ServicePolicy,
    name: &str,
    rules: &mut Vec<ServiceRule>,
    containers: &mut Vec<(String, ContainerScript)>,
) {
    let mut container = script(random, name);
    container.healthcheck = Some(healthcheck(random));
    let labelled = random.percent(50);
    if labelled {
        container = container.with_label("defib.restart", "true");
    }
    let mut policy = template.clone();
    policy.name = ServiceName::new(name);
    let replicas = vec![name.to_owned()];
    rules.push(rule(&policy, &container, replicas, labelled, "it is unlisted and has no label"));
    containers.push((name.to_owned(), container));
}

fn rule(
    policy: &ServicePolicy,
    container: &ContainerScript,
    replicas: Vec<String>,
    may_act: bool,
    hands_off_because: &'static str,
) -> ServiceRule {
    ServiceRule {
        name: policy.name.to_string(),
        replicas,
        wanted: policy.replicas.map(|count| count as usize),
        may_act,
        hands_off_because,
        listed: policy.restart != RestartMode::IfLabelled,
        pages: policy.severity == Severity::Page,
        page_at_once: policy.page == PageWhen::AtOnce,
        page_after: policy.page_after.failures.unwrap_or(u32::MAX),
        page_after_ms: policy.page_after.failing_for.map(ms),
        restart_after: policy.restart_after.failures.unwrap_or(u32::MAX),
        restart_after_ms: policy.restart_after.failing_for.map(ms),
        settle: ms(policy.settle),
        start_grace: ms(policy.start_grace),
        budget: (policy.budget.restarts as usize, ms(policy.budget.refill_after_healthy)),
        recover_within: ms(policy.recover_within),
        stable_for: ms(policy.stable_for),
        max_acting: policy.max_acting as usize,
        min_healthy: policy.min_healthy as usize,
        depends_on: policy.depends_on.iter().map(ToString::to_string).collect(),
        rival: None,
        stateful: policy.stateful.unwrap_or(false),
        auto_remove: container.auto_remove,
        stop_timeout: container.stop_timeout.map_or(10_000, ms),
        healthcheck: container.healthcheck.map(|check| HealthcheckRule {
            interval: ms(check.interval),
            timeout: ms(check.timeout),
            start_period: ms(check.start_period),
            retries: check.retries,
        }),
        probes: policy
            .probes
            .iter()
            .map(|probe| ProbeRule {
                name: probe.name.to_string(),
                every: ms(probe.every),
                timeout: ms(probe.timeout),
                fall: probe.fall,
                rise: probe.rise,
            })
            .collect(),
    }
}
