//! Items and results are dropped exactly once, however a loop ends.

use crate::support::{
    Counted, Ledger, blow, busy_micros, message_of, on_each_runtime, panics_of, wait_until,
};
use manyhands::Runtime;
use manyhands::cancel::{Token, TokenSource};
use manyhands::parallel::{AsyncOptions, Options, from_iter};
use manyhands::query::prelude::*;
use manyhands::simulation::Simulation;
use manyhands::task::{self, TaskGroup, TaskTracker};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

const COUNT: usize = 500;
/// In the probe, at its end, in the middle, at the last item, never.
const PLACES: [usize; 6] = [0, 1, 30, 250, COUNT - 1, COUNT];

/// How a loop is made to end.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Panic,
    Cancel,
    Stop,
    Break,
}

const ENDS: [End; 4] = [End::Panic, End::Cancel, End::Stop, End::Break];

fn loop_over(items: Vec<Counted>, runtime: &Runtime, at: usize, end: End, iterator: bool) {
    let source = TokenSource::new();
    let token = source.token();
    let options = Options::new().runtime(runtime).cancellation(&token);
    let body = |item: Counted, control: &manyhands::parallel::Control<'_>| {
        busy_micros(2);
        if item.id == at {
            match end {
                End::Panic => blow(item),
                End::Cancel => source.cancel(),
                End::Stop => control.stop(),
                End::Break => control.break_at_current(),
            }
        }
    };
    drop(panics_of(|| {
        if iterator {
            options.for_each_with_control(from_iter(items), body)
        } else {
            options.for_each_with_control(items, body)
        }
    }));
}

#[test]
fn items_are_dropped_once_however_the_loop_ends() {
    on_each_runtime(|runtime| {
        for end in ENDS {
            for at in PLACES {
                for iterator in [false, true] {
                    let ledger = Ledger::new(COUNT);
                    loop_over(ledger.make_all(), runtime, at, end, iterator);
                    ledger.assert_settled();
                }
            }
        }
    });
}

#[test]
fn items_of_plain_loops_and_searches_are_dropped_once() {
    on_each_runtime(|runtime| {
        for at in PLACES {
            let ledger = Ledger::new(COUNT);
            let options = Options::new().runtime(runtime);
            let burst = |item: &Counted| {
                busy_micros(1);
                if item.id == at {
                    blow("burst");
                }
            };
            panics_of(|| options.for_each(ledger.make_all(), |item| burst(&item)));
            panics_of(|| options.for_each(from_iter(ledger.make_all()), |item| burst(&item)));
            panics_of(|| {
                options.map_reduce(
                    ledger.make_all(),
                    |a| a,
                    |a, b| {
                        burst(&b);
                        a
                    },
                )
            });
            let query = || ledger.make_all().into_par_query().runtime(runtime);
            panics_of(|| {
                query().deterministic().reduce(|a, b| {
                    burst(&b);
                    a
                })
            });
            let found = query().find(|item| item.id == at);
            assert_eq!(found.map(|item| item.id), (at < COUNT).then_some(at));
            let found = query().find_any(|item| item.id >= at);
            assert_eq!(found.is_some(), at < COUNT);
            drop(found);
            panics_of(|| {
                query().find_any(|item| {
                    burst(item);
                    false
                })
            });
            ledger.assert_settled();
        }
    });
}

#[test]
fn results_of_map_are_dropped_once_when_it_does_not_end_well() {
    on_each_runtime(|runtime| {
        for at in PLACES {
            let ledger = Ledger::new(COUNT);
            let source = TokenSource::new();
            let token = source.token();
            let options = Options::new().runtime(runtime);
            let make = |id: usize| {
                busy_micros(1);
                if id == at {
                    blow("burst");
                }
                ledger.make(id)
            };
            panics_of(|| options.map(0..COUNT, make));
            panics_of(|| options.map(from_iter(0..COUNT), make));
            drop(options.try_map(0..COUNT, |id| Ok::<_, ()>(make(id))));
            drop(options.try_map(from_iter(0..COUNT), |id| Ok::<_, ()>(make(id))));
            drop(options.try_map(0..COUNT, |id| {
                if id == at {
                    Err(ledger.make(id))
                } else {
                    Ok(ledger.make(id))
                }
            }));
            let cancelling = |id: usize| {
                if id == at {
                    source.cancel();
                }
                ledger.make(id)
            };
            let cancellable = options.cancellation(&token);
            let cancelled = cancellable.map(0..COUNT, cancelling);
            assert_eq!(cancelled.is_err(), at < COUNT);
            drop(cancelled);
            drop(cancellable.map(from_iter(0..COUNT), cancelling));
            ledger.assert_settled();
        }
    });
}

#[test]
fn items_and_results_of_map_are_each_dropped_once() {
    on_each_runtime(|runtime| {
        for at in PLACES {
            let (items, results) = (Ledger::new(COUNT), Ledger::new(COUNT));
            let body = |item: Counted| {
                busy_micros(1);
                if item.id == at {
                    blow("burst");
                }
                results.make(item.id)
            };
            panics_of(|| Options::new().runtime(runtime).map(items.make_all(), body));
            items.assert_settled();
            results.assert_settled();
        }
    });
}

#[test]
fn finished_results_belong_to_the_caller() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(COUNT);
        let results = Options::new()
            .runtime(runtime)
            .map(0..COUNT, |id| ledger.make(id));
        assert_eq!(ledger.count_dropped(), 0);
        assert!(results.iter().map(|result| result.id).eq(0..COUNT));
        drop(results);
        ledger.assert_settled();
    });
}

#[test]
fn arrays_and_items_of_no_size_are_dropped_once() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        DROPPED.store(0, Ordering::SeqCst);
        let nothings = || (0..COUNT).map(|_| Nothing).collect::<Vec<_>>();
        options.for_each(nothings(), drop);
        assert_eq!(DROPPED.swap(0, Ordering::SeqCst), COUNT);
        let seen = AtomicUsize::new(0);
        panics_of(|| {
            options.for_each(nothings(), |nothing| {
                busy_micros(1);
                if seen.fetch_add(1, Ordering::SeqCst) == 250 {
                    blow(());
                }
                drop(nothing);
            });
        });
        assert_eq!(DROPPED.swap(0, Ordering::SeqCst), COUNT);
        let made = options.map(0..COUNT, |_| Nothing);
        assert_eq!((made.len(), DROPPED.load(Ordering::SeqCst)), (COUNT, 0));
        drop(made);
        assert_eq!(DROPPED.swap(0, Ordering::SeqCst), COUNT);
        options.for_each([Nothing, Nothing, Nothing], drop);
        assert_eq!(DROPPED.swap(0, Ordering::SeqCst), 3);
        let ledger = Ledger::new(3);
        let array = [ledger.make(0), ledger.make(1), ledger.make(2)];
        panics_of(|| {
            options.for_each(array, |item| {
                if item.id == 1 {
                    blow(item);
                }
            });
        });
        ledger.assert_settled();
    });
}

#[test]
fn what_a_loop_borrows_is_free_again_when_it_returns() {
    on_each_runtime(|runtime| {
        let shared = Arc::new(());
        for _ in 0..50 {
            let copies: Vec<_> = (0..200).map(|_| Arc::clone(&shared)).collect();
            let source = TokenSource::new();
            let token = source.token();
            let options = Options::new().runtime(runtime).cancellation(&token);
            let ended = options.for_each(copies, |copy| {
                busy_micros(1);
                if Arc::strong_count(&copy) < 150 {
                    source.cancel();
                }
            });
            drop(ended);
            assert_eq!(Arc::strong_count(&shared), 1);
        }
    });
}

#[test]
fn items_are_dropped_when_the_call_is_cancelled_before_it_begins() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        source.cancel();
        let token: Token = source.token();
        let ledger = Ledger::new(COUNT);
        let options = Options::new().runtime(runtime).cancellation(&token);
        options.for_each(ledger.make_all(), drop).unwrap_err();
        options
            .for_each(from_iter(ledger.make_all()), drop)
            .unwrap_err();
        options.map(ledger.make_all(), |item| item).unwrap_err();
        let query = ledger.make_all().into_par_query().runtime(runtime);
        query.cancellation(&token).find_any(|_| true).unwrap_err();
        let things = ledger.make_all();
        let closures: Vec<_> = things
            .into_iter()
            .map(|thing| move || drop(thing))
            .collect();
        options.invoke(closures).unwrap_err();
        ledger.assert_settled();
    });
}

#[test]
fn an_item_whose_drop_panics_in_a_body_is_a_panic_of_that_body() {
    struct Grenade(bool);
    impl Drop for Grenade {
        fn drop(&mut self) {
            if self.0 && !std::thread::panicking() {
                blow("dropped");
            }
        }
    }
    on_each_runtime(|runtime| {
        let items: Vec<_> = (0..300).map(|i| Grenade(i == 200)).collect();
        let payloads = panics_of(|| {
            Options::new().runtime(runtime).for_each(items, |item| {
                busy_micros(2);
                drop(item);
            });
        });
        assert_eq!(message_of(&payloads[0]), "dropped");
    });
}

/// Panics when it is dropped, unless it is disarmed or the thread panics already.
struct Bomb(u32);

impl Bomb {
    #[expect(clippy::mem_forget, reason = "its drop is what must not happen")]
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "item {} was dropped", self.0);
    }
}

#[test]
fn what_a_loop_returns_is_dropped_once_although_its_body_panics_when_it_is_dropped() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let ledger = Ledger::new(COUNT);
        let body = || {
            let (bomb, ledger) = (Bomb(0), &ledger);
            move |id| {
                let _held = &bomb;
                ledger.make(id)
            }
        };
        let of_calls = [
            panics_of(|| options.map(0..COUNT, body())),
            panics_of(|| options.map(from_iter(0..COUNT), body())),
            panics_of(|| options.map_reduce(0..COUNT, body(), |a, _| a)),
            panics_of(|| {
                let make = body();
                options.try_map(0..COUNT, move |id| Ok::<_, ()>(make(id)))
            }),
            panics_of(|| {
                let make = body();
                options.try_for_each(0..COUNT, move |id| Err(make(id)))
            }),
        ];
        for panics in of_calls {
            let messages: Vec<_> = panics.iter().map(message_of).collect();
            assert_eq!(messages, ["item 0 was dropped"]);
        }
        ledger.assert_settled();
    });
}

#[test]
fn a_pulled_item_whose_drop_panics_after_a_cancellation_is_a_panic_of_the_loop() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let options = Options::new().runtime(runtime).cancellation(&token);
        let panics = panics_of(|| {
            let _cancelled = options.for_each(from_iter((0..2).map(Bomb)).unbuffered(), |bomb| {
                bomb.disarm();
                source.cancel();
            });
        });
        // None where both items had been run, or none but the first was pulled.
        let expected = ["item 0 was dropped", "item 1 was dropped"];
        assert!(
            panics
                .iter()
                .all(|panic| expected.contains(&message_of(panic).as_str())),
            "{panics:?}"
        );
    });
}

#[test]
fn an_item_whose_pull_cancels_the_loop_may_panic_when_it_is_dropped() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let items = (0..2).map(|n| {
            source.cancel();
            Bomb(n)
        });
        let panics = panics_of(|| {
            let options = Options::new().runtime(runtime).cancellation(&token);
            let _cancelled = options.for_each(from_iter(items).unbuffered(), Bomb::disarm);
        });
        let messages: Vec<_> = panics.iter().map(message_of).collect();
        assert_eq!(messages, ["item 0 was dropped"]);
    });
}

#[test]
fn items_that_a_cancelled_loop_discards_may_panic_when_they_are_dropped() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let items: Vec<_> = (0..200).map(Bomb).collect();
        let begun = AtomicUsize::new(0);
        let panics = panics_of(|| {
            let options = Options::new().runtime(runtime).cancellation(&token);
            let _cancelled = options.for_each(items, |bomb| {
                // Long enough for the rest to be shared.
                busy_micros(300);
                // Relaxed: only the number matters. Far fewer runners than items are left when the 21st ends.
                if begun.fetch_add(1, Ordering::Relaxed) == 20 {
                    source.cancel();
                }
                bomb.disarm();
            });
        });
        assert!(!panics.is_empty());
        assert!(
            panics
                .iter()
                .all(|panic| message_of(panic).ends_with("was dropped")),
            "{panics:?}"
        );
    });
}

#[test]
fn pulled_items_whose_drops_panic_are_dropped_when_the_iterator_panics() {
    on_each_runtime(|runtime| {
        // The first chunks are short; this is in the middle of a longer one.
        for last in 1..40 {
            let items = (0..=last).map(|n| if n == last { blow(last) } else { Bomb(n) });
            let panics = panics_of(|| {
                Options::new()
                    .runtime(runtime)
                    .for_each(from_iter(items), |bomb| {
                        busy_micros(2);
                        bomb.disarm();
                    });
            });
            assert!(!panics.is_empty());
        }
    });
}

#[test]
fn a_failure_is_dropped_once_although_a_value_panics_when_it_is_dropped_for_it() {
    on_each_runtime(|runtime| {
        let value = runtime.install(|| task::spawn(async { Ok(Bomb(1)) }));
        // Outside of the runtime: inside, who waits takes the place of the only worker.
        wait_until("the end of a task", || value.is_finished());
        runtime.install(|| {
            let ledger = Ledger::new(3);
            let of_a_scope = panics_of(|| {
                task::try_scope_blocking(|scope| {
                    let failure = ledger.make(0);
                    scope.spawn(async move { Err(failure) });
                    Bomb(0)
                })
            });
            let of_a_group = panics_of(|| {
                let mut group = TaskGroup::new();
                group.push(value);
                let failure = ledger.make(1);
                group.spawn(async move { Err(failure) });
                task::block_on(group.try_wait())
            });
            let of_a_loop = panics_of(|| {
                let one_by_one = AsyncOptions::new().degree_of_parallelism(1).unwrap();
                let items = vec![None, Some(ledger.make(2))];
                let body = |item: Option<Counted>| async move {
                    match item {
                        None => Ok(Bomb(2)),
                        Some(failure) => Err(failure),
                    }
                };
                task::block_on(one_by_one.try_map_async(items, body))
            });
            for (number, panics) in [of_a_scope, of_a_group, of_a_loop].iter().enumerate() {
                let messages: Vec<_> = panics.iter().map(message_of).collect();
                assert_eq!(messages, [format!("item {number} was dropped")]);
            }
            ledger.assert_settled();
        });
    });
}

#[test]
fn a_sum_whose_drop_panics_in_a_scan_leaves_no_other_behind() {
    #[derive(Clone)]
    struct Part {
        is_live: bool,
        _counted: Arc<()>,
    }
    impl Drop for Part {
        fn drop(&mut self) {
            if self.is_live && !std::thread::panicking() {
                blow("dropped");
            }
        }
    }
    let counted = Arc::new(());
    let part = |is_live| Part {
        is_live,
        _counted: Arc::clone(&counted),
    };
    let mut items = [part(true), part(false), part(false)];
    let add = |_: &Part, _: &Part| part(false);
    let panics = panics_of(|| Options::new().inclusive_scan(&mut items, add));
    assert_eq!(panics.len(), 1);
    items[0].is_live = false;
    assert_eq!(Arc::strong_count(&counted), 1 + items.len());
}

/// Is ready with what it has, and panics when it is dropped.
struct ReadyAndPanics(Option<Arc<()>>);

impl Future for ReadyAndPanics {
    type Output = Arc<()>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Arc<()>> {
        Poll::Ready(self.0.take().unwrap())
    }
}

impl Drop for ReadyAndPanics {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            blow("a future is dropped");
        }
    }
}

struct ReadyWithState(ReadyAndPanics, ());

impl Future for ReadyWithState {
    type Output = (Arc<()>, ());

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(Arc<()>, ())> {
        Pin::new(&mut self.0).poll(context).map(|made| (made, ()))
    }
}

#[test]
fn an_output_is_dropped_once_although_its_future_panics_when_it_is_dropped() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let value = Arc::new(());
        let future = || ReadyAndPanics(Some(Arc::clone(&value)));
        let token = Token::never();
        panics_of(|| task::block_on(future()));
        panics_of(|| task::block_on(token.run_until_cancelled(future())));
        panics_of(|| Simulation::new(1).run(future()));
        let tracker = TaskTracker::new();
        assert!(tracker.spawn(future()).join().is_err());
        let options = AsyncOptions::default();
        let made = Arc::clone(&value);
        let make = move |_| ReadyAndPanics(Some(Arc::clone(&made)));
        panics_of(|| task::block_on(options.map_async(0..9, make)));
        let made = Arc::clone(&value);
        let make =
            move |_, state: ()| ReadyWithState(ReadyAndPanics(Some(Arc::clone(&made))), state);
        let options = AsyncOptions::default().local(|| (), |()| ());
        panics_of(|| task::block_on(options.map_async(0..9, make)));
        wait_until("all futures are dropped", || Arc::strong_count(&value) == 1);
    });
}
