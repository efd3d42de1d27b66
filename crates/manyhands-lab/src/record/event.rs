//! The events of a run; each is one line of the raw file.

use serde::{Deserialize, Serialize};

/// Something that happened while measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A case was tried at a tiny size, to plan for a budget.
    Piloted {
        /// Which point; it may be no size of the case, and is none of its results.
        #[serde(flatten)]
        key: Key,
        /// Time of one call, by arm, with the baseline's twin; empty if the case failed.
        nanos: Vec<f64>,
        /// Time of all of it, with starting the process.
        pilot_nanos: u64,
    },
    /// A fresh process was started for a case.
    Launched {
        /// Id of the experiment.
        experiment: String,
        /// Name of the case.
        case: String,
        /// Number of the launch within the case, from 0.
        launch: u32,
        /// What one reading of the clock costs in that process, in nanoseconds.
        clock_cost_nanos: f64,
        /// Smallest step the clock was seen to make, in nanoseconds.
        clock_grain_nanos: f64,
    },
    /// Every arm was timed once.
    Block {
        /// Which point.
        #[serde(flatten)]
        key: Key,
        /// The times.
        block: Block,
    },
    /// Peak memory of one arm, in a process that did nothing else.
    Memory {
        /// Which point.
        #[serde(flatten)]
        key: Key,
        /// Arm.
        arm: usize,
        /// What one call took.
        #[serde(flatten)]
        peak: PeakReading,
    },
    /// What each core did while one arm ran; taken in a pass of its own that is not timed.
    Cores {
        /// Which point.
        #[serde(flatten)]
        key: Key,
        /// Arm.
        arm: usize,
        /// The picture.
        trace: CoreTrace,
    },
    /// A case could not be measured at one size; the run went on without it.
    Failed {
        /// Which point.
        #[serde(flatten)]
        key: Key,
        /// One line for people.
        message: String,
    },
}

impl Event {
    /// The experiment and the case it is about.
    #[must_use]
    pub fn subject(&self) -> (&str, &str) {
        match self {
            Self::Launched {
                experiment, case, ..
            } => (experiment, case),
            Self::Piloted { key, .. }
            | Self::Block { key, .. }
            | Self::Memory { key, .. }
            | Self::Cores { key, .. }
            | Self::Failed { key, .. } => (&key.experiment, &key.case),
        }
    }
}

/// One case at one size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Id of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// Size.
    pub n: usize,
}

impl Key {
    pub(crate) fn new(experiment: impl Into<String>, case: impl Into<String>, n: usize) -> Self {
        Self {
            experiment: experiment.into(),
            case: case.into(),
            n,
        }
    }
}

/// Every arm timed once, one after the other, in one process: the unit of replication.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The process it was taken in, numbered within the case.
    pub launch: u32,
    /// Arms in the order they ran; the number after the last arm is the baseline's twin.
    pub order: Vec<usize>,
    /// One sample per arm, by arm; a last one, if there is one more than arms, is the baseline
    /// once more, and shows what difference there is between two equal arms.
    pub samples: Vec<Sample>,
    /// Checksum that all arms agreed on, in hexadecimal.
    pub checksum: String,
}

/// One arm timed once over a number of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Calls.
    pub calls: u32,
    /// Wall time of all of them.
    pub wall_nanos: u64,
    /// What the process and the machine did meanwhile.
    pub meters: Meters,
}

impl Sample {
    /// Nanoseconds of wall time per call. A clock too coarse for the sample gives one nanosecond
    /// over the calls, never zero, so that no ratio is infinite.
    #[must_use]
    pub fn nanos(&self) -> f64 {
        self.wall_nanos.max(1) as f64 / f64::from(self.calls.max(1))
    }

    /// Wall time of all calls.
    pub(crate) fn wall(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.wall_nanos)
    }

    /// Both samples taken as one.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            wall_nanos: self.wall_nanos.saturating_add(other.wall_nanos),
            meters: self.meters.with(&other.meters, u64::saturating_add),
        }
    }
}

/// Differences of counters over one sample; `None` where this system or program has no such
/// counter. Times are nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meters {
    /// CPU time of this process, all threads, user and system.
    pub cpu_nanos: Option<u64>,
    /// Time threads of this process were runnable and did not run.
    pub run_delay_nanos: Option<u64>,
    /// CPU time of all other processes.
    pub others_nanos: Option<u64>,
    /// CPU time the hypervisor gave to other machines.
    pub steal_nanos: Option<u64>,
    /// Page faults served without reading a file.
    pub minor_faults: Option<u64>,
    /// Page faults that had to read.
    pub major_faults: Option<u64>,
    /// Times a thread of this process gave its CPU up.
    pub voluntary_switches: Option<u64>,
    /// Times a thread of this process was taken off its CPU.
    pub involuntary_switches: Option<u64>,
    /// Allocations, all threads. Unknown if a process ended meanwhile that this one had started.
    pub allocations: Option<u64>,
    /// Bytes allocated, all threads. Unknown if a process ended meanwhile that this one had started.
    pub allocated_bytes: Option<u64>,
    /// What the pool did.
    pub pool: Option<PoolMeters>,
}

impl Meters {
    /// Counter by counter the two together; one that either of them lacks is unknown.
    pub(crate) fn with(&self, other: &Self, together: fn(u64, u64) -> u64) -> Self {
        let each = |counter: fn(&Self) -> Option<u64>| {
            let (one, other) = counter(self).zip(counter(other))?;
            Some(together(one, other))
        };
        let pools = self.pool.zip(other.pool);
        Self {
            cpu_nanos: each(|meters| meters.cpu_nanos),
            run_delay_nanos: each(|meters| meters.run_delay_nanos),
            others_nanos: each(|meters| meters.others_nanos),
            steal_nanos: each(|meters| meters.steal_nanos),
            minor_faults: each(|meters| meters.minor_faults),
            major_faults: each(|meters| meters.major_faults),
            voluntary_switches: each(|meters| meters.voluntary_switches),
            involuntary_switches: each(|meters| meters.involuntary_switches),
            allocations: each(|meters| meters.allocations),
            allocated_bytes: each(|meters| meters.allocated_bytes),
            pool: pools.map(|(one, other)| PoolMeters {
                steals: together(one.steals, other.steals),
                parks: together(one.parks, other.parks),
                threads_added: together(one.threads_added, other.threads_added),
                contentions: together(one.contentions, other.contentions),
            }),
        }
    }
}

/// Counters of the pool, as differences over one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMeters {
    /// Pieces of work taken from another worker.
    pub steals: u64,
    /// Times a worker went to sleep.
    pub parks: u64,
    /// Threads started.
    pub threads_added: u64,
    /// Times a lock or queue was found taken and the slow path was used.
    pub contentions: u64,
}

/// What one call took of memory and threads, in a process that did nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeakReading {
    /// Peak resident bytes during the call, less what was resident before it.
    pub peak_bytes: u64,
    /// The process's threads during the call, where the system says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadCourse>,
    /// When the items of the call ended, where the arm says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<ItemEnds>,
}

/// When the items of one call ended, from its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemEnds {
    /// Items that ended.
    pub items: usize,
    /// When the first had ended, then each hundredth of them, up to all: 101 times, ascending.
    pub percentiles_nanos: Vec<u64>,
}

impl ItemEnds {
    /// From the times of all items, in any order; `None` without items.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::record::ItemEnds;
    /// let ends = ItemEnds::of((1..=201).rev().collect()).unwrap();
    /// assert_eq!([0, 50, 100].map(|percent| ends.at(percent)), [Some(1), Some(101), Some(201)]);
    /// assert_eq!(ItemEnds::of(Vec::new()), None);
    /// ```
    #[must_use]
    pub fn of(mut nanos: Vec<u64>) -> Option<Self> {
        nanos.sort_unstable();
        let last = nanos.len().checked_sub(1)?;
        Some(Self {
            items: nanos.len(),
            percentiles_nanos: (0..=100)
                .map(|percent| nanos[(percent * last + 50) / 100])
                .collect(),
        })
    }

    /// Nanoseconds until this percentage of the items had ended; at 0 until the first had.
    ///
    /// Example: see [`of`](Self::of).
    #[must_use]
    pub fn at(&self, percent: usize) -> Option<u64> {
        self.percentiles_nanos.get(percent).copied()
    }
}

/// How many threads a process had, over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadCourse {
    /// Length of one step in milliseconds.
    pub step_millis: f64,
    /// Threads at the beginning and after each step.
    pub counts: Vec<u32>,
}

/// How busy each core was, over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreTrace {
    /// Length of one step in milliseconds.
    pub step_millis: f64,
    /// For each core the busy share of each step, 0 to 1.
    pub busy: Vec<Vec<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_and_unknown_ones_stay_unknown() {
        let one = Sample {
            calls: 1,
            wall_nanos: 10,
            meters: Meters {
                cpu_nanos: Some(3),
                steal_nanos: Some(1),
                ..Meters::default()
            },
        };
        let mut other = one;
        other.meters.steal_nanos = None;
        let sum = one.and(&other);
        assert_eq!((sum.calls, sum.wall_nanos), (2, 20));
        assert_eq!(sum.meters.cpu_nanos, Some(6));
        assert_eq!(sum.meters.steal_nanos, None);
    }
}
