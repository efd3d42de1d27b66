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
//! The time of others and of other machines comes in ticks of 10 ms for each processor, whatever happened between two
//! readings. A single tick says nothing about a block of 10 ms; it would drop blocks by the chance of where ticks fall. So
//! the ticks of all samples of a block are added, and one tick for each processor is forgiven. A block of 100 ms on two
//! processors is dropped for 26 ms of other people's work; one of 10 ms hardly ever for ticks, but still for its run delay,
//! which tells of local processes exactly. Only what a hypervisor takes during short blocks stays unseen, and widens the
//! interval.
//!
//! # What an arm does to itself
//! A thread that was woken waits for its processor until the thread that woke it goes to sleep, so
//! an arm that wakes threads has some run delay in every block. What is usual for it at this size,
//! the third quartile over the blocks, and as much again, is its own doing and no disturbance. An
//! arm that never gives its processor up has no such excuse. A neighbour that is always there is in
//! every block, too, so what others used is taken off: the ticks of all blocks together are exact
//! where those of one block are chance. Blocks whose own ticks show others are not counted, so that a
//! neighbour of some blocks does not take the excuse from all.
//!
//! A counter that a system does not have disturbs nothing.

use crate::{
    findings::Cause,
    machine::Machine,
    record::{Block, Meters, Sample, Thresholds},
    stats::{median, quantile},
};

/// The processors a block could have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// All that the machine has: the counters of others' time are about all of them.
    pub(crate) machine: usize,
    /// Those this process may use.
    pub(crate) allowed: usize,
}

impl Capacity {
    /// That of a case whose processes may use this many processors, or all that they are offered.
    pub(crate) fn of(machine: &Machine, cpus: Option<usize>) -> Self {
        Self {
            machine: machine.topology.threads.unwrap_or(machine.cpus),
            allowed: cpus.map_or(machine.cpus, |cpus| cpus.min(machine.cpus)),
        }
    }
}

/// The gate for the blocks of one case at one size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gate {
    capacity: Capacity,
    thresholds: Thresholds,
    /// By place in a block: the share of the processors' time that the arm's own threads wait for each other.
    own_delay: Vec<f64>,
}

impl Gate {
    /// Learns from all blocks of the point what its arms do to themselves.
    pub(crate) fn of(blocks: &[&Block], capacity: Capacity, thresholds: Thresholds) -> Self {
        let unloaded = blocks.iter().copied();
        let unloaded = unloaded.filter(|block| load([*block], capacity) <= thresholds.load);
        let of_others = load(unloaded, capacity).max(0.0);
        let places = blocks.iter().map(|block| block.samples.len()).max();
        let own_delay = (0..places.unwrap_or(0)).map(|place| {
            let samples = blocks.iter().filter_map(|block| block.samples.get(place));
            (own_delay(samples, capacity) - of_others).max(0.0)
        });
        Self {
            capacity,
            thresholds,
            own_delay: own_delay.collect(),
        }
    }

    /// Why this block is to be dropped; nothing if it is clean.
    pub(crate) fn causes(&self, block: &Block) -> Vec<Cause> {
        let load = load([block], self.capacity);
        let wall: f64 = sum(block, |sample| sample.wall_nanos as f64);
        let allowed = self.capacity.allowed;
        let places = block.samples.iter().zip(&self.own_delay);
        let waited: f64 = places
            .map(|(sample, own)| {
                let usual = OWN_DELAY_MAX * own * sample.wall_nanos as f64 * allowed as f64;
                (missed(sample, allowed) - usual).max(0.0)
            })
            .sum();
        let delay = waited / (wall * allowed as f64);

        let mut samples = block.samples.iter();
        let has_read = samples.any(|sample| sample.meters.major_faults > Some(0));
        let causes = [
            (load > self.thresholds.load, Cause::Load),
            (delay > self.thresholds.run_delay, Cause::RunDelay),
            (has_read, Cause::MajorFault),
        ];
        let found = causes.into_iter().filter(|(disturbed, _)| *disturbed);
        found.map(|(_, cause)| cause).collect()
    }

    /// Whether nothing is known against this block.
    pub(crate) fn is_clean(&self, block: &Block) -> bool {
        self.causes(block).is_empty()
    }
}

/// The usual delay of an arm that wakes threads of its own; none for one that never gives its
/// processor up, which only others can keep waiting.
fn own_delay<'block>(
    samples: impl Iterator<Item = &'block Sample> + Clone,
    capacity: Capacity,
) -> f64 {
    let switches = samples
        .clone()
        .map(|sample| sample.meters.voluntary_switches.unwrap_or(0) as f64);
    if median(&switches.collect::<Vec<_>>()).unwrap_or(0.0) < 1.0 {
        return 0.0;
    }
    let share = |sample: &Sample| {
        let time = sample.wall_nanos.max(1) as f64 * capacity.allowed as f64;
        missed(sample, capacity.allowed) / time
    };
    quantile(&samples.map(share).collect::<Vec<_>>(), 0.75).unwrap_or(0.0)
}

/// The share of the machine that others used during these blocks together, but for a tick of each processor.
fn load<'block>(blocks: impl IntoIterator<Item = &'block Block>, capacity: Capacity) -> f64 {
    let machine = capacity.machine as f64;
    let (mut wall, mut of_others) = (0.0, 0.0);
    for block in blocks {
        wall += sum(block, |sample| sample.wall_nanos as f64);
        of_others += sum(block, |sample| others(&sample.meters));
    }
    if wall > 0.0 {
        (of_others - TICK_NANOS * machine) / (wall * machine)
    } else {
        0.0
    }
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

/// An arm's own delay varies; up to this many times the usual one is taken for its own.
const OWN_DELAY_MAX: f64 = 2.0;
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
            samples: vec![sample; 2],
            ..Block::default()
        }
    }

    fn gate(blocks: &[&Block]) -> Gate {
        Gate::of(blocks, TWO, Thresholds::default())
    }

    /// Which of these blocks their gate takes for clean.
    fn clean(all: &[Block]) -> Vec<bool> {
        let blocks: Vec<&Block> = all.iter().collect();
        let gate = gate(&blocks);
        all.iter().map(|block| gate.is_clean(block)).collect()
    }

    fn check(millis: u64, meters: Meters, expected: &[Cause]) {
        let block = block(millis, meters);
        let causes = gate(&[&block]).causes(&block);
        assert_eq!(causes, expected, "{millis} ms, {meters:?}");
    }

    #[test]
    fn the_machine_may_have_more_than_a_process_is_offered() {
        let mut machine = Machine {
            cpus: 2,
            ..Machine::default()
        };
        assert_eq!(Capacity::of(&machine, None), TWO);
        machine.topology.threads = Some(8);
        let capacity = |cpus| Capacity::of(&machine, cpus);
        let of = |allowed| Capacity {
            machine: 8,
            allowed,
        };
        assert_eq!(capacity(None), of(2));
        assert_eq!(capacity(Some(1)), of(1));
        assert_eq!(capacity(Some(4)), of(2));
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
    fn a_page_that_was_read_disturbs_and_several_causes_are_all_reported() {
        let meters = Meters {
            major_faults: Some(1),
            run_delay_nanos: Some(5 * MILLI),
            others_nanos: Some(40 * MILLI),
            ..Meters::default()
        };
        let all = [Cause::Load, Cause::RunDelay, Cause::MajorFault];
        check(5, meters, &all);
    }

    #[test]
    fn what_an_arm_that_wakes_threads_does_in_every_block_is_its_own_doing() {
        let meters = |delay: u64, switches: u64| Meters {
            run_delay_nanos: Some(delay * 1_000),
            voluntary_switches: Some(switches),
            ..Meters::default()
        };
        let delays = [900, 1_000, 1_100, 1_050, 5_000];
        let all = delays.map(|delay| block(5, meters(delay, 40)));
        assert_eq!(clean(&all), [true, true, true, true, false]);
        let learnt = gate(&all.each_ref());
        assert_eq!(learnt.causes(&all[4]), [Cause::RunDelay]);
        // The same delays, but nobody gave a processor up: others were there.
        let all = [900, 1_000, 1_100].map(|delay| block(5, meters(delay, 0)));
        assert_eq!(clean(&all), [false; 3]);
    }

    /// Blocks of 6 ms as two processors make them beside a neighbour that always computes on one: it
    /// takes a quarter of the time from an arm with a thread on each, and its ticks fall where they fall.
    fn beside_a_neighbour(count: u64) -> Vec<Block> {
        let mut ticks = 0;
        let of_sample = |delay: u64, ticks: u64| Sample {
            calls: 1,
            wall_nanos: 3 * MILLI,
            meters: Meters {
                run_delay_nanos: Some(delay),
                cpu_nanos: Some(3 * MILLI),
                voluntary_switches: Some(delay / MILLI * 40),
                others_nanos: Some(ticks * 10 * MILLI),
                ..Meters::default()
            },
        };
        let block = |index: u64| {
            let until = (index + 1) * 6 / 10;
            let found = until - std::mem::replace(&mut ticks, until);
            Block {
                samples: vec![of_sample(0, 0), of_sample(3 * MILLI / 2, found)],
                ..Block::default()
            }
        };
        (0..count).map(block).collect()
    }

    #[test]
    fn a_neighbour_that_is_always_there_is_not_learnt_as_the_arms_own_doing() {
        assert_eq!(clean(&beside_a_neighbour(36)), [false; 36]);
    }

    #[test]
    fn a_neighbour_of_some_blocks_takes_the_excuse_from_none_but_these() {
        let own = Meters {
            run_delay_nanos: Some(MILLI),
            voluntary_switches: Some(40),
            ..Meters::default()
        };
        let disturbed = Meters {
            others_nanos: Some(20 * MILLI),
            ..own
        };
        let meters = [disturbed, own, own, own, own].repeat(4);
        let all: Vec<Block> = meters.into_iter().map(|one| block(5, one)).collect();
        let expected = [false, true, true, true, true].repeat(4);
        assert_eq!(clean(&all), expected);
    }

    #[test]
    fn the_times_themselves_never_matter() {
        let mut uneven = block(5, Meters::default());
        uneven.samples[1].wall_nanos = 900 * MILLI;
        assert!(gate(&[&uneven]).is_clean(&uneven));
    }
}
