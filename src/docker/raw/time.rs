//! The engine's times. RFC 3339 with up to nine digits and any offset in JSON, an HTTP date in the header.
//!
//! Go writes a time that was never set as the year 1; everything before 1970 counts as that.

use crate::domain::moment::EngineMs;
use jiff::{Timestamp, fmt::rfc2822};

/// Reads a time of the engine's JSON; `None` where it was never set or cannot be read.
pub(super) fn engine_time(text: &str) -> Option<EngineMs> {
    text.parse::<Timestamp>().ok().and_then(since_1970)
}

/// Reads a `Date` header.
pub(in crate::docker) fn http_date(value: &[u8]) -> Option<EngineMs> {
    rfc2822::DateTimeParser::new().parse_timestamp(value).ok().and_then(since_1970)
}

fn since_1970(time: Timestamp) -> Option<EngineMs> {
    Some(time.as_millisecond()).filter(|ms| *ms > 0).map(EngineMs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_and_offsets_are_read() {
        let at = Some(EngineMs(1_704_103_200_123));
        assert_eq!(engine_time("2024-01-01T10:00:00.123456789Z"), at);
        assert_eq!(engine_time("2024-01-01T12:00:00.123456789+02:00"), at);
        assert_eq!(engine_time("2024-01-01T04:30:00.1234-05:30"), at);
    }

    #[test]
    fn never_set_and_unreadable_are_none() {
        for text in ["0001-01-01T00:00:00Z", "", "yesterday", "2024-13-01T00:00:00Z", "1704103200"]
        {
            assert_eq!(engine_time(text), None, "{text}");
        }
    }

    #[test]
    fn the_date_header_is_read() {
        let at = http_date(b"Mon, 01 Jan 2024 10:00:00 GMT");
        assert_eq!(at, Some(EngineMs(1_704_103_200_000)));
        assert_eq!(http_date(b"now"), None);
        assert_eq!(http_date(&[0xff, 0xfe]), None);
    }
}
