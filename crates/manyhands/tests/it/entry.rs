//! Every way of running bodies over numbered items, in one table, and what must hold for each of them.

use crate::support::{
    HighWater, Payload, busy_micros, counters, on_each_runtime, on_runtime, panics_of, values,
    within,
};
use manyhands::cancel::{Cancelled, Token, TokenSource};
use manyhands::parallel::{Failure, Failures, Options, from_iter};
use manyhands::{AggregatePanic, Runtime};
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What an entry calls with the number of each item.
pub(crate) type Body<'b> = &'b (dyn Fn(u64) + Sync);

/// Runs `body` on the numbers from 0 to the second argument.
pub(crate) type Entry = fn(&Options<'_, &Token>, u64, Body<'_>) -> Result<(), Cancelled>;

/// All entries, by name.
pub(crate) const ENTRIES: [(&str, Entry); 23] = [
    ("for_each i32", |o, n, body| {
        let end = i32::try_from(n).expect("small");
        o.for_each(0..end, |i| body(u64::from(i.unsigned_abs())))
    }),
    ("for_each inclusive u128", |o, n, body| {
        match n.checked_sub(1) {
            None => Ok(()),
            Some(last) => o.for_each(0..=u128::from(last), |i| {
                body(u64::try_from(i).expect("small"));
            }),
        }
    }),
    ("for_each_with_control range", |o, n, body| {
        o.for_each_with_control(0..n, |i, _| body(i)).map(drop)
    }),
    ("try_for_each range", |o, n, body| {
        settle(o.try_for_each(0..n, |i| fine(body, i)))
    }),
    ("for_each slice", |o, n, body| {
        o.for_each(&numbers(n)[..], |&i| body(i))
    }),
    ("for_each mutable slice", |o, n, body| {
        o.for_each(&mut numbers(n)[..], |i| body(*i))
    }),
    ("for_each vector", |o, n, body| {
        o.for_each(&numbers(n), |&i| body(i))
    }),
    ("for_each owned vector", |o, n, body| {
        o.for_each(numbers(n), body)
    }),
    ("for_each range", |o, n, body| o.for_each(0..n, body)),
    ("for_each iterator", |o, n, body| {
        o.for_each(from_iter(0..n), body)
    }),
    ("for_each unbuffered", |o, n, body| {
        o.for_each(from_iter(0..n).unbuffered(), body)
    }),
    ("for_each_with_control", |o, n, body| {
        o.for_each_with_control(&numbers(n), |&i, _| body(i))
            .map(drop)
    }),
    ("for_each_with_control iterator", |o, n, body| {
        o.for_each_with_control(from_iter(0..n), |i, _| body(i))
            .map(drop)
    }),
    ("try_for_each", |o, n, body| {
        settle(o.try_for_each(numbers(n), |i| fine(body, i)))
    }),
    ("local for_each", |o, n, body| {
        let local = o.local(|| (), |()| ());
        local.for_each(0..n, |i, _, ()| body(i)).map(drop)
    }),
    ("local try_for_each", |o, n, body| {
        let local = o.local(|| (), |()| ());
        settle(local.try_for_each(from_iter(0..n), |i, _, ()| fine(body, i)))
    }),
    ("map", |o, n, body| o.map(0..n, body).map(drop)),
    ("map to things that are dropped", |o, n, body| {
        o.map(numbers(n), |i| {
            body(i);
            i.to_string()
        })
        .map(drop)
    }),
    ("map iterator", |o, n, body| {
        o.map(from_iter(0..n), body).map(drop)
    }),
    ("try_map", |o, n, body| {
        settle(o.try_map(0..n, |i| fine(body, i)))
    }),
    ("try_map iterator", |o, n, body| {
        settle(o.try_map(from_iter(0..n), |i| fine(body, i)))
    }),
    ("map_reduce", |o, n, body| {
        o.map_reduce(0..n, body, |(), ()| ()).map(drop)
    }),
    ("invoke", |o, n, body| {
        let closures: Vec<_> = (0..n).map(|i| move || body(i)).collect();
        o.invoke(closures).map(drop)
    }),
];

fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "a body that could fail")]
fn fine(body: Body<'_>, i: u64) -> Result<(), Infallible> {
    body(i);
    Ok(())
}

/// Several panics of a call that reports them as failures.
struct Several(Vec<Payload>);

/// Makes the `try_` forms behave like the others: panics go on, a cancellation is the error.
fn settle<T>(result: Result<T, Failures<Infallible>>) -> Result<(), Cancelled> {
    let Err(failures) = result else { return Ok(()) };
    let cancelled = failures.cancelled().cloned();
    let mut payloads: Vec<_> = failures
        .into_iter()
        .map(|(_, failure)| match failure {
            Failure::Panic(payload) => payload.into_inner(),
            Failure::Error(never) => match never {},
        })
        .collect();
    match payloads.len() {
        0 => cancelled.map_or(Ok(()), Err),
        1 => resume_unwind(payloads.remove(0)),
        _ => resume_unwind(Box::new(Several(payloads))),
    }
}

/// What the panics of an entry carried.
fn panics_of_entry(work: impl FnOnce() -> Result<(), Cancelled>) -> Vec<Payload> {
    let mut payloads = panics_of(work);
    if payloads.len() == 1 && payloads[0].is::<Several>() {
        let several = payloads.remove(0).downcast::<Several>();
        return several.map(|several| several.0).unwrap_or_default();
    }
    payloads
}

fn run_with(
    runtime: &Runtime,
    entry: Entry,
    token: &Token,
    n: u64,
    body: Body<'_>,
) -> Result<(), Cancelled> {
    entry(
        &Options::new().runtime(runtime).cancellation(token),
        n,
        body,
    )
}

#[test]
fn every_entry_runs_each_item_exactly_once() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            for n in [0, 1, 2, 3, 17, 1_000, 5_000] {
                let ran = counters(n);
                let body = |i| {
                    ran[usize::try_from(i).unwrap()].fetch_add(1, Ordering::SeqCst);
                };
                run_with(runtime, entry, &Token::never(), n as u64, &body).unwrap();
                assert!(
                    values(&ran).iter().all(|&count| count == 1),
                    "{name} of {n}"
                );
            }
        }
    });
}

#[test]
fn every_entry_runs_each_item_exactly_once_when_shared() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            let ran = counters(400);
            let body = |i| {
                busy_micros(5);
                ran[usize::try_from(i).unwrap()].fetch_add(1, Ordering::SeqCst);
            };
            run_with(runtime, entry, &Token::never(), 400, &body).unwrap();
            assert!(values(&ran).iter().all(|&count| count == 1), "{name}");
        }
    });
}

#[test]
fn no_entry_runs_a_body_when_cancelled_before() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        source.cancel();
        for (name, entry) in ENTRIES {
            let ran = AtomicUsize::new(0);
            let body = |_| {
                ran.fetch_add(1, Ordering::SeqCst);
            };
            let ended = run_with(runtime, entry, &source.token(), 100, &body);
            assert_eq!(ended.unwrap_err().token(), &source.token(), "{name}");
            assert_eq!(ran.into_inner(), 0, "{name}");
        }
    });
}

#[test]
fn every_entry_cancelled_in_flight_ends_early_with_the_callers_token() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            let (source, other) = (TokenSource::new(), TokenSource::new());
            let ran = AtomicUsize::new(0);
            let body = |i| {
                ran.fetch_add(1, Ordering::SeqCst);
                if i == 50 {
                    source.cancel();
                }
            };
            let ended = run_with(runtime, entry, &source.token(), 20_000, &body);
            let cancelled = ended.unwrap_err();
            assert_eq!(cancelled.token(), &source.token(), "{name}");
            assert_ne!(cancelled.token(), &other.token(), "{name}");
            let ran = ran.into_inner();
            assert!(ran < 20_000, "{name} ran everything");
        }
    });
}

#[test]
fn every_entry_sees_a_cancellation_from_another_thread() {
    on_runtime(2, |runtime| {
        for (name, entry) in ENTRIES {
            let source = TokenSource::new();
            let begun = AtomicUsize::new(0);
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    crate::support::wait_until("a body runs", || begun.load(Ordering::SeqCst) > 0);
                    source.cancel();
                });
                let token = source.token();
                // The last item waits for the cancellation, so that the call cannot end before it.
                let body = |i| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    if i == 2_999 {
                        crate::support::wait_until("cancelled", || token.is_cancelled());
                    }
                };
                let ended = run_with(runtime, entry, &token, 3_000, &body);
                assert_eq!(ended.unwrap_err().token(), &token, "{name}");
            });
        }
    });
}

#[test]
fn no_entry_exceeds_its_degree() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            for degree in [1, 2, 3] {
                let inside = HighWater::default();
                let body = |_| inside.during(|| busy_micros(5));
                let token = Token::never();
                let options = Options::new()
                    .runtime(runtime)
                    .degree_of_parallelism(degree)
                    .unwrap()
                    .cancellation(&token);
                entry(&options, 200, &body).unwrap();
                let highest = inside.highest();
                assert!(highest <= degree, "{name}: {highest} at degree {degree}");
            }
        }
    });
}

#[test]
fn every_entry_at_degree_one_is_in_order_on_the_caller() {
    on_each_runtime(|runtime| {
        let here = std::thread::current().id();
        for (name, entry) in ENTRIES {
            let order = Mutex::new(Vec::new());
            let body = |i| {
                assert_eq!(std::thread::current().id(), here, "{name}");
                order.lock().unwrap().push(i);
                busy_micros(2);
            };
            let token = Token::never();
            let options = Options::new()
                .runtime(runtime)
                .degree_of_parallelism(1)
                .unwrap()
                .cancellation(&token);
            entry(&options, 300, &body).unwrap();
            assert!(order.into_inner().unwrap().into_iter().eq(0..300), "{name}");
        }
    });
}

#[test]
fn every_entry_hands_on_every_panic_and_starts_no_more_work() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            let (ran, thrown) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            let body = |i: u64| {
                busy_micros(2);
                ran.fetch_add(1, Ordering::SeqCst);
                if i >= 40 {
                    thrown.lock().unwrap().push(i);
                    crate::support::blow(i);
                }
            };
            let token = Token::never();
            let payloads = panics_of_entry(|| run_with(runtime, entry, &token, 400, &body));
            let mut caught: Vec<_> = payloads
                .iter()
                .map(|payload| *payload.downcast_ref::<u64>().unwrap())
                .collect();
            let mut thrown = thrown.into_inner().unwrap();
            caught.sort_unstable();
            thrown.sort_unstable();
            assert_eq!(caught, thrown, "{name}");
            let ran = ran.into_inner();
            if name == "invoke" {
                assert_eq!(ran, 400, "{name}: a failure does not stop the others");
            } else {
                assert!(ran < 400, "{name} went on");
            }
        }
    });
}

#[test]
fn a_panic_leaves_the_runtime_usable() {
    on_each_runtime(|runtime| {
        for (name, entry) in ENTRIES {
            let token = Token::never();
            for _ in 0..5 {
                let first = panics_of_entry(|| {
                    run_with(runtime, entry, &token, 100, &|_| crate::support::blow(name))
                });
                assert!(!first.is_empty(), "{name}");
                assert!(first.iter().all(|payload| payload.is::<&str>()), "{name}");
            }
            run_with(runtime, entry, &token, 100, &|_| {}).unwrap();
        }
    });
}

#[test]
fn every_entry_works_on_the_default_runtime_and_inside_a_task() {
    within(60, || {
        for (name, entry) in ENTRIES {
            let handle = manyhands::task::run(move || {
                let ran = AtomicUsize::new(0);
                let token = Token::never();
                let body = |_| {
                    ran.fetch_add(1, Ordering::SeqCst);
                };
                entry(&Options::new().cancellation(&token), 500, &body).unwrap();
                ran.into_inner()
            });
            assert_eq!(handle.join().unwrap(), 500, "{name}");
        }
    });
}

#[test]
fn several_panics_are_an_aggregate_that_names_each() {
    within(60, || {
        let payload = std::panic::catch_unwind(|| {
            Options::new().invoke([0, 1, 2].map(|n| move || crate::support::blow(format!("n{n}"))))
        })
        .unwrap_err();
        let aggregate = payload.downcast::<AggregatePanic>().unwrap();
        assert_eq!(aggregate.payloads().len(), 3);
        let text = aggregate.to_string();
        assert!(text.starts_with("3 panics:"), "{text}");
        for n in 0..3 {
            assert!(text.contains(&format!("[n{n}]")), "{text}");
        }
        assert_eq!(text, format!("{aggregate:?}"));
    });
}
