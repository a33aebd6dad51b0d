//! Times as people read them: local first, because that is what the reader's watch says, then UTC, because that is what
//! the logs say. The zone is an argument and nothing here reads a clock, so that a message is the same whenever and
//! wherever it is rendered.

use crate::{
    domain::moment::{Spoken, WallMs},
    tasks,
};
use jiff::{Timestamp, tz::TimeZone};
use std::time::Duration;

/// Reading a file of some kilobytes takes no time; a disk that hangs must not keep the daemon from starting.
const ZONE_WITHIN: Duration = Duration::from_secs(5);

/// The host's zone, as its files say it now; UTC where they can't be read, which is logged. Blocks, at most 5 s: for the
/// start.
pub fn host_zone() -> TimeZone {
    zone_read_by(TimeZone::try_system, ZONE_WITHIN)
}

fn zone_read_by(
    read: impl FnOnce() -> Result<TimeZone, jiff::Error> + Send + 'static,
    within: Duration,
) -> TimeZone {
    let why = match tasks::within("time zone", within, read) {
        Ok(Ok(zone)) => return zone,
        Ok(Err(error)) => error.to_string(),
        Err(not_back) => not_back.to_string(),
    };
    tracing::warn!("the host's time zone can't be read: {why}; messages tell times in UTC");
    TimeZone::UTC
}

/// `Wed 14:02:11 CEST (2026-09-02 12:02:11 UTC)`; in a zone that is UTC, `Wed 2026-09-02 12:02:11 UTC`.
pub fn at(when: WallMs, tz: &TimeZone) -> String {
    let Some(time) = timestamp(when) else { return out_of_range(when) };
    let local = time.to_zoned_datetime(tz.clone());
    if local.strftime("%Z").to_string() == "UTC" {
        return local.strftime("%a %Y-%m-%d %H:%M:%S UTC").to_string();
    }
    let utc = time.to_zoned_datetime(TimeZone::UTC);
    format!("{} ({})", local.strftime("%a %H:%M:%S %Z"), utc.strftime("%Y-%m-%d %H:%M:%S UTC"))
}

/// RFC 3339 in UTC with milliseconds, for programs.
pub fn rfc3339(when: WallMs) -> Option<String> {
    timestamp(when).map(|time| format!("{time:.3}"))
}

/// How long from one to the other, as people say it; nothing where the clock was set back in between.
pub fn span(from: WallMs, to: WallMs) -> Option<String> {
    let ms = u64::try_from(to.0.checked_sub(from.0)?).ok()?;
    Some(Spoken::rounded(Duration::from_millis(ms)).to_string())
}

/// Whole seconds since the Unix epoch, for programs.
pub fn unix_seconds(when: WallMs) -> i64 {
    when.0.div_euclid(1000)
}

fn timestamp(when: WallMs) -> Option<Timestamp> {
    Timestamp::from_millisecond(when.0).ok()
}

/// A host whose clock shows the year 300,000 has a trouble of its own; the message still has to go out.
fn out_of_range(when: WallMs) -> String {
    format!("an impossible time ({} ms since 1970)", when.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_on_a_disk_that_hangs_is_utc() {
        let (disk_is_mended, hangs) = std::sync::mpsc::sync_channel::<()>(0);
        let read = move || {
            hangs.recv().ok();
            Ok(TimeZone::fixed(jiff::tz::offset(2)))
        };
        assert_eq!(zone_read_by(read, Duration::from_millis(50)), TimeZone::UTC);
        drop(disk_is_mended);
        let read = || Ok(TimeZone::fixed(jiff::tz::offset(2)));
        assert_ne!(zone_read_by(read, Duration::from_secs(20)), TimeZone::UTC);
    }

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    #[test]
    fn local_time_comes_first_and_utc_carries_the_date() {
        assert_eq!(
            at(WallMs(1_788_350_531_250), &berlin()),
            "Wed 14:02:11 CEST (2026-09-02 12:02:11 UTC)"
        );
        assert_eq!(at(WallMs(1_788_350_531_250), &TimeZone::UTC), "Wed 2026-09-02 12:02:11 UTC");
    }

    #[test]
    fn both_sides_of_a_change_of_summer_time_name_their_zone() {
        // 2026-10-25 02:30 happens twice in Berlin.
        assert_eq!(
            at(WallMs(1_792_888_200_000), &berlin()),
            "Sun 02:30:00 CEST (2026-10-25 00:30:00 UTC)"
        );
        assert_eq!(
            at(WallMs(1_792_891_800_000), &berlin()),
            "Sun 02:30:00 CET (2026-10-25 01:30:00 UTC)"
        );
    }

    #[test]
    fn an_impossible_time_does_not_lose_the_message() {
        assert!(at(WallMs(i64::MAX), &berlin()).starts_with("an impossible time"));
        assert_eq!(rfc3339(WallMs(i64::MIN)), None);
        assert_eq!(span(WallMs(5), WallMs(4)), None);
        assert_eq!(span(WallMs(i64::MIN), WallMs(i64::MAX)), None);
    }

    #[test]
    fn programs_get_a_plain_stamp() {
        assert_eq!(rfc3339(WallMs(1_788_350_531_250)).as_deref(), Some("2026-09-02T12:02:11.250Z"));
        assert_eq!(span(WallMs(0), WallMs(250_400)).as_deref(), Some("4m 10s"));
        assert_eq!(unix_seconds(WallMs(-1)), -1);
    }
}
