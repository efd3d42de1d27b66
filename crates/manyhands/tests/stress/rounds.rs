//! The number and size of the rounds, and their seeds.
#![expect(clippy::disallowed_methods, reason = "a stress test ends by the clock")]

pub(crate) use crate::delays::random::{Random, mix};
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

/// The command that runs round `seed` of test `name` first of all.
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
