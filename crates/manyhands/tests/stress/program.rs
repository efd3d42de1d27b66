//! Loops that check themselves: each has one result, however it is divided.

use crate::rounds::{LOOP_MAX, Random, mix};
use manyhands::query::prelude::*;
use manyhands::{cancel, parallel};
use std::sync::atomic::{AtomicU64, Ordering};

/// A loop over `0..len`, with something that happens at `at`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loop {
    kind: Kind,
    len: u64,
    at: u64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sum,
    Map,
    Mutate,
    FromIterator,
    LocalState,
    FindFirst,
    Break,
    Stop,
    Cancel,
    Fail,
}

const KINDS: [Kind; 10] = [
    Kind::Sum,
    Kind::Map,
    Kind::Mutate,
    Kind::FromIterator,
    Kind::LocalState,
    Kind::FindFirst,
    Kind::Break,
    Kind::Stop,
    Kind::Cancel,
    Kind::Fail,
];

impl Loop {
    pub(crate) fn random(random: &mut Random) -> Self {
        let end = 1 + random.below(LOOP_MAX);
        let len = 1 + random.below(end);
        Self {
            kind: random.pick(&KINDS),
            len,
            at: random.below(len),
        }
    }

    pub(crate) fn in_sequence(self) -> u64 {
        match self.kind {
            Kind::Sum | Kind::FromIterator | Kind::LocalState => total((0..self.len).map(mix)),
            Kind::Map | Kind::Mutate => digest(&(0..self.len).map(mix).collect::<Vec<_>>()),
            Kind::FindFirst | Kind::Break | Kind::Stop | Kind::Cancel | Kind::Fail => self.at,
        }
    }

    pub(crate) fn in_parallel(self) -> u64 {
        match self.kind {
            Kind::Sum => wrapping(parallel::map_reduce(0..self.len, mix, u64::wrapping_add)),
            Kind::FromIterator => wrapping(parallel::map_reduce(
                parallel::from_iter(0..self.len),
                mix,
                u64::wrapping_add,
            )),
            Kind::Map => digest(&parallel::map(0..self.len, mix)),
            Kind::Mutate => {
                let mut numbers: Vec<u64> = (0..self.len).collect();
                parallel::for_each(&mut numbers, |number| *number = mix(*number));
                digest(&numbers)
            }
            Kind::LocalState => self.with_local_state(),
            Kind::FindFirst => (0..self.len)
                .into_par_query()
                .find(|&i| i >= self.at)
                .expect("the index is below the length"),
            Kind::Break => self.broken(),
            Kind::Stop => self.stopped(),
            Kind::Cancel => self.cancelled(),
            Kind::Fail => self.failed(),
        }
    }

    fn with_local_state(self) -> u64 {
        let sum = AtomicU64::new(0);
        let finish = |part: u64| {
            sum.fetch_add(part, Ordering::Relaxed);
        };
        let outcome = parallel::Options::new()
            .local(|| 0_u64, finish)
            .for_each(0..self.len, |i, _, part| *part = part.wrapping_add(mix(i)));
        assert!(outcome.is_completed());
        sum.into_inner()
    }

    fn broken(self) -> u64 {
        let below = AtomicU64::new(0);
        let outcome = parallel::Options::new().for_each_with_control(0..self.len, |i, control| {
            if i < self.at {
                below.fetch_add(1, Ordering::Relaxed);
            } else if i == self.at {
                control.break_at_current();
            }
        });
        assert_eq!(below.into_inner(), self.at, "indices below the break");
        outcome.lowest_break().expect("the loop was broken")
    }

    fn stopped(self) -> u64 {
        let outcome = parallel::Options::new().for_each_with_control(0..self.len, |i, control| {
            if i == self.at {
                control.stop();
            }
        });
        assert!(outcome.is_stopped());
        self.at
    }

    fn cancelled(self) -> u64 {
        let source = cancel::TokenSource::new();
        let token = source.token();
        let bodies = AtomicU64::new(0);
        let result = parallel::Options::new()
            .cancellation(&token)
            .for_each(0..self.len, |i| {
                bodies.fetch_add(1, Ordering::Relaxed);
                if i == self.at {
                    source.cancel();
                }
            });
        let bodies = bodies.into_inner();
        match result {
            Ok(()) => assert_eq!(bodies, self.len, "a loop that completed ran everything"),
            Err(cancelled) => {
                assert_eq!(cancelled.token(), &token);
                assert!(bodies <= self.len, "{bodies} bodies of {}", self.len);
            }
        }
        self.at
    }

    fn failed(self) -> u64 {
        let result =
            parallel::try_for_each(0..self.len, |i| if i == self.at { Err(i) } else { Ok(()) });
        let failures = result.expect_err("one body fails");
        let errors: Vec<(u64, u64)> = failures.errors().map(|(at, &error)| (at, error)).collect();
        assert_eq!(errors, [(self.at, self.at)]);
        self.at
    }
}

fn total(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::wrapping_add)
}

fn wrapping(sum: Option<u64>) -> u64 {
    sum.unwrap_or(0)
}

/// A number that changes when two values are swapped.
fn digest(values: &[u64]) -> u64 {
    values.iter().fold(0, |digest, &value| mix(digest ^ value))
}
