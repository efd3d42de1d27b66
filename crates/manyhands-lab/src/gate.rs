//! The capacity gate: was the machine ours while a block ran?
//!
//! Pairing cancels what slows all arms alike. A neighbour that takes one of two processors slows
//! only the parallel arm, and no rule on times can tell; so a block is judged by what the system
//! counted meanwhile, never by its times, and dropped as a whole, so that no arm is favoured.
//!
//! # Two kinds of counters
//! Run delay and this process's own processor time are kept in nanoseconds. They are judged
//! sample by sample, as they are.
//!
//! The time of others and of other machines comes in ticks of 10 ms for each processor, whatever
//! happened between two readings. A single tick says nothing about a block of 10 ms; it would
//! drop blocks by the chance of where ticks fall. So the ticks of all samples of a block are
//! added, and one tick for each processor is forgiven. A block of 100 ms on two processors is
//! dropped for 26 ms of other people's work; one of 10 ms hardly ever for ticks, but still for
//! its run delay, which tells of local processes exactly. Only what a hypervisor takes during
//! short blocks stays unseen, and widens the interval.
//!
//! A counter that a system does not have disturbs nothing.

use crate::{
    findings::Cause,
    machine::Machine,
    record::{Block, Meters, Sample, Thresholds},
};

/// The processors a block could have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// All that the machine has: the counters of others' time are about all of them.
    pub machine: usize,
    /// Those this process may use.
    pub allowed: usize,
}

impl Capacity {
    /// That of a case whose processes may use this many processors, or all the machine offers.
    #[must_use]
    pub fn of(machine: &Machine, cpus: Option<usize>) -> Self {
        Self {
            machine: machine.cpus,
            allowed: cpus.map_or(machine.cpus, |cpus| cpus.min(machine.cpus)),
        }
    }
}

/// Why this block is to be dropped; nothing if it is clean.
///
/// # Examples
/// ```
/// use manyhands_lab::gate::{Capacity, causes};
/// use manyhands_lab::record::{Block, Meters, Sample, Thresholds};
///
/// let sample = Sample { calls: 1, wall_nanos: 5_000_000, meters: Meters::default() };
/// let block = Block { launch: 0, order: vec![0], samples: vec![sample], checksum: String::new() };
/// let capacity = Capacity { machine: 2, allowed: 2 };
/// assert!(causes(&block, capacity, &Thresholds::default()).is_empty());
/// ```
#[must_use]
pub fn causes(block: &Block, capacity: Capacity, thresholds: &Thresholds) -> Vec<Cause> {
    let wall: f64 = sum(block, |sample| sample.wall_nanos as f64);
    let of_others = sum(block, |sample| others(&sample.meters));
    let forgiven = TICK_NANOS * capacity.machine as f64;
    let load = (of_others - forgiven) / (wall * capacity.machine as f64);

    let waited = sum(block, |sample| missed(sample, capacity.allowed));
    let delay = waited / (wall * capacity.allowed as f64);

    let faults = sum(block, |sample| {
        sample.meters.major_faults.unwrap_or(0) as f64
    });
    [
        (load > thresholds.load, Cause::Load),
        (delay > thresholds.run_delay, Cause::RunDelay),
        (faults > 0.0, Cause::MajorFault),
    ]
    .into_iter()
    .filter_map(|(disturbed, cause)| disturbed.then_some(cause))
    .collect()
}

fn sum(block: &Block, part: impl Fn(&Sample) -> f64) -> f64 {
    block.samples.iter().map(part).sum()
}

/// Processor time used by anyone else.
fn others(meters: &Meters) -> f64 {
    meters.others_nanos.unwrap_or(0) as f64 + meters.steal_nanos.unwrap_or(0) as f64
}

/// Time a thread was runnable and did not run, as far as others can have caused it: threads that
/// only wait for each other leave no processor time unused.
fn missed(sample: &Sample, allowed: usize) -> f64 {
    let delay = sample.meters.run_delay_nanos.unwrap_or(0) as f64;
    let capacity = sample.wall_nanos as f64 * allowed as f64;
    match sample.meters.cpu_nanos {
        Some(used) => delay.min((capacity - used as f64).max(0.0)),
        None => delay,
    }
}

/// Step of the counters of others' time on Linux: `USER_HZ` is 100.
const TICK_NANOS: f64 = 10e6;

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;
    const TWO: Capacity = Capacity {
        machine: 2,
        allowed: 2,
    };

    /// A block of two samples of this many milliseconds, each with these meters.
    fn block(millis: u64, meters: Meters) -> Block {
        let sample = Sample {
            calls: 1,
            wall_nanos: millis * MILLI,
            meters,
        };
        Block {
            launch: 0,
            order: vec![0, 1],
            samples: vec![sample; 2],
            checksum: String::new(),
        }
    }

    fn check(millis: u64, meters: Meters, expected: &[Cause]) {
        let causes = causes(&block(millis, meters), TWO, &Thresholds::default());
        assert_eq!(causes, expected, "{millis} ms, {meters:?}");
    }

    #[test]
    fn absent_meters_never_disturb() {
        check(5, Meters::default(), &[]);
        check(0, Meters::default(), &[]);
    }

    #[test]
    fn one_tick_per_processor_is_forgiven_and_more_is_not() {
        let steal = |millis: u64| Meters {
            steal_nanos: Some(millis * MILLI),
            ..Meters::default()
        };
        check(5, steal(10), &[]);
        check(5, steal(20), &[Cause::Load]);
        // 200 ms of two processors: 12 ms are three hundredths, and 20 ms are forgiven.
        check(100, steal(16), &[]);
        check(100, steal(17), &[Cause::Load]);
    }

    #[test]
    fn others_and_other_machines_count_together() {
        let meters = Meters {
            steal_nanos: Some(10 * MILLI),
            others_nanos: Some(10 * MILLI),
            ..Meters::default()
        };
        check(50, meters, &[Cause::Load]);
    }

    #[test]
    fn run_delay_is_exact_so_little_of_it_disturbs() {
        let delay = |micros: u64| Meters {
            run_delay_nanos: Some(micros * 1_000),
            ..Meters::default()
        };
        check(5, delay(199), &[]);
        check(5, delay(201), &[Cause::RunDelay]);
    }

    #[test]
    fn threads_that_wait_for_each_other_do_not_disturb() {
        let meters = |cpu: u64| Meters {
            run_delay_nanos: Some(20 * MILLI),
            cpu_nanos: Some(cpu * MILLI),
            ..Meters::default()
        };
        // Both processors were busy with this process all the time.
        check(10, meters(20), &[]);
        check(10, meters(15), &[Cause::RunDelay]);
    }

    #[test]
    fn a_page_that_was_read_disturbs_and_several_causes_are_all_told() {
        let meters = Meters {
            major_faults: Some(1),
            run_delay_nanos: Some(5 * MILLI),
            others_nanos: Some(40 * MILLI),
            ..Meters::default()
        };
        check(
            5,
            meters,
            &[Cause::Load, Cause::RunDelay, Cause::MajorFault],
        );
    }

    #[test]
    fn the_times_themselves_never_matter() {
        let mut uneven = block(5, Meters::default());
        uneven.samples[1].wall_nanos = 900 * MILLI;
        assert!(causes(&uneven, TWO, &Thresholds::default()).is_empty());
    }
}
