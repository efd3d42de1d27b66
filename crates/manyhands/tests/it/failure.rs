//! Bodies that fail: all errors and panics with their positions, and what running bodies see of it.

use crate::support::{
    HighWater, attempt_until, blow, busy_micros, holds_within, message_of, on_each_runtime,
    on_runtime, panics_of, within,
};
use manyhands::cancel::{Cancelled, TokenSource};
use manyhands::parallel::{self, Failure, Options, from_iter};
use manyhands::query::prelude::*;
use manyhands::{AggregatePanic, task};
use std::cell::Cell;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

#[test]
fn one_panic_goes_on_with_its_own_payload() {
    on_each_runtime(|runtime| {
        for at in [0, 1, 50, 999] {
            let payload = catch_unwind(AssertUnwindSafe(|| {
                Options::new().runtime(runtime).for_each(0..1_000, |i| {
                    busy_micros(1);
                    if i == at {
                        blow(("mine", i));
                    }
                });
            }))
            .unwrap_err();
            assert_eq!(payload.downcast_ref::<(&str, i32)>(), Some(&("mine", at)));
        }
    });
}

#[test]
fn panics_at_the_same_time_are_one_aggregate() {
    // Items that are pulled one by one may wait for one another.
    on_runtime(2, |runtime| {
        let barrier = Barrier::new(2);
        let payload = catch_unwind(AssertUnwindSafe(|| {
            Options::new()
                .runtime(runtime)
                .for_each(from_iter(0..2).unbuffered(), |i| {
                    barrier.wait();
                    blow(i);
                });
        }))
        .unwrap_err();
        let aggregate = payload.downcast::<AggregatePanic>().unwrap();
        let mut numbers: Vec<_> = aggregate
            .into_payloads()
            .into_iter()
            .map(|payload| *payload.downcast::<i32>().unwrap())
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1]);
    });
}

#[test]
fn panics_of_a_loop_over_indices_at_the_same_time_are_all_handed_on() {
    on_runtime(2, |runtime| {
        attempt_until("two panics of one loop", || {
            let (inside, thrown) = (HighWater::default(), AtomicUsize::new(0));
            let payloads = panics_of(|| {
                Options::new().runtime(runtime).for_each(0..100, |_| {
                    inside.during(|| {
                        busy_micros(100);
                        holds_within(Duration::from_micros(500), || inside.now() > 1);
                    });
                    // If two bodies met, both panic.
                    if inside.highest() > 1 {
                        thrown.fetch_add(1, Ordering::SeqCst);
                        blow("in company");
                    }
                });
            });
            assert_eq!(payloads.len(), thrown.into_inner());
            payloads.len() > 1
        });
    });
}

#[test]
fn running_bodies_see_that_another_has_failed() {
    on_runtime(2, |runtime| {
        let (failing, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        let source = || from_iter(0..2).unbuffered();
        let body = |i: i32, control: &parallel::Control<'_>| {
            if i == 0 {
                let other = || failing.load(Ordering::SeqCst);
                assert!(
                    holds_within(Duration::from_secs(20), other),
                    "both in flight"
                );
                blow("first");
            }
            assert!(!control.is_exceptional() && !control.should_exit());
            failing.store(true, Ordering::SeqCst);
            let is_reported = || control.is_exceptional() && control.should_exit();
            assert!(
                holds_within(Duration::from_secs(20), is_reported),
                "is_reported of the failure"
            );
            seen.store(true, Ordering::SeqCst);
        };
        let payloads = panics_of(|| {
            Options::new()
                .runtime(runtime)
                .for_each_with_control(source(), body)
        });
        assert_eq!(message_of(&payloads[0]), "first");
        assert!(seen.swap(false, Ordering::SeqCst));
        failing.store(false, Ordering::SeqCst);
        let local = Options::new().runtime(runtime).local(|| (), |()| ());
        let failures = local.try_for_each(source(), |i, control, ()| {
            body(i, control);
            Ok::<(), ()>(())
        });
        assert_eq!(failures.unwrap_err().panics().count(), 1);
        assert!(seen.into_inner());
    });
}

#[test]
fn bodies_over_indices_see_that_another_has_failed() {
    on_runtime(2, |runtime| {
        attempt_until("a failure seen by another body", || {
            let (inside, seen) = (HighWater::default(), AtomicBool::new(false));
            let failed = AtomicBool::new(false);
            let failures = Options::new()
                .runtime(runtime)
                .local(|| (), |()| ())
                .try_for_each(0..200, |_, control, ()| {
                    inside.during(|| {
                        busy_micros(200);
                        if inside.now() > 1 && !failed.swap(true, Ordering::SeqCst) {
                            return Err("failed");
                        }
                        if failed.load(Ordering::SeqCst) {
                            let is_reported = || control.is_exceptional() && control.should_exit();
                            let saw = holds_within(Duration::from_secs(5), is_reported);
                            seen.fetch_or(saw, Ordering::SeqCst);
                        }
                        Ok(())
                    })
                });
            assert_eq!(failures.is_err(), failed.into_inner());
            seen.into_inner()
        });
    });
}

#[test]
fn try_forms_report_every_error_and_panic_at_its_position() {
    on_each_runtime(|runtime| {
        let thrown = Mutex::new(Vec::new());
        let body = |i: u64| {
            busy_micros(2);
            if i < 30 {
                return Ok(i);
            }
            thrown.lock().unwrap().push(i);
            if i.is_multiple_of(2) { Err(i) } else { blow(i) }
        };
        let check =
            |failures: parallel::Failures<u64>| {
                let mut thrown = std::mem::take(&mut *thrown.lock().unwrap());
                thrown.sort_unstable();
                assert!(
                    failures
                        .iter()
                        .map(|(position, _)| position)
                        .eq(thrown.iter().copied())
                );
                assert!(
                    failures
                        .errors()
                        .all(|(position, error)| position == *error)
                );
                let panics = failures.panics();
                assert!(panics.into_iter().all(|(position, payload)| {
                    payload.downcast_ref::<u64>() == Some(&position)
                }));
                assert!(failures.cancelled().is_none());
                assert_eq!(failures.iter().count(), thrown.len());
            };
        let options = Options::new().runtime(runtime);
        let numbers: Vec<u64> = (0..400).collect();
        check(
            options
                .try_for_each(0..400, |i| body(i).map(drop))
                .unwrap_err(),
        );
        check(
            options
                .try_for_each(&numbers, |&i| body(i).map(drop))
                .unwrap_err(),
        );
        check(
            options
                .try_for_each(numbers.clone(), |i| body(i).map(drop))
                .unwrap_err(),
        );
        check(
            options
                .try_for_each(from_iter(0..400), |i| body(i).map(drop))
                .unwrap_err(),
        );
        check(options.try_map(&numbers, |&i| body(i)).unwrap_err());
        check(options.try_map(from_iter(0..400), body).unwrap_err());
        let local = options.local(|| (), |()| ());
        check(
            local
                .try_for_each(0..400, |i, _, ()| body(i).map(drop))
                .unwrap_err(),
        );
        check(
            local
                .try_for_each(0..400, |i, _, ()| body(i).map(drop))
                .unwrap_err(),
        );
    });
}

#[test]
fn everything_below_a_single_failure_may_run_and_results_are_given_back() {
    within(60, || {
        assert_eq!(
            parallel::try_map(0..1_000_u32, |i| Ok::<_, ()>(i + 1)).unwrap(),
            (1..=1_000).collect::<Vec<_>>()
        );
        parallel::try_for_each(0..1_000, |_| Ok::<_, ()>(())).unwrap();
        parallel::try_for_each(&[1, 2, 3], |_| Ok::<_, ()>(())).unwrap();
        let outcome =
            Options::new()
                .local(|| (), |()| ())
                .try_for_each(0..1_000, |i, control, ()| {
                    if i == 10 {
                        control.break_at_current();
                    }
                    Ok::<_, ()>(())
                });
        assert_eq!(outcome.unwrap().lowest_break(), Some(10));
    });
}

#[test]
fn failures_and_cancellation_are_reported_together() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let options = Options::new().runtime(runtime).cancellation(&token);
        let failures = options
            .try_for_each(0..100, |i| {
                if i == 3 {
                    source.cancel();
                    return Err("three");
                }
                Ok(())
            })
            .unwrap_err();
        assert_eq!(failures.errors().next(), Some((3, &"three")));
        assert_eq!(failures.cancelled().unwrap().token(), &token);
        let text = failures.to_string();
        assert_eq!(
            text,
            "1 body failed, and the call was cancelled; item 3: three"
        );
        assert!(failures.source().is_none());
    });
}

#[test]
fn a_cancellation_alone_is_the_cause_of_the_error() {
    let source = TokenSource::new();
    source.cancel();
    let token = source.token();
    let options = Options::new().cancellation(&token);
    let failures = options.try_for_each(0..9, |_| Err("not run")).unwrap_err();
    let cause = failures.source().and_then(|cause| cause.downcast_ref());
    assert_eq!(cause.map(Cancelled::token), Some(&token));
}

#[test]
fn failures_are_given_by_value_in_order() {
    let one_by_one = Options::new().degree_of_parallelism(1).unwrap();
    let failures = one_by_one.try_for_each(0..9, Err);
    let mut positions = Vec::new();
    for (position, failure) in failures.unwrap_err() {
        assert!(matches!(failure, Failure::Error(error) if error == position));
        positions.push(position);
    }
    assert!(!positions.is_empty() && positions.is_sorted());
}

#[test]
fn the_cancellation_of_another_token_is_an_error_of_its_body() {
    on_each_runtime(|runtime| {
        let (own, other) = (TokenSource::new(), TokenSource::new());
        other.cancel();
        let (token, foreign) = (own.token(), other.token());
        let options = Options::new().runtime(runtime).cancellation(&token);
        let failures = options
            .try_for_each(0..100, |i| if i == 3 { foreign.check() } else { Ok(()) })
            .unwrap_err();
        assert!(failures.cancelled().is_none());
        let mut errors = failures.errors();
        assert!(matches!(errors.next(), Some((3, error)) if error.token() == &foreign));
    });
}

#[test]
fn failures_print_their_positions_and_messages() {
    within(60, || {
        let failures = parallel::try_for_each(0..1, |_| -> Result<(), String> { blow("oh dear") });
        let failures = failures.unwrap_err();
        assert_eq!(
            failures.to_string(),
            "1 body failed; item 0: panicked: oh dear"
        );
        assert!(format!("{failures:?}").contains("oh dear"));
        let error: &dyn Error = &failures;
        assert!(error.source().is_none());
        let failure = &failures.iter().next().unwrap().1;
        assert!(matches!(failure, Failure::Panic(_)));
        assert_eq!(format!("{failure:?}"), "Panic(\"oh dear\")");
    });
}

#[test]
fn failures_and_panics_go_up_with_a_question_mark() {
    type Anything = Box<dyn Error + Send + Sync>;
    within(60, || {
        let failures = || -> Result<(), Anything> {
            parallel::try_for_each(0..1, |_| -> Result<(), std::fmt::Error> { blow("oh dear") })?;
            Ok(())
        };
        let error = failures().unwrap_err();
        assert!(
            error
                .downcast_ref::<parallel::Failures<std::fmt::Error>>()
                .is_some()
        );
        let task = || -> Result<(), Anything> { Ok(task::run(|| blow("oh dear")).join()?) };
        assert_eq!(
            task().unwrap_err().to_string(),
            "the task panicked: oh dear"
        );
    });
}

#[test]
fn a_payload_that_cannot_be_shared_comes_out_by_value_only() {
    within(60, || {
        let throw = |_| -> Result<(), ()> { blow(Cell::new(7)) };
        let failures = parallel::try_for_each(0..1, throw).unwrap_err();
        assert_eq!(failures.panics().next().unwrap().1.message(), None);
        let Failure::Panic(payload) = failures.into_iter().next().unwrap().1 else {
            panic!("it panicked")
        };
        assert_eq!(
            format!("{payload} {payload:?}"),
            "no message \"no message\""
        );
        let cell = payload.into_inner().downcast::<Cell<i32>>().unwrap();
        assert_eq!(cell.get(), 7);
    });
}

#[test]
fn a_comparison_or_an_addition_that_panics_goes_on_in_the_caller() {
    #[derive(Clone, Copy)]
    struct Explosive;
    impl std::iter::Sum for Explosive {
        fn sum<I: Iterator<Item = Self>>(_items: I) -> Self {
            blow("sum")
        }
    }
    on_each_runtime(|runtime| {
        let numbers = || (0..1_000).into_par_query().runtime(runtime);
        let explosives = || numbers().map(|_| Explosive);
        let payloads = panics_of(|| explosives().sum::<Explosive>());
        assert_eq!(message_of(&payloads[0]), "sum");
        let payloads = panics_of(|| numbers().reduce(|_, _| blow("reduce")));
        assert_eq!(message_of(&payloads[0]), "reduce");
        let payloads = panics_of(|| numbers().find(|_| blow("find")));
        assert_eq!(message_of(&payloads[0]), "find");
    });
}

/// An iterator or a capture that panics when it is dropped.
struct Bomb<I = ()>(I);

impl<I> Drop for Bomb<I> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            blow("beside");
        }
    }
}

impl<I: Iterator> Iterator for Bomb<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
}

#[test]
fn a_panic_beside_the_bodies_comes_out_with_theirs() {
    on_each_runtime(|runtime| {
        let fails = |_: u32| -> Result<(), u32> { blow("body") };
        let options = || Options::new().runtime(runtime);
        let with_state = || options().local(|| (), |()| blow("beside"));
        let with_bomb = || {
            let bomb = Bomb(());
            move |n| {
                let _held = &bomb;
                fails(n)
            }
        };
        let query = || (0..1).into_par_query().runtime(runtime);
        let source = || from_iter(Bomb(0..1));
        let calls: [&dyn Fn(); 9] = [
            &|| drop(options().try_for_each(0..1, with_bomb())),
            &|| drop(options().try_map(0..1, with_bomb())),
            &|| drop(options().try_map(source(), fails)),
            &|| drop(with_state().try_for_each(0..1, |n, _, ()| fails(n))),
            &|| drop(with_state().try_map(0..1, |n, ()| fails(n))),
            &|| drop(query().try_for_each(with_bomb())),
            &|| drop(query().try_map(with_bomb())),
            &|| drop(source().into_par_query().runtime(runtime).try_map(fails)),
            &|| {
                let fails = with_bomb();
                let body = move |n| std::future::ready(fails(n));
                drop(task::block_on(parallel::try_for_each_async(0..1, body)));
            },
        ];
        for (number, call) in calls.into_iter().enumerate() {
            let mut messages: Vec<_> = panics_of(call).iter().map(message_of).collect();
            messages.sort_unstable();
            assert_eq!(messages, ["beside", "body"], "call {number}");
        }
    });
}
