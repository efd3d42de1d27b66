//! Tests of `verdict.rs`: reports made by hand, and what is said of them.

use super::Verdict;
use crate::loops::report::{AloneBecause, BlockReport, LoopReport, RunnerReport, TrialReport};
use std::time::Duration;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Worked from `joined` to `left`, in blocks of which one was the longest.
fn runner(worker: Option<usize>, joined: u64, left: u64, longest: BlockReport) -> RunnerReport {
    RunnerReport {
        is_caller: worker.is_none(),
        worker,
        joined_after: ms(joined),
        left_after: ms(left),
        worked: ms(left - joined),
        took_items: Duration::ZERO,
        off_processor: Some(Duration::ZERO),
        items: 50,
        blocks: 5,
        longest_block: longest,
    }
}

fn block(took: Duration, items: u64, before: (u64, Duration)) -> BlockReport {
    BlockReport {
        took,
        items,
        items_before: before.0,
        took_before: before.1,
    }
}

fn short() -> BlockReport {
    block(Duration::from_micros(10), 1, (0, Duration::ZERO))
}

/// A loop of 100 ms on four threads, opened at once.
fn shared(runners: Vec<RunnerReport>) -> LoopReport {
    LoopReport {
        body: "shop::main::{{closure}}",
        called_at: std::panic::Location::caller(),
        items: 200,
        is_stopped: false,
        has_panicked: false,
        elapsed: ms(100),
        runners,
        threads: 4,
        opened_after: Some(Duration::ZERO),
        before_opening: None,
        alone_because: None,
        trial: None,
        calls: None,
    }
}

fn alone(because: AloneBecause, longest: BlockReport) -> LoopReport {
    let caller = runner(None, 0, 100, longest);
    LoopReport {
        threads: 1,
        opened_after: None,
        before_opening: Some(caller.clone()),
        alone_because: Some(because),
        ..shared(vec![caller])
    }
}

fn all_from(joined: [u64; 3], left: u64) -> Vec<RunnerReport> {
    let mut runners = vec![runner(None, 0, 100, short())];
    for (worker, joined) in joined.into_iter().enumerate() {
        runners.push(runner(Some(worker), joined, left, short()));
    }
    runners
}

fn assert_says(report: &LoopReport, verdict: Verdict, sentence: &str) {
    let text = report.to_string();
    assert_eq!(report.verdict(), verdict, "{text}");
    assert!(text.ends_with(sentence), "{text}");
}

#[test]
fn a_loop_whose_threads_are_busy_has_scaled() {
    let report = shared(all_from([1, 2, 5], 99));
    assert_says(
        &report,
        Verdict::Scaled,
        "helpers. 3.9 of 4 threads were busy with it on average.",
    );
    assert!(
        report
            .to_string()
            .starts_with("200 items ran in 100.0ms, in 20 blocks, on the calling thread and 3")
    );
}

#[test]
fn a_thread_that_came_when_nothing_was_left_was_no_helper() {
    let mut report = shared(all_from([1, 2, 99], 100));
    report.runners[3].items = 0;
    let text = report.to_string();
    assert!(text.contains(" and 2 helpers."), "{text}");
}

#[test]
fn a_thread_that_was_added_for_one_that_blocked_is_one_of_the_threads() {
    let report = LoopReport {
        threads: 2,
        ..shared(all_from([0, 0, 0], 100)[..3].to_vec())
    };
    assert_says(
        &report,
        Verdict::Scaled,
        "3.0 of 3 threads were busy with it on average.",
    );
    let two_on_one = LoopReport {
        threads: 1,
        ..shared(all_from([0, 0, 0], 100)[..2].to_vec())
    };
    assert_says(
        &two_on_one,
        Verdict::Scaled,
        "2.0 of 2 threads were busy with it on average.",
    );
    let late = LoopReport {
        threads: 2,
        ..shared(all_from([60, 70, 0], 100)[..3].to_vec())
    };
    assert_says(
        &late,
        Verdict::HelpersElsewhere,
        "2 of 2 other threads joined, the first after 60 % of the time: they had other work, or were not woken in time.",
    );
}

#[test]
fn runners_that_wait_for_one_item_are_counted() {
    let mut report = shared(all_from([0, 0, 0], 20));
    report.runners[0].longest_block = block(ms(80), 1, (10, ms(5)));
    assert_says(
        &report,
        Verdict::LongItem,
        "3 of 4 threads waited for one item of 80.0ms.",
    );
}

#[test]
fn runners_that_wait_for_a_block_hear_that_its_items_are_heavier() {
    let mut report = shared(all_from([0, 0, 0], 20));
    report.runners[0].longest_block = block(ms(80), 80, (100, ms(1)));
    assert_says(
        &report,
        Verdict::LongItem,
        "one block of 80 items that took 80.0ms; the items before it were 100 × lighter.",
    );
}

#[test]
fn a_loop_that_was_opened_late_says_how_much_lighter_its_first_items_were() {
    let first = runner(
        None,
        0,
        70,
        block(ms(66), 33, (40, Duration::from_micros(800))),
    );
    let mut report = shared(all_from([70, 70, 70], 100));
    report.opened_after = Some(ms(70));
    report.before_opening = Some(first);
    assert_says(
        &report,
        Verdict::SharedLate,
        "Shared late: the first 40 items were 100 × lighter than the next 33, which the calling thread had taken as one \
         block.",
    );
}

#[test]
fn a_loop_that_the_monitor_opened_in_the_middle_of_an_item_was_alone_until_then() {
    let first = runner(None, 0, 80, block(ms(80), 1, (0, Duration::ZERO)));
    let mut report = shared(all_from([60, 60, 60], 100));
    report.opened_after = Some(ms(60));
    report.before_opening = Some(first.clone());
    assert_says(
        &report,
        Verdict::SharedLate,
        "Shared late: the calling thread was alone for the first 60.0ms.",
    );
    report.opened_after = Some(ms(80));
    assert_eq!(report.verdict(), Verdict::LongItem);
}

#[test]
fn a_loop_that_was_never_opened_because_its_first_items_were_lighter_was_shared_late_too() {
    let report = alone(
        AloneBecause::TooShort,
        block(ms(99), 60, (40, Duration::from_micros(4))),
    );
    assert_says(
        &report,
        Verdict::SharedLate,
        "which the calling thread had taken as one block.",
    );
}

#[test]
fn bodies_that_slow_each_other_down_are_not_those_that_wait_for_each_other() {
    let mut report = shared(all_from([0, 0, 0], 100));
    let trial = TrialReport {
        alone: ms(1),
        shared: ms(3),
        runners: 4,
        is_contended: false,
    };
    report.trial = Some(trial);
    assert_says(
        &report,
        Verdict::BodiesSlowEachOther,
        "The bodies slow each other down: memory, or one atomic number or lock. An item takes 3.0 × as long on each of 4 \
         threads as alone.",
    );
    for runner in &mut report.runners {
        runner.off_processor = Some(ms(60));
    }
    assert_says(
        &report,
        Verdict::BodiesSlowEachOther,
        "they wait for each other, as at a lock. An item takes 3.0 × as long on each of 4 threads as alone.",
    );
    let hurt = alone(AloneBecause::SharingHurt, short());
    assert_says(
        &hurt,
        Verdict::BodiesSlowEachOther,
        "became slower when they were shared.",
    );
}

#[test]
fn helpers_that_do_not_come_are_missed() {
    let caller = || vec![runner(None, 0, 100, short())];
    assert_says(
        &shared(caller()),
        Verdict::HelpersElsewhere,
        "None of 3 other threads joined: they had other work, or were not woken in time.",
    );
    let report = shared(all_from([50, 60, 70], 100));
    assert_says(
        &report,
        Verdict::HelpersElsewhere,
        "3 of 3 other threads joined, the first after 50 % of the time: they had other work, or were not woken in time.",
    );
    let mut brief = shared(caller());
    brief.elapsed = Duration::from_micros(90);
    assert_eq!(brief.verdict(), Verdict::TooShort);
}

#[test]
fn items_that_are_too_few_for_the_threads_are_counted_in_rounds() {
    let mut runners = all_from([0, 0, 0], 50);
    for (runner, end) in runners.iter_mut().zip([100, 50, 50, 50]) {
        runner.longest_block = block(ms(50), 1, (0, Duration::ZERO));
        runner.left_after = ms(end);
    }
    let mut five = shared(runners);
    five.items = 5;
    assert_says(
        &five,
        Verdict::TooFewItems,
        "It had too few items: 5 of the same length on 4 threads take 2 rounds.",
    );
    let mut one = alone(
        AloneBecause::TooShort,
        block(ms(99), 1, (0, Duration::ZERO)),
    );
    one.items = 1;
    assert_says(&one, Verdict::TooFewItems, "one item is never divided.");
    let mut two = shared(vec![
        runner(None, 0, 100, short()),
        runner(Some(1), 0, 100, short()),
    ]);
    two.items = 2;
    assert_eq!(two.verdict(), Verdict::TooFewItems);
}

#[test]
fn other_reasons_have_their_sentences() {
    assert_says(
        &alone(AloneBecause::TooShort, short()),
        Verdict::TooShort,
        "on the calling thread alone. It was too short: another thread would hardly have begun before the end.",
    );
    assert_says(
        &alone(AloneBecause::OneAllowed, short()),
        Verdict::OneRunner,
        "No more than one runner was allowed.",
    );
    assert_says(
        &alone(AloneBecause::NoPlace, short()),
        Verdict::NoPlace,
        "on the calling thread alone. Too many loops, scopes and invokes of the calling thread were open.",
    );
    let mut off = shared(all_from([0, 0, 0], 100));
    for runner in &mut off.runners {
        runner.off_processor = Some(ms(40));
    }
    assert_says(
        &off,
        Verdict::OffProcessor,
        "not on a processor for 40 % of their time: bodies blocked, or other threads ran there.",
    );
}

#[test]
fn of_a_loop_that_was_stopped_no_more_items_are_said_to_have_run_than_may_have() {
    let begins = |report: &LoopReport, begin: &str| {
        let text = report.to_string();
        assert!(text.starts_with(begin), "{text}");
    };
    let all = || LoopReport {
        is_stopped: true,
        ..shared(all_from([1, 2, 5], 99))
    };
    let some = LoopReport {
        items: 1_000,
        ..all()
    };
    assert_says(
        &some,
        Verdict::Stopped,
        "It was stopped: it was cancelled, a body failed, or no more items were wanted.",
    );
    begins(&some, "At most 200 of 1000 items ran in 100.0ms, in 20 ");
    // A runner was left in its last block.
    begins(&all(), "At most 200 items ran in 100.0ms, in 20 blocks, ");
    let none = LoopReport {
        runners: Vec::new(),
        ..all()
    };
    begins(&none, "None of 200 items ran in 100.0ms, in 0 blocks, ");
    let panicked = LoopReport {
        has_panicked: true,
        ..some
    };
    assert_says(
        &panicked,
        Verdict::Stopped,
        "It ended after 100.0ms. It has panicked, so that it is not known how many of its items ran.",
    );
}

#[test]
fn a_long_item_is_named_also_where_the_threads_had_no_processor() {
    let mut report = shared(all_from([0, 0, 0], 40));
    report.runners[0].longest_block = block(ms(80), 1, (10, ms(5)));
    for (runner, off) in report.runners.iter_mut().zip([90, 40, 40, 40]) {
        runner.off_processor = Some(ms(off));
    }
    assert_says(
        &report,
        Verdict::OffProcessor,
        "or other threads ran there. 3 of 4 threads waited for one item of 80.0ms.",
    );
}

#[test]
fn runners_that_wait_for_an_iterator_say_so() {
    let mut report = shared(all_from([0, 0, 0], 100));
    for runner in &mut report.runners {
        (runner.worked, runner.took_items) = (ms(30), ms(70));
        runner.off_processor = Some(ms(65));
    }
    assert_says(
        &report,
        Verdict::SourceSlow,
        "Its threads waited for the iterator for 70 % of their time: it gives items to one of them at a time.",
    );
}

#[test]
fn helpers_that_leave_while_another_keeps_the_iterator_had_nothing_else_to_do() {
    let mut report = shared(all_from([1, 2, 5], 10));
    let caller = &mut report.runners[0];
    (caller.worked, caller.took_items) = (ms(1), ms(95));
    assert_says(
        &report,
        Verdict::SourceSlow,
        "Its threads waited for the iterator for 81 % of their time: it gives items to one of them at a time.",
    );
    // One that comes when all is over has not kept it.
    report.runners.push(runner(Some(3), 100, 100, short()));
    assert_eq!(report.verdict(), Verdict::SourceSlow);
    // What it had taken was run for longer.
    let caller = &mut report.runners[0];
    (caller.worked, caller.took_items) = (ms(60), ms(36));
    assert_eq!(report.verdict(), Verdict::HelpersElsewhere);
}

#[test]
fn nobody_waits_for_an_item_once_the_last_runner_has_left() {
    let mut runners = all_from([0, 0, 0], 20);
    runners[0] = runner(None, 0, 24, block(ms(24), 1, (0, Duration::ZERO)));
    // Comes when nothing is left.
    runners[3] = runner(Some(2), 99, 99, short());
    assert_says(
        &shared(runners),
        Verdict::OffProcessor,
        "not on a processor for 83 % of their time: bodies blocked, or other threads ran there.",
    );
}

#[test]
fn the_two_sentences_are_the_text() {
    for report in [
        shared(all_from([1, 2, 5], 99)),
        alone(AloneBecause::OneAllowed, short()),
    ] {
        let both = format!("{} {}", report.ran(), report.why());
        assert_eq!(both, report.to_string());
        assert!(
            report.ran().ends_with('.') && report.why().ends_with('.'),
            "{both}"
        );
    }
}

#[test]
fn shares_are_those_of_the_times() {
    let runners = vec![
        runner(None, 0, 90, short()),
        runner(Some(1), 25, 55, short()),
    ];
    let report = shared(runners);
    assert!((report.imbalance() - 1.5).abs() < 1e-9);
    assert!((report.alone_share() - 0.25).abs() < 1e-9);
    assert!((report.mean_runners() - 1.2).abs() < 1e-9);
    assert_eq!(report.rounds(), 50);
    let nobody = shared(Vec::new());
    assert!((nobody.imbalance() - 1.0).abs() < 1e-9 && (nobody.alone_share() - 1.0).abs() < 1e-9);
}
