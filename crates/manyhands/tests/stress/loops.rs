//! Thousands of tiny loops from several external threads at once.

use crate::rounds::{Random, Rounds, command};
use crate::watchdog::Watchdog;
use manyhands::{Runtime, parallel};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

#[test]
fn tiny_loops_from_four_threads_run_every_index_once() {
    let name = "loops::tiny_loops_from_four_threads_run_every_index_once";
    let watchdog = Watchdog::new();
    for seed in Rounds::of(1) {
        let mut random = Random::new(seed);
        let workers = random.pick(&[1, 2, 3, 64, 192]);
        let runtime = Arc::new(Runtime::builder().workers(workers).build().unwrap());
        watchdog.begin(command(name, seed), &runtime);
        thread::scope(|s| {
            for caller in 0..CALLERS {
                let (runtime, random) = (&runtime, Random::new(seed ^ caller << 48));
                s.spawn(move || call(runtime, random));
            }
        });
    }
}

fn call(runtime: &Runtime, mut random: Random) {
    for _ in 0..LOOPS {
        let end = 1 + random.below(64);
        let len = random.below(end);
        let sum = AtomicU64::new(0);
        let add = |i: u64| {
            sum.fetch_add(i + 1, Ordering::Relaxed);
        };
        let options = parallel::Options::new().runtime(runtime);
        match random.below(4) {
            0 => runtime.install(|| parallel::for_each(0..len, add)),
            1 => options.for_each(0..len, add),
            2 => options
                .degree_of_parallelism(2)
                .expect("at least 1")
                .for_each(0..len, add),
            // Nested.
            _ => options.for_each(0..len, |i| {
                parallel::for_each(i..i + 1, add);
            }),
        }
        assert_eq!(sum.into_inner(), len * (len + 1) / 2, "0..{len}");
    }
}

const CALLERS: u64 = 4;
const LOOPS: u64 = if cfg!(miri) {
    4
} else if cfg!(any(sanitized, debug_assertions)) {
    500
} else {
    3_000
};
