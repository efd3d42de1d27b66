//! What the operations of one program share.

use crate::delays::random::{Random, mix};
use manyhands::Runtime;
use std::any::Any;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pools of one program.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) runtime: Arc<Runtime>,
    /// Another pool, called from this one and back.
    pub(crate) other: Arc<Runtime>,
    /// Held across loops, joins and scopes.
    lock: Mutex<u64>,
}

impl World {
    pub(crate) fn new(runtime: Arc<Runtime>, other: Arc<Runtime>) -> Self {
        Self {
            runtime,
            other,
            lock: Mutex::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, u64> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a body computes, drawn for a whole loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load(u64);

impl Load {
    pub(crate) fn random(random: &mut Random) -> Self {
        Self(random.pick(&[0, 0, 20, 300, 1_000, 4_000]))
    }

    /// Computes for a while.
    pub(crate) fn burn(self, number: u64) {
        self.work(number);
    }

    /// Computes for a while, and returns its argument.
    pub(crate) fn same(self, number: u64) -> u64 {
        self.work(number);
        number
    }

    /// Computes for a while; the same for the same number.
    pub(crate) fn work(self, number: u64) -> u64 {
        let value = (0..self.0).fold(number, |value, step| black_box(mix(value ^ step)));
        black_box(value);
        mix(number)
    }
}

/// How many items: mostly few, sometimes very many.
pub(crate) fn len(random: &mut Random, load: Load) -> u64 {
    let most = match random.below(10) {
        0 => 3,
        1..3 => 20,
        3..9 => 1_000,
        _ => 40_000,
    };
    // As much work in all, however much an item has.
    let most = match load.0 {
        0..100 => most,
        100..2_000 => most.min(1_500),
        _ => most.min(600),
    };
    let most = if cfg!(debug_assertions) && most > 1_000 {
        most / 4
    } else {
        most
    };
    random.below(most + 1)
}

/// As [`len`], for bodies that compute nothing.
pub(crate) fn count(random: &mut Random) -> usize {
    let len = len(random, Load(0));
    usize::try_from(len).expect("below 40,001")
}

/// This number of numbers below a limit.
pub(crate) fn numbers(random: &mut Random, count: usize, limit: u64) -> Vec<u64> {
    (0..count).map(|_| random.below(limit)).collect()
}

/// An intended panic: nothing is printed.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) struct Planned(pub(crate) u64);

impl Planned {
    pub(crate) fn throw(number: u64) -> ! {
        resume_unwind(Box::new(Self(number)))
    }
}

/// What a panic carried, which must come and must be planned; the numbers in order.
#[track_caller]
pub(crate) fn planned_panics<T>(work: impl FnOnce() -> T) -> Vec<u64> {
    let Err(payload) = catch_unwind(AssertUnwindSafe(work)) else {
        return Vec::new();
    };
    let payloads = match payload.downcast::<manyhands::AggregatePanic>() {
        Ok(aggregate) => aggregate.into_payloads(),
        Err(single) => vec![single],
    };
    let mut numbers: Vec<u64> = payloads.into_iter().map(planned).collect();
    numbers.sort_unstable();
    numbers
}

/// The number of a planned panic; another resumes.
pub(crate) fn planned(payload: Box<dyn Any + Send>) -> u64 {
    match payload.downcast::<Planned>() {
        Ok(planned) => planned.0,
        Err(other) => resume_unwind(other),
    }
}

/// The sum of numbers that may be large.
pub(crate) fn wrapping_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::wrapping_add)
}
