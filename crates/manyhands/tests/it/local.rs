//! State that each runner makes, keeps and finishes.

use crate::support::{Counted, Ledger, blow, busy_micros, message_of, on_each_runtime, panics_of};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{Options, from_iter};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Debug, Default)]
struct Books {
    made: AtomicUsize,
    finished: AtomicUsize,
    total: AtomicU64,
}

impl Books {
    fn make(&self) -> u64 {
        self.made.fetch_add(1, Ordering::SeqCst);
        0
    }

    fn finish(&self, sum: u64) {
        self.finished.fetch_add(1, Ordering::SeqCst);
        self.total.fetch_add(sum, Ordering::SeqCst);
    }

    fn made(&self) -> usize {
        let (made, finished) = (&self.made, &self.finished);
        let made = made.load(Ordering::SeqCst);
        assert_eq!(made, finished.load(Ordering::SeqCst), "made and finished");
        made
    }

    fn total(&self) -> u64 {
        self.total.load(Ordering::SeqCst)
    }
}

#[test]
fn each_state_is_made_once_and_finished_once_and_sums_are_exact() {
    on_each_runtime(|runtime| {
        for degree in [1, 2, 3] {
            let options = Options::new()
                .runtime(runtime)
                .degree_of_parallelism(degree)
                .unwrap();
            let check = |run: &dyn Fn(&Books)| {
                let books = Books::default();
                run(&books);
                let made = books.made();
                // A helper that is sent away and comes back makes another one.
                let most = if degree == 1 { 1 } else { 4 * degree };
                assert!(
                    (1..=most).contains(&made),
                    "{made} states at degree {degree}"
                );
                assert_eq!(books.total(), 124_750);
            };
            let numbers: Vec<u64> = (0..500).collect();
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                local.for_each(0..500_u64, |i, _, sum| {
                    busy_micros(3);
                    *sum += i;
                });
            });
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                local.for_each(&numbers, |i, _, sum| {
                    busy_micros(3);
                    *sum += i;
                });
            });
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                local.for_each(from_iter(0..500_u64), |i, _, sum| {
                    busy_micros(3);
                    *sum += i;
                });
            });
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                let outcome = local.try_for_each(numbers.clone(), |i, _, sum| {
                    *sum += i;
                    Ok::<_, ()>(())
                });
                assert!(outcome.unwrap().is_completed());
            });
            let add = |i: u64, sum: &mut u64| {
                busy_micros(3);
                *sum += i;
                i.to_string()
            };
            let texts: Vec<_> = (0..500).map(|i: u64| i.to_string()).collect();
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                assert_eq!(local.map(0..500_u64, add), texts);
            });
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                assert_eq!(local.map(from_iter(0..500_u64), add), texts);
            });
            check(&|books| {
                let local = options.local(|| books.make(), |sum| books.finish(sum));
                let tried = local.try_map(numbers.clone(), |i, sum| Ok::<_, ()>(add(i, sum)));
                assert_eq!(tried.unwrap(), texts);
            });
        }
    });
}

#[test]
fn each_state_is_finished_when_bodies_panic_fail_or_leave_early() {
    on_each_runtime(|runtime| {
        for at in [0, 1, 60, 499] {
            let books = Books::default();
            let options = Options::new().runtime(runtime);
            let local = options.local(|| books.make(), |sum| books.finish(sum));
            let payloads = panics_of(|| {
                local.for_each(0..500, |i, _, _| {
                    busy_micros(2);
                    if i == at {
                        blow("body");
                    }
                })
            });
            assert_eq!(message_of(&payloads[0]), "body");
            assert!(books.made() >= 1);
            local
                .try_for_each(0..500, |i, _, _| if i == at { Err(()) } else { Ok(()) })
                .unwrap_err();
            books.made();
            local.for_each(0..500, |i, control, _| {
                if i == at {
                    control.stop();
                }
            });
            books.made();
            let source = TokenSource::new();
            let token = source.token();
            let cancellable = options.cancellation(&token);
            let local = cancellable.local(|| books.make(), |sum| books.finish(sum));
            let ended = local.for_each(from_iter(0..500), |i, _, _| {
                if i == at {
                    source.cancel();
                }
            });
            ended.unwrap_err();
            books.made();
            let ended = local.map(0..500, |i, _| {
                if i == at {
                    source.cancel();
                }
            });
            ended.unwrap_err();
            books.made();
        }
    });
}

#[test]
fn items_results_and_states_of_a_map_are_each_dropped_once_however_it_ends() {
    on_each_runtime(|runtime| {
        for at in [0, 1, 60, 499, 500] {
            let (items, results) = (Ledger::new(500), Ledger::new(500));
            let books = Books::default();
            let options = Options::new().runtime(runtime);
            let local = options.local(|| books.make(), |sum| books.finish(sum));
            let body = |item: Counted, sum: &mut u64| {
                busy_micros(2);
                *sum += 1;
                if item.id == at {
                    blow("body");
                }
                results.make(item.id)
            };
            let payloads = panics_of(|| local.map(items.make_all(), body));
            assert_eq!(payloads.len(), usize::from(at < 500));
            books.made();
            let payloads = panics_of(|| local.map(from_iter(items.make_all()), body));
            assert_eq!(payloads.len(), usize::from(at < 500));
            books.made();
            let tried = local.try_map(items.make_all(), |item, sum| Ok::<_, ()>(body(item, sum)));
            let failed = tried
                .err()
                .map(|failures| failures.iter().map(|(at, _)| at).collect());
            assert_eq!(failed, (at < 500).then(|| vec![at as u64]));
            books.made();
            items.assert_settled();
            results.assert_settled();
        }
    });
}

#[test]
fn a_panic_where_the_state_is_made_or_finished_goes_on() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let finished = AtomicUsize::new(0);
        let local = options.local(
            || blow("init"),
            |()| {
                finished.fetch_add(1, Ordering::SeqCst);
            },
        );
        let payloads = panics_of(|| local.for_each(0..500, |_, _, ()| busy_micros(2)));
        assert!(payloads.iter().all(|payload| message_of(payload) == "init"));
        assert!(!payloads.is_empty());
        assert_eq!(finished.load(Ordering::SeqCst), 0);
        let payloads = panics_of(|| local.for_each(from_iter(0..500), |_, _, ()| busy_micros(2)));
        assert!(!payloads.is_empty());
        let payloads = panics_of(|| local.map(0..500, |i, ()| Box::new(i)));
        assert!(!payloads.is_empty());
        let local = options.local(|| (), |()| blow("finish"));
        let payloads = panics_of(|| local.for_each(0..500, |_, _, ()| busy_micros(2)));
        assert!(
            payloads
                .iter()
                .all(|payload| message_of(payload) == "finish")
        );
        assert!(!payloads.is_empty());
        let payloads = panics_of(|| local.for_each(from_iter(0..500), |_, _, ()| busy_micros(2)));
        assert!(!payloads.is_empty());
        let payloads = panics_of(|| local.map(0..500, |i, ()| Box::new(i)));
        assert!(!payloads.is_empty());
    });
}

#[test]
fn an_empty_or_cancelled_loop_makes_no_state_that_it_does_not_finish() {
    on_each_runtime(|runtime| {
        let books = Books::default();
        let source = TokenSource::new();
        source.cancel();
        let token = source.token();
        let options = Options::new().runtime(runtime);
        options
            .local(|| books.make(), |sum| books.finish(sum))
            .for_each(0..0, |_, _, _| {});
        let cancelled = options.cancellation(&token);
        let local = cancelled.local(|| books.make(), |sum| books.finish(sum));
        local.for_each(0..100, |_, _, _| {}).unwrap_err();
        local.for_each(from_iter(0..100), |_, _, _| {}).unwrap_err();
        local.map(0..100, |_, _| {}).unwrap_err();
        assert_eq!(books.made(), 0);
    });
}

/// Does something when it is dropped.
struct AtDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_panic_where_a_state_is_finished_goes_on_in_a_destructor_that_a_panic_runs() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let local = options.local(|| (), |()| blow("finish"));
        let mut counts = Vec::new();
        panics_of(|| {
            let _loops = AtDrop(|| {
                let range = panics_of(|| local.for_each(0..9, |_, _, ()| {}));
                let iterator = panics_of(|| local.for_each(from_iter(0..9), |_, _, ()| {}));
                counts.extend([range.len(), iterator.len()]);
            });
            blow("outer");
        });
        assert!(counts.len() == 2 && !counts.contains(&0), "{counts:?}");
    });
}
