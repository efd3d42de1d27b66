//! E7 to E9: what was taken to machines of up to 192 CPUs. Here they run on the CPUs there are.

use super::{
    loops::{POST, five_hashes, with_loops},
    queries::ORDER,
};
use crate::{
    Case, Experiment,
    record::{ClaimTest, Range},
    workload::{
        bcrypts::bcrypt,
        hashes::{HELLO, LOREM},
        loops,
        slot::Slot,
    },
};

/// Five hashes of a short text.
pub(super) fn e7() -> Experiment {
    let experiment = Experiment::new(
        "E7",
        "Five hashes of \"Hello World\", on 16 to 64 CPUs in the cloud",
    );
    five_hashes(experiment, HELLO)
        .source(POST)
        .claim(
            "Twice the CPUs make HMAC-SHA512 only 10 % faster: the hashes are too cheap to be worth \
             managing threads.",
        )
        .decided_by(
            "twice the CPUs bring a fifth at most (measured with --cpus)",
            ClaimTest::doubling("for", Range::of(0.9, 1.2)),
        )
        .about_cpus(32..=64)
}

/// BCrypt of one text.
pub(super) fn e8() -> Experiment {
    let case = |cost| {
        let item = move |index, slot: &Slot<3>| slot.store(&bcrypt(cost, HELLO, index));
        with_loops(case(cost), item)
    };
    costs(
        Experiment::new(
            "E8",
            "BCrypt of \"Hello World\", on 16 to 96 CPUs in the cloud",
        ),
        case,
    )
    .source(POST)
    .claim(
        "Time halves when CPUs double. Ranges are about 40 % faster than the plain parallel \
             loop on 64 CPUs and 25 % on 96, but no faster on 32; why is not known.",
    )
    .decided_by(
        "time halves, to within a tenth, when CPUs double (measured with --cpus)",
        ClaimTest::doubling("for", Range::of(1.8, 2.2)),
    )
    .about_cpus(32..=64)
    .decided_by(
        "on 64 CPUs ranges are 30 to 50 % faster than the plain loop",
        ClaimTest::speed_up("ranges", "for", 0, Range::of(1.3, 1.5)),
    )
    .about_cpus(64..=64)
    .decided_by(
        "on 96 CPUs they are 15 to 35 % faster",
        ClaimTest::speed_up("ranges", "for", 0, Range::of(1.15, 1.35)),
    )
    .about_cpus(96..=96)
    .decided_by(
        "on 32 CPUs they make no difference, of a tenth or more",
        ClaimTest::speed_up("ranges", "for", 0, Range::of(0.9, 1.1)),
    )
    .about_cpus(32..=32)
}

/// BCrypt of paragraphs, with every kind of loop and query.
pub(super) fn e9() -> Experiment {
    let case = |cost| {
        let item = move |index, slot: &Slot<3>| slot.store(&bcrypt(cost, LOREM, index));
        case(cost)
            .in_any_order()
            .arm("sequential", loops::sequential(item))
            .arm("sequential, by item", loops::sequential_by_item(item))
            .arm("for_each", loops::for_each(item))
            .arm("iter", loops::iter(item))
            .arm("for", loops::for_range(item))
            .arm("ranges", loops::ranges(item))
            .arm("query, ordered", loops::query_ordered(item))
            .arm("query, unordered", loops::query_unordered(item))
            .arm("rayon", loops::rayon(item))
    };
    costs(
        Experiment::new("E9", "BCrypt of paragraphs, on 2 to 192 CPUs in the cloud"),
        case,
    )
    .source(POST)
    .claim(
        "Parallel queries are a little faster than parallel loops; ranges are as fast as \
             queries on 64 and 96 CPUs; on 192 all are equal.",
    )
    .decided_by(
        "a parallel query is up to a quarter faster than a parallel loop",
        ClaimTest::speed_up("query, unordered", "for", 0, Range::of(1.0, 1.25)),
    )
    .decided_by(
        "ranges are as fast as a query, to within a tenth, on 64 and 96 CPUs",
        ClaimTest::speed_up("ranges", "query, unordered", 0, Range::of(0.9, 1.1)),
    )
    .about_cpus(64..=96)
    .decided_by(
        "on 192 CPUs a query is as fast as the plain loop, to within a tenth",
        ClaimTest::speed_up("query, unordered", "for", 0, Range::of(0.9, 1.1)),
    )
    .about_cpus(192..=192)
    .decided_by(
        "on 192 CPUs ranges are, too",
        ClaimTest::speed_up("ranges", "for", 0, Range::of(0.9, 1.1)),
    )
    .about_cpus(192..=192)
    .note("BCrypt reads the first 72 bytes of a text and ignores the rest of the paragraph.")
    .note(ORDER)
}

/// One case without arms.
fn case(cost: u32) -> Case<Slot<3>> {
    Case::slots(format!("BCrypt cost {cost}"), Slot::blank()).unit("hash")
}

/// Four cases; smaller runs take fewer of the dearer hashes, so that all of them fit into minutes.
fn costs(experiment: Experiment, case: impl Fn(u32) -> Case<Slot<3>>) -> Experiment {
    let sized = |cost, standard, quick| {
        case(cost)
            .full_sizes([300])
            .standard_sizes([standard])
            .quick_sizes([quick])
    };
    experiment
        .case(sized(4, 300, 60))
        .case(sized(6, 60, 20))
        .case(sized(8, 16, 6))
        .case(sized(10, 6, 4))
}
