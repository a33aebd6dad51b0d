//! A sink's URL, ready to be used: read from its secret, understood, and allowed. Plain http goes to this machine, or
//! where the config allows it in so many words: a message holds names and findings of the host, and its URL is a password.

use super::{http::Deadline, redaction::Redaction, secret::SecretSource};
use reqwest::{Url, header::HeaderMap};
use secrecy::{ExposeSecret, SecretString};

/// A URL that may be posted to, and what keeps it out of what is said.
pub(super) struct Address {
    pub(super) url: Url,
    pub(super) redaction: Redaction,
}

/// A secret, or why the sink cannot be used, in words that may be shown.
pub(super) async fn read_secret(
    source: &SecretSource,
    deadline: Deadline,
) -> Result<SecretString, String> {
    match deadline.bound(source.read()).await {
        Some(read) => read.map_err(|error| error.to_string()),
        None => Err(format!("secret could not be read from {source}: not in time")),
    }
}

/// The address in a secret. The refusal says nothing of it.
pub(super) fn of(secret: &SecretString, allow_http: bool) -> Result<Address, String> {
    let url = Url::parse(secret.expose_secret())
        .map_err(|error| format!("the sink's URL is not a URL: {error}"))?;
    match url.scheme() {
        "https" => {}
        "http" if allow_http || is_this_machine(&url) => {}
        "http" => {
            return Err("the sink's URL is plain http to another machine; use https, or set \
                        `allow_http = true`"
                .to_owned());
        }
        _ => return Err("the sink's URL begins neither with https:// nor with http://".to_owned()),
    }
    let redaction = Redaction::of(&url);
    Ok(Address { url, redaction })
}

fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Adds a header whose value may hold what headers may not: then it is left out, and the receiver sees that.
pub(super) fn add_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = value.parse() {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str, allow_http: bool) -> Option<String> {
        of(&SecretString::from(url), allow_http).err()
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_it_is_allowed() {
        for url in
            ["http://127.0.0.1:9/x", "http://127.8.8.8/x", "http://[::1]/x", "http://localhost/x"]
        {
            assert_eq!(refusal(url, false), None, "{url}");
        }
        for url in
            ["http://10.0.0.1/x", "http://localhost.example.org/x", "http://127.0.0.1.example.org/"]
        {
            assert!(refusal(url, false).unwrap().contains("plain http"), "{url}");
            assert_eq!(refusal(url, true), None, "{url}");
        }
        assert_eq!(refusal("https://hooks.example.org/x", false), None);
    }

    #[test]
    fn a_refusal_shows_nothing_of_the_url() {
        for url in
            ["ftp://s3cret/s3cret", "s3cret", "https://s3cret:99999999/", "http://s3cret/s3cret"]
        {
            let refusal = refusal(url, false).unwrap();
            assert!(!refusal.contains("s3cret"), "{refusal}");
        }
    }
}
