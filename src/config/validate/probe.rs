//! One probe: what is asked, what the answer must be, how often, and how many failures are failing.
//!
//! Nothing secret may stand in a probe: a policy is handed around and recorded (P7).

use super::{
    address,
    definition::definition,
    value::{self, Bounds, Least, holds_a_secret},
};
use crate::config::{
    problem::{Problem, Problems, quoted},
    raw::{At, RawProbe, Word},
    words::{self, Wrong, spelled},
};
use crate::domain::{
    name::ProbeName,
    policy::{HttpProbe, Place, ProbePolicy, ProbeSpec},
};
use crate::redact::is_secret_name;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(2);
const FALL: u32 = 3;
const RISE: u32 = 2;
const STATUS: (u16, u16) = (200, 299);
const BODY_CAP: u64 = 64 * 1024;

/// A health answer is a few bytes. More than this from each probe would cost memory that the watched ones need (L5).
const LARGEST_BODY_CAP: u64 = 16 * 1024 * 1024;

/// A probe and the place of its name, or of what it is named after.
pub(super) struct Read {
    pub(super) probe: ProbePolicy,
    pub(super) named_at: std::ops::Range<usize>,
}

/// `has_containers`: whether there are replicas that could be asked.
pub(super) fn read(
    raw: &RawProbe<'_>,
    has_containers: bool,
    problems: &mut Problems,
) -> Option<Read> {
    let (every, timeout) = pace(raw, problems);
    let fall = value::count("fall", raw.fall.as_ref(), &LEAST_FALL, problems).unwrap_or(FALL);
    let rise = value::count("rise", raw.rise.as_ref(), &LEAST_RISE, problems).unwrap_or(RISE);
    let status = status(raw, problems);
    let method = method(raw, problems);
    let headers = headers(raw, problems);
    let body_cap = body_cap(raw, problems);
    via(raw, problems);
    let name = raw.name.as_ref().filter(|name| value::is_name("a probe's name", name, problems));
    let http = asked(raw, problems)?;
    let (place, path) = place(raw, http, has_containers, problems)?;
    let spec = ProbeSpec::Http(HttpProbe {
        place,
        path,
        method,
        headers,
        status,
        body_cap,
        cap_is_ok: false,
    });
    let probe = ProbePolicy {
        name: match name {
            Some(name) => ProbeName::new(*name.get_ref()),
            None => ProbeName::new(named_after(http.get_ref())),
        },
        definition: definition(&spec),
        spec,
        every,
        timeout,
        fall,
        rise,
        may_restart: raw.may_restart.as_ref().map(|may| *may.get_ref()),
    };
    Some(Read { probe, named_at: raw.name.as_ref().unwrap_or(http).span() })
}

const LEAST_FALL: Least = Least::one("with 0 it would be failing before it was asked")
    .instead(
        "`fall = 1` is the least: the first failure. To watch without restarting, set \
              `restart = \"dry\"` in the service",
    )
    .at_most(MANY, "it would never be failing");

const LEAST_RISE: Least = Least::one("with 0 it would be well again before it was asked")
    .instead("`rise = 1` is the least: the first pass")
    .at_most(MANY, "it would never be well again");

/// Many failures in a row are found out after a day or more, and are told of as one.
const MANY: usize = 1_000;

/// More often than twice a second costs the target more than it tells (L5).
const EVERY_BOUNDS: Bounds =
    Bounds::at_least(Duration::from_millis(500), "the target would do little but answer")
        .at_most(Duration::from_secs(24 * 60 * 60), "what fails would be found out days later");

/// A busy host lets a process wait for tens of milliseconds.
const TIMEOUT_BOUNDS: Bounds = Bounds::at_least(
    Duration::from_millis(100),
    "no answer is sure to come in so short a time: what is well would seem to fail",
);

/// Without the query, which may hold a token.
fn named_after(http: &str) -> String {
    format!("http {}", http.split(['?', '#']).next().unwrap_or_default())
}

fn pace(raw: &RawProbe<'_>, problems: &mut Problems) -> (Duration, Duration) {
    let given_every = value::time("every", raw.every.as_ref(), &EVERY_BOUNDS, problems);
    let given_timeout = value::time("timeout", raw.timeout.as_ref(), &TIMEOUT_BOUNDS, problems);
    let (every, timeout) = (given_every.unwrap_or(EVERY), given_timeout.unwrap_or(TIMEOUT));
    let place = match (given_timeout, given_every) {
        (Some(_), _) => raw.timeout.as_ref(),
        (None, Some(_)) => raw.every.as_ref(),
        (None, None) => None,
    };
    let Some(place) = place else { return (every, timeout) };
    let cause = format!(
        "`timeout` is {}{}, `every` is {}{}",
        spelled(timeout),
        if given_timeout.is_none() { " (the default)" } else { "" },
        spelled(every),
        if given_every.is_none() { " (the default)" } else { "" },
    );
    if timeout > every {
        problems.push(
            Problem::error(place.span(), "a probe's `timeout` must not be longer than its `every`")
                .cause(cause)
                .hint(
                    "one sample would still wait when the next is due; set both, for example \
                       `every = \"60s\"` and `timeout = \"30s\"`",
                ),
        );
    } else if timeout == every {
        problems.push(
            Problem::warning(place.span(), "a probe's `timeout` is as long as its `every`")
                .cause(cause)
                .hint("a target that hangs is then asked without a pause; give `every` some room"),
        );
    }
    (every, timeout)
}

fn status(raw: &RawProbe<'_>, problems: &mut Problems) -> Vec<(u16, u16)> {
    let Some(given) = raw.status.as_ref() else { return vec![STATUS] };
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    let mut refuse = |at: &At<Word<'_>>, cause| {
        problems.push(value::wrong(at, "`status` takes statuses and ranges of them", cause));
    };
    for word in given.get_ref() {
        let read = match word.get_ref() {
            Word::Text(text) => words::statuses(text),
            Word::Number(number) => words::status_number(*number).map(|one| vec![(one, one)]),
        };
        match read {
            Ok(read) => {
                let twice = read.iter().find(|(first, last)| {
                    ranges.iter().any(|(other, until)| first <= until && other <= last)
                });
                match twice {
                    Some((status, _)) => {
                        refuse(word, Wrong::new(format!("status {status} is in here twice")));
                    }
                    None => ranges.extend(read),
                }
            }
            Err(cause) => refuse(word, cause),
        }
    }
    if given.get_ref().is_empty() {
        problems.push(
            Problem::error(given.span(), "`status` is empty").cause("no answer could ever pass"),
        );
    }
    ranges.sort_unstable();
    ranges
}

/// What a probe may use: those that ask. `CONNECT` and `TRACE` mean something else to every proxy on the way.
const METHODS: [(&str, &str); 7] = [
    ("GET", "GET"),
    ("HEAD", "HEAD"),
    ("POST", "POST"),
    ("OPTIONS", "OPTIONS"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
];

fn method(raw: &RawProbe<'_>, problems: &mut Problems) -> String {
    value::choice("method", raw.method.as_ref(), &METHODS, problems).unwrap_or("GET").to_owned()
}

/// Set by defib itself, since the answer can't be read right otherwise.
const OWN_HEADERS: [&str; 6] =
    ["connection", "content-length", "transfer-encoding", "te", "upgrade", "expect"];

fn headers(raw: &RawProbe<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, text) in &raw.headers {
        let lower = name.get_ref().to_ascii_lowercase();
        let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let cause = if lower.is_empty() || !lower.chars().all(fits) {
            "this is no name of a header"
        } else if text.get_ref().chars().any(|c| c != '\t' && (c.is_control() || !c.is_ascii())) {
            "a header's value is ASCII and has no line ends"
        } else if OWN_HEADERS.contains(&lower.as_str()) {
            "defib sets this one by itself"
        } else if is_secret_name(&lower) || holds_a_secret(&format!("{lower}: {}", text.get_ref()))
        {
            "its value is a secret, and a probe is recorded and shown; not supported in this version"
        } else if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(&lower)) {
            "it stands here twice: headers do not differ by capital letters"
        } else {
            headers.push(((*name.get_ref()).to_owned(), (*text.get_ref()).to_owned()));
            continue;
        };
        let title = format!("header {} can't be sent", quoted(name.get_ref()));
        problems.push(Problem::error(name.span(), title).cause(cause));
    }
    headers
}

fn body_cap(raw: &RawProbe<'_>, problems: &mut Problems) -> u64 {
    let Some(given) = raw.body_cap.as_ref() else { return BODY_CAP };
    let size = match given.get_ref().as_slice() {
        [word] => match word.get_ref() {
            Word::Text(text) => words::size(text),
            Word::Number(number) => {
                u64::try_from(*number).map_err(|_| Wrong::new("there is nothing below 0 bytes"))
            }
        },
        _ => Err(Wrong::new("this is a list")),
    };
    let refused = match size {
        Ok(0) => Wrong::new("with 0 bytes every answer would be too large"),
        Ok(size) if size > LARGEST_BODY_CAP => Wrong::new("this is more than 16MiB")
            .hint("ask for a smaller answer: a health check needs a few bytes"),
        Ok(size) => return size,
        Err(wrong) => wrong,
    };
    problems.push(value::wrong(given, "`body_cap` takes a size", refused));
    BODY_CAP
}

fn via(raw: &RawProbe<'_>, problems: &mut Problems) {
    let Some(via) = raw.via.as_ref() else { return };
    if let text @ ("netns" | "published") = *via.get_ref() {
        problems.push(
            Problem::error(
                via.span(),
                format!("`via = \"{text}\"` is not supported in this version"),
            )
            .cause("not supported yet")
            .hint("\"address\" asks each replica at its container's own address"),
        );
        return;
    }
    let _: Option<()> = value::choice("via", Some(via), &[("address", ())], problems);
}

fn asked<'r, 'a>(raw: &'r RawProbe<'a>, problems: &mut Problems) -> Option<&'r At<&'a str>> {
    if !raw.asks_something {
        problems.push(
            Problem::missing(raw.at.clone(), "a probe asks nothing")
                .cause("this has no `http`")
                .hint("for example: `http = \":4000/health\"`"),
        );
    }
    raw.http.as_ref()
}

fn place(
    raw: &RawProbe<'_>,
    http: &At<&str>,
    has_containers: bool,
    problems: &mut Problems,
) -> Option<(Place, String)> {
    if holds_a_secret(http.get_ref()) {
        problems.push(
            Problem::error(http.span(), "a probe's address must not hold a secret")
                .cause("a probe is recorded and shown")
                .hint("let the target answer its health check without one; a probe can't send any yet"),
        );
        return None;
    }
    match address::probed(http.get_ref()) {
        Ok((Place::Replica { port, network: _ }, path)) => {
            if !has_containers {
                problems.push(
                    Problem::missing(http.span(), "there are no replicas to ask")
                        .cause("this asks each replica, and the service has no `containers`")
                        .hint(
                            "say which containers, or write a whole URL as in \
                               \"http://host:4000/health\"",
                        ),
                );
            }
            let network = raw
                .network
                .as_ref()
                .filter(|network| value::is_name("a network", network, problems))
                .map(|network| (*network.get_ref()).to_owned());
            Some((Place::Replica { port, network }, path))
        }
        Ok((place @ Place::Url { .. }, path)) => {
            let how = "it says how replicas are reached";
            let may_restart = raw.may_restart.as_ref().filter(|may| *may.get_ref());
            let given = [
                ("via", raw.via.as_ref().map(At::span), how),
                ("network", raw.network.as_ref().map(At::span), how),
                (
                    "may_restart = true",
                    may_restart.map(At::span),
                    "it asks no replica, so it can't say which to restart",
                ),
            ];
            for (key, at, cause) in given {
                let Some(at) = at else { continue };
                problems.push(
                    Problem::error(at, format!("`{key}` has no meaning for a URL"))
                        .cause(cause)
                        .also(http.span(), "this is asked as it stands"),
                );
            }
            Some((place, path))
        }
        Err(cause) => {
            problems.push(value::wrong(http, "`http` can't be asked", cause));
            None
        }
    }
}
