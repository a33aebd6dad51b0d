//! The files in which sinks have their secrets, each with the place that names it, for `check` to look at. Of variables and
//! credentials nothing can be said before the service manager gives them.
//!
//! Found also in a sink that is refused for another reason: what is missing on a host shall not come out only when the file
//! has no other error.

use crate::config::{
    pointer::no_path,
    raw::{At, RawSink},
    sink::SecretFile,
};
use crate::domain::name::SinkName;
use crate::notify::{
    config::{SinkConfig, WebhookUrl},
    secret::SecretSource,
};
use std::path::PathBuf;

/// Those of all sinks.
pub(super) fn of(raw: &[RawSink<'_>]) -> Vec<SecretFile> {
    let mut found = Vec::new();
    for raw in raw {
        let sink = SinkName::new(*raw.name.get_ref());
        let mut add = |key, file: &At<&str>, alone: &dyn Fn(SecretSource) -> SinkConfig| {
            if no_path(file.get_ref()).is_none() {
                let source = SecretSource::File(PathBuf::from(*file.get_ref()));
                let (sink, alone) = (sink.clone(), alone(source.clone()));
                found.push(SecretFile { sink, key, at: file.span(), source, alone });
            }
        };
        let is_set = |flag: Option<&At<bool>>| flag.is_some_and(|flag| *flag.get_ref());
        if let Some(slack) = &raw.slack {
            let allow_http = is_set(slack.allow_http.as_ref());
            if let Some(file) = &slack.url_from.file {
                add("url_file", file, &|url| SinkConfig::Slack { url, allow_http });
            }
        }
        if let Some(webhook) = &raw.webhook {
            let allow_http = is_set(webhook.allow_http.as_ref());
            if let Some(file) = &webhook.url_from.file {
                add("url_file", file, &|url| SinkConfig::Webhook {
                    url: WebhookUrl::Secret(url),
                    secrets: Vec::new(),
                    allow_http,
                });
            }
            let signs = |secret| SinkConfig::Webhook {
                url: WebhookUrl::Plain("http://127.0.0.1/".into()),
                secrets: vec![secret],
                allow_http,
            };
            if let Some(file) = &webhook.secret.file {
                add("secret_file", file, &signs);
            }
            for file in webhook.secret_files.iter().flat_map(|files| files.get_ref()) {
                add("secret_files", file, &signs);
            }
        }
    }
    found
}
