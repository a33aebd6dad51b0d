//! `[sink.NAME]`: what each is, where its secrets are, and whether every severity reaches somebody.
//!
//! Secrets are named and never written here. Whether they can be read is not looked at: `check` also runs where they are
//! not, in CI for one; a sink that can't read its secret says so when it starts.

use super::{
    address,
    value::{self, Bounds},
};
use crate::config::{
    pointer::{no_credential, no_variable},
    problem::{Problem, Problems},
    raw::{At, RawSecrets, RawSink, RawWebhook},
    sink::NamedSink,
    words::Wrong,
};
use crate::domain::{message::Severity, name::SinkName, policy::SinkPolicy};
use crate::notify::{
    config::{SinkConfig, WebhookUrl},
    plain::Style,
    secret::SecretSource,
};
use std::{path::PathBuf, time::Duration};

/// Long enough for a slow answer from Slack, short enough that the next attempt comes while somebody can still be woken.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An attempt that waits longer keeps the next one from being made.
const TIMEOUT_BOUNDS: Bounds =
    Bounds::at_least(Duration::from_secs(1), "a name, a connection and TLS alone can take as long")
        .at_most(
            Duration::from_secs(5 * 60),
            "a hung receiver would keep a page from being tried again",
        );

const TERMINAL: SinkConfig = SinkConfig::Terminal { style: Style::Plain };

/// The sinks that could be read. Without any in the file: the terminal, with a warning.
pub(super) fn read(
    raw: &[RawSink<'_>],
    has_sinks: bool,
    problems: &mut Problems,
) -> (Vec<SinkPolicy>, Vec<NamedSink>) {
    if raw.is_empty() {
        if !has_sinks {
            problems.push(
                Problem::warning(0..0, "messages go to the terminal only")
                    .cause("the file has no `[sink.NAME]`")
                    .hint("for example: `sink.oncall.slack.url_file = \"/etc/defib/slack.url\"`"),
            );
        }
        let (policy, sink) = terminal();
        return (vec![policy], vec![sink]);
    }
    let read: Vec<_> = raw.iter().filter_map(|sink| one(sink, problems)).collect();
    // Where a sink could not be read, what it would have taken is not known.
    if read.len() == raw.len() {
        reach_somebody(raw, &read, problems);
    }
    read.into_iter().unzip()
}

/// What a sink is defined as before its secrets were read ([`crate::notify::readiness`]), which no file tells.
const NOT_LOOKED_AT: u64 = 0;

/// Where messages go without any sink in the file, or without a file.
pub(super) fn terminal() -> (SinkPolicy, NamedSink) {
    let name = SinkName::new("terminal");
    let policy = SinkPolicy {
        name: name.clone(),
        severities: Vec::new(),
        deadline: TIMEOUT,
        definition: NOT_LOOKED_AT,
        lacks: None,
    };
    (policy, NamedSink { name, config: TERMINAL })
}

fn one(raw: &RawSink<'_>, problems: &mut Problems) -> Option<(SinkPolicy, NamedSink)> {
    let fits = value::is_name("a sink's name", &raw.name, problems);
    let severities = severities(raw, problems);
    let deadline =
        value::time("timeout", raw.timeout.as_ref(), &TIMEOUT_BOUNDS, problems).unwrap_or(TIMEOUT);
    let config = config(raw, problems);
    let name = SinkName::new(*raw.name.get_ref());
    let (severities, config) = (severities?, config?);
    let policy = SinkPolicy {
        name: name.clone(),
        severities,
        deadline,
        definition: NOT_LOOKED_AT,
        lacks: None,
    };
    fits.then_some((policy, NamedSink { name, config }))
}

const SEVERITIES: [(&str, Severity); 3] =
    [("page", Severity::Page), ("ticket", Severity::Ticket), ("notice", Severity::Notice)];

fn severities(raw: &RawSink<'_>, problems: &mut Problems) -> Option<Vec<Severity>> {
    let Some(given) = raw.severities.as_ref() else { return Some(Vec::new()) };
    if given.get_ref().is_empty() {
        problems.push(
            Problem::error(given.span(), "`severities` is empty")
                .cause("this sink would get nothing")
                .hint("without `severities` a sink gets everything"),
        );
        return None;
    }
    let mut severities = Vec::new();
    let mut all_known = true;
    for word in given.get_ref() {
        match value::choice("severities", Some(word), &SEVERITIES, problems) {
            Some(severity) if severities.contains(&severity) => problems.push(
                Problem::warning(word.span(), "a severity is named twice")
                    .cause("this stands here already"),
            ),
            Some(severity) => severities.push(severity),
            None => all_known = false,
        }
    }
    all_known.then_some(severities)
}

fn config(raw: &RawSink<'_>, problems: &mut Problems) -> Option<SinkConfig> {
    let kinds = [
        raw.slack.as_ref().map(|slack| ("slack", slack.url_from.at.clone())),
        raw.webhook.as_ref().map(|webhook| ("webhook", webhook.url_from.at.clone())),
        raw.terminal.clone().map(|at| ("terminal", at)),
    ];
    let kinds: Vec<_> = kinds.into_iter().flatten().collect();
    if let [(first, _), (second, at), ..] = kinds.as_slice() {
        problems.push(
            Problem::error(at.clone(), "a sink is more than one thing")
                .cause(format!("`{first}` and `{second}` stand under one name"))
                .hint("sinks are independent of one another: give each a name of its own"),
        );
        return None;
    }
    if !raw.goes_somewhere {
        problems.push(
            Problem::missing(raw.name.span(), "a sink goes nowhere")
                .cause("this has neither `slack` nor `webhook` nor `terminal`")
                .hint("for example: `slack = { url_file = \"/etc/defib/slack.url\" }`"),
        );
    }
    if let Some(slack) = &raw.slack {
        let url = secret(&slack.url_from, "url", "slack", problems);
        return Some(SinkConfig::Slack {
            url: url?,
            allow_http: is_set(slack.allow_http.as_ref()),
        });
    }
    if let Some(raw) = &raw.webhook {
        return webhook(raw, problems);
    }
    raw.terminal.is_some().then_some(TERMINAL)
}

fn webhook(raw: &RawWebhook<'_>, problems: &mut Problems) -> Option<SinkConfig> {
    let url = webhook_url(raw, problems);
    let mut secrets = Vec::new();
    if raw.secret.file.is_some() || raw.secret.env.is_some() || raw.secret.credential.is_some() {
        secrets.extend(secret(&raw.secret, "secret", "webhook", problems));
    }
    if let Some(files) = raw.secret_files.as_ref() {
        if !secrets.is_empty() {
            problems.push(
                Problem::error(files.span(), "a webhook's secret is named in two ways")
                    .cause("beside this there is another `secret_…` key")
                    .hint("`secret_files` takes both files while a secret is being changed"),
            );
        }
        if !(1..=2).contains(&files.get_ref().len()) {
            problems.push(
                Problem::error(files.span(), "`secret_files` takes one or two files")
                    .cause(format!("these are {}", files.get_ref().len()))
                    .hint("the new one first, the old one as long as a receiver still needs it"),
            );
        }
        for file in files.get_ref() {
            if value::path("secret_files", file, problems) {
                secrets.push(SecretSource::File(PathBuf::from(*file.get_ref())));
            }
        }
    }
    Some(SinkConfig::Webhook { url: url?, secrets, allow_http: is_set(raw.allow_http.as_ref()) })
}

fn is_set(flag: Option<&At<bool>>) -> bool {
    flag.is_some_and(|flag| *flag.get_ref())
}

fn webhook_url(raw: &RawWebhook<'_>, problems: &mut Problems) -> Option<WebhookUrl> {
    let Some(url) = raw.url.as_ref() else {
        return secret(&raw.url_from, "url", "webhook", problems).map(WebhookUrl::Secret);
    };
    let from = &raw.url_from;
    for other in [&from.file, &from.env, &from.credential].into_iter().flatten() {
        problems.push(
            Problem::error(other.span(), "a webhook's URL is named in two ways")
                .cause("beside this there is `url`")
                .hint("`url` for an address that anybody may see, `url_file` for one that holds a token"),
        );
    }
    let read = match address::leaves_in_the_clear(url.get_ref()) {
        Ok(true) if !is_set(raw.allow_http.as_ref()) => {
            Err(Wrong::new("this is plain http to another machine").hint(
                "everybody on the way could read and change what it says; use https, or set \
                 `allow_http = true`",
            ))
        }
        Ok(_) => Ok(WebhookUrl::Plain((*url.get_ref()).into())),
        Err(cause) => Err(cause),
    };
    match read {
        Ok(url) => Some(url),
        Err(cause) => {
            problems.push(value::wrong(url, "`url` can't be sent to", cause));
            None
        }
    }
}

/// The one place of a secret; `what` is `url` or `secret`.
fn secret(
    raw: &RawSecrets<'_>,
    what: &str,
    sink: &str,
    problems: &mut Problems,
) -> Option<SecretSource> {
    let given: Vec<_> = [
        raw.file.as_ref().map(|value| ("file", value)),
        raw.env.as_ref().map(|value| ("env", value)),
        raw.credential.as_ref().map(|value| ("credential", value)),
    ]
    .into_iter()
    .flatten()
    .collect();
    match given.as_slice() {
        [(kind, value)] => source(kind, &format!("{what}_{kind}"), value, problems),
        [] => {
            if !raw.is_named {
                problems.push(
                    Problem::missing(raw.at.clone(), format!("`{sink}` has no address"))
                        .cause(format!("`{what}_file` is missing"))
                        .hint(format!(
                            "for example: `{what}_file = \"/etc/defib/{sink}.{what}\"`; \
                                       or `{what}_env`, or `{what}_credential`"
                        )),
                );
            }
            None
        }
        [(first, _), (second, value), ..] => {
            problems.push(
                Problem::error(
                    value.span(),
                    format!("the {what} of `{sink}` is named in two ways"),
                )
                .cause(format!("`{what}_{first}` and `{what}_{second}` stand side by side")),
            );
            None
        }
    }
}

fn source(
    kind: &str,
    key: &str,
    value: &At<&str>,
    problems: &mut Problems,
) -> Option<SecretSource> {
    let text = *value.get_ref();
    match kind {
        "file" => {
            value::path(key, value, problems).then(|| SecretSource::File(PathBuf::from(text)))
        }
        "env" => {
            if let Some(cause) = no_variable(text) {
                let cause = Wrong::new(cause).hint("it takes the variable's name, not its value");
                let title = format!("`{key}` takes a variable's name");
                problems.push(value::wrong(value, title, cause));
                return None;
            }
            Some(SecretSource::Env(text.to_owned()))
        }
        _ => {
            if let Some(cause) = no_credential(text) {
                let cause = Wrong::new(cause)
                    .hint("it takes the name from the unit's `LoadCredential=name:path`");
                let title = format!("`{key}` takes a credential's name");
                problems.push(value::wrong(value, title, cause));
                return None;
            }
            Some(SecretSource::Credential(text.to_owned()))
        }
    }
}

/// A page or a ticket that nobody gets is an error. That notices go nowhere is a warning: whoever wants to hear only of
/// what is not being cured says so this way.
fn reach_somebody(raw: &[RawSink<'_>], read: &[(SinkPolicy, NamedSink)], problems: &mut Problems) {
    for severity in [Severity::Page, Severity::Ticket, Severity::Notice] {
        let gets =
            |sink: &SinkPolicy| sink.severities.is_empty() || sink.severities.contains(&severity);
        if read.iter().any(|(sink, _)| gets(sink)) {
            continue;
        }
        let places: Vec<_> = raw.iter().filter_map(|sink| sink.severities.as_ref()).collect();
        let Some((first, others)) = places.split_first() else { continue };
        let title = format!("nobody gets a {severity}");
        let (problem, rule) = match severity {
            Severity::Page | Severity::Ticket => (
                Problem::error(first.span(), title),
                "every page and every ticket must reach a sink",
            ),
            Severity::Notice => (
                Problem::warning(first.span(), title),
                "nobody then hears of what defib cures by itself",
            ),
        };
        let problem = problem.cause(format!("`{severity}` is not in here")).hint(format!(
            "{rule}: add \"{severity}\" here or in another sink, or leave `severities` out, then \
             a sink gets everything"
        ));
        problems.push(
            others
                .iter()
                .take(8)
                .fold(problem, |problem, other| problem.also(other.span(), "nor in here")),
        );
    }
}
