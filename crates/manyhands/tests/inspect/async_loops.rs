//! What is said about an async loop that is over.
//!
//! The loops run by the virtual clock of a simulation, where a call takes exactly the time that the test says.

use manyhands::inspect::{self, CallLimit, CallsReport, LoopReport, Verdict};
use manyhands::simulation::Simulation;
use manyhands::{cancel, channel, diagnostics, parallel, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Runs the loop in a simulation, and returns what is said about it.
fn report_of<F: Future>(run: impl FnOnce() -> F) -> LoopReport {
    diagnostics::open();
    let report = Simulation::new(1).run(async {
        drop(run().await);
        inspect::last_loop()
    });
    report.unwrap().unwrap()
}

fn calls(report: &LoopReport) -> &CallsReport {
    report.calls.as_ref().unwrap()
}

/// Fails unless the verdict is this, and the text has these parts.
#[track_caller]
fn assert_says(report: &LoopReport, verdict: Verdict, parts: &[&str]) {
    assert_eq!(report.verdict(), verdict, "{report} {report:?}");
    let text = report.to_string();
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}

async fn sleep(millis: u64) {
    time::sleep(ms(millis)).await;
}

/// A server that handles `at_once` calls at a time, each in 10 ms.
fn server(at_once: u64) -> impl Fn(u64) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    let waiting = Arc::new(AtomicU64::new(0));
    move |_| {
        let waiting = Arc::clone(&waiting);
        Box::pin(async move {
            let before = waiting.fetch_add(1, Ordering::Relaxed);
            sleep(10 * (before / at_once + 1)).await;
            waiting.fetch_sub(1, Ordering::Relaxed);
        })
    }
}

#[test]
fn a_number_of_calls_that_the_caller_has_set_is_the_limit() {
    let report = report_of(|| {
        let eight = parallel::AsyncOptions::new()
            .degree_of_parallelism(8)
            .unwrap();
        eight.for_each_async(0..100_u64, |_| sleep(40))
    });
    assert_says(
        &report,
        Verdict::ConcurrencySet,
        &[
            "100 calls ended in 520.0ms, 7.7 at a time on average and 8 at most; one took 40.0ms at first and 40.0ms at the end.",
            "Calls take 40.0ms each; with the setting of 8 at a time this list cannot take less than 500.0ms.",
        ],
    );
    let calls = calls(&report);
    assert_eq!((report.items, report.threads), (100, 8));
    assert_eq!((calls.first_at_once, calls.most_at_once), (8, 8));
    assert_eq!((calls.limit, calls.trial), (CallLimit::Set, None));
    assert_eq!((calls.full_for, calls.without_items_for), (ms(480), ms(40)));
    assert!(report.runners.is_empty() && report.alone_share() == 0.0);
    assert_eq!(report.off_processor_share(), None);
    assert!(
        report
            .body
            .contains("a_number_of_calls_that_the_caller_has_set")
    );
    assert_eq!(report.called_at.file(), file!());
}

#[test]
fn the_number_that_the_caller_has_set_is_the_highest_where_it_was_lowered() {
    let report = report_of(|| {
        let eight = parallel::AsyncOptions::new()
            .degree_of_parallelism(8)
            .unwrap();
        let looping = eight.for_each_async(0..100_u64, |_| sleep(40));
        let handle = looping.handle();
        let lower = async move {
            sleep(420).await;
            handle.set_degree_of_parallelism(1).unwrap();
        };
        async { futures::join!(looping, lower) }
    });
    assert_says(
        &report,
        Verdict::ConcurrencySet,
        &["with the setting of 8 at a time this list cannot take less than 500.0ms."],
    );
    assert_eq!(report.threads, 1);
}

#[test]
fn calls_that_slow_each_other_down_are_found_by_the_comparison_of_two_numbers() {
    let report = report_of(|| parallel::for_each_async(0..2_000_u64, server(16)));
    assert_says(
        &report,
        Verdict::BodiesSlowEachOther,
        &[": the calls slow each other down, at a server, a lock or the processors."],
    );
    let calls = calls(&report);
    let trial = calls.trial.unwrap();
    assert_eq!(calls.limit, CallLimit::Found);
    assert!(
        trial.fewer < trial.more && trial.times_faster() < 1.6,
        "{report:?}"
    );
    assert!(report.threads < calls.allowed_first, "{report:?}");
}

#[test]
fn a_list_that_ends_while_the_number_of_calls_rises_has_too_few_items() {
    let report = report_of(|| parallel::for_each_async(0..500_u64, |_| sleep(10)));
    let calls = calls(&report);
    let rose = format!(
        "It had too few items: the list ended while the number of calls still rose, from 32 to {}.",
        calls.allowed_most
    );
    assert_says(&report, Verdict::TooFewItems, &[&rose]);
    assert_eq!(
        (calls.limit, calls.first_at_once),
        (CallLimit::NotFound, 32)
    );
    assert!(calls.allowed_most > 32 && calls.most_at_once <= calls.allowed_most);

    let all = report_of(|| parallel::for_each_async(0..20_u64, |_| sleep(10)));
    let sentence = "It had too few items: all 20 calls ran at once.";
    assert_says(&all, Verdict::TooFewItems, &[sentence]);
    let before = report_of(|| parallel::for_each_async(0..70_u64, |_| sleep(10)));
    let sentence =
        "the list ended before the loop had found how many calls at a time are fastest; it ran 32.";
    assert_says(&before, Verdict::TooFewItems, &[sentence]);
}

#[test]
fn a_list_that_ends_early_has_too_few_items_also_with_a_number_that_was_set() {
    let report = report_of(|| {
        let eight = parallel::AsyncOptions::new()
            .degree_of_parallelism(8)
            .unwrap();
        eight.for_each_async(0..12_u64, |item| sleep(if item < 8 { 10 } else { 20 }))
    });
    let sentence =
        "It had too few items: for 67 % of the time the list had ended and the last calls ran.";
    assert_says(&report, Verdict::TooFewItems, &[sentence]);
    let calls = calls(&report);
    assert_eq!((calls.full_for, calls.without_items_for), (ms(10), ms(20)));
}

#[test]
fn calls_that_end_at_once_are_too_short() {
    let report = report_of(|| parallel::for_each_async(0..50_u64, |_| async {}));
    let sentence = "It was too short: beginning a call takes about as long.";
    assert_says(&report, Verdict::TooShort, &[sentence]);
    assert_eq!((report.items, report.elapsed), (50, Duration::ZERO));
}

#[test]
fn calls_that_never_disturb_each_other_are_as_many_as_a_loop_tries() {
    let report = report_of(|| parallel::for_each_async(0..40_000_u64, |_| sleep(10)));
    assert_says(
        &report,
        Verdict::Scaled,
        &["1024 calls at a time are the most that a loop tries"],
    );
    assert_eq!(calls(&report).limit, CallLimit::Highest);
}

#[test]
fn a_source_that_gives_items_slower_than_they_are_handled_is_the_reason() {
    let report = report_of(|| {
        let (sender, receiver) = channel::bounded::<u64>(1);
        drop(task::spawn(async move {
            for item in 0..50 {
                sleep(10).await;
                sender.send(item).await.unwrap();
            }
        }));
        let source = parallel::from_stream(receiver.into_stream());
        parallel::for_each_async(source, |_| sleep(30))
    });
    assert_says(
        &report,
        Verdict::SourceSlow,
        &[
            "The source gave items slower than they were handled: 2.8 of 32 calls in flight on average.",
        ],
    );
    let calls = calls(&report);
    assert_eq!(
        (calls.waited_for_source, calls.without_items_for),
        (ms(500), ms(30))
    );
}

#[test]
fn results_that_are_taken_slower_than_they_come_are_the_reason() {
    let report = report_of(|| async {
        let mut results = parallel::AsyncOptions::new()
            .degree_of_parallelism(4)
            .unwrap()
            .stream_async(0..40_u64, |_| sleep(10));
        while results.next().await.is_some() {
            sleep(20).await;
        }
    });
    assert_says(
        &report,
        Verdict::ConsumerSlow,
        &["Results were taken slower than they came: for "],
    );
    let calls = calls(&report);
    assert_eq!((calls.most_at_once, calls.full_for), (4, ms(10)));
}

#[test]
fn one_long_call_at_the_end_is_the_reason() {
    let report = report_of(|| {
        parallel::for_each_async(0..20_u64, |item| sleep(if item == 7 { 900 } else { 10 }))
    });
    let sentence = "The others had ended when one call still ran, which took 900.0ms.";
    assert_says(&report, Verdict::LongItem, &[sentence]);
}

#[test]
fn a_loop_that_fails_is_cancelled_or_is_dropped_was_stopped() {
    let sentence = "It was stopped: ";
    let failed = report_of(|| {
        parallel::try_for_each_async(0..100_u64, |item| async move {
            sleep(10).await;
            if item == 50 { Err(item) } else { Ok(()) }
        })
    });
    assert_says(&failed, Verdict::Stopped, &[sentence]);
    assert!(failed.items < 100, "{failed:?}");
    let cancelled = report_of(|| async {
        let source = cancel::TokenSource::new();
        source.cancel_after(ms(25));
        let token = source.token();
        let options = parallel::AsyncOptions::new().cancellation(&token);
        drop(options.for_each_async(0..1_000_u64, |_| sleep(10)).await);
    });
    assert_says(&cancelled, Verdict::Stopped, &[sentence]);
    let dropped = report_of(|| async {
        let looping = parallel::for_each_async(0..1_000_u64, |_| sleep(10));
        assert!(time::timeout(ms(25), looping).await.is_err());
    });
    assert_says(&dropped, Verdict::Stopped, &[sentence]);
    assert_eq!(dropped.items, 64);
}

#[test]
fn calls_that_become_slower_show_it_in_their_first_and_last_times() {
    let report = report_of(|| {
        let four = parallel::AsyncOptions::new()
            .degree_of_parallelism(4)
            .unwrap();
        four.for_each_async(0..200_u64, |item| sleep(if item < 100 { 10 } else { 50 }))
    });
    let calls = calls(&report);
    assert_eq!((calls.took_first, calls.took_last), (ms(10), ms(50)));
    assert_eq!(calls.longest, ms(50));
}

#[test]
fn a_loop_that_was_never_polled_is_not_reported() {
    let report = report_of(|| async {
        parallel::AsyncOptions::new()
            .degree_of_parallelism(2)
            .unwrap()
            .for_each_async(0..7_u64, |_| sleep(1))
            .await;
        drop(parallel::for_each_async(0..9_u64, |_| sleep(1)));
    });
    assert_eq!((report.items, report.threads), (7, 2));
}

#[cfg(unix)]
#[test]
fn an_async_loop_is_reported_over_the_socket_with_its_calls() {
    const ITEMS: u64 = 103;
    let own = report_of(|| {
        let five = parallel::AsyncOptions::new()
            .degree_of_parallelism(5)
            .unwrap();
        five.map_async(0..ITEMS, |_| sleep(3))
    });
    let path = diagnostics::serve().unwrap();
    let view = manyhands_inspect::Client::connect(&path).unwrap().view(1);
    let mut reports = view.unwrap().reports.into_iter();
    let seen = reports.find(|report| report.items == ITEMS).unwrap();
    assert_eq!(seen.verdict, "concurrency_set");
    assert_eq!(own.to_string(), format!("{} {}", seen.ran, seen.why));
    assert_eq!(
        (seen.runners, seen.threads, seen.blocks, seen.alone_us),
        (5, 5, 0, 0)
    );
    assert_eq!(seen.busy_us, 3_000 * ITEMS);
    let in_flight = seen.in_flight.clone().unwrap();
    assert_eq!((in_flight.first, in_flight.most), (5, 5));
    assert_eq!((in_flight.first_us, in_flight.last_us), (3_000, 3_000));
    assert_eq!(
        (in_flight.limit.as_str(), in_flight.mean_percent),
        ("set", 490)
    );
    let view = manyhands_inspect::View {
        reports: vec![seen],
        ..manyhands_inspect::View::default()
    };
    let text = manyhands_inspect::text(&view);
    assert!(
        text.contains("concurrency set") && !text.contains("100 %"),
        "{text}"
    );
}
