//! E1 to E3: loops over hashes.

use crate::{
    Case, Experiment,
    record::{ClaimTest, Range},
    workload::{
        bcrypts::bcrypt,
        hashes::{self, HELLO, LOREM},
        loops,
        slot::Slot,
    },
};
use std::hint::black_box;

/// SHA-512 of a short text, results dropped.
pub(super) fn e1a() -> Experiment {
    // The post drops its results. Here the first eight bytes are kept, so that nothing is optimised
    // away and the arms can be compared.
    let item = |_, slot: &Slot<1>| slot.store(&hashes::sha512(black_box(HELLO))[..8]);
    let case = Case::slots("SHA-512", Slot::blank())
        .full_sizes([5, 10, 100, 500, 1_000, 10_000, 100_000, 1_000_000])
        .quick_sizes([5, 10, 100, 500, 1_000, 10_000, 100_000])
        .unit("hash")
        .finds_break_even();
    Experiment::new("E1a", "SHA-512 of \"Hello World\", results dropped")
        .source(POST)
        .claim(
            "From 100 hashes on the parallel loop is faster; ranges, recommended for small loop \
             bodies, make no difference.",
        )
        .decided_by(
            "from 100 hashes on it is faster",
            ClaimTest::faster("for", 100),
        )
        .decided_by(
            "ranges make no difference, of a tenth or more",
            ClaimTest::speed_up("ranges", "for", 100, Range::of(0.9, 1.1)),
        )
        .note("Eight bytes of each hash are stored, so that the arms can be compared.")
        .case(with_loops(case, item))
}

/// BCrypt at three costs, results dropped.
pub(super) fn e1b() -> Experiment {
    let case = |cost| {
        let item = move |index, slot: &Slot<3>| slot.store(&bcrypt(cost, HELLO, index));
        let case = Case::slots(format!("BCrypt cost {cost}"), Slot::blank()).unit("hash");
        with_loops(case, item)
    };
    Experiment::new("E1b", "BCrypt of \"Hello World\", results dropped")
        .source(POST)
        .claim(
            "Even five of the cheapest hashes are faster in parallel; on 6 cores with 12 threads \
             the gain is 4.26 times on average.",
        )
        .decided_by(
            "five are faster in parallel",
            ClaimTest::faster_at("for", 5),
        )
        .decided_by(
            "the gain is 4.26 times on average, to within a tenth",
            ClaimTest::mean_speed_up("for", Range::of(3.83, 4.69)),
        )
        .about_cpus(12..=12)
        .note("The hashes are stored; beside their cost that is nothing.")
        .case(
            case(4)
                .full_sizes([5, 10, 100, 500, 1_000, 10_000])
                .standard_sizes([5, 10, 100, 500, 1_000])
                .quick_sizes([5, 10, 100]),
        )
        .case(
            case(7)
                .full_sizes([5, 10, 100, 500])
                .standard_sizes([5, 10, 100])
                .quick_sizes([5, 10]),
        )
        .case(
            case(10)
                .full_sizes([5, 10, 100])
                .standard_sizes([5, 10])
                .quick_sizes([5]),
        )
}

/// Five hashes of a paragraph, results stored.
pub(super) fn e2() -> Experiment {
    let experiment = Experiment::new(
        "E2",
        "Five hashes over copies of one 445-byte paragraph, results stored",
    );
    let is_faster = ClaimTest::CaseFaster {
        case: "SHA-512".to_owned(),
        than: "SHA-256".to_owned(),
    };
    five_hashes(experiment, LOREM)
        .source(POST)
        .claim(
            "SHA-512 is faster than SHA-256 although it computes more, because it suits 64-bit \
             processors.",
        )
        .decided_by("SHA-512 is faster than SHA-256", is_faster)
}

/// SHA-512 of a short text, results stored, with every kind of parallel loop.
pub(super) fn e3() -> Experiment {
    let item = |_, slot: &Slot<8>| slot.store(&hashes::sha512(black_box(HELLO)));
    let case = Case::slots("SHA-512", Slot::blank())
        .full_sizes([5, 10, 100, 1_000, 10_000, 100_000])
        .quick_sizes([5, 10, 100, 1_000, 10_000])
        .unit("hash")
        .finds_break_even();
    Experiment::new("E3", "SHA-512 of \"Hello World\" n times, results stored")
        .source(POST)
        .claim(
            "Parallel loops are faster from about 50 hashes on, and it makes no difference which \
             of them is taken.",
        )
        .decided_by(
            "the break-even is at about 50 hashes, from half of that to twice",
            ClaimTest::break_even("for", Range::of(25.0, 100.0)),
        )
        .decided_by(
            "ranges make no difference, of a tenth or more",
            ClaimTest::speed_up("ranges", "for", 100, Range::of(0.9, 1.1)),
        )
        .decided_by(
            "nor does a loop over items",
            ClaimTest::speed_up("for_each", "for", 100, Range::of(0.9, 1.1)),
        )
        .note(
            "E1a asks the same with an eighth of each hash stored. Where a loop begins to share its work \
             the two may find speed-ups that lie farther apart than their intervals: each interval is \
             about the blocks of its own case, which were taken at another time.",
        )
        .case(with_loops(case, item).arm("for_each", loops::for_each(item)))
}

/// Five cases, one for each hash of `text`.
pub(super) fn five_hashes(experiment: Experiment, text: &'static [u8]) -> Experiment {
    fn case<const SIZE: usize, const WORDS: usize>(
        name: &'static str,
        text: &'static [u8],
        hash: impl Fn(&[u8]) -> [u8; SIZE] + Copy + Send + Sync + 'static,
    ) -> Case<Slot<WORDS>> {
        let item = move |_, slot: &Slot<WORDS>| slot.store(&hash(black_box(text)));
        let case = Case::slots(name, Slot::blank())
            .full_sizes([100_000])
            .quick_sizes([10_000])
            .unit("hash");
        with_loops(case, item)
    }
    experiment
        .case(case::<64, 8>("HMAC-SHA512", text, hashes::hmac_sha512))
        .case(case::<64, 8>("SHA-512", text, hashes::sha512))
        .case(case::<32, 4>("SHA-256", text, hashes::sha256))
        .case(case::<20, 3>("SHA-1", text, hashes::sha1))
        .case(case::<16, 2>("MD5", text, hashes::md5))
}

/// The posts' three loops, and what else Rust has for the same.
pub(super) fn with_loops<const WORDS: usize>(
    case: Case<Slot<WORDS>>,
    item: impl loops::Item<WORDS>,
) -> Case<Slot<WORDS>> {
    case.arm("sequential", loops::sequential(item))
        .arm("for", loops::for_range(item))
        .arm("ranges", loops::ranges(item))
        .arm("rayon", loops::rayon(item))
        .arm("threads", loops::threads(item))
}

/// Where E1 to E9 come from.
pub(super) const POST: &str = "\"Parallel Programming In .NET\", April 2024";
