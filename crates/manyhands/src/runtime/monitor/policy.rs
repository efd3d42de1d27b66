//! The numbers by which the monitor decides: when a thread is blocked, when a job is long, and how often it looks.
//!
//! They are tried by the tables in the tests of the files that use them. The decision pages 07 (blocked threads), 08 (bursts)
//! and 21 (short tasks) have the measurements.
//!
//! Not here: waking and searching (`sleep/policy.rs`), and hill climbing, which has its own numbers.

use std::time::Duration;

/// A thread that is off the processor for this long inside a job is blocked; shorter waits are not worth
/// another thread. While threads run calls alone, sweeps follow each other as closely: a call that goes on is opened at
/// the second look.
pub(crate) const BLOCKED_AFTER: Duration = Duration::from_micros(400);
/// The same in burst mode.
pub(crate) const BLOCKED_AFTER_IN_BURST: Duration = Duration::from_micros(50);
/// The first pause between two sweeps of a burst.
pub(crate) const BURST_PAUSE_MIN: Duration = Duration::from_micros(60);
/// A pause is this part of the time that the burst has lasted, so that it costs little in the long run.
pub(crate) const BURST_PAUSE_SHARE: u32 = 64;
/// A burst ends when sweeps have detected no thread for this long.
pub(crate) const BURST_ENDS_AFTER: Duration = INTERVAL_SATURATED;
/// A thread that used less than this part of the time was off the processor.
pub(crate) const OFF_PROCESSOR_SHARE: u128 = 8;
/// How long the monitor waits before it acts on what may have another reason: where all processors are taken, longer than
/// the holder of a lock usually waits for one; where the system reports only processor time or only the state; and where a
/// thread is on its way to work. After as long without a thread that takes part, the monitor sleeps: it has looked in vain
/// about as often as it looks anew when it is woken, and the thread that wakes it pays a system call.
pub(crate) const IN_DOUBT: Duration = Duration::from_millis(50);
/// A job that has computed for this long is long. As seldom the monitor looks again at a thread that it has detected, at
/// tasks that may be short, and at work that waits for threads which may be blocked.
pub(crate) const LONG: Duration = Duration::from_millis(1);
/// A job of a kind that is known to be long counts as such after this time, because jobs of that kind may often be short.
pub(crate) const LONG_BY_KIND_NANOS: u64 = 100_000;
/// How long overcommit lasts after long jobs were seen in every worker. A task that was taken for a short one, and has
/// computed for as long, is made up for beyond the number of workers. Were each made up for at once, a program that mixes
/// more kinds of long task than are remembered would run most of them at the same time.
pub(crate) const OVERCOMMIT_LASTS: Duration = Duration::from_millis(20);
/// The longest pause between two looks for short tasks that find none.
pub(crate) const LOOKS_APART_MAX: Duration = Duration::from_millis(64);
/// A computation of this length is noted.
pub(crate) const NOTED_AFTER: Duration = INTERVAL_MAX;
/// The least time between two looks at the timers of busy workers.
pub(crate) const TIMERS_APART: Duration = Duration::from_micros(500);
/// Time between two sweeps after a thread needed help.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_micros(200);
/// While long jobs occupy every worker; their end, or that one of them blocks, is seen that much later.
pub(crate) const INTERVAL_SATURATED: Duration = Duration::from_millis(2);
/// While nothing waits, or the running threads make progress.
pub(crate) const INTERVAL_MAX: Duration = Duration::from_millis(10);
/// Work that waits while nothing runs is reported after this time. As seldom the monitor reads the memory's use.
pub(crate) const STALLED_AFTER: Duration = Duration::from_millis(100);
/// From this use of the memory on no threads are added in place of blocked ones.
pub(crate) const FULL_PERCENT: u128 = 80;
