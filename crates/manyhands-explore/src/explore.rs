//! Runs a program in many schedules.
//!
//! Not here: what a schedule is, and how time passes in it (`world/mod.rs`).

use crate::thread;
use crate::world::{self, Chooser, Terms};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Runs `program` in many schedules; the environment says in how many.
///
/// A program fails when it panics, when all its threads are blocked, when it advances only because time passes, when it does not
/// end, or when threads are left behind. Then the seed that repeats the failure is printed, and the process ends.
pub fn explore(terms: Terms, program: fn()) {
    let begun = now();
    let mut plan = Plan {
        terms,
        seeds: Plan::requested_seeds(),
        end: number_of("EXPLORE_SECONDS").map(|seconds| begun + Duration::from_secs(seconds)),
    };
    world::tell_of_signals();
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_SIZE;
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::None;
    config.silence_warnings = true;
    let points = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&points);
    let runner = shuttle::Runner::new(Chooser(move || plan.begin_next()), config);
    let schedules = runner.run(move || {
        let _clock = shuttle::thread::Builder::new()
            .name("clock".to_owned())
            .spawn(world::keep_time);
        let result = std::panic::catch_unwind(program);
        if let Err(payload) = result {
            world::fail(&format!("panicked: {}", thread::text_of(&*payload)));
        }
        // Relaxed: a count.
        counted.fetch_add(world::points(), Ordering::Relaxed);
        world::end();
    });
    world::leave();
    // Relaxed: as above.
    let points = points.load(Ordering::Relaxed);
    let line = format!(
        "explored {}: {schedules} schedules, {} accesses each, {:.1} s\n",
        terms.name,
        points / schedules.max(1) as u64,
        now().duration_since(begun).as_secs_f64()
    );
    // Past the capture of the test harness.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Which seeds are run.
struct Plan {
    terms: Terms,
    seeds: std::ops::Range<u64>,
    /// The time limit, whatever the seeds.
    end: Option<Instant>,
}

impl Plan {
    fn requested_seeds() -> std::ops::Range<u64> {
        if let Some(seed) = number_of("EXPLORE_SEED") {
            return seed..seed + 1;
        }
        let first = number_of("EXPLORE_FIRST_SEED").unwrap_or(1);
        let count = if number_of("EXPLORE_SECONDS").is_some() {
            u64::MAX - first
        } else {
            number_of("EXPLORE_SCHEDULES").unwrap_or(SCHEDULES_DEFAULT)
        };
        first..first + count
    }

    /// Begins the next schedule, if there is to be one.
    fn begin_next(&mut self) -> bool {
        if self.end.is_some_and(|end| now() >= end) {
            return false;
        }
        let Some(seed) = self.seeds.next() else {
            return false;
        };
        world::begin(seed, self.terms);
        true
    }
}

/// A number in the environment, such as `12` or `0xc`.
fn number_of(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long exploring takes is real"
)]
fn now() -> Instant {
    Instant::now()
}

/// For a run by hand; see `cargo xtask`.
const SCHEDULES_DEFAULT: u64 = 1000;
/// The stacks of coroutines have this fixed size.
const STACK_SIZE: usize = 256 << 10;
