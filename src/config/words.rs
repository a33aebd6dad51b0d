//! The small languages inside strings: durations (`5s`, `1h 30m`), thresholds (`5 failures or 60s`), statuses
//! (`200-299, 304`) and sizes (`64KiB`). What is wrong comes back as words; the caller knows the place.
//!
//! Durations are read here and not by a crate: the usual one takes `5M` for five months and `5` in some places for seconds.
//! A watchdog that waits five months is one that does not watch, so units are few and each has one meaning.

use crate::domain::policy::Threshold;
use std::time::Duration;

/// Why a word can't be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) cause: String,
    pub(super) hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Longer is a slip of the pen: nothing in here waits for more than a year. It also keeps all arithmetic on times far from
/// its bounds.
pub(super) const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

const DURATION_HINT: &str =
    "units are `ms`, `s`, `m` (minutes), `h` and `d`, as in \"90s\" or \"1h 30m\"";

/// `500ms`, `5s`, `2m`, `1h 30m`, `1d`; `0s` too.
pub(super) fn duration(text: &str) -> Result<Duration, Wrong> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(Wrong::new("this duration is empty").hint(DURATION_HINT));
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() {
            return Err(not_a_duration(rest));
        }
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let factor = match UNITS.iter().find(|(known, _)| *known == unit) {
            Some((_, factor)) => *factor,
            None if unit.is_empty() && after.is_empty() => {
                return Err(Wrong::new("this number has no unit").hint(DURATION_HINT));
            }
            None if unit.is_empty() => return Err(not_a_duration(after)),
            None => {
                let unit = super::problem::quoted(unit);
                return Err(Wrong::new(format!("{unit} is not a unit of time")).hint(DURATION_HINT));
            }
        };
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(too_long)?;
        rest = after.trim_start();
    }
    let duration = Duration::from_millis(total);
    if duration > LONGEST { Err(too_long()) } else { Ok(duration) }
}

fn not_a_duration(at: &str) -> Wrong {
    let Some(found) = at.chars().next() else {
        return Wrong::new("this is not a duration").hint(DURATION_HINT);
    };
    let found = super::problem::quoted(&found.to_string());
    let wrong = Wrong::new(format!("a duration has numbers and units, and no {found}"));
    match found.as_str() {
        "`.`" => wrong.hint("write 1.5 s as \"1500ms\" and 1.5 h as \"1h 30m\""),
        "`-`" => wrong.hint("time goes forward only"),
        _ => wrong.hint(DURATION_HINT),
    }
}

fn too_long() -> Wrong {
    Wrong::new("this is longer than a year").hint(DURATION_HINT)
}

/// As it can be written in a config, with the largest units first: 90 s is `1m 30s`.
pub(super) fn spelled(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (unit, factor) in UNITS.iter().rev() {
        let number = left / factor;
        left %= factor;
        if number > 0 {
            parts.push(format!("{number}{unit}"));
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// More failures, and longer, than anybody wants to wait for: nobody would ever be told, and nothing be restarted.
const MOST_FAILURES: u32 = 1_000;
const LONGEST_FAILING: Duration = Duration::from_secs(24 * 60 * 60);

const THRESHOLD_HINT: &str =
    "write \"5 failures\", \"60s\", or \"5 failures or 60s\" for whichever comes first";

/// `5 failures`, `60s`, `5 failures or 60s`.
pub(super) fn threshold(text: &str) -> Result<Threshold, Wrong> {
    let mut threshold = Threshold { failures: None, failing_for: None };
    for part in text.split(" or ").map(str::trim) {
        match part.strip_suffix("failures").or_else(|| part.strip_suffix("failure")) {
            Some(number) => {
                let failures = failures(number.trim())?;
                if threshold.failures.replace(failures).is_some() {
                    return Err(Wrong::new("this counts failures twice").hint(THRESHOLD_HINT));
                }
            }
            None => {
                let failing_for = failing_for(part)?;
                if threshold.failing_for.replace(failing_for).is_some() {
                    return Err(Wrong::new("this has two durations").hint(THRESHOLD_HINT));
                }
            }
        }
    }
    Ok(threshold)
}

fn failures(number: &str) -> Result<u32, Wrong> {
    match number.parse::<u32>() {
        Ok(0) => Err(Wrong::new("with 0 failures nothing has failed yet")
            .hint("\"1 failure\" is the least: the first failing sample")),
        Ok(failures) if failures > MOST_FAILURES => Err(never_reached()),
        Ok(failures) => Ok(failures),
        Err(_) if number.len() > 1 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(never_reached())
        }
        Err(_) => {
            let number = super::problem::quoted(number);
            Err(Wrong::new(format!("{number} is not a number of failures")).hint(THRESHOLD_HINT))
        }
    }
}

fn failing_for(part: &str) -> Result<Duration, Wrong> {
    if part.chars().all(|c| c.is_ascii_digit()) && !part.is_empty() {
        return Err(Wrong::new(format!("{part} of what?")).hint(THRESHOLD_HINT));
    }
    match duration(part) {
        Ok(Duration::ZERO) => {
            Err(Wrong::new("0 s would fire before anything has failed").hint(THRESHOLD_HINT))
        }
        Ok(duration) if duration > LONGEST_FAILING => Err(never_reached()),
        Ok(duration) => Ok(duration),
        Err(_) => {
            let part = super::problem::quoted(part);
            Err(Wrong::new(format!("{part} is neither a number of failures nor a duration"))
                .hint(THRESHOLD_HINT))
        }
    }
}

fn never_reached() -> Wrong {
    Wrong::new("this is hardly ever reached").hint("1000 failures and 1d are the most")
}

const STATUS_HINT: &str = "write \"200-299\", \"200\", or \"200-299, 304\"";

/// `200-299, 304`: inclusive ranges, in the order of numbers.
pub(super) fn statuses(text: &str) -> Result<Vec<(u16, u16)>, Wrong> {
    let mut ranges = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        ranges.push(status_range(status(first)?, status(last)?)?);
    }
    ranges.sort_unstable();
    match ranges.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
        Some(pair) => Err(Wrong::new(format!("status {} is in here twice", pair[1].0))),
        None => Ok(ranges),
    }
}

fn status_range(first: u16, last: u16) -> Result<(u16, u16), Wrong> {
    if first > last {
        return Err(Wrong::new(format!("this range is empty: {first} comes after {last}"))
            .hint(format!("\"{last}-{first}\" has the smaller number first")));
    }
    Ok((first, last))
}

fn status(text: &str) -> Result<u16, Wrong> {
    let text = text.trim();
    match text.parse::<u16>() {
        Ok(status @ 100..=599) => Ok(status),
        Ok(status) => {
            Err(Wrong::new(format!("HTTP has statuses from 100 to 599, and no {status}"))
                .hint(STATUS_HINT))
        }
        Err(_) => {
            let text = super::problem::quoted(text);
            Err(Wrong::new(format!("{text} is not an HTTP status")).hint(STATUS_HINT))
        }
    }
}

/// The same for a status that was written as a number.
pub(super) fn status_number(number: i64) -> Result<u16, Wrong> {
    status(&number.to_string())
}

const SIZE_HINT: &str = "write \"64KiB\", \"1MiB\" or a number of bytes";

/// `512B`, `64KiB`, `1MiB`.
pub(super) fn size(text: &str) -> Result<u64, Wrong> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        unit => {
            let unit = super::problem::quoted(unit);
            return Err(Wrong::new(format!("{unit} is not a unit of size")).hint(SIZE_HINT));
        }
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)) {
        Some(size) => Ok(size),
        None => Err(Wrong::new("this is not a size").hint(SIZE_HINT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_add_up_their_parts() {
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert_eq!(duration(" 1h 30m "), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("250 ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("366d"), Ok(LONGEST));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_reason() {
        let cause = |text| duration(text).map_err(|wrong| wrong.cause);
        assert_eq!(cause("5"), Err("this number has no unit".into()));
        assert_eq!(cause("5M"), Err("`M` is not a unit of time".into()));
        assert_eq!(cause("1.5s"), Err("a duration has numbers and units, and no `.`".into()));
        assert_eq!(cause("-5s"), Err("a duration has numbers and units, and no `-`".into()));
        assert_eq!(cause("367d"), Err("this is longer than a year".into()));
        assert_eq!(cause("99999999999999999999d"), Err("this is longer than a year".into()));
        assert_eq!(cause(""), Err("this duration is empty".into()));
        assert_eq!(cause("s"), Err("a duration has numbers and units, and no `s`".into()));
    }

    #[test]
    fn how_long_something_is_is_said_as_it_can_be_written() {
        for (ms, said) in [
            (0, "0s"),
            (500, "500ms"),
            (90_000, "1m 30s"),
            (86_400_000, "1d"),
            (90_061_001, "1d 1h 1m 1s 1ms"),
            (31 * 86_400_000, "31d"),
        ] {
            let span = Duration::from_millis(ms);
            assert_eq!(spelled(span), said);
            assert_eq!(duration(said), Ok(span));
        }
    }

    #[test]
    fn a_threshold_counts_failures_or_time_or_whichever_comes_first() {
        let of = |failures, secs: Option<u64>| {
            Ok(Threshold { failures, failing_for: secs.map(Duration::from_secs) })
        };
        assert_eq!(threshold("5 failures"), of(Some(5), None));
        assert_eq!(threshold("1000 failures or 1d"), of(Some(1_000), Some(86_400)));
        assert_eq!(threshold("1 failure"), of(Some(1), None));
        assert_eq!(threshold("60s"), of(None, Some(60)));
        assert_eq!(threshold("5 failures or 60s"), of(Some(5), Some(60)));
        assert_eq!(threshold("1m or 5 failures"), of(Some(5), Some(60)));
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_the_reason() {
        let cause = |text| threshold(text).map_err(|wrong| wrong.cause);
        assert_eq!(cause("5"), Err("5 of what?".into()));
        assert_eq!(cause("0 failures"), Err("with 0 failures nothing has failed yet".into()));
        assert_eq!(cause("0s"), Err("0 s would fire before anything has failed".into()));
        assert_eq!(cause("4294967295 failures"), Err("this is hardly ever reached".into()));
        assert_eq!(cause("99999999999 failures"), Err("this is hardly ever reached".into()));
        assert_eq!(cause("5 failures or 25h"), Err("this is hardly ever reached".into()));
        assert_eq!(cause("3 failures or 5 failures"), Err("this counts failures twice".into()));
        assert_eq!(cause("3s or 5s"), Err("this has two durations".into()));
        assert_eq!(
            cause("soon"),
            Err("`soon` is neither a number of failures nor a duration".into())
        );
        assert_eq!(cause(""), Err("`` is neither a number of failures nor a duration".into()));
    }

    #[test]
    fn statuses_are_inclusive_ranges_in_order() {
        assert_eq!(statuses("200-299"), Ok(vec![(200, 299)]));
        assert_eq!(statuses("304, 200-204"), Ok(vec![(200, 204), (304, 304)]));
        let cause = |text| statuses(text).map_err(|wrong| wrong.cause);
        assert_eq!(cause("299-200"), Err("this range is empty: 299 comes after 200".into()));
        assert_eq!(cause("2xx"), Err("`2xx` is not an HTTP status".into()));
        assert_eq!(cause("99"), Err("HTTP has statuses from 100 to 599, and no 99".into()));
        assert_eq!(cause("200-299,204"), Err("status 204 is in here twice".into()));
        assert_eq!(cause("200,"), Err("`` is not an HTTP status".into()));
    }

    #[test]
    fn sizes_count_in_1024() {
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1 MiB"), Ok(1_048_576));
        assert_eq!(size("512"), Ok(512));
        assert!(size("64kb").is_err());
        assert!(size("KiB").is_err());
        assert!(size("99999999999999999MiB").is_err());
    }
}
