//! Arms of which the truth is known.

use crate::{Case, Returned, clock::Stopwatch};
use std::{hint::black_box, thread};

/// A computation whose time is proportional to its steps: each needs the result of the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spin {
    steps_per_micro: f64,
}

impl Spin {
    /// Finds out how many steps a microsecond has. Only the length of samples depends on it: which
    /// arm is faster follows from their steps.
    pub(super) fn calibrate() -> Self {
        let rate = |_| {
            let watch = Stopwatch::start();
            black_box(spin(CALIBRATION_STEPS));
            CALIBRATION_STEPS as f64 / (watch.elapsed().as_secs_f64() * 1e6)
        };
        Self {
            steps_per_micro: (0..10).map(rate).fold(1.0, f64::max),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "micros are positive and small"
    )]
    fn steps(self, micros: f64) -> u64 {
        (micros * self.steps_per_micro) as u64
    }

    fn micros(self, micros: f64) {
        black_box(spin(self.steps(micros)));
    }

    /// Two arms at one size: the baseline takes `micros`, the other one `factor` times as long.
    pub(super) fn pair(self, name: String, micros: f64, factor: f64) -> Case<usize, Returned> {
        self.case(name, [1], move |_| micros, move |_| micros * factor)
    }

    /// A microsecond an item against a cost of its own.
    pub(super) fn curve(
        self,
        name: String,
        sizes: impl IntoIterator<Item = usize>,
        cost_micros: impl Fn(usize) -> f64 + Send + Sync + 'static,
    ) -> Case<usize, Returned> {
        self.case(name, sizes, |n| n as f64, cost_micros)
            .finds_break_even()
    }

    fn case(
        self,
        name: String,
        sizes: impl IntoIterator<Item = usize>,
        baseline_micros: impl Fn(usize) -> f64 + Send + Sync + 'static,
        cost_micros: impl Fn(usize) -> f64 + Send + Sync + 'static,
    ) -> Case<usize, Returned> {
        let arm = move |micros: f64, n: usize| {
            self.micros(micros);
            n
        };
        Case::returning(name)
            .full_sizes(sizes)
            .arm("known", move |n| arm(baseline_micros(n), n))
            .arm("other", move |n| arm(cost_micros(n), n))
    }

    /// A microsecond an item, and the same in two threads on one core.
    pub(super) fn two_threads(
        self,
        name: String,
        sizes: impl IntoIterator<Item = usize>,
    ) -> Case<usize, Returned> {
        Case::returning(name)
            .full_sizes(sizes)
            .arm("one thread", move |n| {
                self.micros(n as f64);
                n
            })
            .arm("two threads", move |n| {
                thread::scope(|scope| {
                    scope.spawn(|| self.micros(n as f64 / 2.0));
                    self.micros(n as f64 / 2.0);
                });
                n
            })
            .pinned_to(1)
            .finds_break_even()
    }
}

/// A generator of random numbers (xorshift, George Marsaglia 2003), whose every step needs the one before.
///
/// One function for all arms, which keeps its state in registers. A loop that is compiled into each arm stands at
/// another address in each, and one whose state passes through memory takes four or eight cycles for a step, by what
/// the processor has seen before: then equal arms are not equal.
#[inline(never)]
fn spin(steps: u64) -> u64 {
    let mut state = black_box(SEED);
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const CALIBRATION_STEPS: u64 = 1_000_000;
