//! Who runs, who sleeps, and who may be woken.
//!
//! The runtime lets `limit` threads run at once. Running are: workers that are awake, plus guests
//! (outside threads that take part in a call of theirs), minus those that said they are blocked and those
//! that the monitor found blocked. A sleeper is woken only while that number is below the limit.
//!
//! Not here: where work is looked for, and the sleeping itself (`sync/park.rs`).
//!
//! # Protocol
//! Sleeper: `announce` (set the bit, then lower `awake`), look for work once more, `park`; woken or not,
//! `withdraw`. Waker: make the work visible, then `claim`: raise `awake` if the limit allows, take one bit,
//! wake its owner. Who takes the bit owns the wake, so nobody is woken twice for one claim.
//! Whoever gives room back looks whether it is wanted: a guest that leaves and a waiter that falls asleep
//! look for work (`Shared::use_room`), a claimer that took it in vain looks for sleepers (`lower_awake`).
//!
//! # Ordering
//! I1: every step above and the queue's `back` (see `queue/task_queue.rs`) are SeqCst. Either the sleeper's
//! second look comes after the waker's push, then the sleeper finds the task; or the push comes after the
//! second look, and so after the bit and the lowered count, then the waker finds both. What either may lack
//! is room, which somebody else has in the meantime, and who gives that back looks for both of them. So it
//! does not matter which of bit and count comes first; the bit does, to spare the start of a new thread.
//! Work that its owner will do anyway (an exposed job, an open loop) is published with Release only: there
//! a missed wake costs parallelism until the monitor's next tick, never progress.

use crate::sync::Padded;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The counts and the set of sleepers.
#[derive(Debug)]
pub(crate) struct Idle {
    counts: Padded<AtomicU64>,
    /// Threads that the monitor found off the processor inside a job.
    found_blocked: AtomicU32,
    /// One bit a worker, set while it sleeps or is about to.
    sleepers: Box<[AtomicU64]>,
    /// Workers that have been started, asleep or not. Falls only when a thread could not be started.
    started: AtomicU32,
    limit: u32,
    threads_max: u32,
}

/// Which worker the claimer must bring to life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Claim {
    /// It sleeps: unpark it.
    Asleep(usize),
    /// Its thread does not exist yet: start it.
    Unstarted(usize),
}

impl Idle {
    /// Nobody started, nobody asleep.
    pub(crate) fn new(limit: usize, threads_max: usize) -> Self {
        let words = threads_max.div_ceil(64);
        Self {
            counts: Padded(AtomicU64::new(0)),
            found_blocked: AtomicU32::new(0),
            sleepers: (0..words).map(|_| AtomicU64::new(0)).collect(),
            started: AtomicU32::new(0),
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            threads_max: u32::try_from(threads_max).unwrap_or(u32::MAX),
        }
    }

    /// How many threads may run at once.
    pub(crate) fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Workers started so far.
    pub(crate) fn started(&self) -> usize {
        // Acquire: a seat stored before the count was raised is visible.
        self.started.load(Ordering::Acquire) as usize
    }

    /// Threads running now, by their own account.
    pub(crate) fn running(&self) -> usize {
        // SeqCst: I1.
        self.running_in(self.counts.load(Ordering::SeqCst)) as usize
    }

    /// Whether one more thread may run.
    pub(crate) fn has_room(&self) -> bool {
        self.running() < self.limit()
    }

    /// Whether so many run that a worker without work in hand should sleep.
    pub(crate) fn is_overfull(&self) -> bool {
        self.running() > self.limit()
    }

    /// Whether a worker is awake and looking for work: then nobody need be woken for it.
    pub(crate) fn is_anyone_searching(&self) -> bool {
        // SeqCst: a searcher that gives up lowers this before it announces sleep (I1).
        Self::searching_in(self.counts.load(Ordering::SeqCst)) > 0
    }

    /// How many threads do what, all at one moment.
    pub(crate) fn census(&self) -> Census {
        // Relaxed: a snapshot stands alone.
        let counts = self.counts.load(Ordering::Relaxed);
        let field = |unit: u64| ((counts / unit) & FIELD_MASK) as usize;
        Census {
            awake: field(AWAKE) + field(GUEST),
            searching: field(SEARCHING),
            blocked: field(BLOCKED),
            // Relaxed: as above.
            found_blocked: self.found_blocked.load(Ordering::Relaxed) as usize,
        }
    }

    /// Whether nobody runs at all.
    pub(crate) fn is_quiet(&self) -> bool {
        // SeqCst: I1; the monitor goes to sleep on this.
        self.counts.load(Ordering::SeqCst) == 0
    }

    /// Whether every worker has announced sleep.
    pub(crate) fn is_nobody_awake(&self) -> bool {
        // SeqCst: I1; the runtime's end hangs by it.
        self.counts.load(Ordering::SeqCst) & FIELD_MASK == 0
    }

    /// A thread begins to look for work, to take part as a guest, or to wait.
    pub(crate) fn begin(&self, what: Activity) {
        // SeqCst: I1.
        self.counts.fetch_add(what.unit(), Ordering::SeqCst);
    }

    /// The end of [`begin`](Self::begin).
    pub(crate) fn end(&self, what: Activity) {
        // SeqCst: I1.
        self.counts.fetch_sub(what.unit(), Ordering::SeqCst);
    }

    /// The monitor says how many running threads it found off the processor.
    pub(crate) fn set_found_blocked(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // Relaxed: a hint that widens the limit for a while.
        self.found_blocked.store(count, Ordering::Relaxed);
    }

    /// Worker: announces that it is about to sleep. It must look for work once more before it parks.
    pub(crate) fn announce(&self, worker: usize) {
        let (word, bit) = self.locate(worker);
        // SeqCst: I1. The bit comes first, so that whoever sees the lowered count takes it, not a new thread.
        word.fetch_or(bit, Ordering::SeqCst);
        self.counts.fetch_sub(AWAKE, Ordering::SeqCst);
    }

    /// Worker: whether nobody has claimed it since it announced.
    pub(crate) fn is_announced(&self, worker: usize) -> bool {
        let (word, bit) = self.locate(worker);
        // Acquire: pairs with the claimer's exchange.
        word.load(Ordering::Acquire) & bit != 0
    }

    /// Worker: is awake again, claimed or by itself.
    pub(crate) fn withdraw(&self, worker: usize) {
        let (word, bit) = self.locate(worker);
        // SeqCst: I1. Whoever clears the bit accounts for the waking.
        if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
            self.counts.fetch_add(AWAKE, Ordering::SeqCst);
        }
    }

    /// Claims a worker to be woken or started, if one more may run.
    pub(crate) fn claim(&self) -> Option<Claim> {
        while self.raise_awake() {
            let claim = self.claim_sleeper().or_else(|| self.claim_unstarted());
            if claim.is_some() {
                return claim;
            }
            if self.lower_awake() == AfterLowering::NobodyAsleep {
                break;
            }
        }
        None
    }

    /// The thread of `worker`, just claimed, could not be started; returns whom to bring to life in its
    /// place, if anybody.
    pub(crate) fn give_up(&self, worker: usize) -> Option<Claim> {
        let worker = u32::try_from(worker).unwrap_or(u32::MAX);
        // Relaxed, both: nothing is published. Another start meanwhile leaves this number unused for good.
        let _ = self.started.compare_exchange(
            worker.saturating_add(1),
            worker,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        match self.lower_awake() {
            AfterLowering::NobodyAsleep => None,
            AfterLowering::ClaimAgain => self.claim(),
        }
    }

    /// Claims this worker if it is asleep, even if the limit is reached: only it can do what it is to do, and
    /// another one goes to sleep for it. Returns whether the caller must wake it.
    pub(crate) fn claim_worker(&self, worker: usize) -> bool {
        let (word, bit) = self.locate(worker);
        // SeqCst, all: I1. Counted before the bit is taken, because its owner may go on at once.
        self.counts.fetch_add(AWAKE, Ordering::SeqCst);
        let is_claimed = word.fetch_and(!bit, Ordering::SeqCst) & bit != 0;
        if !is_claimed {
            // SeqCst: as above.
            self.counts.fetch_sub(AWAKE, Ordering::SeqCst);
        }
        is_claimed
    }

    /// Counts one more thread as awake, if the limit allows.
    fn raise_awake(&self) -> bool {
        // SeqCst: I1.
        let mut counts = self.counts.load(Ordering::SeqCst);
        loop {
            if self.running_in(counts) >= self.limit {
                return false;
            }
            let raised = counts + AWAKE;
            // SeqCst: I1, both.
            match self
                .counts
                .compare_exchange(counts, raised, Ordering::SeqCst, Ordering::SeqCst)
            {
                Ok(_) => return true,
                Err(now) => counts = now,
            }
        }
    }

    /// Takes back a raise that has woken nobody.
    ///
    /// While the count was too high, a worker may have gone to sleep, or another waker gone away, because
    /// there seemed to be no room. The bit tells: it was set before they looked.
    fn lower_awake(&self) -> AfterLowering {
        // SeqCst: I1.
        self.counts.fetch_sub(AWAKE, Ordering::SeqCst);
        // SeqCst: I1.
        let is_set = |word: &AtomicU64| word.load(Ordering::SeqCst) != 0;
        if self.sleepers.iter().any(is_set) {
            AfterLowering::ClaimAgain
        } else {
            AfterLowering::NobodyAsleep
        }
    }

    fn claim_sleeper(&self) -> Option<Claim> {
        for (index, word) in self.sleepers.iter().enumerate() {
            // SeqCst: I1.
            let mut bits = word.load(Ordering::SeqCst);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                // SeqCst: I1; the one who clears the bit owns the wake.
                if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
                    return Some(Claim::Asleep(index * 64 + bit.trailing_zeros() as usize));
                }
                bits &= !bit;
            }
        }
        None
    }

    fn claim_unstarted(&self) -> Option<Claim> {
        // Relaxed: the exchange decides.
        let mut started = self.started.load(Ordering::Relaxed);
        while started < self.threads_max {
            // AcqRel: pairs with the Acquire in `started`. Relaxed on failure: tried again.
            let raised = self.started.compare_exchange(
                started,
                started + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match raised {
                Ok(_) => return Some(Claim::Unstarted(started as usize)),
                Err(now) => started = now,
            }
        }
        None
    }

    fn locate(&self, worker: usize) -> (&AtomicU64, u64) {
        (&self.sleepers[worker / 64], 1 << (worker % 64))
    }

    fn running_in(&self, counts: u64) -> u32 {
        let field = |unit: u64| ((counts / unit) & FIELD_MASK) as u32;
        // Relaxed: a hint.
        let blocked = field(BLOCKED) + self.found_blocked.load(Ordering::Relaxed);
        (field(AWAKE) + field(GUEST)).saturating_sub(blocked)
    }

    fn searching_in(counts: u64) -> u64 {
        (counts / SEARCHING) & FIELD_MASK
    }
}

/// What a claimer owes that had raised the count in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum AfterLowering {
    NobodyAsleep,
    ClaimAgain,
}

/// Threads by what they do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Census {
    /// Workers that are awake or being woken, and guests.
    pub(crate) awake: usize,
    /// Of these: look for work.
    pub(crate) searching: usize,
    /// Of these: said that they wait, asleep.
    pub(crate) blocked: usize,
    /// Of these: the monitor found them off the processor.
    pub(crate) found_blocked: usize,
}

/// What a thread may begin and end, beside being awake.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Activity {
    /// A worker looks for work.
    Searching,
    /// An outside thread takes part in its own call.
    Guest,
    /// A running thread waits, asleep.
    Blocked,
}

impl Activity {
    fn unit(self) -> u64 {
        match self {
            Self::Searching => SEARCHING,
            Self::Guest => GUEST,
            Self::Blocked => BLOCKED,
        }
    }
}

const FIELD_MASK: u64 = 0xFFFF;
const AWAKE: u64 = 1;
const GUEST: u64 = 1 << 16;
const BLOCKED: u64 = 1 << 32;
const SEARCHING: u64 = 1 << 48;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Activity, Claim, Idle};

    #[test]
    fn claims_start_threads_up_to_the_limit_and_then_stop() {
        let idle = Idle::new(2, 70);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
        assert_eq!(idle.claim(), None);
        assert_eq!((idle.running(), idle.started()), (2, 2));
    }

    #[test]
    fn a_sleeper_is_claimed_before_a_new_thread_is_started() {
        let idle = Idle::new(3, 3);
        assert_eq!(
            (idle.claim(), idle.claim()),
            (Some(Claim::Unstarted(0)), Some(Claim::Unstarted(1)))
        );
        idle.announce(1);
        assert!(idle.is_announced(1));
        assert_eq!(idle.claim(), Some(Claim::Asleep(1)));
        assert!(!idle.is_announced(1));
        idle.withdraw(1);
        assert_eq!(idle.running(), 2);
    }

    #[test]
    fn a_thread_that_could_not_be_started_is_tried_again_later() {
        let idle = Idle::new(2, 2);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        for _ in 0..3 {
            assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
            assert_eq!(idle.give_up(1), None);
            assert_eq!((idle.running(), idle.started()), (1, 1));
        }
        assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
        idle.announce(0);
        assert_eq!(idle.give_up(1), Some(Claim::Asleep(0)));
    }

    #[test]
    fn guests_take_room_and_blocked_threads_make_room() {
        let idle = Idle::new(1, 5);
        idle.begin(Activity::Guest);
        assert_eq!(idle.claim(), None);
        idle.begin(Activity::Blocked);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        idle.end(Activity::Blocked);
        assert!(idle.is_overfull());
        idle.set_found_blocked(1);
        assert!(!idle.is_overfull());
    }

    #[test]
    fn a_worker_beyond_the_first_word_can_sleep_and_be_claimed() {
        let idle = Idle::new(70, 70);
        while idle.claim().is_some() {}
        idle.announce(66);
        assert_eq!(idle.claim(), Some(Claim::Asleep(66)));
    }
}
