//! Watches as the domain would order them, and probing without a schedule.

use defib::{
    domain::{
        effect::Watch,
        name::{ContainerId, Instance, ProbeName, ReplicaName, ServiceName, StartedAt},
        observation::Target,
        policy::{HttpProbe, Place, ProbePolicy, ProbeSpec},
    },
    probe::{
        http::HttpProber,
        port::{Probed, Prober as _},
    },
    resolve::Resolver,
};
use std::{net::SocketAddr, sync::Arc, time::Duration};

pub const TIMEOUT: Duration = Duration::from_millis(1200);
pub const CAP: u64 = 65_536;

pub fn target(name: &str) -> Target {
    Target { replica: ReplicaName::new(name), probe: ProbeName::new("http") }
}

/// The first life of a container with the replica's name.
pub fn instance(name: &str, life: u32) -> Instance {
    Instance {
        container: ContainerId::new(name),
        started_at: StartedAt::new(format!("2026-09-01T00:00:0{life}Z")),
    }
}

pub fn spec(port: u16) -> HttpProbe {
    HttpProbe {
        place: Place::Replica { port, network: None },
        path: "/health".into(),
        method: "GET".into(),
        headers: Vec::new(),
        status: vec![(200, 299)],
        body_cap: CAP,
        cap_is_ok: false,
    }
}

pub fn watch(name: &str, address: SocketAddr, every: Duration) -> Watch {
    Watch {
        target: target(name),
        service: ServiceName::new("shop"),
        instance: Some(instance(name, 1)),
        address: Some(address.ip()),
        probe: ProbePolicy {
            name: ProbeName::new("http"),
            definition: 1,
            spec: ProbeSpec::Http(spec(address.port())),
            every,
            timeout: TIMEOUT,
            fall: 3,
            rise: 2,
            may_restart: None,
        },
    }
}

/// A watch of `address` with what is asked changed.
pub fn asking(address: SocketAddr, change: impl FnOnce(&mut HttpProbe)) -> Watch {
    let mut watch = watch("shop/web/1", address, Duration::from_secs(5));
    let ProbeSpec::Http(spec) = &mut watch.probe.spec;
    change(spec);
    watch
}

pub fn prober() -> HttpProber {
    HttpProber::new(Arc::new(Resolver::system()))
}

pub async fn probe(watch: Watch) -> Probed {
    prober().probe(Arc::new(watch)).await
}

/// One probe of `address` as it is.
pub async fn probe_at(address: SocketAddr) -> Probed {
    probe(asking(address, |_| {})).await
}
