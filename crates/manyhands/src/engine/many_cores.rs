//! Shared loops on up to 192 workers, simulated: how close claiming and stealing come to the shortest time possible.
//!
//! The runners are simulated, their steps are the real ones: each takes its next positions by [`Sharing::next`], and
//! chooses the size of its blocks as a real runner does. Only time is a number: that of the items, of a wake and of a
//! look at another range. Bodies do not slow each other down here, so no helper is ever sent away.
//!
//! The bound is ⌈items / workers⌉ times an item's time where all are equal, else the larger of the longest item and an
//! equal share of the sum.

use super::Rate;
use super::shared_call::{SHARE_NANOS_WORTH_A_WAKE, WAKES_EACH, block_at, smoothed};
use super::sharing::{OWNER, Sharing};
use crate::runtime::HelperSlot;
use crate::sync::{Parker, clock};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const WORKERS: [usize; 13] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 96, 128, 192];

/// From a futex call to the first step of the woken worker.
const WAKE_NANOS: u64 = 50_000;
/// The waker's part of it.
const WAKE_CALL_NANOS: u64 = 5_000;
/// A look at another runner's range, which is in that one's cache.
const LOOK_NANOS: u64 = 100;

/// One loop.
struct Simulation<'a> {
    sharing: Sharing<'a>,
    items: &'a [u64],
    workers: usize,
    /// The runners' estimates of an item.
    rates: Vec<Rate>,
    /// When something happens, to which runner.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    /// Workers that have been woken, or will be.
    woken: usize,
    to_wake: usize,
    end: u64,
}

impl Simulation<'_> {
    /// The time until the last item has ended, in nanoseconds. `known` is the call site's estimate.
    fn run(items: &[u64], workers: usize, known: u64) -> u64 {
        let (slot, parker) = (HelperSlot::new(), Parker::new());
        let len = u32::try_from(items.len()).expect("a loop of this file is short");
        let sum: u64 = items.iter().sum();
        let rate = Rate::of(clock::ticks_in(known * 1024), 1024);
        let mut simulation = Simulation {
            sharing: Sharing::new(&slot, &parker, workers, len),
            items,
            workers,
            rates: vec![rate; workers],
            events: BinaryHeap::from([Reverse((0, OWNER))]),
            woken: 1,
            to_wake: usize::try_from(sum / SHARE_NANOS_WORTH_A_WAKE).unwrap_or(workers),
            end: 0,
        };
        simulation.to_wake = simulation.to_wake.min(workers - 1);
        let mut has_begun = vec![false; workers];
        while let Some(Reverse((now, runner))) = simulation.events.pop() {
            let begun = std::mem::replace(&mut has_begun[runner], true);
            let now = if begun {
                now
            } else {
                simulation.begin(runner, now)
            };
            simulation.step(runner, now);
        }
        assert_eq!(simulation.sharing.left(), 0);
        simulation.end
    }

    /// The runner wakes others; returns when it is done.
    fn begin(&mut self, runner: usize, mut now: u64) -> u64 {
        if runner != OWNER {
            assert!(self.sharing.attach().is_some());
        }
        for _ in 0..WAKES_EACH {
            if self.to_wake > 0 {
                self.to_wake -= 1;
                self.events.push(Reverse((now + WAKE_NANOS, self.woken)));
                self.woken += 1;
                now += WAKE_CALL_NANOS;
            }
        }
        now
    }

    /// The runner takes its next positions, and runs them.
    fn step(&mut self, runner: usize, now: u64) {
        let own = self.sharing.has_own(runner);
        let Some(claim) = self.sharing.next(runner, block_at(self.rates[runner])) else {
            return;
        };
        let (start, end) = self.sharing.spend(runner, claim);
        let items = &self.items[start as usize..end as usize];
        let took: u64 = items.iter().sum();
        let found = if own {
            0
        } else {
            LOOK_NANOS * self.workers as u64
        };
        let done = now + found + took;
        let rate = Rate::of(clock::ticks_in(took), items.len() as u64);
        self.rates[runner] = smoothed(self.rates[runner], rate);
        self.end = self.end.max(done);
        self.events.push(Reverse((done, runner)));
    }
}

/// The shortest time possible.
fn bound(items: &[u64], workers: usize) -> u64 {
    let (sum, longest) = (
        items.iter().sum::<u64>(),
        items.iter().max().copied().unwrap_or(0),
    );
    if items.iter().all(|item| *item == longest) {
        return items.len().div_ceil(workers) as u64 * longest;
    }
    longest.max(sum / workers as u64)
}

/// Loops with the times of one item, and the estimate of the call site.
fn loops() -> Vec<(&'static str, Vec<u64>)> {
    vec![
        ("300 × BCrypt, cost 4 (1.23 ms)", vec![1_230_000; 300]),
        ("300 × BCrypt, cost 10 (74.1 ms)", vec![74_100_000; 300]),
        ("1,000,000 × SHA-512 (300 ns)", vec![300; 1_000_000]),
        (
            "20,000 items, rising (1 to 101 µs)",
            (0..20_000).map(|i| 1_000 + i * 5).collect(),
        ),
        (
            "20,000 items, falling (101 to 1 µs)",
            (0..20_000).rev().map(|i| 1_000 + i * 5).collect(),
        ),
    ]
}

/// The makespan of a later call of the same site, to the bound.
fn ratio(items: &[u64], workers: usize) -> f64 {
    let mean = items.iter().sum::<u64>() / items.len() as u64;
    Simulation::run(items, workers, mean) as f64 / bound(items, workers) as f64
}

/// In a shorter loop the wakes show.
const BOUND_NANOS_MIN: u64 = 3_000_000;

#[test]
fn loops_stay_close_to_the_bound_at_every_number_of_workers() {
    for (name, items) in loops() {
        let is_long = |workers: &usize| bound(&items, *workers) >= BOUND_NANOS_MIN;
        for workers in WORKERS.into_iter().filter(is_long) {
            let ratio = ratio(&items, workers);
            assert!(ratio < 1.1, "{name} on {workers}: {ratio:.3}");
        }
    }
}

#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "for a page of the documentation")]
fn table() {
    println!(
        "| loop | {} |",
        WORKERS.map(|workers| workers.to_string()).join(" | ")
    );
    println!("| --- |{}", " --: |".repeat(WORKERS.len()));
    for (name, items) in loops() {
        let ratios = WORKERS.map(|workers| format!("{:.2}", ratio(&items, workers)));
        println!("| {name} | {} |", ratios.join(" | "));
    }
}
