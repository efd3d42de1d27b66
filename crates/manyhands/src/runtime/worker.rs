//! The worker: look for work, run it, spin a little, sleep.
//!
//! Order of looking: own tasks, in turn with those that only this worker may run, tasks from outside, calls that others left open, their exposed jobs, their
//! tasks. Once in 61 times tasks from outside come first, and once what others have, so that no source can
//! starve another: whatever waits in sight of a running worker is looked at before that worker has run 61
//! more pieces of its own.
//!
//! Not here: what a waiting thread may run (`wait.rs`).
//!
//! Unsafe: jobs are performed by pointer.

use crate::job::{Action, Job, JobKind, abort};
use crate::queue::TaskQueue;
use crate::runtime::hold::Hold;
use crate::runtime::open::Pin;
use crate::runtime::seat::{Occupant, Seat};
use crate::runtime::timers::Lookout;
use crate::runtime::waking::{self, Next, Slept};
use crate::runtime::{Priority, Shared};
use crate::sync::atomic::Ordering;
use crate::sync::{Backoff, Vacancy, clock, process, spin_loop};
use std::ptr;
use std::time::{Duration, Instant};

/// Something to run, in the worker's hands.
#[derive(Debug)]
pub(crate) enum Found {
    /// A job or a task; nobody else will run it.
    Job(*mut Job),
    /// A place in the open call of another seat.
    Call(Pin<'static>, &'static Seat),
}

impl Found {
    /// The kind of job; null for a call.
    fn kind(&self) -> *const JobKind {
        match self {
            // SAFETY: in the worker's hands, so it is valid.
            Self::Job(job) => unsafe { (**job).kind() },
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
pub(crate) fn run(shared: &Shared, seat: &'static Seat, index: usize) -> End {
    let mut lookout = Lookout::default();
    let mut in_vain = Backoff::default();
    let mut at_work = AtWork {
        shared,
        seat,
        tick: 0,
        spin_nanos: SPIN_NANOS_MAX,
        spare: SpareTime::NEVER_OVER,
    };
    while !shared.is_over() {
        if process::is_forked() {
            // What it ran has forked, and has ended in the child, where this is the only thread.
            abort(process::FORKED);
        }
        at_work.tick = at_work.tick.wrapping_add(1);
        lookout.fire_timers(seat);
        if at_work.tick.is_multiple_of(TURNS) {
            shared.look_at_sockets(seat);
        }
        let spin_nanos = at_work.spin_nanos;
        match waking::next(shared, index, &mut at_work) {
            Next::Found(found) => {
                in_vain.reset();
                perform(seat, found);
            }
            Next::Searched(found) => {
                at_work.spin_nanos = (spin_nanos * 2).min(SPIN_NANOS_MAX);
                in_vain.reset();
                perform(seat, found);
            }
            Next::Slept(Slept::Left) | Next::SleptInCrowd(Slept::Left) => return End::NotNeeded,
            Next::Slept(slept) => {
                at_work.spin_nanos = (spin_nanos / 2).max(SPIN_NANOS_MIN);
                if slept == Slept::Woken {
                    at_work.spin_nanos = at_work.spin_nanos.max(SPIN_NANOS_WOKEN);
                }
                if slept == Slept::NotAtAll {
                    // What is there cannot be taken yet: its pusher, or another taker, is between two steps.
                    in_vain.wait();
                } else {
                    in_vain.reset();
                }
                lookout.hurry();
            }
            Next::SleptInCrowd(_) => lookout.hurry(),
        }
    }
    End::Over
}

/// A worker that looks for work, and sleeps where there is none.
struct AtWork<'pool> {
    shared: &'pool Shared,
    seat: &'static Seat,
    tick: u32,
    spin_nanos: u64,
    spare: SpareTime,
}

impl waking::Worker for AtWork<'_> {
    type Found = Found;

    #[inline]
    fn find(&mut self) -> Option<Found> {
        find(self.shared, self.seat, self.tick)
    }

    fn may_search(&self) -> bool {
        self.shared.vacancy(self.seat) != Vacancy::Free
    }

    fn spin(&mut self) -> Option<Found> {
        spin(self.shared, self.seat, self.spin_nanos)
    }

    fn has_more(&self) -> bool {
        !self.seat.tasks.is_empty()
    }

    fn hold(&self) -> &Hold {
        &self.seat.hold
    }

    fn announced(&mut self) {
        self.seat.set_occupant(Occupant::Idle);
        self.spare = SpareTime::begin(self.shared, self.seat);
    }

    fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    #[inline]
    fn has_own_work(&self) -> bool {
        !self.seat.local.is_empty()
    }

    fn sees_work(&self) -> bool {
        self.shared.has_visible_work(Some(self.seat))
    }

    fn is_spare(&mut self) -> bool {
        self.spare.is_over()
    }

    fn stay(&mut self) {
        self.spare = SpareTime::NEVER_OVER;
    }

    fn park(&mut self) {
        self.seat.counters.parked.bump();
        self.seat.placement.fall_asleep();
        self.shared.sleep_until_timer(self.seat, self.spare.left());
    }

    fn is_timer_due(&self) -> bool {
        self.seat.is_timer_due()
    }

    fn awake(&mut self, slept: Slept) {
        self.seat.placement.wake_up();
        self.seat.set_occupant(Occupant::Running);
        // Relaxed: a measurement.
        let woken_at = self.seat.woken_at.swap(0, Ordering::Relaxed);
        if slept == Slept::Woken && woken_at != 0 {
            let taken = clock::ticks().saturating_sub(woken_at);
            self.shared.learn_wake_latency(taken);
        }
    }
}

/// Runs what was found, as an execution of `seat`.
pub(crate) fn perform(seat: &Seat, found: Found) {
    let outer_task = seat.task();
    let outer_kind = seat.kind();
    seat.set_kind(found.kind());
    let execution = seat.begin_execution();
    match found {
        Found::Job(job) => {
            // SAFETY: 1. and 2.: whoever takes a job from a queue or a deque has it alone.
            unsafe { Job::perform(job, Action::Run(execution)) };
            seat.end_execution();
        }
        Found::Call(pin, owner) => {
            pin.help(execution);
            seat.end_execution();
            if pin.unpin() {
                owner.parker.unpark();
            }
        }
    }
    seat.counters.finished.bump();
    seat.set_task(outer_task);
    seat.set_kind(outer_kind);
    seat.is_not_blocked();
}

/// One look at every place where work may be.
///
/// Inlined wherever it is called: what it finds is three words, which a call returns through memory, 19 instructions
/// for each task.
#[inline(always)]
fn find(shared: &Shared, seat: &'static Seat, tick: u32) -> Option<Found> {
    if shared.is_closing() {
        return find_while_closing(shared, seat);
    }
    if shared.lanes.is_used() {
        return find_by_priority(shared, seat, tick);
    }
    find_usual(shared, seat, tick)
}

/// Drops what is queued, and looks for what others need help with.
#[cold]
fn find_while_closing(shared: &Shared, seat: &'static Seat) -> Option<Found> {
    discard_local(shared, seat);
    shared.discard_queued();
    find_elsewhere(shared, seat, TASKS_TAKEN_MAX)
}

/// Looks where the priorities' turns say.
#[cold]
fn find_by_priority(shared: &Shared, seat: &'static Seat, tick: u32) -> Option<Found> {
    let now = clock::ticks();
    let mut turns = seat.turns.get();
    let found = turns.next(now).into_iter().find_map(|priority| {
        turns.come_to(priority, now);
        match priority {
            Priority::Interactive => take_one(&shared.lanes.interactive),
            Priority::Normal => find_usual(shared, seat, tick),
            Priority::Background => take_one(&shared.lanes.background),
        }
    });
    seat.turns.set(turns);
    if found.is_some() && !shared.lanes.is_empty() {
        shared.wake_if_nobody_searches();
    }
    found
}

fn take_one(queue: &TaskQueue<Job>) -> Option<Found> {
    queue.take(1).map(|run| Found::Job(run.first))
}

/// Looks for what is of the usual priority.
fn find_usual(shared: &Shared, seat: &'static Seat, tick: u32) -> Option<Found> {
    let out_of_turn = match tick % TURNS {
        OUTSIDE_TURN => take_tasks(shared, seat, None, TASKS_TAKEN_MAX),
        // One only: a worker that has work of its own would only move the rest from cache to cache.
        OTHERS_TURN => find_elsewhere(shared, seat, 1),
        _ => None,
    };
    if out_of_turn.is_some() {
        return out_of_turn;
    }
    let (first, second) = if tick.is_multiple_of(2) {
        (&seat.local, &seat.tasks)
    } else {
        (&seat.tasks, &seat.local)
    };
    if let Some(job) = first.take_own().or_else(|| second.take_own()) {
        return Some(Found::Job(job));
    }
    take_tasks(shared, seat, None, TASKS_TAKEN_MAX)
        .or_else(|| find_elsewhere(shared, seat, TASKS_TAKEN_MAX))
}

/// Drops the tasks that only this worker may drop.
pub(crate) fn discard_local(shared: &Shared, seat: &Seat) {
    while let Some(run) = seat.local.take(1) {
        // SAFETY: 1. and 2.: taken from the queue, so it is ours alone.
        let is_dropped = unsafe { Job::perform(run.first, Action::Drop(shared.home())) };
        shared.count_dropped(is_dropped);
    }
}

/// Looks at the other seats, starting anywhere; takes up to `tasks_max` tasks.
fn find_elsewhere(shared: &Shared, seat: &'static Seat, tasks_max: usize) -> Option<Found> {
    let random = seat.next_random() as usize;
    shared.other_seats(seat, random).find_map(|other| {
        if let Some(pin) = other.slots.iter().find_map(|slot| slot.try_pin()) {
            return Some(Found::Call(pin, other));
        }
        if let Some(job) = other.deque.steal(0) {
            seat.counters.stolen.bump();
            return Some(Found::Job(job));
        }
        if other.deque.has_private(0) {
            other.deque.demand();
        }
        if shared.is_closing() || seat.is_patient_with(other) {
            None
        } else {
            take_tasks(shared, seat, Some(other), tasks_max)
        }
    })
}

/// Takes a run of up to `max` tasks from outside or from `other`; keeps the first in hand and the rest as its
/// own. While threads are blocked, those of the kind that blocked come last: each costs another thread, and
/// what does not block need not wait for all of these.
fn take_tasks(
    shared: &Shared,
    seat: &'static Seat,
    other: Option<&Seat>,
    max: usize,
) -> Option<Found> {
    let queue = other.map_or(&*shared.injector, |other| &other.tasks);
    let mut run = queue.take(max)?;
    if other.is_some() {
        seat.counters.stolen.bump();
    }
    if run.len > 1
        && let Some(blocking) = shared.blocking_kind()
    {
        // SAFETY: the run is fresh from `take`.
        unsafe { run.move_back(|job| job.kind() == blocking) };
    }
    let first = run.first;
    if run.len > 1 {
        // SAFETY: the run is fresh from `take`.
        unsafe { run.drop_first() };
        seat.hold.end();
        // SAFETY: taken from a queue of this type, untouched but for the step above.
        unsafe { seat.tasks.append(run) };
    }
    if !(seat.tasks.is_empty() && queue.is_empty()) {
        shared.wake_if_nobody_searches();
    }
    Some(Found::Job(first))
}

/// Moves a run of tasks from `other`'s queue to `seat`'s own. Returns whether there was one.
pub(crate) fn fetch_tasks(seat: &Seat, other: &Seat) -> bool {
    let Some(run) = other.tasks.take(TASKS_TAKEN_MAX) else {
        return false;
    };
    seat.counters.stolen.bump();
    seat.hold.end();
    // SAFETY: taken from a queue of this type just now.
    unsafe { seat.tasks.append(run) };
    true
}

/// Looks again and again for `nanos` nanoseconds, as one who searches. Not while it could watch sockets instead;
/// and not for long while another worker does, from which it would only take what a socket has woken there.
fn spin(shared: &Shared, seat: &'static Seat, nanos: u64) -> Option<Found> {
    let since = clock::ticks();
    // A counter that has jumped back ends the spin.
    let spun = |nanos| clock::ticks().abs_diff(since) >= clock::ticks_in(nanos);
    let is_over = || match shared.vacancy(seat) {
        Vacancy::Free => true,
        Vacancy::Soon => false,
        Vacancy::Taken => spun(SPIN_NANOS_MIN),
        Vacancy::None => spun(nanos),
    };
    let mut found = None;
    while found.is_none() && !is_over() && !shared.idle.is_overfull() {
        (0..LOOKS_APART).for_each(|_| spin_loop());
        found = find(shared, seat, 1);
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

    /// The worker on `seat` falls asleep.
    fn begin(shared: &Shared, seat: &Seat) -> Self {
        if seat.hosts_tasks.get() || !shared.idle.has_spare_threads() {
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

/// Once in so many looks tasks from outside come first, after a look at sockets, and once the work of other seats. Prime, so that it
/// does not beat with what tasks do in rounds.
const TURNS: u32 = 61;
const OUTSIDE_TURN: u32 = 0;
const OTHERS_TURN: u32 = 30;
/// Most tasks moved in one go: enough to share the price of a steal, few enough to leave some behind.
const TASKS_TAKEN_MAX: usize = 32;
/// Spin-loop hints between two looks.
const LOOKS_APART: u32 = 4;
/// A worker that keeps finding work by spinning spins this long, one that never does the least.
const SPIN_NANOS_MAX: u64 = 50_000;
const SPIN_NANOS_MIN: u64 = 2_000;
/// After it was woken on purpose: long enough to meet the next of a series of short loops.
const SPIN_NANOS_WOKEN: u64 = 30_000;
