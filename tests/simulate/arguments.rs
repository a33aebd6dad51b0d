//! What was typed behind `--`.

use std::str::FromStr;

/// What to run.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Only this seed, with its timeline.
    pub seed: Option<u64>,
    /// So many.
    pub seeds: u64,
    /// From this one on.
    pub from: u64,
    /// So many at a time.
    pub jobs: u64,
    /// Stop after so many that fail.
    pub stop_at: usize,
    /// No table and no timeline.
    pub quiet: bool,
}

impl Arguments {
    /// Reads them. What cargo's own test runner would understand is taken and ignored.
    ///
    /// # Errors
    /// What was not understood, in words.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments =
            Self { seed: None, seeds: 200, from: 1, jobs: 2, stop_at: usize::MAX, quiet: false };
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seed" => arguments.seed = Some(number(&word, words.next())?),
                "--seeds" => arguments.seeds = number(&word, words.next())?,
                "--from" => arguments.from = number(&word, words.next())?,
                "--jobs" => arguments.jobs = number::<u64>(&word, words.next())?.max(1),
                "--stop-at" => arguments.stop_at = number(&word, words.next())?,
                "--quiet" | "-q" => arguments.quiet = true,
                "--nocapture" | "--list" | "--exact" => {}
                other => {
                    return Err(format!(
                        "`{other}` is not understood; there are --seed N, --seeds N, --from N, --jobs N, --stop-at N, --quiet"
                    ));
                }
            }
        }
        Ok(arguments)
    }
}

fn number<N: FromStr>(word: &str, value: Option<String>) -> Result<N, String> {
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| format!("`{word}` needs a number behind it"))
}
