//! Break, stop, and what wins over what.

use crate::support::{
    HighWater, attempt_until, busy_micros, counters, holds_within, message_of, on_each_runtime,
    on_runtime, panics_of, random_below, values,
};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{Control, Options, from_iter};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What ran of a loop that was broken: everything below `lowest` once, everything above at most once.
fn check_broken(ran: &[AtomicUsize], lowest: usize) {
    let ran = values(ran);
    assert!(
        ran[..=lowest].iter().all(|&count| count == 1),
        "below {lowest}"
    );
    assert!(
        ran[lowest..].iter().all(|&count| count <= 1),
        "above {lowest}"
    );
}

#[test]
fn break_runs_every_index_below() {
    on_each_runtime(|runtime| {
        for round in 0..40 {
            let n = 1 + random_below(round, 3_000);
            let at = random_below(round + 1_000, n);
            let micros = if round % 4 == 0 { 5 } else { 0 };
            let ran = counters(usize::try_from(n).unwrap());
            let outcome =
                Options::new()
                    .runtime(runtime)
                    .for_each_with_control(0..n, |i, control| {
                        busy_micros(micros);
                        ran[usize::try_from(i).unwrap()].fetch_add(1, Ordering::SeqCst);
                        if i == at {
                            control.break_at_current();
                        }
                    });
            assert_eq!(outcome.lowest_break(), Some(at));
            assert!(!outcome.is_completed() && !outcome.is_stopped());
            check_broken(&ran, usize::try_from(at).unwrap());
        }
    });
}

#[test]
fn break_runs_every_item_below_in_every_source() {
    on_each_runtime(|runtime| {
        for at in [0, 1, 70, 999] {
            let n = 1_000_usize;
            let ran = counters(n);
            let body = |i: usize, control: &Control<'_>| {
                busy_micros(3);
                ran[i].fetch_add(1, Ordering::SeqCst);
                if i == at {
                    control.break_at_current();
                }
            };
            let mut numbers: Vec<_> = (0..n).collect();
            let options = Options::new().runtime(runtime);
            let outcomes = [
                options.for_each_with_control(&numbers, |&i, control| body(i, control)),
                options.for_each_with_control(&mut numbers, |i, control| body(*i, control)),
                options.for_each_with_control(numbers.clone(), body),
                options.for_each_with_control(0..n, body),
                options.for_each_with_control(from_iter(numbers.iter()), |&i, control| {
                    body(i, control);
                }),
                options.for_each_with_control(from_iter(0..n).unbuffered(), body),
            ];
            for outcome in outcomes {
                assert_eq!(outcome.lowest_break(), Some(at as u64));
            }
            let ran = values(&ran);
            assert!(
                ran[..=at].iter().all(|&count| count == outcomes.len()),
                "{at}"
            );
            assert!(ran.iter().all(|&count| count <= outcomes.len()), "{at}");
        }
    });
}

#[test]
fn break_skips_most_of_what_is_above() {
    on_each_runtime(|runtime| {
        let ran = AtomicUsize::new(0);
        Options::new()
            .runtime(runtime)
            .for_each_with_control(0..1_000_000, |i, control| {
                ran.fetch_add(1, Ordering::SeqCst);
                if i == 10 {
                    control.break_at_current();
                } else if i > 10 {
                    let is_broken = || control.lowest_break().is_some();
                    assert!(holds_within(Duration::from_secs(20), is_broken), "no break");
                }
            });
        let ran = ran.into_inner();
        assert!(ran < 500_000, "{ran}");
    });
}

#[test]
fn of_several_breaks_the_lowest_wins() {
    on_each_runtime(|runtime| {
        for first in [0_u16, 3, 250, 1_499] {
            let ran = counters(1_500);
            let outcome =
                Options::new()
                    .runtime(runtime)
                    .for_each_with_control(-750..750, |i, control| {
                        busy_micros(2);
                        let position = u16::try_from(i + 750).unwrap();
                        ran[usize::from(position)].fetch_add(1, Ordering::SeqCst);
                        if position >= first && (position - first) % 7 == 0 {
                            control.break_at_current();
                            let seen = control.lowest_break();
                            assert!(seen.is_some_and(|seen| seen <= position.into()));
                        }
                    });
            assert_eq!(outcome.lowest_break(), Some(first.into()));
            check_broken(&ran, first.into());
        }
    });
}

#[test]
fn other_bodies_see_the_lowest_break() {
    // Items that are pulled one by one may wait for one another, so both bodies are in flight.
    on_runtime(2, |runtime| {
        let (low_in, high_in) = (AtomicBool::new(false), AtomicBool::new(false));
        let source = from_iter(0..2).unbuffered();
        let outcome =
            Options::new()
                .runtime(runtime)
                .for_each_with_control(source, |i, control| {
                    let (mine, other) = if i == 0 {
                        (&low_in, &high_in)
                    } else {
                        (&high_in, &low_in)
                    };
                    mine.store(true, Ordering::SeqCst);
                    let both = || other.load(Ordering::SeqCst);
                    assert!(
                        holds_within(Duration::from_secs(20), both),
                        "both in flight"
                    );
                    if i == 1 {
                        control.break_at_current();
                        let lower = || control.lowest_break() == Some(0);
                        assert!(
                            holds_within(Duration::from_secs(20), lower),
                            "the lower break"
                        );
                        assert!(control.should_exit());
                    } else {
                        let higher = || control.lowest_break() == Some(1);
                        assert!(
                            holds_within(Duration::from_secs(20), higher),
                            "the higher break"
                        );
                        assert!(!control.should_exit(), "what is below the break is wanted");
                        control.break_at_current();
                    }
                });
        assert_eq!(outcome.lowest_break(), Some(0));
    });
}

#[test]
fn a_stopped_loop_is_not_completed_and_has_no_lowest_break() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        for at in [0, 1, 500, 99_999] {
            let ran = AtomicUsize::new(0);
            let outcome = options.for_each_with_control(0..100_000, |i, control| {
                ran.fetch_add(1, Ordering::SeqCst);
                if i == at {
                    control.stop();
                    assert!(control.is_stopped() && control.should_exit());
                }
            });
            assert!(outcome.is_stopped() && !outcome.is_completed());
            assert_eq!(outcome.lowest_break(), None);
            assert!(ran.into_inner() <= 100_000);
        }
        let ran = AtomicUsize::new(0);
        let outcome = options.for_each_with_control(from_iter(0..100_000), |i, control| {
            ran.fetch_add(1, Ordering::SeqCst);
            if i == 20 {
                control.stop();
            }
        });
        assert!(outcome.is_stopped() && ran.into_inner() < 100_000);
    });
}

#[test]
fn running_bodies_see_the_stop() {
    on_runtime(2, |runtime| {
        attempt_until("a stop seen by a body that did not stop", || {
            let (inside, seen) = (HighWater::default(), AtomicBool::new(false));
            let stopper = AtomicBool::new(false);
            Options::new()
                .runtime(runtime)
                .for_each_with_control(0..200, |_, control| {
                    inside.during(|| {
                        busy_micros(200);
                        let first = inside.now() > 1 && !stopper.swap(true, Ordering::SeqCst);
                        if first {
                            control.stop();
                        } else if stopper.load(Ordering::SeqCst) {
                            let stopped = || control.is_stopped() && control.should_exit();
                            let saw = holds_within(Duration::from_secs(5), stopped);
                            seen.fetch_or(saw, Ordering::SeqCst);
                        }
                    });
                });
            seen.into_inner()
        });
    });
}

#[test]
fn break_after_stop_is_refused_and_the_stop_rules() {
    on_each_runtime(|runtime| {
        let refused = AtomicU64::new(0);
        let outcome =
            Options::new()
                .runtime(runtime)
                .for_each_with_control(0..1_000, |i, control| {
                    if i == 5 {
                        control.stop();
                        let payloads = panics_of(|| control.break_at_current());
                        assert_eq!(
                            message_of(&payloads[0]),
                            "a loop that was stopped cannot be broken"
                        );
                        refused.fetch_add(1, Ordering::SeqCst);
                        control.stop();
                    }
                });
        assert_eq!(refused.into_inner(), 1);
        assert!(outcome.is_stopped());
        assert_eq!(outcome.lowest_break(), None);
    });
}

#[test]
fn stop_after_break_is_refused_and_the_break_rules() {
    on_each_runtime(|runtime| {
        let outcome =
            Options::new()
                .runtime(runtime)
                .for_each_with_control(0..1_000, |i, control| {
                    if i == 5 {
                        control.break_at_current();
                        let payloads = panics_of(|| control.stop());
                        assert_eq!(
                            message_of(&payloads[0]),
                            "a loop that was broken cannot be stopped"
                        );
                    }
                });
        assert!(!outcome.is_stopped());
        assert_eq!(outcome.lowest_break(), Some(5));
    });
}

#[test]
fn a_refusal_that_is_not_caught_ends_the_loop() {
    on_each_runtime(|runtime| {
        let payloads = panics_of(|| {
            Options::new()
                .runtime(runtime)
                .for_each_with_control(0..10, |_, control| {
                    control.stop();
                    control.break_at_current();
                })
        });
        assert!(
            payloads
                .iter()
                .all(|payload| message_of(payload).contains("cannot be broken"))
        );
        assert!(!payloads.is_empty());
    });
}

#[test]
fn cancelled_wins_over_stop_and_break() {
    on_each_runtime(|runtime| {
        let ways: [fn(&Control<'_>); 2] = [
            |control| control.stop(),
            |control| control.break_at_current(),
        ];
        for leave in ways {
            for cancel_first in [true, false] {
                let source = TokenSource::new();
                let token = source.token();
                let options = Options::new().runtime(runtime).cancellation(&token);
                let ended = options.for_each_with_control(0..1_000_u64, |i, control| {
                    if i == 7 {
                        if cancel_first {
                            source.cancel();
                        }
                        leave(control);
                        source.cancel();
                    }
                });
                assert_eq!(ended.unwrap_err().token(), &token);
            }
        }
    });
}

#[test]
fn a_call_is_either_completed_or_cancelled() {
    on_runtime(2, |runtime| {
        for round in 0..200 {
            let source = TokenSource::new();
            let token = source.token();
            let ran = AtomicUsize::new(0);
            std::thread::scope(|threads| {
                let (source, ran) = (&source, &ran);
                threads.spawn(move || {
                    let far = || ran.load(Ordering::SeqCst) * 200 >= round * 1_000;
                    holds_within(Duration::from_millis(50), far);
                    source.cancel();
                });
                let options = Options::new().runtime(runtime).cancellation(&token);
                let ended = options.for_each_with_control(0..1_000, |_, _| {
                    ran.fetch_add(1, Ordering::SeqCst);
                });
                match ended {
                    Ok(outcome) => {
                        assert!(outcome.is_completed());
                        assert_eq!(ran.load(Ordering::SeqCst), 1_000);
                    }
                    Err(cancelled) => assert_eq!(cancelled.token(), &token),
                }
            });
        }
    });
}

#[test]
fn a_running_body_sees_by_its_control_that_the_loop_was_cancelled() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let running = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                holds_within(Duration::from_secs(20), || running.load(Ordering::SeqCst));
                source.cancel();
            });
            let options = Options::new().runtime(runtime).cancellation(&token);
            let ended = options.for_each_with_control(0..1, |_, control| {
                running.store(true, Ordering::SeqCst);
                let exit = || control.should_exit();
                assert!(
                    holds_within(Duration::from_secs(10), exit),
                    "the body is told to exit"
                );
            });
            assert!(ended.is_err());
        });
    });
}
