//! Loops, joins, scopes and tasks under delays: threads are stalled by signals at random instants, others burn
//! processor time, tasks arrive from outside all the time. Each body is counted.
//!
//! The stalls reach every thread of this process, so the tests beside these are stalled too.

use crate::delays::arrivals::Arrivals;
use crate::delays::hogs::Hogs;
use crate::delays::processors::OneProcessor;
use crate::delays::stalls::{Stalls, Strength};
use crate::rounds::{Random, Rounds, command, mix};
use crate::watchdog::Watchdog;
use manyhands::query::prelude::*;
use manyhands::{Runtime, join, parallel, scope, task};
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;

#[test]
#[cfg_attr(miri, ignore = "nobody is stalled there")]
fn stalls_and_busy_threads_lose_nothing_on_1_and_2_workers() {
    let name = "stalled::stalls_and_busy_threads_lose_nothing_on_1_and_2_workers";
    rounds(name, &[1, 2], 2);
}

#[test]
#[cfg_attr(miri, ignore = "nobody is stalled there")]
fn stalls_lose_nothing_on_3_and_8_workers() {
    rounds(
        "stalled::stalls_lose_nothing_on_3_and_8_workers",
        &[3, 8],
        0,
    );
}

#[test]
#[cfg_attr(miri, ignore = "too many threads")]
fn stalls_lose_nothing_on_64_workers() {
    rounds("stalled::stalls_lose_nothing_on_64_workers", &[64], 0);
}

#[test]
#[cfg_attr(miri, ignore = "too many threads")]
fn stalls_lose_nothing_on_192_workers() {
    rounds("stalled::stalls_lose_nothing_on_192_workers", &[192], 0);
}

#[test]
#[cfg_attr(miri, ignore = "nobody is stalled there")]
fn stalls_lose_nothing_on_one_processor() {
    let _one = OneProcessor::begin();
    let name = "stalled::stalls_lose_nothing_on_one_processor";
    rounds(name, &[1, 2, 4, 64, 192], 1);
}

fn rounds(name: &str, workers: &[usize], hogs: usize) {
    let watchdog = Watchdog::new();
    let _hogs = Hogs::begin(hogs);
    for seed in Rounds::of(1) {
        let mut random = Random::new(seed);
        let strength = random.pick(&[Strength::Light, Strength::Heavy]);
        let _stalls = Stalls::begin(seed, strength);
        let runtime = Runtime::builder().workers(random.pick(workers)).build();
        let runtime = Arc::new(runtime.expect("the number is right"));
        let command = command(name, seed);
        watchdog.begin(command.clone(), &runtime);
        let arrivals = Arrivals::begin(&runtime, seed);
        let callers = 1 + random.below(2);
        thread::scope(|s| {
            for _ in 0..callers {
                let (runtime, random) = (&runtime, Random::new(random.next()));
                let (command, watchdog) = (&command, &watchdog);
                s.spawn(move || {
                    let _entered = runtime.enter();
                    call(random, command, watchdog);
                });
            }
        });
        arrivals.end();
    }
}

/// Counts the visits of each index.
struct Visits(Vec<AtomicU8>);

impl Visits {
    fn new(len: u64) -> Self {
        Self((0..len).map(|_| AtomicU8::new(0)).collect())
    }

    fn visit(&self, index: u64) {
        let index = usize::try_from(index).expect("an index");
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    fn assert_each_once(self, what: &str, command: &str) {
        let counts = self.0.into_iter().map(AtomicU8::into_inner);
        let wrong: Vec<_> = (0_u64..)
            .zip(counts)
            .filter(|&(_, count)| count != 1)
            .collect();
        assert!(
            wrong.is_empty(),
            "{what}: run not once: {wrong:?}\n{command}"
        );
    }
}

fn call(mut random: Random, command: &str, watchdog: &Watchdog) {
    for _ in 0..CALLS {
        let (len, load) = (random.below(LEN_MAX), random.pick(&[0, 100, 600]));
        let visits = Visits::new(len);
        let body = |index: u64| {
            (0..load).for_each(|_| {
                black_box(mix(index));
                spin_loop();
            });
            visits.visit(index);
        };
        let what = match random.below(5) {
            0 => {
                let found = parallel::map(0..len, |index| {
                    body(index);
                    Box::new(index)
                });
                assert!(found.into_iter().map(|it| *it).eq(0..len), "{command}");
                "map"
            }
            1 => {
                let sum = AtomicU64::new(0);
                halve(0, len, &body, &sum);
                assert_eq!(sum.into_inner(), len, "{command}");
                "join"
            }
            2 => {
                scope(|s| (0..len).for_each(|index| s.spawn(move_in(&body, index))));
                "scope"
            }
            3 => {
                parallel::for_each(0..len / 50, |row| {
                    parallel::for_each(50 * row..50 * (row + 1), body);
                });
                (len / 50 * 50..len).for_each(body);
                "nested loops"
            }
            _ => {
                parallel::for_each(0..len, body);
                let numbers = task::run(move || (0..len).into_par_query().sum::<u64>());
                let sum = numbers.join().expect("it does not panic");
                assert_eq!(sum, (0..len).sum::<u64>(), "{command}");
                "loop"
            }
        };
        visits.assert_each_once(what, command);
        watchdog.beat();
    }
}

fn move_in<S>(body: &(impl Fn(u64) + Sync), index: u64) -> impl FnOnce(&S) + Send {
    move |_| body(index)
}

fn halve(from: u64, to: u64, body: &(impl Fn(u64) + Sync), sum: &AtomicU64) {
    if to - from <= 1 {
        (from..to).for_each(body);
        sum.fetch_add(to - from, Ordering::Relaxed);
    } else {
        let middle = u64::midpoint(from, to);
        join(
            || halve(from, middle, body, sum),
            || halve(middle, to, body, sum),
        );
    }
}

const LEN_MAX: u64 = 800;
const CALLS: u32 = 60;
