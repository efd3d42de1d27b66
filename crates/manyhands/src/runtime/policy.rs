//! Whether a worker is woken, a thread is added, or one gives way: the place that decides.
//!
//! Pure functions of what happened, what the counts say and what the work costs, with tests by table. A caller reads
//! the counts before ([`Seen`]), and takes a step of `sleep/waking.rs` afterwards, which looks at the counts once more.
//!
//! A task, a closure of a scope or an entry that a thief has asked for has one rule: a worker is woken unless one searches
//! (`waking::wake_if_nobody_searches`). Whether a worker notifies others of a task that it has woken itself (`notify`), and
//! everything else, is decided here.
//!
//! The numbers by which the runtime decides are here, too: what follows from another number is written as such. The tests by
//! table of the files that use them try them, and the decision pages 02, 06, 07, 08 and 21 have the measurements.
//!
//! Not here: the steps (`sleep/waking.rs`), the memory of a thread's series of calls (`fork_join/series.rs`), which threads beyond
//! the limit run short tasks (`monitor/overcommit.rs`), the costs of loops (`engine/cost.rs`), and hill climbing, which has its
//! own numbers.

use crate::runtime::sleep::waking::Notify;
use std::time::Duration;

/// What a runtime's counts say, as the thread that asks has read them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// One more thread may run.
    pub(crate) has_room: bool,
    /// A worker looks for work.
    pub(crate) is_anyone_searching: bool,
    /// How long a woken worker takes to run, in ticks.
    pub(crate) wake_latency: u64,
}

/// Whether work that takes this number of ticks, or a wake that saves them, is worth a wake.
pub(crate) fn pays(ticks: u64, wake_latency: u64) -> bool {
    ticks > WAKE_PAYS_FROM.saturating_mul(wake_latency)
}

/// How a call offers a part of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// A worker is woken for it.
    Wake,
    /// It is left to a worker that searches in any case.
    ToSearcher,
    /// As [`Wake`](Self::Wake) if the call is one of a series for which that pays, else not at all.
    InSeries,
}

/// How a call offers its remaining work of `left` ticks, `None` if unknown.
pub(crate) fn offer(left: Option<u64>, seen: Seen) -> Offer {
    if left.is_none_or(|left| pays(left, seen.wake_latency)) {
        Offer::Wake
    } else if seen.is_anyone_searching {
        Offer::ToSearcher
    } else {
        Offer::InSeries
    }
}

/// How many workers an open call wakes for its remaining `left` ticks, `None` if unknown: one for each `share` of them, up to
/// `most`. For work that is not worth a wake it is one, unless a worker searches: a series of short calls wakes one worker for
/// all of them.
pub(crate) fn wakes(left: Option<u64>, share: u64, most: u32, seen: Seen) -> u32 {
    if !seen.has_room {
        return 0;
    }
    match left {
        None => most,
        Some(left) if pays(left, seen.wake_latency) => {
            let shares = (left / share.max(1)).max(1);
            u32::try_from(shares).map_or(most, |shares| shares.min(most))
        }
        Some(_) => u32::from(!seen.is_anyone_searching).min(most),
    }
}

/// Whether a recursion of joins wakes another worker, this number of ticks after the last one. It is expected to last as long
/// again.
pub(crate) fn wakes_again(ticks: u64, seen: Seen) -> bool {
    seen.has_room && !seen.is_anyone_searching && pays(ticks, seen.wake_latency)
}

/// What a worker does that queues a task which it has woken into its own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pusher {
    /// It polls a task, or has polled this one, and soon looks for the next one. If it is kept from that after all, the monitor
    /// finds another worker.
    Polls,
    /// As that, and the task is the polled one, which has quickly used up its budget.
    PollsSpent,
    /// It advances its timers between two pieces of work.
    FiresTimers,
    /// It waits on top of what it runs, or does something that may take long.
    IsAway,
}

/// What is in that queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnQueue {
    Empty,
    /// One task, in steal grace.
    InGrace,
    Tasks,
}

/// Which workers to notify of the task. None if the worker itself will soon run it; a first task then has steal grace.
#[inline]
pub(crate) fn notify(pusher: Pusher, queue: OwnQueue) -> Notify {
    match (pusher, queue) {
        (Pusher::Polls | Pusher::PollsSpent, OwnQueue::Empty) => Notify::NobodyWithGrace,
        // The task in steal grace is the one that has made the polled one use up its budget.
        (Pusher::FiresTimers, OwnQueue::Empty) | (Pusher::PollsSpent, OwnQueue::InGrace) => {
            Notify::Nobody
        }
        _ => Notify::Others,
    }
}

/// Why a helper may have to leave its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedFor {
    /// Tasks wait that only it may run.
    OwnTasks,
    /// Tasks wait that any worker may run.
    Tasks,
    /// More threads run than may.
    Sleep,
}

/// Helper of a call: whether it leaves. Not if a worker searches: it takes the tasks, or is the one thread too many. But
/// nobody else can take its own tasks.
pub(crate) fn gives_way(wanted: Option<WantedFor>, is_anyone_searching: bool) -> bool {
    match wanted {
        None => false,
        Some(WantedFor::OwnTasks) => true,
        Some(WantedFor::Tasks | WantedFor::Sleep) => !is_anyone_searching,
    }
}

/// Sweep that sees work which nobody runs, while `running` threads run: whether a searching worker comes for it. Where
/// nobody runs, the worker that counts as searching is blocked.
pub(crate) fn searcher_comes(running: usize, is_anyone_searching: bool) -> bool {
    is_anyone_searching && running > 0
}

/// Whether a computation that goes on for this long starves what waits.
pub(crate) fn starves(computes_for: Duration, has_processor: bool) -> bool {
    computes_for >= STARVED_AFTER_ALL || (computes_for >= STARVED_AFTER && has_processor)
}

/// How many threads beyond the limit may run: in a burst, of which more than one sweep has detected blocked threads, or where
/// this number of the threads that run starve tasks that wait; `None` if no task waits.
pub(crate) fn threads_beyond(limit: usize, starving: Option<usize>, burst_sweeps: u32) -> usize {
    let ahead = if burst_sweeps > 1 { BURST_HEADROOM } else { 0 };
    let starved = starving.map_or(0, |starving| (starving + 1).saturating_sub(limit));
    ahead.max(starved)
}

// Waking.

/// A wake pays when what is left takes, or what it saves is, this many times as long as the wake.
const WAKE_PAYS_FROM: u64 = 2;
/// How long a wake takes, until it was measured. A worker that keeps finding work by spinning spins as long.
pub(crate) const WAKE_NANOS_FIRST: u64 = 50_000;

// Searching and waiting.

/// A worker that never finds work by spinning spins this long.
pub(crate) const SPIN_NANOS_MIN: u64 = 2_000;
/// Calls that follow each other within this belong to a series. A worker that was woken on purpose spins as long, to meet the
/// next call of one.
pub(crate) const SERIES_GAP_NANOS: u64 = 30_000;
/// Spin-loop hints of a plain spin, before anything more expensive: most waits of a balanced split end within them. Loops that
/// spin between two looks do so for a part of it.
pub(crate) const SPINS: u32 = 64;
/// How many waiting runners a waiter follows to something that it can help with.
pub(crate) const CHAIN_MAX: u32 = 8;

// Forks.

/// One level in this number counts towards the heartbeat; each recursion passes through the first of them.
pub(crate) const LEVELS_APART: usize = 8;
/// About a hundred joins pass between two reads of the clock.
pub(crate) const PUSHES_PER_BEAT: u32 = 16;
/// A join that takes less is faster done alone than with a thief, which costs about a microsecond or, when
/// it loses its processor meanwhile, far more.
pub(crate) const OFFER_NANOS_MIN: u64 = 10_000;

// Taking turns.

/// How long a worker's steal grace is respected: longer than two tasks take to pass on as much as one poll may, and short
/// beside what a second worker is worth.
pub(crate) const GRACE_RESPECTED_NANOS: u64 = 8_000;
/// Pieces of work in a round. Prime, so that it does not beat with what tasks do in rounds. A helper runs as many closures of a
/// scope between two looks at whether it must leave.
pub(crate) const GLOBAL_QUEUE_INTERVAL_MAX: u32 = 61;
/// One for each place to look at.
pub(crate) const GLOBAL_QUEUE_INTERVAL_MIN: u32 = 3;
/// The length of a round: short beside what a person notices, long beside a look.
pub(crate) const ROUND_NANOS: u64 = 500_000;
/// A task of low priority that has waited for this long comes first,
pub(crate) const OVERDUE_NANOS: u64 = 10_000_000;
/// after this many turns of others.
pub(crate) const OVERDUE_TURNS: usize = 4;
/// Most tasks moved in one go: enough to share the price of a steal, few enough to leave some behind.
pub(crate) const TASKS_TAKEN_MAX: usize = 32;

// When the monitor looks.

/// Time between two sweeps after a thread needed help, and the least time between two looks at the timers of busy workers, by
/// themselves or the monitor: short beside a tick. As long sleeps a thread that waits for another one between two instructions.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_micros(200);
/// While long jobs occupy every worker; their end, or that one of them blocks, is seen that much later. A burst ends when sweeps
/// have detected no thread for as long.
pub(crate) const INTERVAL_SATURATED: Duration = LONG.saturating_mul(2);
/// While nothing waits, or the running threads make progress. A computation of this length is noted.
pub(crate) const INTERVAL_MAX: Duration = Duration::from_nanos(OVERDUE_NANOS);

// Blocked threads.

/// A thread that is off the processor for this long inside a job is blocked; shorter waits are not worth
/// another thread. While threads run calls alone, sweeps follow each other as closely: a call that goes on is opened at
/// the second look.
pub(crate) const BLOCKED_AFTER: Duration = INTERVAL_MIN.saturating_mul(2);
/// The same in burst mode, and the first pause between two of its sweeps.
pub(crate) const BLOCKED_AFTER_IN_BURST: Duration = Duration::from_nanos(WAKE_NANOS_FIRST);
/// A pause is this part of the time that the burst has lasted, up to [`STALLED_AFTER`], so that it costs little in the long run.
pub(crate) const BURST_PAUSE_SHARE: u32 = 64;
/// In burst mode this many threads more than the limit may run, in place of those not yet detected.
const BURST_HEADROOM: usize = 2;
/// A thread that used less than this part of the time was off the processor. One that used all but this part had it for itself.
pub(crate) const OFF_PROCESSOR_SHARE: u128 = 8;
/// How long the monitor waits before it acts on what may have another reason: where all processors are taken, longer than
/// the holder of a lock usually waits for one; where the system reports only processor time; and where a
/// thread is on its way to work. After as long without a thread that takes part, the monitor sleeps: it has then found nothing in as
/// many looks as it begins with when it is woken. The thread that wakes it pays a system call.
pub(crate) const IN_DOUBT: Duration = Duration::from_millis(50);
/// Work that waits while nothing runs is reported after this time.
pub(crate) const STALLED_AFTER: Duration = IN_DOUBT.saturating_mul(2);

// Long computations.

/// A job of a kind that is known to be long counts as such after this time, because jobs of that kind may often be short.
pub(crate) const LONG_BY_KIND_NANOS: u64 = 100_000;
/// A job that has computed for this long is long. As seldom the monitor looks again at a thread that it has detected, at
/// tasks that may be short, and at work that waits for threads which may be blocked.
pub(crate) const LONG: Duration = Duration::from_nanos(10 * LONG_BY_KIND_NANOS);
/// How long overcommit lasts after long jobs were seen in every worker, and the longest pause between two looks for short tasks
/// that find none. A task that was taken for a short one, and has computed for as long, gets one more thread beyond the number of
/// workers. If each got one at once, a program that mixes more kinds of long task than are remembered would run most of
/// them at the same time.
pub(crate) const OVERCOMMIT_LASTS: Duration = INTERVAL_SATURATED.saturating_mul(10);
/// When computations, each with a processor of its own, occupy every running thread for this long, one thread is added.
const STARVED_AFTER: Duration = Duration::from_millis(500);
/// The same where other threads want the processors: the computations may wait for queued work.
const STARVED_AFTER_ALL: Duration = STARVED_AFTER.saturating_mul(10);

// Threads that the system refuses.

/// A refused start takes about ten microseconds.
pub(crate) const ASK_APART_NANOS: u64 = 1_000_000;
/// Threads that wait for one try again at this interval: more than the time between two askings.
pub(crate) const TRIES_APART: Duration = Duration::from_nanos(3 * ASK_APART_NANOS);
/// Before a thread that waits helps itself: 0.3 s.
pub(crate) const TRIES_BEFORE_HELPING: u32 = 100;
/// Before it panics.
pub(crate) const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::{
        BURST_HEADROOM, Offer, OwnQueue, Pusher, STARVED_AFTER, STARVED_AFTER_ALL, Seen, WantedFor,
        gives_way, notify, offer, pays, searcher_comes, starves, threads_beyond, wakes,
        wakes_again,
    };
    use crate::runtime::sleep::waking::Notify;
    use std::time::Duration;

    const LATENCY: u64 = 100;

    fn seen([has_room, is_anyone_searching]: [bool; 2]) -> Seen {
        Seen {
            has_room,
            is_anyone_searching,
            wake_latency: LATENCY,
        }
    }

    #[test]
    fn a_wake_pays_from_twice_its_time() {
        assert!(!pays(2 * LATENCY, LATENCY));
        assert!(pays(2 * LATENCY + 1, LATENCY));
        assert!(!pays(u64::MAX, u64::MAX), "it does not overflow");
        assert!(!pays(0, 0) && pays(1, 0));
    }

    #[test]
    fn what_pays_or_is_unknown_is_offered_with_a_wake_and_the_rest_to_who_searches() {
        for has_room in [false, true] {
            for (left, is_anyone_searching, expected) in [
                (None, false, Offer::Wake),
                (None, true, Offer::Wake),
                (Some(201), false, Offer::Wake),
                (Some(201), true, Offer::Wake),
                (Some(200), true, Offer::ToSearcher),
                (Some(200), false, Offer::InSeries),
            ] {
                let seen = seen([has_room, is_anyone_searching]);
                assert_eq!(offer(left, seen), expected, "{left:?} {seen:?}");
            }
        }
    }

    #[test]
    fn an_open_call_wakes_a_worker_for_each_share_and_one_for_what_does_not_pay() {
        for (left, has_room, is_anyone_searching, expected) in [
            (None, true, false, 3),
            (None, true, true, 3),
            (None, false, false, 0),
            (Some(1_000), true, false, 3),
            (Some(1_000), true, true, 3),
            (Some(1_000), false, false, 0),
            (Some(u64::MAX), true, false, 3),
            (Some(250), true, false, 2),
            (Some(200), true, false, 1),
            (Some(200), true, true, 0),
            (Some(200), false, false, 0),
            (Some(0), true, false, 1),
        ] {
            let seen = seen([has_room, is_anyone_searching]);
            assert_eq!(wakes(left, 100, 3, seen), expected, "{left:?} {seen:?}");
        }
        let seen = seen([true, false]);
        assert_eq!(wakes(Some(201), 1_000, 3, seen), 1, "less than a share");
        assert_eq!(
            wakes(Some(1_000), 100, 0, seen),
            0,
            "nobody else may run it"
        );
    }

    #[test]
    fn joins_that_go_on_wake_again_where_there_is_room_and_nobody_searches() {
        for (ticks, has_room, is_anyone_searching, expected) in [
            (201, true, false, true),
            (200, true, false, false),
            (201, false, false, false),
            (201, true, true, false),
            (u64::MAX, true, false, true),
        ] {
            let seen = seen([has_room, is_anyone_searching]);
            assert_eq!(wakes_again(ticks, seen), expected, "{ticks} {seen:?}");
        }
    }

    #[test]
    fn a_worker_notifies_nobody_of_the_task_that_it_soon_runs_itself() {
        use {Notify::*, OwnQueue::*, Pusher::*};
        let table = [
            (Polls, [NobodyWithGrace, Others, Others]),
            (PollsSpent, [NobodyWithGrace, Nobody, Others]),
            (FiresTimers, [Nobody, Others, Others]),
            (IsAway, [Others, Others, Others]),
        ];
        for (pusher, expected) in table {
            let notified = [Empty, InGrace, Tasks].map(|queue| notify(pusher, queue));
            assert_eq!(notified, expected, "{pusher:?}");
        }
    }

    #[test]
    fn a_helper_gives_way_to_tasks_and_threads_unless_somebody_searches() {
        for (wanted, expected) in [
            (None, [false, false]),
            (Some(WantedFor::OwnTasks), [true, true]),
            (Some(WantedFor::Tasks), [true, false]),
            (Some(WantedFor::Sleep), [true, false]),
        ] {
            let gives_way = [false, true].map(|searching| gives_way(wanted, searching));
            assert_eq!(gives_way, expected, "{wanted:?}");
        }
    }

    #[test]
    fn who_searches_counts_for_a_sweep_only_where_anybody_runs() {
        assert!(searcher_comes(1, true));
        assert!(!searcher_comes(0, true) && !searcher_comes(1, false));
    }

    #[test]
    fn threads_are_added_in_a_burst_and_for_what_starves() {
        let just_less = STARVED_AFTER.saturating_sub(Duration::from_nanos(1));
        assert!(starves(STARVED_AFTER, true) && !starves(just_less, true));
        assert!(starves(STARVED_AFTER_ALL, false) && !starves(STARVED_AFTER, false));
        for (limit, starving, burst_sweeps, expected) in [
            (2, Some(0), 0, 0),
            (2, Some(1), 0, 0),
            (2, Some(2), 0, 1),
            (2, Some(4), 0, 3),
            (2, None, 0, 0),
            (2, Some(0), 1, 0),
            (2, Some(0), 2, BURST_HEADROOM),
            (2, Some(4), 2, 3),
            (2, None, 2, BURST_HEADROOM),
        ] {
            let threads = threads_beyond(limit, starving, burst_sweeps);
            assert_eq!(threads, expected, "{limit} {starving:?} {burst_sweeps}");
        }
    }
}
