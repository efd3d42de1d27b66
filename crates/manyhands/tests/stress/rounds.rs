//! How often, how large, from which seed; and the random numbers.
#![expect(clippy::disallowed_methods, reason = "a stress test ends by the clock")]

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Nodes of the largest tree.
pub(crate) const NODES_MAX: u64 = if cfg!(miri) {
    12
} else if cfg!(any(sanitized, debug_assertions)) {
    120
} else {
    400
};

/// Iterations of the largest leaf.
pub(crate) const WORK_MAX: u64 = if cfg!(miri) { 8 } else { 4_000 };

/// Indices of the longest loop.
pub(crate) const LOOP_MAX: u64 = if cfg!(miri) { 20 } else { 3_000 };

/// The rounds of one test: seeds, until the time is over.
#[derive(Debug)]
pub(crate) struct Rounds {
    end: Instant,
    next_seed: u64,
    left: u64,
}

impl Rounds {
    /// As many as fit into one part of `parts` of a test's time, at least one.
    pub(crate) fn of(parts: u32) -> Self {
        let seconds = number("MANYHANDS_STRESS_SECONDS").unwrap_or(SECONDS_DEFAULT);
        let first = number("MANYHANDS_STRESS_SEED");
        Self {
            end: Instant::now() + Duration::from_secs(seconds) / parts,
            next_seed: first.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16),
            left: if cfg!(miri) { 2 } else { u64::MAX },
        }
    }
}

impl Iterator for Rounds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        let is_last = Instant::now() >= self.end;
        self.left = if is_last { 0 } else { self.left - 1 };
        self.next_seed += 1;
        Some(self.next_seed - 1)
    }
}

/// How to see round `seed` of test `name` again, first of all.
pub(crate) fn command(name: &str, seed: u64) -> String {
    let release = if cfg!(debug_assertions) {
        ""
    } else {
        " --release"
    };
    format!(
        "MANYHANDS_STRESS_SEED={seed} cargo test -p manyhands{release} --test stress -- --exact {name}"
    )
}

/// A small random generator: splitmix64, Sebastiano Vigna 2015.
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

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

const SECONDS_DEFAULT: u64 = if cfg!(any(sanitized, debug_assertions)) {
    3
} else {
    5
};
