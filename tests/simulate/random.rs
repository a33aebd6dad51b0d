//! Numbers from a seed: the same ones on every machine and with every version of every crate, which is why no crate makes
//! them. SplitMix64 (Steele, Lea, Flood 2014): one addition and a hash a number, and any two streams are independent.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0xA076_1D64_78BD_642F) ^ 0xE703_7ED1_A0B4_28DB }
    }

    /// A stream of its own, so that what is drawn for one thing does not move what is drawn for the next.
    pub fn branch(&mut self, what: u64) -> Self {
        Self::new(self.next() ^ what.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to and including `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.next() % from.len() as u64).unwrap_or(0)]
    }
}
