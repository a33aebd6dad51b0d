//! Names of sinks, resolved in a lane of their own, with the last good addresses for when DNS is down (P4): what tells of a
//! dead resolver must not need it.

use crate::resolve::{Lane, Resolver};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// A resolver that answers within this answers at all; a delivery has some 10 s for everything.
const WITHIN: Duration = Duration::from_secs(3);

/// The same where earlier addresses are known. The attempt's deadline runs meanwhile, and may be one second in all: what is
/// left must be enough to connect and to be answered. A resolver that works answers in a tenth of this. One that is slower is
/// not lost: its lookup goes on, and what it finds is what the next attempt falls back to.
const WITHIN_IF_KNOWN: Duration = Duration::from_millis(500);

/// A resolver for the sinks' client.
pub fn sinks_resolver(resolver: &Arc<Resolver>) -> Arc<dyn Resolve> {
    Arc::new(SinksResolver { resolver: Arc::clone(resolver) })
}

struct SinksResolver {
    resolver: Arc<Resolver>,
}

impl Resolve for SinksResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.resolver);
        Box::pin(async move {
            let known = resolver.last_good(name.as_str());
            let within = if known.is_some() { WITHIN_IF_KNOWN } else { WITHIN };
            let addresses = match resolver.resolve(Lane::Sinks, name.as_str(), within).await {
                Ok(addresses) => addresses,
                Err(failure) => known.ok_or(failure)?,
            };
            // The port is the client's to fill in.
            let sockets: Addrs =
                Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(sockets)
        })
    }
}
