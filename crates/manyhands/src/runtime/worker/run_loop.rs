//! The worker: looks for work, runs it, spins a little, sleeps.
//!
//! Not here: where it looks (`search.rs`), and what a waiting thread may run (`wait.rs`).
//!
//! Unsafe: jobs are performed by pointer.

use crate::job::{Action, Job, RunPermit, abort};
use crate::runtime::io::poller::while_polling;
use crate::runtime::policy::{SERIES_GAP_NANOS, SPIN_NANOS_MIN, SPINS, WAKE_NANOS_FIRST};
use crate::runtime::sleep::timers::TimerPoll;
use crate::runtime::sleep::waking::{Next, Slept};
use crate::runtime::worker::search::{Rounds, Turn};
use crate::runtime::worker::{search, short_tasks};
use crate::runtime::{
    CountedFlag, FoundWork, OccupiedSlot, RuntimeInner, SlotState, StealGrace, current, ending,
    waking,
};
use crate::sync::atomic::Ordering;
use crate::sync::{Backoff, PollerState, clock, process, spin_loop};
use std::ptr;
use std::time::{Duration, Instant};

/// A worker's life. Returns whether it has left because it had nothing to do for long and there are others enough; else the runtime
/// has ended.
#[must_use]
pub(crate) fn run(shared: &RuntimeInner, slot: &'static OccupiedSlot, index: usize) -> bool {
    let mut timer_poll = TimerPoll::default();
    let mut backoff = Backoff::default();
    let mut at_work = AtWork {
        shared,
        slot,
        rounds: Rounds::new(),
        turn: Turn::Own,
        is_within_limit: false,
        spin_nanos: WAKE_NANOS_FIRST,
        spare_until: None,
    };
    let mut permit = RunPermit::new();
    let entries = current::entries();
    let discard_own = |permit: RunPermit<'_>| {
        slot.gets_no_help.set(shared.ending.has_ended());
        shared.discard(&slot.local, permit);
    };
    while !ending::leaves(shared, permit.again(), discard_own) {
        if process::is_forked() {
            // What it ran has forked, and has ended in the child, where this is the only thread.
            abort(process::FORKED);
        }
        // A local task that waits may keep what it has entered.
        if current::entries() != entries && !slot.has_bound_tasks.get() {
            abort("a task has ended without dropping its guard of `Runtime::enter`");
        }
        at_work.turn = at_work.rounds.next();
        timer_poll.fire_timers(slot, permit.again());
        if at_work.turn == Turn::Outside {
            shared.poll_driver_once(slot, permit.again());
        }
        let spin_nanos = at_work.spin_nanos;
        match waking::next(shared, index, &mut at_work, permit.again()) {
            Next::FoundWork(found) => {
                backoff.reset();
                if perform_in_place(shared, slot, found, permit.again()) {
                    at_work.rounds.shorten();
                }
            }
            Next::FoundShort(found) => {
                backoff.reset();
                perform_outermost(slot, found, permit.again());
                shared.idle.in_short_tasks.unmark(&slot.in_short_task);
            }
            Next::Searched(found) => {
                at_work.spin_nanos = (spin_nanos * 2).min(WAKE_NANOS_FIRST);
                backoff.reset();
                perform_in_place(shared, slot, found, permit.again());
            }
            Next::Slept(Slept::Left) | Next::SleptOverLimit(Slept::Left) => return true,
            Next::Slept(slept) => {
                at_work.spin_nanos = (spin_nanos / 2).max(SPIN_NANOS_MIN);
                if slept == Slept::Woken {
                    at_work.spin_nanos = at_work.spin_nanos.max(SERIES_GAP_NANOS);
                }
                if slept == Slept::NotAtAll {
                    // What is there cannot be taken yet: its pusher, or another taker, is between two steps.
                    backoff.wait();
                } else {
                    backoff.reset();
                }
                timer_poll.hurry();
                at_work.rounds.restart();
            }
            Next::SleptOverLimit(_) => {
                timer_poll.hurry();
                at_work.rounds.restart();
            }
        }
    }
    false
}

/// A worker that looks for work, and sleeps where there is none.
struct AtWork<'pool> {
    shared: &'pool RuntimeInner,
    slot: &'static OccupiedSlot,
    rounds: Rounds,
    turn: Turn,
    /// See [`waking::Worker::is_within_limit`].
    is_within_limit: bool,
    spin_nanos: u64,
    /// When it ends if it sleeps that long. `None`: never.
    spare_until: Option<Instant>,
}

impl AtWork<'_> {
    /// How long it may still sleep before it ends.
    fn spare_time(&self) -> Option<Duration> {
        let until = self.spare_until?;
        Some(until.saturating_duration_since(clock::now()))
    }
}

impl waking::Worker for AtWork<'_> {
    type FoundWork = FoundWork;

    #[inline]
    fn is_within_limit(&mut self) -> &mut bool {
        &mut self.is_within_limit
    }

    #[inline]
    fn find(&mut self) -> Option<FoundWork> {
        search::find(self.shared, self.slot, self.turn)
    }

    fn in_short_task(&self) -> &CountedFlag {
        &self.slot.in_short_task
    }

    fn find_short(&mut self) -> Option<FoundWork> {
        let may = self.shared.idle.may_run_short_task() && !self.shared.is_closing();
        let found = may.then(|| short_tasks::find(self.shared, self.slot));
        found.flatten().map(FoundWork::Job)
    }

    fn may_search(&self) -> bool {
        self.shared.poller_state(self.slot) != PollerState::Free
    }

    /// Not while it could watch sockets instead; and not for long while another worker does, from which it would only take
    /// what a socket has woken there.
    fn spin(&mut self) -> Option<FoundWork> {
        let (shared, slot) = (self.shared, self.slot);
        let since = clock::ticks();
        // A counter that has jumped back ends the spin.
        let spun = |nanos| clock::ticks().abs_diff(since) >= clock::ticks_in(nanos);
        let is_over = || match shared.poller_state(slot) {
            PollerState::Free => true,
            PollerState::Soon => false,
            PollerState::Taken => spun(SPIN_NANOS_MIN),
            PollerState::None => spun(self.spin_nanos),
        };
        let mut found = None;
        while found.is_none() && !is_over() && !shared.idle.is_overfull() {
            (0..SPINS / 16).for_each(|_| spin_loop());
            found = search::find(shared, slot, Turn::Own);
        }
        found
    }

    fn has_more(&self) -> bool {
        !self.slot.tasks.is_empty()
            || self.shared.has_tasks_outside()
            || !self.shared.unowned_forks.is_empty()
    }

    fn steal_grace(&self) -> &StealGrace {
        &self.slot.steal_grace
    }

    fn announced(&mut self) {
        self.slot.set_occupant(SlotState::Idle);
        let is_spare = !self.slot.has_bound_tasks.get() && self.shared.idle.has_spare_threads();
        let until = || clock::now().checked_add(self.shared.settings.thread_keep_alive);
        self.spare_until = is_spare.then(until).flatten();
    }

    fn is_over(&self) -> bool {
        ending::is_over(self.shared)
    }

    #[inline]
    fn has_own_work(&self) -> bool {
        !self.slot.local.is_empty()
    }

    fn sees_work(&self) -> bool {
        self.shared.has_visible_work(Some(self.slot))
    }

    fn is_spare(&mut self) -> bool {
        let is_spare = self.spare_time() == Some(Duration::ZERO);
        self.spare_until = self.spare_until.filter(|_| !is_spare);
        is_spare
    }

    /// Inside the I/O driver, if no other thread polls it.
    fn park(&mut self) {
        let (shared, slot, limit) = (self.shared, self.slot, self.spare_time());
        slot.counters.parked.bump();
        slot.placement.fall_asleep();
        // A worker that has tasks but no room to run them would leave the driver at once.
        let reactor = shared.reactor().filter(|_| slot.tasks.is_empty());
        if let Some(reactor) = reactor
            && while_polling(slot, || reactor.sleep(&**slot, slot.time_to_sleep(limit)))
        {
            slot.parker.end_polls();
            if shared.idle.overcommits() && !slot.tasks.is_empty() {
                // Beyond the limit it would fall asleep again, though nobody else was notified.
                shared.idle.call_for_short_task();
            }
        } else {
            slot.parker.park_timeout(slot.time_to_sleep(limit));
        }
    }

    fn is_timer_due(&self) -> bool {
        self.slot.is_timer_due()
    }

    fn awake(&mut self, slept: Slept) {
        self.slot.placement.wake_up();
        self.slot.set_occupant(SlotState::Running);
        // Relaxed: a measurement.
        let woken_at = self.slot.woken_at.swap(0, Ordering::Relaxed);
        if slept == Slept::Woken && woken_at != 0 {
            let taken = clock::ticks().saturating_sub(woken_at);
            self.shared.learn_wake_latency(taken);
        }
    }
}

/// Worker within the limit: runs what was found, and returns whether that is of a kind that is known to be long. If so, a push of
/// a short task can see it meanwhile.
#[inline]
fn perform_in_place(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    found: FoundWork,
    permit: RunPermit<'_>,
) -> bool {
    if !shared.long_kinds.has(found.kind()) {
        perform_outermost(slot, found, permit);
        return false;
    }
    let since = &slot.in_long_kind_since;
    // Relaxed, both: a hint.
    since.store(clock::ticks().max(1), Ordering::Relaxed);
    shared.idle.set_may_be_saturated(true);
    perform_outermost(slot, found, permit);
    since.store(0, Ordering::Relaxed);
    true
}

/// Worker: runs what it has found, on top of nothing else, and says of what kind that is.
#[inline]
fn perform_outermost(slot: &OccupiedSlot, found: FoundWork, permit: RunPermit<'_>) {
    slot.set_kind(found.kind());
    perform(slot, found, permit);
    slot.set_kind(ptr::null());
}

/// Runs what was found, as an execution of `slot`.
pub(crate) fn perform(slot: &OccupiedSlot, found: FoundWork, permit: RunPermit<'_>) {
    let outer_task = slot.task();
    let execution = slot.begin_execution();
    match found {
        FoundWork::Job(job) => {
            Job::perform(job, Action::Run(execution), permit);
            slot.end_execution();
        }
        FoundWork::Call(guard, owner) => {
            let wake = || owner.parker.unpark();
            guard.take_part(execution, || slot.end_execution(), wake);
        }
    }
    slot.counters.finished.bump();
    slot.set_task(outer_task);
    slot.is_not_blocked();
}
