//! The request of an HTTP probe. The defaults are few, and the config's own fields replace them.

use crate::domain::policy::{HttpProbe, Place};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    Method, Request, Uri,
    header::{ACCEPT, CONNECTION, HOST, HeaderName, HeaderValue, USER_AGENT},
    http,
};
use std::net::SocketAddr;

const AGENT: &str = concat!("defib/", env!("CARGO_PKG_VERSION"));
const HTTP_PORT: u16 = 80;

/// Makes the request that `spec` describes, for `address` where it names no host.
///
/// # Errors
/// Where method, path or fields are none of HTTP's. The config refuses such; this does not rely on it.
pub(super) fn build(
    spec: &HttpProbe,
    address: SocketAddr,
) -> Result<Request<Empty<Bytes>>, http::Error> {
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::from_bytes(spec.method.as_bytes())?;
    *request.uri_mut() = spec.path.parse::<Uri>()?;
    let fields = request.headers_mut();
    fields.insert(HOST, HeaderValue::try_from(host(&spec.place, address))?);
    fields.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    fields.insert(ACCEPT, HeaderValue::from_static("*/*"));
    fields.insert(CONNECTION, HeaderValue::from_static("close"));
    // The first field of a name replaces the default, more of the same name stand beside it.
    for (index, (name, value)) in spec.headers.iter().enumerate() {
        let again =
            spec.headers[..index].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name));
        let (name, value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        if again {
            fields.append(name, value);
        } else {
            fields.insert(name, value);
        }
    }
    Ok(request)
}

fn host(place: &Place, address: SocketAddr) -> String {
    match place {
        Place::Replica { .. } if address.port() != HTTP_PORT => address.to_string(),
        Place::Replica { .. } => bracketed(&address.ip().to_string()),
        Place::Url { host, port } if *port != HTTP_PORT => format!("{}:{port}", bracketed(host)),
        Place::Url { host, .. } => bracketed(host),
    }
}

/// An IPv6 address stands in brackets where a port may follow.
fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(place: Place, headers: &[(&str, &str)]) -> HttpProbe {
        HttpProbe {
            place,
            path: "/health?deep=1".into(),
            method: "GET".into(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            status: vec![(200, 399)],
            body_cap: 65_536,
            cap_is_ok: false,
        }
    }

    fn host_of(place: Place, address: &str) -> String {
        let request = build(&spec(place, &[]), address.parse().unwrap()).unwrap();
        request.headers()[HOST].to_str().unwrap().to_owned()
    }

    #[test]
    fn the_host_is_what_was_asked_for_with_its_port_unless_it_is_80() {
        let url = |host: &str, port| Place::Url { host: host.into(), port };
        let replica = |port| Place::Replica { port, network: None };
        assert_eq!(host_of(url("example.org", 80), "10.0.0.1:80"), "example.org");
        assert_eq!(host_of(url("example.org", 8080), "10.0.0.1:8080"), "example.org:8080");
        assert_eq!(host_of(url("::1", 8080), "[::1]:8080"), "[::1]:8080");
        assert_eq!(host_of(replica(80), "[fd00::2]:80"), "[fd00::2]");
        assert_eq!(host_of(replica(3000), "10.0.0.1:3000"), "10.0.0.1:3000");
    }

    #[test]
    fn the_configs_fields_replace_the_defaults_and_may_repeat() {
        let place = Place::Replica { port: 80, network: None };
        let fields = [("host", "shop.example"), ("X-Probe", "a"), ("x-probe", "b")];
        let request = build(&spec(place, &fields), "10.0.0.1:80".parse().unwrap()).unwrap();
        assert_eq!(request.headers()[HOST], "shop.example");
        assert_eq!(request.headers().get_all("x-probe").iter().count(), 2);
        assert_eq!(request.headers()[CONNECTION], "close");
        assert!(request.headers()[USER_AGENT].to_str().unwrap().starts_with("defib/"));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        let place = Place::Replica { port: 80, network: None };
        let address = "10.0.0.1:80".parse().unwrap();
        assert!(build(&spec(place.clone(), &[("X", "a\r\nY: b")]), address).is_err());
        assert!(build(&spec(place.clone(), &[("X Y", "a")]), address).is_err());
        let spaced = HttpProbe { path: "/a b".into(), ..spec(place, &[]) };
        assert!(build(&spaced, address).is_err());
    }
}
