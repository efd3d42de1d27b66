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

use crate::job::{Action, Job, JobKind};
use crate::queue::TaskQueue;
use crate::runtime::idle::Activity;
use crate::runtime::open::Pin;
use crate::runtime::seat::{Occupant, Seat};
use crate::runtime::timers::Lookout;
use crate::runtime::{Priority, Shared};
use crate::sync::atomic::Ordering;
use crate::sync::{Backoff, Vacancy, clock, spin_loop};
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

/// How a worker's sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slept {
    /// Somebody woke it.
    Woken,
    /// By itself.
    Otherwise,
    /// Not at all, because there is something to do.
    NotAtAll,
    /// Not at all: it has left.
    Left,
}

/// A worker's life.
pub(crate) fn run(shared: &Shared, seat: &'static Seat, index: usize) -> End {
    let mut spin_nanos = SPIN_NANOS_MAX;
    let mut tick = 0_u32;
    let mut lookout = Lookout::default();
    let mut in_vain = Backoff::default();
    while !shared.is_over() {
        tick = tick.wrapping_add(1);
        lookout.fire_timers(seat);
        if tick.is_multiple_of(TURNS) {
            shared.look_at_sockets(seat);
        }
        if shared.idle.is_overfull() && seat.local.is_empty() {
            if sleep(shared, seat, index) == Slept::Left {
                return End::NotNeeded;
            }
            lookout.hurry();
        } else if let Some(found) = find(shared, seat, tick) {
            in_vain.reset();
            perform(seat, found);
        } else if let Some(found) = spin(shared, seat, spin_nanos) {
            spin_nanos = (spin_nanos * 2).min(SPIN_NANOS_MAX);
            in_vain.reset();
            if !seat.tasks.is_empty() {
                // Found more than one: while it searched, it was itself the one that others relied on.
                shared.wake_if_nobody_searches();
            }
            perform(seat, found);
        } else {
            spin_nanos = (spin_nanos / 2).max(SPIN_NANOS_MIN);
            match sleep(shared, seat, index) {
                Slept::Woken => {
                    spin_nanos = spin_nanos.max(SPIN_NANOS_WOKEN);
                    in_vain.reset();
                }
                Slept::Otherwise => in_vain.reset(),
                // What is there cannot be taken yet: its pusher, or another taker, is between two steps.
                Slept::NotAtAll => in_vain.wait(),
                Slept::Left => return End::NotNeeded,
            }
            lookout.hurry();
        }
    }
    End::Over
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
fn find(shared: &Shared, seat: &'static Seat, tick: u32) -> Option<Found> {
    if shared.is_closing() {
        discard_local(shared, seat);
        shared.discard_queued();
        return find_elsewhere(shared, seat, TASKS_TAKEN_MAX);
    }
    if shared.lanes.is_used() {
        return find_by_priority(shared, seat, tick);
    }
    find_usual(shared, seat, tick)
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

/// Looks again and again for `nanos` nanoseconds. Not while it could watch sockets instead; and not for long
/// while another worker does, from which it would only take what a socket has woken there.
fn spin(shared: &Shared, seat: &'static Seat, nanos: u64) -> Option<Found> {
    if shared.vacancy(seat) == Vacancy::Free {
        return None;
    }
    shared.idle.begin(Activity::Searching);
    let since = clock::ticks();
    let spun = |nanos| clock::ticks() - since >= clock::ticks_in(nanos);
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
    shared.idle.end(Activity::Searching);
    found
}

/// Sleeps until claimed, until there is work after all or a timer is due, or until the runtime has ended.
fn sleep(shared: &Shared, seat: &'static Seat, index: usize) -> Slept {
    seat.hold.end();
    shared.idle.announce(index);
    seat.set_occupant(Occupant::Idle);
    let mut spare = SpareTime::begin(shared, seat);
    let mut slept = Slept::NotAtAll;
    loop {
        if shared.is_over() {
            // It stays announced: nobody is awake any more.
            return Slept::Otherwise;
        }
        let has_own_work = !seat.local.is_empty();
        if has_own_work || (shared.idle.has_room() && shared.has_visible_work(Some(seat))) {
            break;
        }
        if spare.is_over() {
            if shared.idle.leave(index) {
                return Slept::Left;
            }
            spare = SpareTime::NEVER_OVER;
        }
        seat.counters.parked.bump();
        seat.placement.fall_asleep();
        shared.sleep_until_timer(seat, spare.left());
        slept = Slept::Otherwise;
        if !shared.idle.is_announced(index) {
            slept = Slept::Woken;
            break;
        }
        if seat.is_timer_due() {
            break;
        }
    }
    shared.idle.withdraw(index);
    if slept != Slept::Woken {
        // Whoever wakes another sees to this for it.
        shared.arm_monitor();
    }
    seat.placement.wake_up();
    seat.set_occupant(Occupant::Running);
    // Relaxed: a measurement.
    let woken_at = seat.woken_at.swap(0, Ordering::Relaxed);
    if slept == Slept::Woken && woken_at != 0 {
        shared.learn_wake_latency(clock::ticks().saturating_sub(woken_at));
    }
    slept
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
