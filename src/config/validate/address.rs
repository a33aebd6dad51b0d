//! Addresses: what a probe asks (`:4000/health`, `http://host:port/path`), where a webhook goes, where the engine is.
//!
//! Read here and not by a URL crate, since less is allowed than a URL can say, and each refusal has a reason of its own.
//! No reason repeats the address: it may hold a secret.

use crate::{config::words::Wrong, docker::address::EngineAddress, domain::policy::Place};

/// An address taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) path: String,
}

/// What `http` of a probe says: where to, and the path with its query.
pub(super) fn probed(text: &str) -> Result<(Place, String), Wrong> {
    if let Some(rest) = text.strip_prefix(':') {
        let (port_text, path) = split_path(rest);
        let port = port(port_text)?;
        return Ok((Place::Replica { port, network: None }, checked_path(path)?));
    }
    if text.starts_with("https://") {
        return Err(Wrong::new("https is not supported in this version").hint(
            "ask over http where you can; a probe of the https port comes with a later version",
        ));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let address = address(rest)?;
        let port = address.port.unwrap_or(80);
        return Ok((Place::Url { host: address.host, port }, address.path));
    }
    Err(match text {
        "" => Wrong::new("it is empty").hint(PROBED_HINT),
        text if text.starts_with('/') => Wrong::new("this is a path alone")
            .hint("put the port before it, as in \":8080/health\""),
        text if text.contains("://") => {
            Wrong::new("this begins with another scheme than `http://`").hint(PROBED_HINT)
        }
        _ => Wrong::new("this begins neither with `:` nor with `http://`").hint(PROBED_HINT),
    })
}

const PROBED_HINT: &str = "write \":4000/health\" for each replica at its own address, or a whole URL as in \"http://host:4000/health\"";

/// What stands behind `http://` or `https://`.
pub(super) fn address(rest: &str) -> Result<Address, Wrong> {
    let (authority, path) = split_path(rest);
    if authority.contains('@') {
        return Err(Wrong::new("it holds a user or a password")
            .hint("this file is copied, shown and kept: no credentials in addresses"));
    }
    let (host, port_text) = split_port(authority)?;
    if host.is_empty() {
        return Err(Wrong::new("it has no host"));
    }
    let port = port_text.map(port).transpose()?;
    Ok(Address { host: host.to_owned(), port, path: checked_path(path)? })
}

fn split_path(text: &str) -> (&str, &str) {
    text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()))
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), Wrong> {
    if let Some(rest) = authority.strip_prefix('[') {
        let Some((host, rest)) = rest.split_once(']') else {
            return Err(Wrong::new("`[` is never closed"));
        };
        if host.parse::<std::net::Ipv6Addr>().is_err() {
            return Err(Wrong::new("what stands in brackets is no IPv6 address"));
        }
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(Wrong::new("behind `]` comes `:` and the port")),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            return Err(Wrong::new("it has more than one `:`")
                .hint("an IPv6 address stands in brackets, as in \"http://[::1]:4000/\""));
        }
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if !host.chars().all(fits) {
        return Err(Wrong::new("its host has characters that no host name has"));
    }
    Ok((host, port))
}

fn port(text: &str) -> Result<u16, Wrong> {
    match text.parse::<u16>() {
        Ok(0) => Err(Wrong::new("port 0 is no port that anything could listen on")),
        Ok(port) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ if text.is_empty() => Err(Wrong::new("the port is missing behind `:`")),
        _ => Err(Wrong::new("behind `:` comes a port from 1 to 65535")),
    }
}

fn checked_path(path: &str) -> Result<String, Wrong> {
    if path.contains('#') {
        return Err(Wrong::new("what follows `#` is never sent to a server"));
    }
    if !path.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Wrong::new("its path has spaces or letters that stand encoded in a URL")
            .hint("write a space as `%20`"));
    }
    match path {
        "" => Ok("/".to_owned()),
        path if path.starts_with('?') => Ok(format!("/{path}")),
        path => Ok(path.to_owned()),
    }
}

/// Whether a webhook's URL is plain http to another machine.
pub(super) fn leaves_in_the_clear(text: &str) -> Result<bool, Wrong> {
    url(text)?;
    let Some(rest) = text.strip_prefix("http://") else { return Ok(false) };
    let host = address(rest)?.host;
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    Ok(host != "localhost" && !is_loopback)
}

/// The whole URL of a web page or a webhook.
pub(super) fn url(text: &str) -> Result<(), Wrong> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) => {
            let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
            address(rest).map(drop)
        }
        None => Err(Wrong::new("it begins neither with `https://` nor with `http://`")),
    }
}

/// Where the engine is: a socket on this host, which is all that is spoken to so far.
pub(super) fn engine(text: &str) -> Result<(), Wrong> {
    const HINT: &str = "write \"unix:///var/run/docker.sock\"";
    if let Some(path) = text.strip_prefix("unix://") {
        if !path.starts_with('/') || path.len() == 1 || path.chars().any(char::is_control) {
            return Err(Wrong::new("behind `unix://` comes the socket's whole path").hint(HINT));
        }
        // What the adapter does not take is not taken here.
        return EngineAddress::parse(text)
            .map(drop)
            .map_err(|_| Wrong::new("this is longer than the path of a socket can be"));
    }
    Err(match text.split_once("://") {
        Some(("tcp" | "http" | "https" | "ssh" | "npipe" | "fd", _)) => {
            Wrong::new("this kind of address is not supported in this version").hint(HINT)
        }
        Some(_) => Wrong::new("this kind of address is unknown").hint(HINT),
        None if text.starts_with('/') => {
            Wrong::new("`unix://` is missing before the path").hint(HINT)
        }
        None => Wrong::new("this is no address").hint(HINT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_asks_each_replica() {
        let replica = |port| Place::Replica { port, network: None };
        assert_eq!(probed(":4000/health"), Ok((replica(4000), "/health".into())));
        assert_eq!(probed(":4000"), Ok((replica(4000), "/".into())));
        assert_eq!(probed(":80?a=b"), Ok((replica(80), "/?a=b".into())));
    }

    #[test]
    fn a_url_asks_a_host() {
        let url = |host: &str, port| Place::Url { host: host.into(), port };
        assert_eq!(probed("http://a.example:81/x?y"), Ok((url("a.example", 81), "/x?y".into())));
        assert_eq!(probed("http://a"), Ok((url("a", 80), "/".into())));
        assert_eq!(probed("http://[::1]:81/"), Ok((url("::1", 81), "/".into())));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for text in [
            "",
            "/health",
            "host:80",
            "https://a",
            "ftp://a",
            ":0/",
            ":x",
            ":",
            ":70000/",
            ":+80/",
            "http://",
            "http:///x",
            "http://u:p@a/",
            "http://a:b:c/",
            "http://[::1/",
            "http://[x]/",
            "http://[::1]x/",
            "http://a b/",
            ":80/a b",
            ":80/#x",
            ":80/ü",
        ] {
            assert!(probed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_engine_is_at_a_socket() {
        assert_eq!(engine("unix:///run/x.sock"), Ok(()));
        assert!(engine(&format!("unix:///{}", "x".repeat(200))).is_err());
        for text in ["", "/run/x.sock", "unix://x", "unix:///", "tcp://h:1", "https://h:1", "x://y"]
        {
            assert!(engine(text).is_err(), "{text}");
        }
    }

    #[test]
    fn plain_http_leaves_this_machine_unless_it_is_named_as_such() {
        for text in ["https://a/b", "http://localhost:1/", "http://127.0.0.1/", "http://[::1]:1/"] {
            assert_eq!(leaves_in_the_clear(text), Ok(false), "{text}");
        }
        for text in ["http://a/b", "http://10.0.0.1/", "http://localhost.example.org/"] {
            assert_eq!(leaves_in_the_clear(text), Ok(true), "{text}");
        }
    }
}
