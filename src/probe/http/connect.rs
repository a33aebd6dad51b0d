//! Connecting to whichever of a name's addresses answers first.
//!
//! Addresses are begun with one after another, the next as soon as one failed or has not answered for 250 ms (RFC 8305), so
//! that a family without a route does not eat the deadline. That is no retry: each address is tried once.

use super::class;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use std::{io, net::SocketAddr, time::Duration};
use tokio::net::{TcpSocket, TcpStream};

/// RFC 8305, section 8, recommends it.
const HEAD_START: Duration = Duration::from_millis(250);

/// No address could be connected to; this one says why.
pub(super) struct ConnectFailure {
    pub(super) address: SocketAddr,
    pub(super) source: io::Error,
    /// How long this address was waited for.
    pub(super) waited: Duration,
}

/// The first connection that stands. `addresses` is not empty.
pub(super) async fn first(
    addresses: &[SocketAddr],
) -> Result<(TcpStream, SocketAddr), ConnectFailure> {
    if let [only] = addresses {
        return one(*only).await;
    }
    let mut left = addresses.iter().copied();
    let mut under_way = FuturesUnordered::new();
    let mut told: Option<ConnectFailure> = None;
    loop {
        if let Some(next) = left.next() {
            under_way.push(one(next));
        }
        let ended = if left.len() == 0 {
            under_way.next().await
        } else {
            match tokio::time::timeout(HEAD_START, under_way.next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            }
        };
        match ended {
            Some(Ok(connected)) => return Ok(connected),
            // Evidence says more than trouble of our own: `no route` over IPv6 hides no `refused` over IPv4.
            Some(Err(failed)) if told.as_ref().is_none_or(class::is_ours) => {
                told = Some(failed);
            }
            Some(Err(_)) => {}
            None if left.len() == 0 => {
                return Err(told.unwrap_or_else(|| ConnectFailure {
                    address: addresses.first().copied().unwrap_or(([0, 0, 0, 0], 0).into()),
                    source: io::Error::other("there was no address to connect to"),
                    waited: Duration::ZERO,
                }));
            }
            None => {}
        }
    }
}

async fn one(address: SocketAddr) -> Result<(TcpStream, SocketAddr), ConnectFailure> {
    let began = super::instant();
    let failed = |source| ConnectFailure { address, source, waited: super::instant() - began };
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
    .map_err(failed)?;
    // Closed by a reset, and so without TIME_WAIT: at 1,000 probes a second our ports would run out within half a minute.
    socket.set_zero_linger().map_err(failed)?;
    let stream = socket.connect(address).await.map_err(failed)?;
    Ok((stream, address))
}
