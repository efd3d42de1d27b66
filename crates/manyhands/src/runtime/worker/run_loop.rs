//! The worker: looks for work, runs it, spins a little, sleeps.
//!
//! Order of looking: own tasks, in turn with those that only this worker may run, tasks from outside, forks that were
//! passed on, calls that others left open, their exposed jobs, their tasks. Once in a round tasks from outside come
//! first, and once what others have, so that no source can starve another (`rounds.rs`).
//!
//! Not here: what a waiting thread may run (`wait.rs`).
//!
//! Unsafe: jobs are performed by pointer.

use crate::job::{Action, Job, JobKind, RunPermit, abort};
use crate::queue::{Run, ShardedQueue, Unqueued};
use crate::runtime::fork_join::helper_slot::{HelperGuard, HelperSlot};
use crate::runtime::policy::{
    SERIES_GAP_NANOS, SPIN_NANOS_MIN, SPINS, TASKS_TAKEN_MAX, WAKE_NANOS_FIRST,
};
use crate::runtime::sleep::counted_flag::CountedFlag;
use crate::runtime::sleep::timers::TimerPoll;
use crate::runtime::sleep::waking::{self, Next, Slept};
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::rounds::{Rounds, Turn};
use crate::runtime::worker::short_tasks;
use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::runtime::worker::steal_grace::StealGrace;
use crate::runtime::{Priority, RuntimeInner, current, ending};
use crate::sync::atomic::Ordering;
use crate::sync::{Backoff, PollerState, clock, process, spin_loop};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

/// Something to run, in the worker's hands.
#[derive(Debug)]
pub(crate) enum FoundWork {
    /// A job or a task; nobody else will run it.
    Job(Unqueued<Job>),
    /// A place in the open call of another slot.
    Call(HelperGuard<'static>, &'static WorkerSlot),
}

impl FoundWork {
    /// A fork.
    ///
    /// # Safety
    /// The caller has taken it from a deque, or from those that thieves have passed on.
    #[inline]
    pub(crate) unsafe fn fork(fork: *mut Job) -> Self {
        // SAFETY: a fork that can be taken is there.
        let fork = unsafe { NonNull::new_unchecked(fork) };
        // SAFETY: 1. its owner waits until it is performed; 2. taken.
        Self::Job(unsafe { Unqueued::new(fork) })
    }

    /// The kind of job; null for a call.
    fn kind(&self) -> *const JobKind {
        match self {
            Self::Job(job) => job.kind(),
            Self::Call(..) => ptr::null(),
        }
    }
}

/// Why a worker's life has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum End {
    /// The runtime has ended.
    Over,
    /// It had nothing to do for long, and there are others enough.
    NotNeeded,
}

/// A worker's life.
pub(crate) fn run(shared: &RuntimeInner, slot: &'static OccupiedSlot, index: usize) -> End {
    let mut timer_poll = TimerPoll::default();
    let mut backoff = Backoff::default();
    let mut at_work = AtWork {
        shared,
        slot,
        rounds: Rounds::new(),
        turn: Turn::Own,
        is_within_limit: false,
        spin_nanos: WAKE_NANOS_FIRST,
        spare: SpareTime::NEVER_OVER,
    };
    let mut permit = RunPermit::new();
    let entries = current::entries();
    let discard_own = |permit: RunPermit<'_>| shared.discard_local(slot, permit);
    while !ending::leaves(shared, permit.again(), discard_own) {
        if process::is_forked() {
            // What it ran has forked, and has ended in the child, where this is the only thread.
            abort(process::FORKED);
        }
        current::abort_if_left_entered(slot, entries);
        at_work.turn = at_work.rounds.next();
        timer_poll.fire_timers(slot, permit.again());
        if at_work.turn == Turn::Outside {
            shared.poll_driver_once(slot, permit.again());
            slot.go_to_next_shard();
        }
        let spin_nanos = at_work.spin_nanos;
        match waking::next(shared, index, &mut at_work, permit.again()) {
            Next::FoundWork(found) => {
                backoff.reset();
                if perform_in_place(shared, slot, found, permit.again()) == Pace::Slow {
                    at_work.rounds.shorten();
                }
            }
            Next::FoundShort(found) => {
                backoff.reset();
                perform(slot, found, permit.again());
                shared.idle.end_short_task(&slot.in_short_task);
            }
            Next::Searched(found) => {
                at_work.spin_nanos = (spin_nanos * 2).min(WAKE_NANOS_FIRST);
                backoff.reset();
                let _ = perform_in_place(shared, slot, found, permit.again());
            }
            Next::Slept(Slept::Left) | Next::SleptOverLimit(Slept::Left) => return End::NotNeeded,
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
    End::Over
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
    spare: SpareTime,
}

impl waking::Worker for AtWork<'_> {
    type FoundWork = FoundWork;

    #[inline]
    fn is_within_limit(&self) -> bool {
        self.is_within_limit
    }

    #[inline]
    fn set_within_limit(&mut self, is_within_limit: bool) {
        self.is_within_limit = is_within_limit;
    }

    #[inline]
    fn find(&mut self) -> Option<FoundWork> {
        find(self.shared, self.slot, self.turn)
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

    fn spin(&mut self) -> Option<FoundWork> {
        spin(self.shared, self.slot, self.spin_nanos)
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
        self.spare = SpareTime::begin(self.shared, self.slot);
    }

    fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    #[inline]
    fn has_own_work(&self) -> bool {
        !self.slot.local.is_empty()
    }

    fn sees_work(&self) -> bool {
        self.shared.has_visible_work(Some(self.slot))
    }

    fn is_spare(&mut self) -> bool {
        self.spare.is_over()
    }

    fn stay(&mut self) {
        self.spare = SpareTime::NEVER_OVER;
    }

    fn park(&mut self) {
        self.slot.counters.parked.bump();
        self.slot.placement.fall_asleep();
        self.shared.sleep_until_timer(self.slot, self.spare.left());
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

/// Whether a kind of job was known to be long when one began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Slow,
    Other,
}

/// Worker within the limit: runs what was found. If it is of a kind that is known to be long, a push of a short task
/// can see that meanwhile.
#[inline]
fn perform_in_place(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    found: FoundWork,
    permit: RunPermit<'_>,
) -> Pace {
    if !shared.long_kinds.has(found.kind()) {
        perform(slot, found, permit);
        return Pace::Other;
    }
    slot.begin_long_kind();
    shared.idle.set_may_be_saturated(true);
    perform(slot, found, permit);
    slot.end_long_kind();
    Pace::Slow
}

/// Runs what was found, as an execution of `slot`.
pub(crate) fn perform(slot: &OccupiedSlot, found: FoundWork, permit: RunPermit<'_>) {
    let outer_task = slot.task();
    let outer_kind = slot.kind();
    slot.set_kind(found.kind());
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
    slot.set_kind(outer_kind);
    slot.is_not_blocked();
}

/// One look at every place where work may be.
///
/// Inlined wherever it is called: what it finds is three words, which a call returns through memory, 19 instructions
/// for each task.
#[inline(always)]
fn find(shared: &RuntimeInner, slot: &'static OccupiedSlot, turn: Turn) -> Option<FoundWork> {
    if shared.is_closing() {
        return find_while_closing(shared, slot);
    }
    if shared.priority_queues.is_used() {
        return find_by_priority(shared, slot, turn);
    }
    find_usual(shared, slot, turn)
}

/// Looks only for what others need help with: no task is begun any more.
#[cold]
fn find_while_closing(shared: &RuntimeInner, slot: &'static OccupiedSlot) -> Option<FoundWork> {
    find_elsewhere(shared, slot, TASKS_TAKEN_MAX)
}

/// Looks where the priorities' turns say.
#[cold]
fn find_by_priority(
    shared: &RuntimeInner,
    slot: &'static OccupiedSlot,
    turn: Turn,
) -> Option<FoundWork> {
    let now = clock::ticks();
    let mut turns = slot.turns.get();
    let queues = &shared.priority_queues;
    let found = turns.next(now).into_iter().find_map(|priority| {
        turns.come_to(priority, now);
        match priority {
            Priority::Interactive => take_one(shared, &queues.interactive, slot, turn),
            Priority::Normal => {
                let found = find_usual(shared, slot, turn)?;
                waking::leave_rest(shared, !queues.is_empty());
                Some(found)
            }
            Priority::Background => take_one(shared, &queues.background, slot, turn),
        }
    });
    slot.turns.set(turns);
    found
}

/// Takes a task that has a priority. Wakes another worker if any priority queue is not empty.
#[inline]
fn take_one(
    shared: &RuntimeInner,
    queue: &ShardedQueue<Job>,
    slot: &OccupiedSlot,
    turn: Turn,
) -> Option<FoundWork> {
    let run = match queue.only() {
        Some(only) => only.take(1),
        None => take_sharded(queue, slot, turn),
    }?;
    waking::leave_rest(shared, !queue.is_empty() || shared.has_tasks_outside());
    Some(FoundWork::Job(run.split_first().0))
}

/// Takes a task that has a priority where there are several shards, beginning with the worker's own, or in its round's turn
/// for tasks from outside with another one each time. A function of its own, so that one queue costs nothing more.
#[inline(never)]
fn take_sharded(queue: &ShardedQueue<Job>, slot: &OccupiedSlot, turn: Turn) -> Option<Run<Job>> {
    let begin = || match turn {
        Turn::Outside => slot.shard_of_round(),
        Turn::Others | Turn::Own | Turn::OwnBound => slot.home_shard(),
    };
    queue.take(begin, 1)
}

/// Looks for what is of the usual priority.
fn find_usual(shared: &RuntimeInner, slot: &'static OccupiedSlot, turn: Turn) -> Option<FoundWork> {
    let out_of_turn = match turn {
        Turn::Outside => take_outside(shared, slot, OccupiedSlot::shard_of_round),
        // One only: a worker that has work of its own would only move the rest from cache to cache.
        Turn::Others => find_elsewhere(shared, slot, 1),
        Turn::Own | Turn::OwnBound => None,
    };
    if out_of_turn.is_some() {
        return out_of_turn;
    }
    let (first, second) = if turn == Turn::OwnBound {
        (&slot.local, &slot.tasks)
    } else {
        (&slot.tasks, &slot.local)
    };
    if let Some(job) = first.take_own().or_else(|| second.take_own()) {
        return Some(FoundWork::Job(job));
    }
    take_outside(shared, slot, OccupiedSlot::home_shard)
        .or_else(|| find_elsewhere(shared, slot, TASKS_TAKEN_MAX))
}

/// Looks at what thieves have passed on, and then at the other slots, starting anywhere; takes up to `tasks_max` tasks.
fn find_elsewhere(
    shared: &RuntimeInner,
    slot: &'static OccupiedSlot,
    tasks_max: usize,
) -> Option<FoundWork> {
    if let Some(fork) = shared.unowned_forks.take() {
        // SAFETY: taken just now.
        return Some(unsafe { FoundWork::fork(fork) });
    }
    let random = slot.next_random() as usize;
    shared
        .other_slots(slot, random)
        .find_map(|other| look_at(shared, slot, other, tasks_max))
}

/// Looks at one other slot.
#[inline]
fn look_at(
    shared: &RuntimeInner,
    slot: &'static OccupiedSlot,
    other: &'static WorkerSlot,
    tasks_max: usize,
) -> Option<FoundWork> {
    if let Some(guard) = other.open_calls.iter().find_map(HelperSlot::try_enter) {
        return Some(FoundWork::Call(guard, other));
    }
    if let Some(job) = other.deque.steal(0) {
        slot.counters.stolen.bump();
        // SAFETY: taken just now.
        return Some(unsafe { FoundWork::fork(job) });
    }
    if other.deque.has_private(0) {
        other.deque.demand();
    }
    if shared.is_closing() || slot.is_in_grace(other) {
        None
    } else {
        let run = other.tasks.take(tasks_max)?;
        slot.counters.stolen.bump();
        Some(keep(shared, slot, run, || !other.tasks.is_empty()))
    }
}

/// Takes a run of tasks from outside, of those set aside if there are any, else beginning at shard `begin`. A function of
/// its own, because most tasks are found before, and a longer caller would cost them instructions.
#[inline(never)]
fn take_outside(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    begin: fn(&OccupiedSlot) -> usize,
) -> Option<FoundWork> {
    let aside = shared.set_aside.take(TASKS_TAKEN_MAX);
    let run = aside.or_else(|| shared.injector.take(|| begin(slot), TASKS_TAKEN_MAX))?;
    let is_more_left = || !shared.injector.is_empty() || !shared.set_aside.is_empty();
    Some(keep(shared, slot, run, is_more_left))
}

/// Keeps the first task of a run in hand and the rest as the worker's own. While threads are blocked, those of the kind
/// that blocked come last: each costs another thread, and what does not block need not wait for all of these. If there
/// is more left where the run was taken, or now in the worker's own queue, another worker must come for it.
fn keep(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    mut run: Run<Job>,
    is_more_left: impl FnOnce() -> bool,
) -> FoundWork {
    if run.len > 1
        && let Some(blocking) = shared.blocking_kind()
    {
        run = run.move_back(|job| job.kind() == blocking);
    }
    let (first, rest) = run.split_first();
    if let Some(rest) = rest {
        slot.steal_grace.end();
        slot.tasks.append(rest);
    }
    waking::leave_rest(shared, !slot.tasks.is_empty() || is_more_left());
    FoundWork::Job(first)
}

/// Moves a run of tasks from `other`'s queue to `slot`'s own. Returns whether there was one.
pub(crate) fn fetch_tasks(slot: &OccupiedSlot, other: &WorkerSlot) -> bool {
    let Some(run) = other.tasks.take(TASKS_TAKEN_MAX) else {
        return false;
    };
    slot.counters.stolen.bump();
    slot.steal_grace.end();
    slot.tasks.append(run);
    true
}

/// Looks again and again for `nanos` nanoseconds, as a searching worker. Not while it could watch sockets instead;
/// and not for long while another worker does, from which it would only take what a socket has woken there.
fn spin(shared: &RuntimeInner, slot: &'static OccupiedSlot, nanos: u64) -> Option<FoundWork> {
    let since = clock::ticks();
    // A counter that has jumped back ends the spin.
    let spun = |nanos| clock::ticks().abs_diff(since) >= clock::ticks_in(nanos);
    let is_over = || match shared.poller_state(slot) {
        PollerState::Free => true,
        PollerState::Soon => false,
        PollerState::Taken => spun(SPIN_NANOS_MIN),
        PollerState::None => spun(nanos),
    };
    let mut found = None;
    while found.is_none() && !is_over() && !shared.idle.is_overfull() {
        (0..SPINS / 16).for_each(|_| spin_loop());
        found = find(shared, slot, Turn::Own);
    }
    found
}

/// How long a worker may sleep before it ends.
struct SpareTime {
    /// `None`: for ever.
    until: Option<Instant>,
}

impl SpareTime {
    const NEVER_OVER: Self = Self { until: None };

    /// The worker on `slot` falls asleep.
    fn begin(shared: &RuntimeInner, slot: &OccupiedSlot) -> Self {
        if slot.has_bound_tasks.get() || !shared.idle.has_spare_threads() {
            return Self::NEVER_OVER;
        }
        Self {
            until: clock::now().checked_add(shared.settings.thread_keep_alive),
        }
    }

    fn left(&self) -> Option<Duration> {
        let until = self.until?;
        Some(until.saturating_duration_since(clock::now()))
    }

    fn is_over(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}
