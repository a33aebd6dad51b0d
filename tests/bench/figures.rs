//! Many times, a few figures.

use std::{fmt, time::Duration};

/// Times of the same thing, in the order of their length.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Of at least one.
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        assert!(!times.is_empty(), "nothing was measured");
        times.sort();
        Self(times)
    }

    /// The time that half of them do not exceed.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(50)
    }

    fn quantile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0[rank - 1]
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |time: Duration| {
            if time < Duration::from_secs(1) {
                format!("{:.1} ms", time.as_secs_f64() * 1000.0)
            } else {
                format!("{:.2} s", time.as_secs_f64())
            }
        };
        let (least, most) = (self.quantile(0), self.quantile(100));
        write!(
            f,
            "median {:>8}   p95 {:>8}   ({} to {}, n = {})",
            shown(self.median()),
            shown(self.quantile(95)),
            shown(least),
            shown(most),
            self.0.len()
        )
    }
}

/// A line of a part: what, and how much.
pub(crate) fn line(what: &str, figures: impl fmt::Display) {
    println!("  {what:<44} {figures}");
}
