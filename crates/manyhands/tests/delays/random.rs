//! Random numbers that a seed repeats: splitmix64, Sebastiano Vigna 2015.

/// A small random generator.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A length below `end`, which is not 0.
    pub(crate) fn length(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).expect("below a length")
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.length(choices.len())]
    }

    pub(crate) fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// Scrambles a number.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
