//! The counts of running, searching and blocked threads, and the set of sleeping workers.
//!
//! The runtime lets `limit` threads run at once. Running threads are the workers that are awake, plus the external
//! threads in a call, minus the threads that declared that they block, minus the threads that the monitor detected
//! as blocked. A waker wakes a sleeping worker only while that number is below the limit, or below the few threads
//! more that the monitor allows for a while. *Room* is the difference.
//!
//! Not here: where workers look for work, sleeping (`sync/park.rs`), and detecting blocked threads (`monitor/blocked.rs`).
//!
//! # Protocol
//! A worker that is about to sleep calls `announce`, which sets its bit and then lowers `awake`. It looks for work
//! once more and parks. If no waker has taken its bit, it then calls `withdraw`. A waker first makes the work visible. Then it calls
//! `claim`, which raises `awake` if the limit allows and takes one bit, and unparks the owner of the bit. The
//! thread that takes a bit owns the wake, so no worker is woken twice for one claim.
//!
//! Each thread that gives room back checks whether another thread wants it. A waiter that falls asleep looks for work
//! (`waking::use_room`), and so does a waker that raised the count for one certain worker and took the raise back. An
//! external thread that leaves looks for work without an owner only (`waking::leave_external`). A waker that claimed any
//! worker, and took the raise back because it got none, looks for sleepers (`lower_awake`).
//!
//! The monitor sets a flag for a thread that it detects as blocked, and counts it like a thread that declared it.
//! It raises the count before it sets the flag. The thread that clears the flag lowers the count afterwards. So the
//! count is never below the number of flags.
//!
//! A worker that has slept for the keep-alive time leaves if there are more workers than the limit. It takes its
//! own bit as a waker would (`leave`), so no waker claims it any more. When its thread has touched the slot for the
//! last time, the thread vacates the slot (`vacate`), and a waker may start another thread there. The leaving
//! thread then looks for work once more, because a waker may have seen neither its bit nor the vacant slot. A waker
//! that took a raise back looks for vacant slots as it does for sleepers.
//!
//! # Ordering
//! I1: every step above and the queue's `back` (see `queue/task_queue.rs`) are SeqCst. If the sleeper's last look
//! for work comes after the waker's push, the sleeper finds the task. Otherwise the push comes after that look,
//! hence after the bit and the lowered count, and the waker finds both. Either of them may still fail because
//! another thread has taken the room meanwhile; the thread that gives this room back then looks for work and for
//! sleepers. So the order of bit and count does not matter. The bit comes first, which saves the start of a thread.
//!
//! Work that its owner will do anyway (an exposed job, an open loop) is published with Release only. There a missed
//! wake costs parallelism until the monitor's next sweep, never progress.

mod counts;
mod short_tasks;

pub(crate) use crate::runtime::sleep::idle::counts::{
    Activity, CountedFlag, FlagCount, ThreadCounts,
};

use crate::job::RunPermit;
use crate::runtime::sleep::idle::counts::{NO_CALLS, field};
use crate::sync::Padded;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The counts and the set of sleepers.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    counts: Padded<AtomicU64>,
    /// Threads that the monitor detected as blocked inside a job, so that another may run in the place of each.
    pub(crate) detected_blocked: FlagCount,
    /// How many threads more than the limit may run, for a while.
    extra: AtomicUsize,
    /// How many more than those may run short tasks, for a while.
    extra_for_short_tasks: AtomicUsize,
    /// Set: a push of a short task checks whether slow jobs occupy every worker.
    may_be_saturated: AtomicBool,
    /// Threads beyond the limit that look for a short task, or run one. Until that has ended or is blocked, each keeps nobody from
    /// work of all kinds, so that long tasks go on at the rate of the workers. A blocked thread must not count, or one more
    /// long task could run.
    pub(crate) in_short_tasks: FlagCount,
    /// Set when a short task was queued and no thread could be claimed for it.
    short_task_waits: AtomicBool,
    /// One bit for each worker, set while it sleeps or is about to.
    sleepers: Box<[AtomicU64]>,
    /// One bit for each worker, set while it has no thread after one has ended there or could not be started.
    vacant: Box<[AtomicU64]>,
    /// One past the highest worker that was ever claimed.
    started: AtomicUsize,
    /// Workers that have a thread, or are about to.
    threads: AtomicUsize,
    /// How many threads may run at once.
    pub(crate) limit: usize,
    threads_max: usize,
}

/// Which worker the waker must wake or start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Claim {
    /// It sleeps: unpark it.
    Asleep(usize),
    /// Its thread does not exist yet: start it.
    Unstarted(usize),
}

/// The result of claiming one certain worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum WorkerClaim {
    /// It sleeps: unpark it.
    Asleep,
    /// It is awake, or being woken, and looks for its own work before it sleeps.
    Awake,
    /// As `Awake`, but the waker had raised the count and took the raise back. Meanwhile another thread may have
    /// lacked room, or the runtime's end may have waited. The waker checks both.
    AwakeAfterRaise,
}

impl Idle {
    /// No worker started, none asleep.
    pub(crate) fn new(limit: usize, threads_max: usize) -> Self {
        let bits = || {
            let words = threads_max.div_ceil(64);
            (0..words).map(|_| AtomicU64::new(0)).collect()
        };
        Self {
            sleepers: bits(),
            vacant: bits(),
            limit,
            threads_max,
            ..Self::default()
        }
    }

    /// How many worker threads there are, or are about to be.
    pub(crate) fn threads(&self) -> usize {
        // SeqCst: I1; a waker starts no thread where there are too many.
        self.threads.load(Ordering::SeqCst)
    }

    /// Whether more worker threads exist than may run, so that one without work may leave.
    pub(crate) fn has_spare_threads(&self) -> bool {
        self.threads() > self.limit
    }

    /// Whether there may be one more worker thread.
    pub(crate) fn may_grow(&self) -> bool {
        self.threads() < self.threads_max
    }

    /// One past the highest worker that ever had a thread.
    pub(crate) fn started(&self) -> usize {
        // Acquire: a slot stored before the count was raised is visible.
        self.started.load(Ordering::Acquire)
    }

    /// How many threads run now, by the counts.
    pub(crate) fn running(&self) -> usize {
        // SeqCst: I1.
        self.running_in(self.counts.load(Ordering::SeqCst))
    }

    /// Whether one more thread may run.
    pub(crate) fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// How many more threads may run.
    pub(crate) fn room(&self) -> usize {
        self.running_max().saturating_sub(self.running())
    }

    /// Whether more threads run than may, beside those in short tasks: a worker between two jobs should sleep.
    pub(crate) fn is_overfull(&self) -> bool {
        let (running, max) = (self.running(), self.running_max());
        // A thread that goes on though it should sleep asks again after its next job.
        running > max && running > max + self.in_short_tasks.read()
    }

    /// Whether a worker is awake and looks for work, so that new work need not wake another.
    pub(crate) fn is_anyone_searching(&self) -> bool {
        // SeqCst: a searcher that gives up lowers this before it announces sleep (I1).
        field(self.counts.load(Ordering::SeqCst), Activity::Searching) > 0
    }

    /// How many threads run, search and block, all at one moment.
    pub(crate) fn census(&self) -> ThreadCounts {
        // Relaxed: a snapshot stands alone.
        let counts = self.counts.load(Ordering::Relaxed);
        ThreadCounts {
            awake: field(counts, Activity::Awake) + field(counts, Activity::ExternalThread),
            searching: field(counts, Activity::Searching),
            blocked: field(counts, Activity::Blocked),
            detected_blocked: self.detected_blocked.read(),
        }
    }

    /// Whether no worker is awake and no external thread takes part.
    pub(crate) fn is_inactive(&self) -> bool {
        // SeqCst: I1; the monitor goes to sleep on this.
        self.counts.load(Ordering::SeqCst) & !NO_CALLS == 0
    }

    /// How many workers are awake, and how many external threads take part. One that has left may be blocked, in what it drops.
    pub(crate) fn taking_part(&self) -> (usize, usize) {
        // SeqCst: I1; the runtime's end depends on it. Both fields at one moment: the one thread may have woken the other.
        let counts = self.counts.load(Ordering::SeqCst);
        let [awake, outside] = [Activity::Awake, Activity::ExternalThread];
        (field(counts, awake), field(counts, outside))
    }

    /// A thread begins this, and counts as one that is at it.
    pub(crate) fn begin(&self, what: Activity) {
        // SeqCst: I1.
        self.counts.fetch_add(what as u64, Ordering::SeqCst);
    }

    /// Thread outside, before a call: begins this, unless no call may begin any more. Returns whether it does.
    pub(crate) fn begin_call(&self, what: Activity) -> bool {
        let raised = |counts| (counts & NO_CALLS == 0).then_some(counts + what as u64);
        let counts = &self.counts;
        // SeqCst, both: I1, and E6 (`ending.rs`).
        let begun = counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, raised);
        begun.is_ok()
    }

    /// No call of a thread outside begins any more.
    pub(crate) fn take_no_calls(&self) {
        // SeqCst: E6.
        self.counts.fetch_or(NO_CALLS, Ordering::SeqCst);
    }

    /// The end of [`begin`](Self::begin), or of [`begin_call`](Self::begin_call).
    pub(crate) fn end(&self, what: Activity) {
        // SeqCst: I1.
        self.counts.fetch_sub(what as u64, Ordering::SeqCst);
    }

    /// Worker: looks for work by `look`. Meanwhile it counts as one that does, so wakers wake no other one, and has no permit:
    /// nothing of the user's can be called.
    pub(crate) fn search<R>(&self, _permit: RunPermit<'_>, look: impl FnOnce() -> R) -> R {
        self.begin(Activity::Searching);
        let found = look();
        self.end(Activity::Searching);
        found
    }

    /// Monitor: lets `count` threads more than the limit run. If these are more than before, the caller then looks for work.
    pub(crate) fn set_extra(&self, count: usize) {
        // SeqCst: I1; room, like any other.
        self.extra.store(count, Ordering::SeqCst);
    }

    /// Worker: announces that it is about to sleep. It must look for work once more before it parks.
    pub(crate) fn announce(&self, worker: usize) {
        let (word, bit) = self.locate(worker);
        // SeqCst: I1. The bit comes first, so that a waker that sees the lowered count takes the bit and starts no
        // thread.
        word.fetch_or(bit, Ordering::SeqCst);
        self.end(Activity::Awake);
    }

    /// Worker, or the monitor: whether no waker has claimed it since it announced.
    pub(crate) fn is_announced(&self, worker: usize) -> bool {
        let (word, bit) = self.locate(worker);
        // Acquire: pairs with the claimer's exchange.
        word.load(Ordering::Acquire) & bit != 0
    }

    /// Worker: is awake again, claimed or not.
    pub(crate) fn withdraw(&self, worker: usize) {
        let (word, bit) = self.locate(worker);
        // SeqCst: I1. The thread that clears the bit raises the count: the waker has, or this worker does.
        if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
            self.begin(Activity::Awake);
        }
    }

    /// Claims a worker to be woken or started, if one more may run.
    pub(crate) fn claim(&self) -> Option<Claim> {
        self.claim_below(|| self.running_max())
    }

    /// Claims a worker while fewer than `max` threads run.
    fn claim_below(&self, max: impl Fn() -> usize) -> Option<Claim> {
        let raised =
            |counts| (self.running_in(counts) < max()).then_some(counts + Activity::Awake as u64);
        let counts = &self.counts;
        // One more counts as awake. SeqCst, both: I1.
        let raise = || counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, raised);
        while raise().is_ok() {
            let sleeper = take_lowest(&self.sleepers).map(Claim::Asleep);
            let claim = sleeper.or_else(|| self.claim_unstarted());
            if claim.is_some() {
                return claim;
            }
            // While the count was too high, a thread that has left a slot may have seen no room when it looked for work.
            let is_slot_vacant = || self.may_grow() && is_any_set(&self.vacant);
            if !self.lower_awake() && !is_slot_vacant() {
                break;
            }
        }
        None
    }

    /// Monitor: whether this worker has no thread after one has ended there or could not be started.
    pub(crate) fn is_vacant(&self, worker: usize) -> bool {
        // Relaxed: advice.
        self.vacant[worker / 64].load(Ordering::Relaxed) & (1 << (worker % 64)) != 0
    }

    /// Announced worker: whether it may end, because there are more than the limit and no waker has claimed it. If
    /// so, no waker will, and its thread must [`vacate`](Self::vacate) the slot.
    pub(crate) fn leave(&self, worker: usize) -> bool {
        let spare = |threads| (threads > self.limit).then(|| threads - 1);
        // SeqCst, both: I1. Counted first, so that two do not leave where one may.
        let threads = &self.threads;
        let counted = threads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spare);
        if counted.is_err() {
            return false;
        }
        let (word, bit) = self.locate(worker);
        // SeqCst: I1; the thread that clears the bit owns the wake, here its own.
        let is_unclaimed = word.fetch_and(!bit, Ordering::SeqCst) & bit != 0;
        if !is_unclaimed {
            // SeqCst: as above.
            self.threads.fetch_add(1, Ordering::SeqCst);
        }
        is_unclaimed
    }

    /// The leaving thread of `worker` has touched the slot for the last time. The caller looks for work afterwards.
    pub(crate) fn vacate(&self, worker: usize) {
        let (index, bit) = (worker / 64, 1 << (worker % 64));
        // SeqCst: I1. It also releases the slot to the next thread's `claim_vacant`.
        self.vacant[index].fetch_or(bit, Ordering::SeqCst);
    }

    /// The thread of `worker`, just claimed, could not be started. Returns the worker to wake or start instead, if
    /// there is one.
    pub(crate) fn give_up(&self, worker: usize) -> Option<Claim> {
        // SeqCst: I1.
        self.threads.fetch_sub(1, Ordering::SeqCst);
        self.vacate(worker);
        self.lower_awake().then(|| self.claim()).flatten()
    }

    /// Claims this worker if it is asleep, even if the limit is reached, for work that only it may do. Another
    /// worker then goes to sleep.
    pub(crate) fn claim_worker(&self, worker: usize) -> WorkerClaim {
        let (word, bit) = self.locate(worker);
        // SeqCst: I1. A worker that announces sleep after this load finds its work.
        if word.load(Ordering::SeqCst) & bit == 0 {
            return WorkerClaim::Awake;
        }
        // SeqCst, all: I1. Counted before the bit is taken, because the worker may go on at once.
        self.begin(Activity::Awake);
        if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
            return WorkerClaim::Asleep;
        }
        self.end(Activity::Awake);
        WorkerClaim::AwakeAfterRaise
    }

    /// Takes back a raise that has woken no worker. Returns whether the caller must claim again, because one sleeps.
    ///
    /// While the count was too high, a worker may have gone to sleep, or another waker given up, because there
    /// seemed to be no room. A bit shows that: it was set before either looked.
    #[must_use]
    fn lower_awake(&self) -> bool {
        self.end(Activity::Awake);
        is_any_set(&self.sleepers)
    }

    fn claim_unstarted(&self) -> Option<Claim> {
        let another = |threads| (threads < self.threads_max).then(|| threads + 1);
        let threads = &self.threads;
        // SeqCst, both: I1.
        let counted = threads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, another);
        counted.ok()?;
        let next = |started| (started < self.threads_max).then(|| started + 1);
        let slot = take_lowest(&self.vacant).or_else(|| {
            // AcqRel: pairs with the Acquire in `started`. Relaxed: the exchange decides.
            let raised = self
                .started
                .fetch_update(Ordering::AcqRel, Ordering::Relaxed, next);
            raised.ok()
        });
        if slot.is_none() {
            // No slot is vacant: a leaving thread is about to vacate its own, and looks for work then.
            // SeqCst: I1.
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
        slot.map(Claim::Unstarted)
    }

    fn locate(&self, worker: usize) -> (&AtomicU64, u64) {
        (&self.sleepers[worker / 64], 1 << (worker % 64))
    }

    fn running_in(&self, counts: u64) -> usize {
        let blocked = field(counts, Activity::Blocked) + self.detected_blocked.read();
        (field(counts, Activity::Awake) + field(counts, Activity::ExternalThread))
            .saturating_sub(blocked)
    }

    fn running_max(&self) -> usize {
        // SeqCst: I1.
        self.limit + self.extra.load(Ordering::SeqCst)
    }
}

/// Whether the bit of a worker is set.
fn is_any_set(words: &[AtomicU64]) -> bool {
    // SeqCst: I1.
    words.iter().any(|word| word.load(Ordering::SeqCst) != 0)
}

/// Clears the lowest bit that is set, and returns its number. The thread that clears a bit owns it.
pub(in crate::runtime) fn take_lowest(words: &[AtomicU64]) -> Option<usize> {
    let others = |bits: u64| (bits != 0).then(|| bits & (bits - 1));
    words.iter().enumerate().find_map(|(index, word)| {
        // SeqCst, both: I1; it also acquires what was published with the bit.
        let taken = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, others);
        Some(index * 64 + taken.ok()?.trailing_zeros() as usize)
    })
}

#[cfg(all(test, not(loom)))]
mod tests;
