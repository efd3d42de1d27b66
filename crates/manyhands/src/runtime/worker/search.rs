//! One look of a worker at every place where work may be.
//!
//! In this order: own tasks, in turn with those that only this worker may run, tasks from outside, forks that were passed on,
//! calls that others left open, their exposed jobs, their tasks. Once in a round tasks from outside come first, and once what
//! others have, so that no source can starve another.
//!
//! # Rounds
//! A worker prefers its own tasks. Nothing else must starve behind them, so once in a round of pieces of work it looks
//! for tasks from outside first, and once for those of others. A round has 61 pieces, or fewer where these are long: it
//! lasts about half a millisecond, but has at least three pieces. The clock is read once a round. A round of short pieces
//! in which one is run whose kind is known to be long has no more than three.
//!
//! tokio adapts the interval between its looks at the global queue in a similar way
//! (<https://docs.rs/tokio/latest/tokio/runtime/struct.Builder.html#method.global_queue_interval>).
//!
//! Not here: when a worker looks, and what follows (`run_loop.rs`), the search for a short task (`short_tasks.rs`), and what
//! a waiting thread may run (`wait.rs`).
//!
//! Unsafe: forks are taken by pointer.

use crate::job::{Job, JobKind};
use crate::queue::{Run, ShardedQueue, Unqueued};
use crate::runtime::fork_join::helper_slot::HelperGuard;
use crate::runtime::policy::{
    GLOBAL_QUEUE_INTERVAL_MAX, GLOBAL_QUEUE_INTERVAL_MIN, ROUND_NANOS, TASKS_TAKEN_MAX,
};
use crate::runtime::{
    Extent, HelperSlot, OccupiedSlot, Priority, RuntimeInner, WorkerSlot, waking,
};
use crate::sync::clock;
use std::ptr;

/// Something to run, in the worker's hands.
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
        // SAFETY: 1. its owner waits until it is performed; 2. taken.
        Self::Job(unsafe { Unqueued::new(fork) })
    }

    /// Part of a call that the occupant of `other` has opened, or one of its forks, of those that begin there or later. Where all
    /// these forks are private, demands some.
    #[inline]
    pub(crate) fn steal(
        slot: &OccupiedSlot,
        other: &'static WorkerSlot,
        from: Extent,
    ) -> Option<Self> {
        let calls = other.open_calls.get(from.calls_from..).unwrap_or_default();
        if let Some(guard) = calls.iter().find_map(HelperSlot::try_enter) {
            return Some(Self::Call(guard, other));
        }
        if let Some(job) = other.deque.steal(from.deque_from) {
            slot.counters.stolen.bump();
            // SAFETY: taken just now.
            return Some(unsafe { Self::fork(job) });
        }
        if other.deque.has_private(from.deque_from) {
            other.deque.demand();
        }
        None
    }

    /// The kind of job; null for a call.
    pub(super) fn kind(&self) -> *const JobKind {
        match self {
            Self::Job(job) => job.kind(),
            Self::Call(..) => ptr::null(),
        }
    }
}

/// One look at every place where work may be.
///
/// Inlined wherever it is called: what it finds is three words, which a call returns through memory, 19 instructions
/// for each task.
#[inline(always)]
pub(super) fn find(
    shared: &RuntimeInner,
    slot: &'static OccupiedSlot,
    turn: Turn,
) -> Option<FoundWork> {
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
    let run = queue.take(|| first_shard(slot, turn), 1)?;
    waking::leave_rest(shared, !queue.is_empty() || shared.has_tasks_outside());
    Some(FoundWork::Job(run.split_first().0))
}

/// The shard at which a worker looks first: its own, or in its round's turn for tasks from outside any. So no shard waits for
/// ever, although all workers that look at it first may be busy.
#[inline(never)]
fn first_shard(slot: &OccupiedSlot, turn: Turn) -> usize {
    match turn {
        Turn::Outside => slot.next_random() as usize,
        Turn::Others | Turn::Own | Turn::OwnBound => slot.home_shard(),
    }
}

/// Looks for what is of the usual priority.
fn find_usual(shared: &RuntimeInner, slot: &'static OccupiedSlot, turn: Turn) -> Option<FoundWork> {
    let out_of_turn = match turn {
        Turn::Outside => take_outside(shared, slot, turn),
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
    take_outside(shared, slot, Turn::Own).or_else(|| find_elsewhere(shared, slot, TASKS_TAKEN_MAX))
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
    shared.other_slots(slot, random).find_map(|other| {
        let found = FoundWork::steal(slot, other, Extent::default());
        if found.is_some() || shared.is_closing() || slot.is_in_grace(other) {
            return found;
        }
        let run = other.tasks.take(tasks_max)?;
        slot.counters.stolen.bump();
        Some(keep(shared, slot, run, || !other.tasks.is_empty()))
    })
}

/// Takes a run of tasks from outside, of those set aside if there are any, else beginning at the shard that is first. A function
/// of its own, because most tasks are found before, and a longer caller would cost them instructions.
#[inline(never)]
fn take_outside(shared: &RuntimeInner, slot: &OccupiedSlot, turn: Turn) -> Option<FoundWork> {
    let begin = || first_shard(slot, turn);
    let aside = shared.set_aside.take(TASKS_TAKEN_MAX);
    let run = aside.or_else(|| shared.injector.take(begin, TASKS_TAKEN_MAX))?;
    let is_more_left = || !shared.injector.is_empty() || !shared.set_aside.is_empty();
    Some(keep(shared, slot, run, is_more_left))
}

/// Keeps the first task of a run in hand and the rest as the worker's own. While threads are blocked, those of the kind
/// that blocked come last: each costs another thread, and what does not block need not wait for all of these. If there
/// is more left where the run was taken, or now in the worker's own queue, another worker must come for it.
fn keep(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    run: Run<Job>,
    is_more_left: impl FnOnce() -> bool,
) -> FoundWork {
    let blocking = (run.len > 1).then(|| shared.blocking_kind()).flatten();
    let parts = match blocking {
        Some(blocking) => run.partition(|job| job.kind() == blocking),
        None => [Some(run), None],
    };
    let mut parts = parts.into_iter().flatten();
    let run = parts.next().expect("a run has at least one task");
    let (first, rest) = run.split_first();
    for rest in rest.into_iter().chain(parts) {
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

/// Where a worker looks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// At tasks from outside, and at sockets.
    Outside,
    /// At the work of other slots.
    Others,
    /// At its own tasks.
    Own,
    /// At its own tasks, those first that only it may run.
    OwnBound,
}

/// The rounds of one worker.
pub(super) struct Rounds {
    /// Of the current round.
    piece: u32,
    /// In a round.
    pieces: u32,
    /// When the round began, in ticks.
    since: u64,
    is_even: bool,
}

impl Rounds {
    /// At the beginning of a round of short pieces.
    pub(super) fn new() -> Self {
        Self {
            piece: 0,
            pieces: GLOBAL_QUEUE_INTERVAL_MAX,
            since: clock::ticks(),
            is_even: false,
        }
    }

    /// The turn for the next piece of work.
    #[inline]
    pub(super) fn next(&mut self) -> Turn {
        self.piece += 1;
        self.is_even = !self.is_even;
        if self.piece >= self.pieces {
            self.begin(clock::ticks());
            Turn::Outside
        } else if self.piece == self.pieces / 2 {
            Turn::Others
        } else if self.is_even {
            Turn::OwnBound
        } else {
            Turn::Own
        }
    }

    /// What the worker has run was long: so may the others of this round be.
    pub(super) fn shorten(&mut self) {
        self.pieces = GLOBAL_QUEUE_INTERVAL_MIN;
    }

    /// The time since the round began was not spent on pieces of work: the worker has slept.
    pub(super) fn restart(&mut self) {
        self.since = clock::ticks();
        self.piece = 0;
    }

    fn begin(&mut self, now: u64) {
        // A counter that has jumped back reads as long pieces, which make a few short rounds.
        let a_piece = now.abs_diff(self.since) / u64::from(self.piece.max(1));
        let fitting = clock::ticks_in(ROUND_NANOS) / a_piece.max(1);
        // Odd, so that a worker's own queues take turns.
        self.pieces = u32::try_from(fitting)
            .unwrap_or(GLOBAL_QUEUE_INTERVAL_MAX)
            .clamp(GLOBAL_QUEUE_INTERVAL_MIN, GLOBAL_QUEUE_INTERVAL_MAX)
            | 1;
        self.since = now;
        self.piece = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{GLOBAL_QUEUE_INTERVAL_MAX, GLOBAL_QUEUE_INTERVAL_MIN, ROUND_NANOS, Rounds, Turn};
    use crate::sync::clock;

    /// A round that has just begun after `pieces` of these nanoseconds.
    fn after(pieces: u32, nanos: u64) -> Rounds {
        let mut rounds = Rounds::new();
        (rounds.piece, rounds.since) = (pieces, 1_000);
        rounds.begin(1_000 + u64::from(pieces) * clock::ticks_in(nanos));
        rounds
    }

    fn turns(mut rounds: Rounds, count: usize) -> Vec<Turn> {
        rounds.pieces = rounds.pieces.max(1);
        (0..count).map(|_| rounds.next()).collect()
    }

    #[test]
    fn long_pieces_make_short_rounds_and_short_ones_long_rounds() {
        clock::calibrate();
        assert_eq!(after(61, 50).pieces, GLOBAL_QUEUE_INTERVAL_MAX);
        assert_eq!(after(61, ROUND_NANOS).pieces, GLOBAL_QUEUE_INTERVAL_MIN);
        assert_eq!(after(3, ROUND_NANOS * 20).pieces, GLOBAL_QUEUE_INTERVAL_MIN);
        assert_eq!(after(3, 50).pieces, GLOBAL_QUEUE_INTERVAL_MAX);
        let between = after(61, ROUND_NANOS / 20).pieces;
        assert!((15..=25).contains(&between), "{between}");
        assert_eq!(between % 2, 1);
    }

    #[test]
    fn a_round_has_one_look_outside_and_one_at_others() {
        let turns = turns(Rounds::new(), 61);
        assert_eq!(turns[60], Turn::Outside);
        let count = |turn| turns.iter().filter(|&&other| other == turn).count();
        assert_eq!(count(Turn::Outside), 1);
        assert_eq!(count(Turn::Others), 1);
    }

    #[test]
    fn after_a_long_piece_a_round_of_short_ones_ends() {
        let mut rounds = Rounds::new();
        let short: Vec<_> = (0..GLOBAL_QUEUE_INTERVAL_MIN)
            .map(|_| rounds.next())
            .collect();
        assert!(!short.contains(&Turn::Outside));
        rounds.shorten();
        assert_eq!(rounds.next(), Turn::Outside);
    }

    #[test]
    fn in_the_shortest_rounds_each_place_has_its_turn_and_own_queues_take_turns() {
        let mut rounds = after(3, ROUND_NANOS);
        let mut turns = Vec::new();
        for _ in 0..4 {
            for _ in 0..GLOBAL_QUEUE_INTERVAL_MIN {
                turns.push(rounds.next());
                rounds.pieces = GLOBAL_QUEUE_INTERVAL_MIN;
            }
        }
        for turn in [Turn::Outside, Turn::Others] {
            assert_eq!(turns.iter().filter(|&&other| other == turn).count(), 4);
        }
        for turn in [Turn::Own, Turn::OwnBound] {
            assert_eq!(turns.iter().filter(|&&other| other == turn).count(), 2);
        }
    }
}
