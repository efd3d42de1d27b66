//! Tests of `cost.rs`: what is decided after calls of known lengths.

use super::*;

fn nanos(nanos: u64) -> u64 {
    clock::ticks_in(nanos)
}

/// Items that take this number of nanoseconds.
fn each(nanos: u64) -> Rate {
    Rate::of(clock::ticks_in(nanos * 1024), 1024)
}

#[test]
fn a_brief_block_lowers_a_rate_and_does_not_raise_it() {
    let (brief, long) = (nanos(100), nanos(10_000));
    let rate = Rate::of(brief, 10);
    assert_eq!(Rate::UNKNOWN.after_block(brief, 10), rate);
    assert_eq!(rate.after_block(brief, 1), rate);
    assert!(rate.after_block(brief, 100).0 < rate.0);
    assert!(rate.after_block(long, 100).0 > rate.0);
}

#[test]
fn a_call_is_short_if_its_cost_is_known_and_small() {
    for (cost, len, expected) in [
        (0, 1, false),
        (1, 0, false),
        (1, 1, true),
        (SHORT_COST_MAX, 1, true),
        (SHORT_COST_MAX + 1, 1, false),
        (1, SHORT_COST_MAX, true),
        (1, SHORT_COST_MAX + 1, false),
        (u64::MAX, 2, false),
    ] {
        assert_eq!(is_short(cost, len), expected, "{len} of {cost}");
    }
}

#[test]
fn what_is_merged_is_worth_it_if_it_or_its_items_take_long() {
    for (work, rate, expected) in [
        (nanos(399_000), each(99), false),
        (nanos(401_000), each(99), true),
        (nanos(401_000), Rate::UNKNOWN, true),
        (nanos(10_000), each(101), true),
        (nanos(10_000), Rate::UNKNOWN, false),
    ] {
        assert_eq!(
            outweighs_merging(work, rate),
            expected,
            "{work} ticks, {rate:?}"
        );
    }
}

#[test]
fn one_short_call_in_eight_is_measured_soon_after_a_look() {
    for first in [0, 1_000, 1 << 40] {
        for (since_look, expected) in [(1, 990..=1_010), (64, 990..=1_010), (65, 0..=0)] {
            let is_sampled = |&number: &u64| is_sampled(number, since_look);
            let sampled = (first..first + 8_000).filter(is_sampled).count();
            assert!(expected.contains(&sampled), "{sampled} from {first}");
        }
    }
}

#[test]
fn only_a_short_call_that_differs_by_half_corrects_its_site() {
    for (expected, found, corrected) in [
        (100, 150, false),
        (100, 151, true),
        (100, 67, false),
        (100, 66, true),
        (0, 1, true),
    ] {
        assert_eq!(corrects(expected, found), corrected, "{found}");
    }
}

#[test]
fn a_cost_that_is_thousands_of_times_higher_is_believed_in_part() {
    for (known, cost, expected) in [
        (0, u64::MAX, u64::MAX),
        (100, 50, 50),
        (100, 700, 700),
        (100, 500_000, 700),
        (u64::MAX, u64::MAX, u64::MAX),
    ] {
        assert_eq!(credible(known, cost), expected, "{cost} after {known}");
    }
}

#[test]
fn a_probe_grows_while_it_is_brief_and_then_by_half_of_the_call() {
    assert_eq!(first_probe(Rate::UNKNOWN), 1);
    assert!((9..=10).contains(&first_probe(each(100))));
    assert_eq!(first_probe(each(5_000)), 1);
    for (done, spent, total, expected) in [
        (1, 100, 100, 8..=8),
        (64, 100, 300, 512..=512),
        (10, 1_000, 4_000, 19..=20),
        (10, 1_000, 4_000_000, 99..=100),
        (1, 1_000_000, 1_000_000, 1..=1),
    ] {
        let block = next_probe(done, nanos(spent), nanos(total));
        assert!(expected.contains(&block), "{block} after {done} in {spent}");
    }
}

#[test]
fn a_caller_alone_claims_a_part_of_what_it_has_run() {
    let claims = |block_max, is_seen| {
        let mut done = 0;
        [(); 6].map(|()| {
            let claim = next_claim(done, block_max, || is_seen);
            done += claim;
            claim
        })
    };
    assert_eq!(claims(1, false), [1; 6]);
    assert_eq!(claims(8, false), [1, 1, 2, 4, 8, 8]);
    assert_eq!(claims(8, true), [1, 1, 1, 1, 2, 2]);
    assert_eq!(claims(TINY_ITEMS / 2, false), [1, 1, 2, 4, 8, 16]);
    assert_eq!(claims(TINY_ITEMS, false), [1, 7, 56, 256, 256, 256]);
    assert_eq!(claims(TINY_ITEMS, true), [1, 1, 1, 1, 2, 2]);
}

#[test]
fn blocks_of_a_shared_loop_double_up_to_ten_microseconds() {
    assert_eq!(first_block(Rate::UNKNOWN), 1);
    assert_eq!(block_at(Rate::UNKNOWN), 1);
    assert_eq!(block_at(each(1_000_000)), 1);
    for (before, expected) in [(1, 2..=2), (40, 80..=80), (80, 99..=100)] {
        let block = next_block(each(100), before);
        assert!(expected.contains(&block), "{block} after {before}");
    }
    let all = block_at(Rate::ZERO);
    assert_eq!(next_block(Rate::ZERO, all), all);
}

#[test]
fn work_may_pay_if_it_is_worth_a_wake_or_follows_another_call() {
    for (left, since_last_end, expected) in [
        (SHARE_NANOS_MIN - 100, 0, false),
        (SHARE_NANOS_MIN, 0, true),
        (WAKE_NANOS_FIRST / 2, 4 * WAKE_NANOS_FIRST, false),
        (WAKE_NANOS_FIRST / 2 + 100, 4 * WAKE_NANOS_FIRST, true),
    ] {
        let pays = may_pay(nanos(left), || nanos(since_last_end));
        assert_eq!(pays, expected, "{left} after {since_last_end}");
    }
}

#[test]
fn a_search_goes_on_alone_for_as_long_as_opening_it_takes() {
    let (lately, long_ago) = (0, 4 * WAKE_NANOS_FIRST);
    for (spent, since_last_end, expected) in [
        (SHARE_NANOS_MIN - 100, lately, false),
        (SHARE_NANOS_MIN, lately, true),
        (WAKE_NANOS_FIRST / 4, long_ago, false),
        (WAKE_NANOS_FIRST / 4 + 100, long_ago, true),
    ] {
        let is_long = is_long_search(nanos(spent), || nanos(since_last_end));
        assert_eq!(is_long, expected, "{spent} after {since_last_end}");
    }
}

#[test]
fn a_call_has_a_few_more_runners_than_workers_unless_it_says_how_many() {
    use HelperPolicy::{AtOnce, WhenItPays};
    assert_eq!(runners_max(None, 2, WhenItPays), 8);
    assert_eq!(runners_max(None, 2, AtOnce), 128);
    assert_eq!(runners_max(Some(3), 2, AtOnce), 3);
    let spares = [None, Some(2), Some(3), Some(4)].map(spares_a_place);
    assert_eq!(spares, [true, false, false, true]);
}

#[test]
fn bodies_contend_if_one_runner_is_faster_than_all() {
    for (alone, shared, runners, expected) in [
        (100, 100, 2, false),
        (100, 200, 2, false),
        (100, 206, 2, false),
        (100, 220, 2, true),
        (100, 220, 8, false),
        (100, 900, 8, true),
    ] {
        let found = contends(each(alone), each(shared), runners);
        assert_eq!(found, expected, "{alone} or {shared} on {runners}");
    }
}

/// After a shared call of ten items that took `elapsed`, and alone takes a thousand.
fn shared(before: History, elapsed: u64, is_certain: bool) -> History {
    let times = SharedCallTimes {
        expected: 1_000,
        alone: if is_certain { 1_000 } else { 0 },
        elapsed,
    };
    after_shared(before, times, 10)
}

#[test]
fn calls_that_sharing_has_hurt_twice_run_alone_for_longer_each_time() {
    let new = History::default();
    let hurt_twice = |before, is_certain| {
        let once = shared(before, 2_000, is_certain);
        assert_eq!(
            once.alone, before.alone,
            "its helper may have come too late"
        );
        shared(once, 2_000, is_certain)
    };
    let mut history = hurt_twice(new, false);
    let why = "an expectation that was wrong leads to one call alone";
    assert_eq!((history.alone, history.alone_below), (1, 40), "{why}");
    for expected in [3, 7, 15, 31, 63, 64, 64] {
        history = hurt_twice(
            History {
                alone: 0,
                ..history
            },
            true,
        );
        assert_eq!(history.alone, expected);
    }
    history = shared(
        History {
            alone: 0,
            ..history
        },
        600,
        true,
    );
    assert_eq!(
        history.backoff, 0,
        "a call that was helped ends the backoff"
    );
    assert_eq!(hurt_twice(history, true).alone, 1);
    let history = [2_000, 600, 2_000]
        .into_iter()
        .fold(new, |before, elapsed| shared(before, elapsed, true));
    assert_eq!(history.alone, 0, "they were not hurt one after the other");
}

#[test]
fn calls_that_are_hurt_a_little_back_off_for_a_time_and_long_ones_not_at_all() {
    for (alone, slower, expected) in [
        (nanos(1_000_000), 110, [1, 3, 4]),
        (nanos(10_000_000), 110, [0, 0, 0]),
        (nanos(10_000_000), 140, [1, 3, 7]),
    ] {
        let times = SharedCallTimes {
            expected: alone,
            alone,
            elapsed: alone / 100 * slower,
        };
        let mut history = History::default();
        let backoffs = [(); 3].map(|()| {
            history = after_shared(after_shared(history, times, 10), times, 10);
            history.alone
        });
        assert_eq!(backoffs, expected, "{slower} % of {alone}");
    }
}

#[test]
fn a_call_whose_bodies_contend_is_not_shared_the_next_time() {
    let history = after_contention(History::default(), 10);
    assert_eq!((history.alone, history.alone_below), (1, 40));
    let helped = after_help(history);
    assert_eq!(after_contention(helped, 10), history, "it begins anew");
}

#[test]
fn a_search_has_run_nearly_all_if_it_leaves_an_eighth() {
    for (ran, all, expected) in [
        (7, 8, true),
        (6, 8, false),
        (0, 0, true),
        (1, 1, true),
        (0, 1, false),
    ] {
        assert_eq!(is_nearly_all(ran, all), expected, "{ran} of {all}");
    }
}
