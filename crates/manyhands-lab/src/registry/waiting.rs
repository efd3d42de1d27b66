//! E14: a hundred waits, a limited number at a time. E15 to E17: a million at the same time.

use crate::{
    Case, Experiment,
    experiment::Returned,
    record::{ClaimTest, Range},
    workload::{calls, waiting},
};

/// Items that wait for somebody else, with and without a limit.
pub(super) fn e14() -> Experiment {
    let case = Case::returning("calls")
        .full_sizes([100])
        .quick_sizes([50])
        .unit("call")
        .arm("for @ 4", calls::blocking(4))
        .arm("for_each_async @ 4", calls::limited(4))
        .arm("for_each_async @ 40", calls::limited(40))
        .arm("for_each_async", calls::found)
        .arm("channel", calls::through_channel)
        .arm(calls::TWO_CHANNELS, calls::two_channels(4));
    Experiment::new(
        "E14",
        "Calls that wait for somebody else, some or all at a time",
    )
    .source("A post that sets System.Threading.Channels against the Task Parallel Library")
    .claim(
        "All calls at once, with a channel for what they bring, end twelve times as fast as a \
             loop that has four at a time; a loop without a limit of its own is the worst of both.",
    )
    .decided_by(
        "all at once is ten times as fast as four at a time, or more",
        ClaimTest::speed_up("channel", "for @ 4", 100, Range::from(10.0)),
    )
    .decided_by(
        "a loop without a limit takes twice as long as all at once, or longer",
        ClaimTest::speed_up("for_each_async", "channel", 100, Range::of(0.0, 0.5)),
    )
    .note(
        "Every call waits 10 to 49 ms; the same list for all arms. No limit can end before \
             the sum of the waits over the limit, and nothing before the longest wait.",
    )
    .note(
        "'for @ 4' blocks a thread for each call that waits. Here 'for_each_async' without a \
             limit finds one while it runs; the published one had as many at a time as there were \
             CPUs.",
    )
    .note(
        "'two channels @ 4' is what the post proposes and did not measure: the first half of every \
             wait for all at once, the second half four at a time, with a channel between the two.",
    )
    .case(case)
}

/// The list that holds the tasks.
pub(super) fn e15() -> Experiment {
    let case = waits("waiting tasks")
        .arm("list grows", waiting::list_grows)
        .arm("list preallocated", waiting::list_preallocated);
    waiting_experiment(
        "E15",
        "Many waiting tasks, in a list with and without room for all",
    )
    .claim("Giving the list its size saves next to nothing: the tasks are what takes memory.")
    .decided_by(
        "it saves a tenth of the allocated bytes at most, which the post counts",
        ClaimTest::allocated("list preallocated", "list grows", Range::of(0.9, 1.1)),
    )
    .decided_by(
        "it saves a tenth of the peak at most (measured with --memory)",
        ClaimTest::memory("list preallocated", "list grows", Range::of(0.9, 1.1)),
    )
    .case(case)
}

/// The list alone.
pub(super) fn e15b() -> Experiment {
    let case = Case::returning("list appends")
        .full_sizes([10_000, 100_000, 1_000_000])
        .unit("append")
        .arm("list grows", waiting::append_grows)
        .arm("list preallocated", waiting::append_preallocated);
    Experiment::new("E15b", "Appending to a list with and without room for all")
        .source(MILLION)
        .claim("A list that grows takes twice the memory, and 1.6 times as long.")
        .decided_by(
            "twice the allocated bytes, to within a tenth, which the post counts",
            ClaimTest::allocated("list grows", "list preallocated", Range::of(1.8, 2.2)),
        )
        .decided_by(
            "twice the peak, to within a tenth (measured with --memory)",
            ClaimTest::memory("list grows", "list preallocated", Range::of(1.8, 2.2)),
        )
        .decided_by(
            "a list that has room takes less time, by 1.4 to 1.8 times",
            ClaimTest::speed_up("list preallocated", "list grows", 0, Range::of(1.4, 1.8)),
        )
        .note(
            "A list that grows is often moved by the system without being copied, and its old \
             places are free again at once: see the peak memory (--memory).",
        )
        .case(case)
}

/// Timers without tasks.
pub(super) fn e16() -> Experiment {
    let case = waits("waiting")
        .arm("a task each", waiting::list_grows)
        .arm("timers alone", waiting::timers_alone)
        .arm("deadlines in turn", waiting::deadlines_in_turn);
    waiting_experiment("E16", "Many waits, with and without a task around each")
        .claim("Without the tasks the same waits take less than half the memory, and end sooner.")
        .decided_by(
            "less than half the allocated bytes, which the post counts",
            ClaimTest::allocated("timers alone", "a task each", Range::of(0.0, 0.5)),
        )
        .decided_by(
            "less than half the peak (measured with --memory)",
            ClaimTest::memory("timers alone", "a task each", Range::of(0.0, 0.5)),
        )
        .decided_by("the waits end sooner", ClaimTest::faster("timers alone", 0))
        .note(
            "'timers alone' sets all timers at once, each in a box; 'deadlines in turn' awaits \
             them one after another, so that few are ever set. Both are awaited by the thread that \
             measures.",
        )
        .case(case)
}

/// One timer for all.
pub(super) fn e17() -> Experiment {
    let (each, shared) = ("a task each", "one timer, a task each");
    let without = "one timer, awaited each";
    let case = waits("waiting")
        .arm(each, waiting::list_grows)
        .arm(shared, waiting::one_timer_many_tasks)
        .arm(without, waiting::one_timer_many_times);
    let (a_third, a_tenth) = (Range::of(0.25, 0.5), Range::of(0.0, 0.125));
    waiting_experiment("E17", "Many waits for one timer that all share")
        .claim(
            "With one timer for all, a task each takes a third of the memory, and without tasks \
             the waits take a tenth.",
        )
        .decided_by(
            "with a task each, a quarter to a half of the allocated bytes, which the post counts",
            ClaimTest::allocated(shared, each, a_third),
        )
        .decided_by(
            "without tasks, an eighth of them or less",
            ClaimTest::allocated(without, each, a_tenth),
        )
        .decided_by(
            "with a task each, a quarter to a half of the peak (measured with --memory)",
            ClaimTest::memory(shared, each, a_third),
        )
        .decided_by(
            "without tasks, an eighth of it or less",
            ClaimTest::memory(without, each, a_tenth),
        )
        .note("The shared timer is a completion that one task sets after its sleep.")
        .case(case)
}

fn waits(name: &'static str) -> Case<usize, Returned> {
    Case::returning(name)
        .full_sizes([1_000_000])
        .standard_sizes([50_000])
        .quick_sizes([10_000])
        .unit("wait")
}

/// What the experiments on waiting have in common.
fn waiting_experiment(id: &'static str, title: &'static str) -> Experiment {
    Experiment::new(id, title)
        .source(MILLION)
        .note(
            "A time is that of a whole call, the wait included: 10 µs for each, so 0.1 s for \
             10,000, 1 s for 100,000 and 10 s for a million. No arm can be faster than that; what \
             is above it is the cost, and the ratio of two arms is close to 1.",
        )
        .note("Memory is what differs: measure its peak with --memory.")
}

/// Where they come from.
const MILLION: &str = "\"1M Concurrent Tasks\", a collection of random benchmarks in C#";
