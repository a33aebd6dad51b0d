//! A probe's definition as a number: changes whenever what is asked or asserted changes, and with nothing else. A probe
//! that has never passed since then restarts nothing (S11), so the number must be the same in every version and on every
//! host; the standard library's hashes promise neither. FNV-1a, each part with its length before it, so that no two
//! definitions run into one another.

use crate::domain::policy::{HttpProbe, Place, ProbeSpec};

pub(super) fn definition(spec: &ProbeSpec) -> u64 {
    let mut hash = Fnv::new();
    match spec {
        ProbeSpec::Http(http) => hash_http(http, &mut hash),
    }
    hash.0
}

fn hash_http(http: &HttpProbe, hash: &mut Fnv) {
    let HttpProbe { place, path, method, headers, status, body_cap, cap_is_ok } = http;
    hash.text("http");
    match place {
        Place::Replica { port, network } => {
            hash.text("replica");
            hash.number(u64::from(*port));
            hash.number(u64::from(network.is_some()));
            hash.text(network.as_deref().unwrap_or_default());
        }
        Place::Url { host, port } => {
            hash.text("url");
            hash.text(&host.to_ascii_lowercase());
            hash.number(u64::from(*port));
        }
    }
    hash.text(path);
    hash.text(method);
    // Their order and their capital letters mean nothing.
    let mut headers: Vec<(String, &str)> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str())).collect();
    headers.sort_unstable();
    hash.number(headers.len() as u64);
    for (name, value) in headers {
        hash.text(&name);
        hash.text(value);
    }
    hash.number(status.len() as u64);
    for (first, last) in status {
        hash.number(u64::from(*first));
        hash.number(u64::from(*last));
    }
    hash.number(*body_cap);
    hash.number(u64::from(*cap_is_ok));
}

struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> HttpProbe {
        HttpProbe {
            place: Place::Replica { port: 4000, network: None },
            path: "/health".into(),
            method: "GET".into(),
            headers: vec![("Accept".into(), "a".into()), ("X".into(), "b".into())],
            status: vec![(200, 299)],
            body_cap: 65_536,
            cap_is_ok: false,
        }
    }

    fn hashed(change: impl FnOnce(&mut HttpProbe)) -> u64 {
        let mut probe = probe();
        change(&mut probe);
        definition(&ProbeSpec::Http(probe))
    }

    /// A changed number would make every probe of every host "never passed" with the next version of defib.
    #[test]
    fn it_is_the_same_in_every_version() {
        assert_eq!(hashed(|_| {}), 3_702_700_660_638_846_064);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::new();
        hash.bytes(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn everything_asked_or_asserted_changes_it() {
        let network = Some("n".to_owned());
        let all = [
            hashed(|_| {}),
            hashed(|http| http.place = Place::Replica { port: 4001, network: None }),
            hashed(|http| http.place = Place::Replica { port: 4000, network }),
            hashed(|http| http.place = Place::Url { host: "a".into(), port: 4000 }),
            hashed(|http| http.path = "/".into()),
            hashed(|http| http.method = "HEAD".into()),
            hashed(|http| http.headers.clear()),
            hashed(|http| http.status = vec![(200, 298)]),
            hashed(|http| http.body_cap = 1),
            hashed(|http| http.cap_is_ok = true),
        ];
        let mut distinct = all.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn the_order_and_the_capital_letters_of_headers_do_not() {
        let turned = hashed(|http| http.headers.reverse());
        assert_eq!(turned, hashed(|_| {}));
        assert_eq!(hashed(|http| http.headers[0].0 = "ACCEPT".into()), hashed(|_| {}));
    }
}
