//! What is said about a loop: while it runs, and of the last one.
//!
//! Bodies wait for what the test needs, or compute until the clock has advanced; no assertion is about how long anything
//! took.

use crate::support::{file_and_line, until};
use manyhands::inspect::{self, AloneBecause, Loop, LoopReport, Verdict};
use manyhands::query::prelude::*;
use manyhands::{Runtime, diagnostics, parallel, task};
use std::hint::spin_loop;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

#[expect(
    clippy::disallowed_methods,
    reason = "a body that computes for a while"
)]
fn now() -> Instant {
    Instant::now()
}

fn compute(time: Duration) {
    let end = now() + time;
    while now() < end {
        spin_loop();
    }
}

fn last() -> LoopReport {
    inspect::last_loop().unwrap()
}

/// The loop of this number of items that runs.
fn running(items: u64) -> Option<Loop> {
    let mut loops = inspect::snapshot().loops.into_iter();
    loops.find(|running| running.items == Some(items))
}

fn two_workers() -> Runtime {
    Runtime::builder()
        .workers(2)
        .max_threads(2)
        .build()
        .unwrap()
}

/// Of a loop on two workers that had their processors: on a busy machine they may wait for these for most of the time, and
/// the report says so.
fn on_processors(run: fn() -> LoopReport) -> LoopReport {
    let runtime = two_workers();
    until(|| {
        let report = runtime.install(run);
        (report.verdict() != Verdict::OffProcessor).then_some(report)
    })
}

#[test]
fn every_item_of_a_shared_loop_is_in_the_account_of_one_runner() {
    diagnostics::open();
    const ITEMS: u64 = 64;
    let report = two_workers().install(|| {
        parallel::for_each(0..ITEMS, |_| compute(Duration::from_millis(1)));
        last()
    });
    assert_eq!(
        (report.items, report.alone_because),
        (ITEMS, None),
        "{report:?}"
    );
    let items: u64 = report.runners.iter().map(|runner| runner.items).sum();
    assert_eq!(items, ITEMS, "{report:?}");
    let callers = report.runners.iter().filter(|runner| runner.is_caller);
    assert_eq!(callers.count(), 1);
    assert!(
        report
            .runners
            .iter()
            .all(|runner| runner.joined_after <= runner.left_after)
    );
    assert!((0.0..=1.0).contains(&report.alone_share()) && report.imbalance() >= 1.0);
    assert!(
        report.to_string().starts_with("64 items ran in "),
        "{report}"
    );
    assert!(
        report.body.contains("every_item_of_a_shared_loop"),
        "{}",
        report.body
    );
}

#[test]
fn a_loop_that_runs_is_listed_with_its_body_and_what_is_done() {
    diagnostics::open();
    const ITEMS: u64 = 1_000_003;
    parallel::Options::new()
        .degree_of_parallelism(1)
        .unwrap()
        .for_each(0..ITEMS, |i| {
            if i == ITEMS - 1 {
                let listed = running(ITEMS).unwrap();
                assert!(listed.done < ITEMS && listed.runners == 1 && listed.threads == 1);
                assert!(
                    listed.body.contains("a_loop_that_runs_is_listed"),
                    "{}",
                    listed.body
                );
            }
        });
    assert!(running(ITEMS).is_none());
}

#[test]
fn closures_that_are_invoked_are_listed_while_they_run_and_reported_as_one_loop() {
    diagnostics::open();
    const COUNT: usize = 1_013;
    const ITEMS: u64 = COUNT as u64;
    let look = || {
        let listed = running(ITEMS).unwrap();
        assert!(listed.done < ITEMS && listed.runners == 1, "{listed:?}");
    };
    let options = parallel::Options::new().degree_of_parallelism(1).unwrap();
    options.invoke([look; COUNT]);
    assert!(running(ITEMS).is_none());
    let report = last();
    assert_eq!((report.items, report.called_at.file()), (ITEMS, file!()));
}

#[test]
fn closures_that_wait_for_one_another_have_a_thread_each_also_where_one_may_run() {
    diagnostics::open();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let report = runtime.install(|| {
        let both = Barrier::new(2);
        let meet = || task::blocking(|| both.wait().is_leader());
        parallel::invoke((meet, meet));
        last()
    });
    assert_eq!(report.runners.len(), 2, "{report:?}");
    assert_ne!(report.verdict(), Verdict::OneRunner, "{report}");
}

#[track_caller]
fn assert_here(called_at: &Location<'_>, line: u32) {
    assert_eq!((called_at.file(), called_at.line()), (file!(), line));
}

#[test]
fn a_loop_names_the_line_of_the_program_that_called_it() {
    diagnostics::open();
    let check = |line: u32| assert_here(last().called_at, line - 1);
    let mut items = [3_u64, 1, 2];
    parallel::for_each(0..3_u64, |_| ());
    check(line!());
    parallel::for_each(&items, |_| ());
    check(line!());
    let _ = parallel::try_for_each(0..3_u64, |_| Err::<(), u64>(1));
    check(line!());
    let ones = parallel::try_map(&items, |_| Ok::<_, ()>(1));
    check(line!());
    assert_eq!(ones.unwrap(), [1; 3]);
    assert_eq!(items.par_query().max(), Some(&3));
    check(line!());
    assert_eq!(items.par_query().find_any(|item| **item == 1), Some(&1));
    check(line!());
    let _ = parallel::invoke([|| 1, || 2]);
    check(line!());
    items.par_sort_by_cached_key(|item| *item);
    check(line!());
    assert_eq!(items.par_query().deterministic().sum::<u64>(), 6);
    check(line!());
    let options = parallel::Options::new();
    let _ = options.for_each_with_control(0..3_u64, |_, _| ());
    check(line!());
    let _ = options
        .local(|| 0, |_| ())
        .try_for_each(&items, |_, _, _| Ok::<_, ()>(()));
    check(line!());
}

#[test]
fn a_query_names_the_line_that_asked_for_its_result() {
    diagnostics::open();
    let check = |line: u32| assert_here(last().called_at, line - 1);
    let items = [3_u64, 1, 2];
    let query = || items.par_query().map(|item| item + 1);
    assert_eq!(query().sum::<u64>(), 9);
    check(line!());
    assert_eq!(query().min(), Some(2));
    check(line!());
    assert_eq!(query().order_by(|item| *item).to_vec(), [2, 3, 4]);
    check(line!());
    assert_eq!(query().group_by(|item| item % 2).count(), 2);
    check(line!());
    assert!(query().first().is_some() && query().any(|item| item == 4));
    check(line!());
    for _ in query() {}
    check(line!());
    let steps = query().sequential();
    // Not the line that takes them.
    assert_eq!(steps.count(), 3);
    check(line!() - 2);
}

/// The loop without a known number of items whose body has this in its name.
fn listed(part: &str) -> Option<Loop> {
    let mut loops = inspect::snapshot().loops.into_iter();
    loops.find(|listed| listed.items.is_none() && listed.body.contains(part))
}

#[test]
fn a_loop_over_an_iterator_is_listed_while_it_runs_alone_and_shared() {
    diagnostics::open();
    const NAME: &str = "a_loop_over_an_iterator_is_listed";
    let seen = |i: u64| {
        let listed = listed(NAME).unwrap();
        assert!(listed.done <= i && listed.runners >= 1, "{listed:?}");
    };
    const LINE: u32 = line!() + 2;
    let alone = parallel::Options::new().degree_of_parallelism(1).unwrap();
    alone.for_each(parallel::from_iter(0..40_u64), |i| {
        seen(i);
        let called_at = listed(NAME).unwrap().called_at.unwrap();
        assert_eq!(file_and_line(&called_at), (file!(), LINE));
    });
    assert!(listed(NAME).is_none());
    let meet = Barrier::new(2);
    let both = Mutex::new(Vec::new());
    two_workers().install(|| {
        parallel::for_each(parallel::from_iter(0..2_u64).unbuffered(), |_| {
            meet.wait();
            both.lock().unwrap().extend(listed(NAME));
            meet.wait();
        });
    });
    // While bodies block, a third runner may come, and find nothing.
    let both = both.into_inner().unwrap();
    let are_right = both
        .iter()
        .all(|seen| seen.done == 0 && seen.runners >= 2 && seen.threads == 2);
    assert!(both.len() == 2 && are_right, "{both:?}");
    assert!(listed(NAME).is_none());
    let panics = || parallel::for_each(parallel::from_iter(0..9), |_| panic!("on purpose"));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(listed("a_loop_over_an_iterator_is_listed").is_none());
}

#[test]
fn a_loop_over_an_iterator_is_reported_with_the_items_that_it_had() {
    diagnostics::open();
    let one = parallel::Options::new().degree_of_parallelism(1).unwrap();
    one.for_each(parallel::from_iter(0..73_u64), |i| {
        std::hint::black_box(i);
    });
    let report = last();
    assert_eq!((report.items, report.runners[0].items), (73, 73));
    assert_eq!(report.verdict(), Verdict::OneRunner, "{report:?}");
    two_workers().install(|| {
        parallel::for_each(parallel::from_iter(0..50_u64).unbuffered(), |_| {
            compute(Duration::from_micros(100));
        });
    });
    let report = last();
    let items: u64 = report.runners.iter().map(|runner| runner.items).sum();
    assert_eq!(
        (report.items, items, report.alone_because),
        (50, 50, None),
        "{report:?}"
    );
    parallel::for_each(parallel::from_iter(0..0), |_: u64| ());
    assert_eq!(
        (last().items, last().verdict()),
        (0, Verdict::TooShort),
        "{report:?}"
    );
}

/// Calls it in as many loops as are deeper than what helpers can join.
fn deep_inside(loops: usize, call: &(dyn Fn() + Sync)) {
    if loops == 0 {
        return call();
    }
    let one = parallel::from_iter([()]).unbuffered();
    parallel::for_each(one, |()| deep_inside(loops - 1, call));
}

#[test]
fn the_items_of_a_loop_for_which_there_was_no_place_are_all_reported() {
    diagnostics::open();
    // A helper that takes the item of an outer loop begins at the depth of its own thread, where there may be a place.
    let run = || {
        let because = Mutex::new(None);
        deep_inside(20, &|| {
            parallel::for_each(parallel::from_iter(0..7), |_| {
                compute(Duration::from_millis(1));
            });
            let report = last();
            assert_eq!(report.items, 7, "{report:?}");
            *because.lock().unwrap() = report.alone_because;
        });
        (because.into_inner().unwrap() == Some(AloneBecause::NoPlace)).then_some(())
    };
    two_workers().install(|| until(run));
}

#[test]
fn threads_that_wait_for_an_iterator_are_the_reason() {
    diagnostics::open();
    let report = on_processors(over_an_iterator_with_one_slow_item);
    assert_eq!(report.verdict(), Verdict::SourceSlow, "{report} {report:?}");
    let text = report.to_string();
    assert!(text.contains("waited for the iterator for"), "{text}");
}

fn over_an_iterator_with_one_slow_item() -> LoopReport {
    let begun = now();
    let items = (0..3_u64).inspect(|&i| {
        if i == 2 {
            // Nine times as long as both threads needed to come.
            compute(begun.elapsed() * 9);
        }
    });
    let both = Barrier::new(2);
    parallel::for_each(parallel::from_iter(items).unbuffered(), |i| {
        if i < 2 {
            both.wait();
        }
    });
    last()
}

#[test]
fn an_async_loop_is_listed_with_how_many_items_run() {
    diagnostics::open();
    const NAME: &str = "an_async_loop_is_listed";
    let gate = task::completion::<()>();
    let (opener, gate) = gate;
    let three = parallel::AsyncOptions::new().degree_of_parallelism(3..=3);
    const LINE: u32 = line!() + 1;
    let items = three.unwrap().for_each_async(0..7_u64, move |i| {
        let gate = gate.clone();
        async move {
            if i > 0 {
                gate.await.unwrap();
            }
        }
    });
    let items = task::spawn(items);
    until(|| listed(NAME).filter(|listed| listed.done == 1 && listed.runners == 3));
    let loops = listed(NAME).unwrap();
    assert_eq!(loops.threads, 3);
    let called_at = loops.called_at.unwrap();
    assert_eq!(file_and_line(&called_at), (file!(), LINE));
    opener.complete(());
    items.join().unwrap();
    assert!(listed(NAME).is_none());
}

#[test]
fn a_loop_whose_body_panics_is_listed_no_longer() {
    diagnostics::open();
    const ITEMS: u64 = 1_000_033;
    let run = || parallel::for_each(0..ITEMS, |i| assert!(i < 7, "on purpose"));
    assert!(std::panic::catch_unwind(run).is_err());
    assert!(running(ITEMS).is_none());
    assert_eq!(last().items, ITEMS);
}

#[test]
fn a_thread_knows_only_its_own_loops() {
    diagnostics::open();
    parallel::for_each(0..3_u64, |_| ());
    let other = std::thread::spawn(inspect::last_loop);
    assert_eq!(other.join().unwrap(), None);
    assert_eq!(last().items, 3);
}

#[test]
fn one_item_is_too_few() {
    diagnostics::open();
    parallel::for_each(0..1_u64, |_| compute(Duration::from_millis(1)));
    assert_eq!(last().verdict(), Verdict::TooFewItems);
    assert!(last().to_string().ends_with("one item is never divided."));
}

#[test]
fn the_limit_of_the_caller_is_the_reason_for_one_runner() {
    diagnostics::open();
    let one = parallel::Options::new().degree_of_parallelism(1).unwrap();
    one.for_each(0..4_u64, |_| compute(Duration::from_micros(100)));
    assert_eq!(last().alone_because, Some(AloneBecause::OneAllowed));
    assert_eq!(last().verdict(), Verdict::OneRunner);
}

#[test]
fn the_others_wait_for_one_long_item() {
    diagnostics::open();
    let report = on_processors(one_long_item_of_eleven);
    assert_eq!(report.verdict(), Verdict::LongItem, "{report} {report:?}");
    assert!(
        report
            .to_string()
            .contains("1 of 2 threads waited for one item of"),
        "{report}"
    );
}

fn one_long_item_of_eleven() -> LoopReport {
    const ITEMS: u64 = 11;
    let others = AtomicUsize::new(0);
    let begun = now();
    let long = || {
        // The others run meanwhile; then the other runner leaves, and this one is alone for nine times as long.
        until(|| (others.load(Ordering::SeqCst) == 10).then_some(()));
        until(|| (running(ITEMS)?.runners == 1).then_some(()));
        compute(begun.elapsed() * 9);
    };
    let short = || {
        others.fetch_add(1, Ordering::SeqCst);
    };
    let mut closures: Vec<Box<dyn FnOnce() + Send + '_>> = vec![Box::new(long)];
    closures.extend((1..ITEMS).map(|_| Box::new(short) as Box<dyn FnOnce() + Send>));
    parallel::invoke(closures);
    last()
}

#[test]
fn nobody_joins_while_all_workers_have_other_work() {
    diagnostics::open();
    let runtime = two_workers();
    let (started, has_started) = mpsc::channel();
    let report = runtime.install(|| {
        let occupied: Vec<_> = (0..2)
            .map(|_| {
                let (go, gate) = mpsc::channel::<()>();
                let started = started.clone();
                let task = task::run(move || {
                    started.send(()).unwrap();
                    gate.recv().is_err()
                });
                (go, task)
            })
            .collect();
        for _ in &occupied {
            has_started.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        parallel::invoke(vec![|| compute(Duration::from_millis(1)); 4]);
        let report = last();
        for (go, task) in occupied {
            drop(go);
            assert!(task.join().unwrap());
        }
        report
    });
    assert_eq!(
        report.verdict(),
        Verdict::HelpersElsewhere,
        "{report} {report:?}"
    );
    assert!(
        report.to_string().contains("None of 1 other thread joined"),
        "{report}"
    );
}

/// What the program says over its socket of the loop with this number of items.
#[cfg(unix)]
fn report_over_the_socket(items: u64) -> manyhands_inspect::LoopReport {
    let path = diagnostics::serve().unwrap();
    let view = manyhands_inspect::Client::connect(&path).unwrap().view(1);
    let mut reports = view.unwrap().reports.into_iter();
    reports.find(|report| report.items == items).unwrap()
}

#[cfg(unix)]
#[test]
fn the_last_loop_of_a_place_is_reported_over_the_socket_with_both_sentences() {
    diagnostics::open();
    const ITEMS: u64 = 1_000_039;
    const LINE: u32 = line!() + 3;
    for items in [3, ITEMS] {
        let one = parallel::Options::new().degree_of_parallelism(1).unwrap();
        one.for_each(0..items, |i| {
            std::hint::black_box(i);
        });
    }
    let seen = report_over_the_socket(ITEMS);
    let at = format!("{}:{LINE}:", file!());
    assert!(seen.called_at.starts_with(&at), "{seen:?}");
    assert!(seen.body.contains("the_last_loop_of_a_place"), "{seen:?}");
    assert_eq!(seen.verdict, "one_runner");
    assert_eq!(seen.why, "No more than one runner was allowed.");
    assert!(seen.ran.starts_with("1000039 items ran in "), "{seen:?}");
    assert_eq!((seen.runners, seen.threads, seen.calls), (1, 1, 2));
    // One runner is balanced, and alone to the end.
    assert_eq!(
        (seen.imbalance_percent, seen.alone_us),
        (100, seen.elapsed_us)
    );
    assert!(
        seen.busy_us <= seen.elapsed_us && seen.blocks > 0,
        "{seen:?}"
    );
    // The program itself sees the same.
    let own = inspect::loop_reports();
    let own = own.iter().find(|report| report.items == ITEMS).unwrap();
    assert_eq!(own.to_string(), format!("{} {}", seen.ran, seen.why));
    assert!(
        manyhands_inspect::text(&manyhands_inspect::View {
            reports: vec![seen],
            ..manyhands_inspect::View::default()
        })
        .contains("one runner")
    );
}

#[cfg(unix)]
#[test]
fn a_loop_of_another_thread_is_reported_over_the_socket() {
    diagnostics::open();
    const ITEMS: u64 = 1_000_081;
    let other = || {
        let one = parallel::Options::new().degree_of_parallelism(1).unwrap();
        for _ in 0..2 {
            one.for_each(0..ITEMS, |i| {
                std::hint::black_box(i);
            });
        }
        last()
    };
    let report = std::thread::scope(|scope| scope.spawn(other).join().unwrap());
    let seen = report_over_the_socket(ITEMS);
    assert_eq!(seen.verdict, "one_runner", "{report} {seen:?}");
    assert_eq!(report.to_string(), format!("{} {}", seen.ran, seen.why));
    assert!(seen.calls > 1, "{seen:?}");
}

#[test]
fn bodies_that_slow_each_other_down_are_found() {
    diagnostics::open();
    let runtime = two_workers();
    let inside = AtomicUsize::new(0);
    let report = until(|| {
        let report = runtime.install(|| {
            parallel::for_each(0..20_000_u64, |_| {
                let beside = inside.fetch_add(1, Ordering::SeqCst);
                compute(Duration::from_nanos(if beside == 0 { 500 } else { 4_000 }));
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            last()
        });
        (report.verdict() == Verdict::BodiesSlowEachOther).then_some(report)
    });
    assert!(
        report
            .to_string()
            .contains("The bodies slow each other down"),
        "{report}"
    );
}

#[test]
fn a_loop_without_items_is_the_last_one_too() {
    diagnostics::open();
    parallel::for_each(0..3, drop::<u32>);
    let line = line!() + 1;
    parallel::for_each(0..0, drop::<u32>);
    assert_eq!((last().items, last().called_at.line()), (0, line));
}
