//! Shared loops on up to 192 workers, simulated: how close claiming and stealing come to the shortest time possible.
//!
//! The runners are simulated, their steps are the real ones: each takes its next positions by [`Sharing::next`], and
//! chooses the size of its blocks as a real runner does. Only time is a number: that of the items, of a wake, of a
//! look at another range, and, where it is asked for, of writes to the lines that all runners write. Bodies do not slow each
//! other down here, so no helper is ever sent away.
//!
//! The bound is ⌈items / workers⌉ times an item's time where all are equal, else the larger of the longest item and an
//! equal share of the sum.

use crate::engine::Rate;
use crate::engine::cost::{WAKES_EACH, block_at, worth_a_wake};
use crate::engine::sharing::{OWNER, Sharing};
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

/// What things other than items take, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Costs {
    wake: u64,
    /// The waker's part of a wake.
    wake_call: u64,
    look: u64,
    /// A write to a line that all runners write. Only one runner at a time writes there.
    write: u64,
}

const COSTS: Costs = Costs {
    wake: WAKE_NANOS,
    wake_call: WAKE_CALL_NANOS,
    look: LOOK_NANOS,
    write: 0,
};

/// A line that all runners of a loop write.
#[derive(Debug, Clone, Copy)]
enum SharedLine {
    /// How many workers are still to be woken.
    ToWake,
    /// The counts of awake and searching workers.
    Counts,
    /// The sleepers' bits.
    Sleepers,
    /// The state of the call's slot for helpers.
    Slot,
}

/// How far a runner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Joins,
    /// It still wakes up to this number of others.
    Wakes(u32),
    Works,
}

/// One loop.
struct Simulation<'a> {
    sharing: Sharing<'a>,
    items: &'a [u64],
    workers: usize,
    /// The runners' estimates of an item.
    rates: Vec<Rate>,
    /// When something happens, to which runner.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    stages: Vec<Stage>,
    /// Workers that have been woken, or will be.
    woken: usize,
    to_wake: usize,
    costs: Costs,
    /// When each of the lines that all runners write is free again.
    free_at: [u64; 4],
    /// When each runner begins with its first items.
    begun_at: Vec<u64>,
    steals: u64,
    end: u64,
}

impl Simulation<'_> {
    /// What it took. `known` is the call site's estimate.
    fn run(items: &[u64], workers: usize, known: u64, costs: Costs) -> Outcome {
        let (slot, parker) = (HelperSlot::default(), Parker::default());
        let len = u32::try_from(items.len()).expect("a loop of this file is short");
        let sum: u64 = items.iter().sum();
        let rate = Rate::of(clock::ticks_in(known * 1024), 1024);
        let mut simulation = Simulation {
            sharing: Sharing::new(&slot, &parker, workers, len),
            items,
            workers,
            rates: vec![rate; workers],
            events: BinaryHeap::from([Reverse((0, OWNER))]),
            stages: vec![Stage::Joins; workers],
            woken: 1,
            to_wake: usize::try_from(clock::ticks_in(sum) / worth_a_wake()).unwrap_or(workers),
            costs,
            free_at: [0; 4],
            begun_at: Vec::new(),
            steals: 0,
            end: 0,
        };
        simulation.to_wake = simulation.to_wake.min(workers - 1);
        while let Some(Reverse((now, runner))) = simulation.events.pop() {
            match simulation.stages[runner] {
                Stage::Joins => simulation.join(runner, now),
                Stage::Wakes(count) => simulation.wake(runner, count, now),
                Stage::Works => simulation.step(runner, now),
            }
        }
        assert_eq!(simulation.sharing.ranges.left(), 0);
        Outcome {
            nanos: simulation.end,
            steals: simulation.steals,
            begun_at: simulation.begun_at,
        }
    }

    fn join(&mut self, runner: usize, mut now: u64) {
        if runner != OWNER {
            if self.sharing.ranges.left() == 0 {
                // It finds no open call.
                return;
            }
            now = self.write(SharedLine::Slot, now);
            assert!(self.sharing.attach().is_some());
        }
        self.go_on(runner, Stage::Wakes(WAKES_EACH), now);
    }

    /// The runner wakes one other, if it is to wake any.
    fn wake(&mut self, runner: usize, count: u32, mut now: u64) {
        if count == 0 || self.to_wake == 0 {
            self.begun_at.push(now);
            self.go_on(runner, Stage::Works, now);
            return;
        }
        self.to_wake -= 1;
        now = self.write(SharedLine::ToWake, now);
        now = self.write(SharedLine::Counts, now);
        now = self.write(SharedLine::Sleepers, now);
        self.events
            .push(Reverse((now + self.costs.wake, self.woken)));
        self.woken += 1;
        self.go_on(runner, Stage::Wakes(count - 1), now + self.costs.wake_call);
    }

    fn go_on(&mut self, runner: usize, stage: Stage, now: u64) {
        self.stages[runner] = stage;
        self.events.push(Reverse((now, runner)));
    }

    /// When a runner that comes to this line now has written it.
    fn write(&mut self, line: SharedLine, now: u64) -> u64 {
        let free_at = &mut self.free_at[line as usize];
        *free_at = now.max(*free_at) + self.costs.write;
        if self.costs.write == 0 { now } else { *free_at }
    }

    /// The runner takes its next positions, and runs them.
    fn step(&mut self, runner: usize, now: u64) {
        let own = self.sharing.ranges.has_some(runner);
        let Some(claim) = self.sharing.next(runner, block_at(self.rates[runner])) else {
            // It leaves. The call is over when all have left.
            self.end = self.end.max(self.write(SharedLine::Slot, now));
            return;
        };
        self.steals += u64::from(!own);
        let (start, end) = self.sharing.ranges.spend(runner, claim);
        let items = &self.items[start as usize..end as usize];
        let took: u64 = items.iter().sum();
        let found = if own {
            0
        } else {
            self.costs.look * self.workers as u64
        };
        let done = now + found + took;
        let spent = clock::ticks_in(took);
        self.rates[runner] = self.rates[runner].after_block(spent, items.len() as u64);
        self.end = self.end.max(done);
        self.events.push(Reverse((done, runner)));
    }
}

/// What a loop took.
struct Outcome {
    nanos: u64,
    /// How often a runner took positions out of another one's range.
    steals: u64,
    /// When each runner began with its first items.
    begun_at: Vec<u64>,
}

/// The shortest time possible if the runners begin at these moments, and no position costs anything to find.
fn bound_from(items: &[u64], begun_at: &[u64]) -> u64 {
    let (sum, longest) = (items.iter().sum::<u64>(), items.iter().max().copied());
    let longest = longest.unwrap_or(0);
    let is_equal = items.iter().all(|item| *item == longest);
    let suffices = |end: u64| {
        let each = begun_at.iter().map(|begun| end.saturating_sub(*begun));
        if is_equal {
            each.map(|time| time / longest).sum::<u64>() >= items.len() as u64
        } else {
            each.sum::<u64>() >= sum
        }
    };
    let (mut low, mut high) = (longest, sum + longest);
    while low < high {
        let middle = low.midpoint(high);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// When the runners begin if each wakes others until all are woken: no tree of wakes lets them do more by any moment.
fn begun_soonest(workers: usize, costs: Costs) -> Vec<u64> {
    let mut awake = BinaryHeap::from([Reverse(0)]);
    let mut woken = 1;
    while woken < workers {
        let Reverse(now) = awake.pop().expect("the owner is awake");
        awake.push(Reverse(now + costs.wake_call.max(1)));
        awake.push(Reverse(now + costs.wake));
        woken += 1;
    }
    awake.into_iter().map(|Reverse(at)| at).collect()
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

/// A later call of the same site.
fn simulate(items: &[u64], workers: usize, costs: Costs) -> Outcome {
    let mean = items.iter().sum::<u64>() / items.len() as u64;
    Simulation::run(items, workers, mean, costs)
}

/// The makespan, to the bound.
fn ratio(items: &[u64], workers: usize, costs: Costs) -> f64 {
    simulate(items, workers, costs).nanos as f64 / bound(items, workers) as f64
}

/// In a shorter loop the wakes show.
const BOUND_NANOS_MIN: u64 = 3_000_000;

#[test]
fn loops_stay_close_to_the_bound_at_every_number_of_workers() {
    for (name, items) in loops() {
        let is_long = |workers: &usize| bound(&items, *workers) >= BOUND_NANOS_MIN;
        for workers in WORKERS.into_iter().filter(is_long) {
            let ratio = ratio(&items, workers, COSTS);
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
        let ratios = WORKERS.map(|workers| format!("{:.2}", ratio(&items, workers, COSTS)));
        println!("| {name} | {} |", ratios.join(" | "));
    }
}

/// What of a loop's time the wakes, the looks and the lines that all write take.
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "for a page of the documentation")]
fn costs_apart() {
    println!(
        "| loop | workers | as it is | wakes free | looks free | both | least with these wakes | with the soonest | \
         steals | writes of 0.1 µs | of 0.4 µs |\n| --- |{}",
        " --: |".repeat(10)
    );
    let no_looks = Costs { look: 0, ..COSTS };
    let free = |costs| Costs {
        wake: 0,
        wake_call: 0,
        ..costs
    };
    for (name, items) in loops() {
        for workers in [64, 192] {
            let made = simulate(&items, workers, COSTS);
            let of = |nanos| nanos as f64 / bound(&items, workers) as f64;
            let at = |costs| ratio(&items, workers, costs);
            let ratios = [
                of(made.nanos),
                at(free(COSTS)),
                at(no_looks),
                at(free(no_looks)),
                of(bound_from(&items, &made.begun_at)),
                of(bound_from(&items, &begun_soonest(workers, COSTS))),
            ];
            let ratios = ratios.map(|ratio| format!("{ratio:.3}")).join(" | ");
            let slower = [100, 400].map(|write| {
                let more = at(Costs { write, ..COSTS }) / at(COSTS) - 1.0;
                format!("{:.2} %", more * 100.0)
            });
            let (steals, slower) = (made.steals, slower.join(" | "));
            println!("| {name} | {workers} | {ratios} | {steals} | {slower} |");
        }
    }
}
