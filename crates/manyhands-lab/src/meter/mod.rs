//! Counters of this process and its machine: what happened while something was timed.
//!
//! A [`Meter`] is read before and after a timed region, never inside it; the difference of two readings is a [`Meters`]. Where
//! the system, a sandbox or the program has no such counter, the value is `None` and never a guess.
//!
//! Beside it: [`CountingAllocator`] for allocations, [`PeakMemory`] for the highest resident size,
//! `CoreSampler` for each core over time, `ThreadSampler` for the number of threads, and [`item_ended`], by
//! which an arm says itself when its items end. What the numbers mean is judged elsewhere.

#[expect(unsafe_code, reason = "implements GlobalAlloc; see the file's header")]
mod allocation;
mod cores;
mod items;
mod kept_file;
mod others;
mod peak;
pub(crate) mod proc_stat;
mod run_delay;
mod threads;

pub use allocation::{CountingAllocator, allocations};
pub(crate) use cores::{CORE_STEP, CoreSampler};
pub(crate) use items::ItemRecord;
pub use items::item_ended;
pub use peak::PeakMemory;
pub(crate) use threads::{THREAD_STEP, ThreadSampler};

use crate::{
    record::{Meters, PoolMeters},
    system,
};
use kept_file::{Buffer, KeptFile};
use manyhands::Runtime;
use others::Others;
use proc_stat::CpuTicks;
use run_delay::RunDelay;
use std::sync::Arc;

/// Reads counters; keeps the system's files open between readings.
///
/// CPU time, faults, switches and allocations are exact. The times of other processes and other machines come in ticks, mostly
/// of 10 ms, on each CPU: only differences over many ticks mean something, so add them up over samples before judging them.
/// That is sound for all samples of one meter: it remembers by how much the ticks lag behind, and no tick counts twice.
///
/// # Examples
/// ```
/// use manyhands_lab::meter::Meter;
///
/// let mut meter = Meter::new();
/// let before = meter.read();
/// let sum: u64 = std::hint::black_box((0..1_000_000).sum());
/// let meters = meter.read().since(&before);
/// assert!(meters.cpu_nanos.is_none_or(|nanos| nanos > 0));
/// # assert!(sum > 0);
/// ```
///
/// # Cost
/// Some 15 µs a reading, and 1 to 2 µs more for each thread of the process.
#[derive(Debug)]
pub struct Meter {
    stat: Option<KeptFile>,
    tick_nanos: u64,
    others: Others,
    run_delay: RunDelay,
    pool: Option<Arc<Runtime>>,
}

impl Meter {
    /// Opens what this system has.
    #[must_use]
    pub fn new() -> Self {
        let tick_nanos = system::tick_nanos();
        Self {
            stat: tick_nanos.and_then(|_| KeptFile::open("/proc/stat")),
            tick_nanos: tick_nanos.unwrap_or(0),
            others: Others::default(),
            run_delay: RunDelay::default(),
            pool: None,
        }
    }

    /// Reads the counters of this pool too.
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<Runtime>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// What every counter says now.
    pub fn read(&mut self) -> Reading {
        let mut begin = cheap();
        let machine = self.read_machine();
        let nanos = |ticks: u64| ticks.saturating_mul(self.tick_nanos);
        begin.steal_nanos = machine.map(|ticks| nanos(ticks.steal));
        begin.run_delay_nanos = self.run_delay.read();
        begin.pool = self.pool.as_deref().map(totals);
        let busy_nanos = machine.map(|ticks| nanos(ticks.busy));
        Reading {
            begin,
            others_nanos: self.others.observe(busy_nanos, begin.cpu_nanos),
            ended_faults: system::ended_faults(),
            end: Meters {
                steal_nanos: begin.steal_nanos,
                run_delay_nanos: begin.run_delay_nanos,
                pool: begin.pool,
                ..cheap()
            },
        }
    }

    fn read_machine(&mut self) -> Option<CpuTicks> {
        let mut buffer: Buffer = [0; 256];
        proc_stat::total(self.stat.as_mut()?.read(&mut buffer)?)
    }
}

/// What a pool has done since it was made.
fn totals(pool: &Runtime) -> PoolMeters {
    let metrics = pool.metrics();
    PoolMeters {
        steals: metrics.steals,
        parks: metrics.parks,
        threads_added: metrics.threads_started,
        contentions: metrics.contentions,
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

/// What the counters said at one moment. Reading takes time and memory itself; what is cheap to
/// ask is asked when it begins and when it ends, so that a difference does not contain it.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    begin: Meters,
    /// The most that [`Others`] has seen so far; only differences mean something.
    others_nanos: Option<i64>,
    /// Grows with each process that this one started and that has ended.
    ended_faults: Option<u64>,
    end: Meters,
}

impl Reading {
    /// What happened between the end of an earlier reading and the beginning of this one. Never below zero: some
    /// counters step back.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Meters {
        let mut meters = Meters {
            others_nanos: others::growth(earlier.others_nanos, self.others_nanos),
            ..self.begin.with(&earlier.end, u64::saturating_sub)
        };
        if self.ended_faults != earlier.ended_faults {
            // The work was done, at least in part, by processes whose allocations nobody has counted.
            meters.allocations = None;
            meters.allocated_bytes = None;
        }
        meters
    }
}

/// Counters that cost next to nothing to read.
fn cheap() -> Meters {
    let allocations = allocations();
    Meters {
        allocations: allocations.map(|(count, _)| count),
        allocated_bytes: allocations.map(|(_, bytes)| bytes),
        ..system::counters()
    }
}

#[cfg(test)]
mod tests;
