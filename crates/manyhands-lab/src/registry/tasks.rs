//! E10 to E13: two tasks against none, and ten million against a queue.

use crate::{
    Case, Experiment,
    experiment::Returned,
    record::{ClaimTest, Range},
    workload::{
        counting::{self, Piece, count, sleep},
        queueing,
    },
};

/// Two counting loops.
pub(super) fn e10() -> Experiment {
    Experiment::new("E10", "Two equal counting loops, in series or as two tasks")
        .source(ASYNC)
        .claim(
            "Two short pieces take longer through a pool than in series; from some length on the \
             pool gains.",
        )
        .decided_by(
            "there is a break-even, above one cycle",
            ClaimTest::break_even("two tasks", Range::from(1.0)),
        )
        .note("Two tasks are at most twice as fast, on any number of CPUs.")
        .case(counting_loops())
}

/// The same on one core.
pub(super) fn e11() -> Experiment {
    Experiment::new("E11", "Two equal counting loops on a single CPU")
        .source(ASYNC)
        .claim("On a single CPU there is nothing to gain, however long the loops.")
        .decided_by(
            "two tasks are faster at no size",
            ClaimTest::NeverFaster {
                arm: "two tasks".to_owned(),
            },
        )
        .case(counting_loops().pinned_to(1))
}

/// Sleeps in place of loops.
pub(super) fn e12() -> Experiment {
    let case = two_pieces("sleeping", sleep)
        .full_sizes([1, 10, 100, 1_000])
        .quick_sizes([1, 10, 100])
        .unit("millisecond");
    Experiment::new("E12", "Two equal sleeps, in series or as two tasks")
        .source(ASYNC)
        .claim("Sleeps show a gain that computing would not have: they need no processor.")
        .decided_by(
            "two tasks are faster at every size",
            ClaimTest::faster("two tasks", 1),
        )
        .note("CPU time stands beside wall time: next to none was used by either arm.")
        .case(case)
}

/// Empty work items.
pub(super) fn e13() -> Experiment {
    let case = Case::returning("empty work items")
        .full_sizes([100_000, 1_000_000, 10_000_000])
        .standard_sizes([100_000, 1_000_000])
        .quick_sizes([100_000])
        .arm("locked queue", queueing::one_locked_queue())
        .arm("scope", queueing::scope())
        .arm("run", queueing::run())
        .arm("rayon", queueing::rayon());
    Experiment::new("E13", "Queueing empty work items and waiting for all")
        .source("\"ThreadPool performance you can see\", Parallel Programming with .NET, 2009")
        .claim(
            "The pool of .NET 4 takes half the time of that of .NET 3.5 on two cores, and less \
             than a fifth on four.",
        )
        .decided_by(
            "the newer pool takes half the time or less on two CPUs",
            ClaimTest::speed_up("run", "locked queue", 0, Range::from(2.0)),
        )
        .about_cpus(2..=2)
        .decided_by(
            "it takes a fifth or less on four",
            ClaimTest::speed_up("run", "locked queue", 0, Range::from(5.0)),
        )
        .about_cpus(4..=4)
        .note(
            "The arm 'locked queue' is built here the way the older pool was: boxed closures \
             in one queue under one lock.",
        )
        .note(
            "Nothing is computed, so more cores only mean more contention: see the time per item.",
        )
        .case(case)
}

fn counting_loops() -> Case<usize, Returned> {
    two_pieces("counting loops", count)
        .full_sizes(powers_of_ten(9))
        .standard_sizes(powers_of_ten(8))
        .quick_sizes(powers_of_ten(7))
        .unit("cycle")
        .finds_break_even()
}

fn two_pieces(name: &'static str, piece: Piece) -> Case<usize, Returned> {
    Case::returning(name)
        .arm("in series", counting::in_series(piece))
        .arm("two tasks", counting::two_tasks(piece))
        .arm("join", counting::join(piece))
        .arm("rayon", counting::rayon(piece))
        .arm("threads", counting::threads(piece))
}

/// From 1 to this power.
fn powers_of_ten(last: u32) -> impl Iterator<Item = usize> {
    (0..=last).map(|exponent| 10_usize.pow(exponent))
}

/// Where E10 to E12 come from.
const ASYNC: &str = "\"Basic .Net Async for Performance Optimization\", November 2015";
