//! Loops in a task of their own: results, progress, cancellation, panics, ends of the runtime.

use crate::support::{
    Board, Counted, Ledger, blow, busy_micros, message_of, of_threads, on, on_each_runtime,
    panics_of, receive, wait_until, within,
};
use manyhands::cancel::Cancelled;
use manyhands::parallel::{self, Options, Spawned, from_iter};
use manyhands::query::prelude::*;
use manyhands::simulation::Simulation;
use manyhands::task::{self, Builder, Priority};
use manyhands::{Runtime, time};
use std::future::poll_fn;
use std::iter;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const ITEMS: usize = 500;

#[test]
fn a_spawned_loop_gives_what_its_body_returns_and_counts_the_items_of_each_kind_of_loop() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let looping = parallel::spawn_loop(|options| {
            let mut numbers = options.map(0..1_000_u64, |n| n + 1)?;
            options.for_each(&mut numbers, |n| *n *= 2)?;
            let sum = options.map_reduce(&numbers, |n| *n, |a, b| a + b)?;
            let outcome = options.for_each_with_control(from_iter(0..1_000), |_, _| {})?;
            assert!(outcome.is_completed());
            let local = options.local(|| 0, drop);
            local.map(&numbers, |_, count: &mut u32| *count += 1)?;
            assert_eq!(
                options.try_map(&numbers, |n| Ok::<_, ()>(*n)).unwrap(),
                numbers
            );
            Ok::<_, Cancelled>(sum)
        });
        let handle = looping.handle();
        assert_eq!(task::block_on(looping), Ok(Some(1_001_000)));
        assert!(handle.is_finished());
        assert_eq!(handle.done(), 6_000);
    });
}

#[test]
fn the_caller_goes_on_while_the_loop_runs_and_sees_its_progress() {
    let runtime = of_threads(2);
    on(runtime, |runtime| {
        let _entered = runtime.enter();
        let board = Arc::new(Board::new(1));
        let gate = Arc::clone(&board);
        let mut looping = parallel::spawn_loop(move |options| {
            let alone = options.degree_of_parallelism(1).unwrap();
            alone.for_each(from_iter(0..10).unbuffered(), |i| {
                if i == 5 {
                    gate.wait_for(0);
                }
            })
        });
        let handle = looping.handle();
        wait_until("five items ended", || handle.done() == 5);
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut looping).poll(&mut context).is_pending());
        assert!(!handle.is_finished());
        board.happens(0);
        assert_eq!(task::block_on(looping), Ok(()));
        assert_eq!(handle.done(), 10);
    });
}

#[test]
fn a_cancellation_at_any_item_ends_the_loop_and_drops_each_item_once() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        for at in [0, 1, 60, ITEMS - 1] {
            let (items, results) = (Ledger::new(ITEMS), Ledger::new(ITEMS));
            let (things, made) = (items.make_all(), Arc::clone(&results));
            let (send, receiver) = mpsc::channel();
            let looping = parallel::spawn_loop(move |options| {
                let handle: parallel::SpawnedLoopHandle = receive(&receiver);
                options.map(things, |thing: Counted| {
                    busy_micros(2);
                    if thing.id == at {
                        handle.cancel();
                    }
                    made.make(thing.id)
                })
            });
            let handle = looping.handle();
            send.send(handle.clone()).unwrap();
            assert!(task::block_on(looping).is_err());
            assert!(handle.done() >= 1);
            items.assert_settled();
            results.assert_settled();
        }
    });
}

#[test]
fn a_loop_that_is_dropped_while_it_runs_begins_no_more_items() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let items = Ledger::new(ITEMS);
        let things = items.make_all();
        let begun = Arc::new(AtomicUsize::new(0));
        let (count, board) = (Arc::clone(&begun), Arc::new(Board::new(2)));
        let gates = Arc::clone(&board);
        let looping = parallel::spawn_loop(move |options| {
            options.for_each(things, |_| {
                count.fetch_add(1, Ordering::SeqCst);
                gates.happens(0);
                gates.wait_for(1);
            })
        });
        let handle = looping.handle();
        board.wait_for(0);
        drop(looping);
        board.happens(1);
        wait_until("the loop ended", || handle.is_finished());
        // No item but those that ran when it was dropped.
        assert!(begun.load(Ordering::SeqCst) <= 16);
        wait_until("all dropped", || items.count_dropped() == ITEMS);
        items.assert_settled();
    });
}

#[test]
fn a_loop_that_is_dropped_before_it_begins_never_does() {
    Simulation::new(1)
        .run(async {
            let items = Ledger::new(10);
            let things = items.make_all();
            let looping = parallel::spawn_loop(move |_| {
                drop(things);
                blow("begun");
            });
            let handle = looping.handle();
            drop(looping);
            time::sleep(Duration::from_secs(1)).await;
            assert!(handle.is_finished());
            items.assert_settled();
        })
        .unwrap();
}

#[test]
fn a_loop_that_is_cancelled_before_it_begins_runs_no_item_and_its_body_says_so() {
    Simulation::new(1)
        .run(async {
            let looping = parallel::spawn_loop(|options| {
                let plain = options.for_each(0..10, |_| blow("item"));
                let failing = options.try_map(0..10, |_| Err::<(), _>("item"));
                assert!(failing.unwrap_err().cancelled().is_some());
                let numbers = (0..10_u32).into_par_query();
                assert!(numbers.cancellation(options.token()).to_vec().is_err());
                plain.unwrap_err().token() == options.token()
            });
            let handle = looping.handle();
            handle.cancel();
            assert!(looping.await);
            assert_eq!(handle.done(), 0);
        })
        .unwrap();
}

#[test]
fn panics_of_the_items_and_of_the_body_resume_where_the_loop_is_awaited() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        for at in [0, 60, ITEMS - 1] {
            let items = Ledger::new(ITEMS);
            let things = items.make_all();
            let looping = parallel::spawn_loop(move |options| {
                options.map(things, |thing: Counted| {
                    busy_micros(2);
                    if thing.id == at {
                        blow("item");
                    }
                    thing
                })
            });
            let panics = panics_of(|| task::block_on(looping));
            assert!(panics.iter().map(message_of).eq(["item"]));
            items.assert_settled();
        }
        let both = Arc::new(Board::new(2));
        let looping = parallel::spawn_loop(move |options| {
            options.invoke([0, 1].map(|index| {
                let both = Arc::clone(&both);
                move || {
                    both.happens(index);
                    both.wait_for_all();
                    blow("both")
                }
            }))
        });
        let panics = panics_of(|| task::block_on(looping));
        assert!(panics.iter().map(message_of).eq(["both", "both"]));
    });
}

#[test]
fn errors_come_with_their_positions() {
    let looping = parallel::spawn_loop(|options| {
        options.try_map(["1", "x", "3"], |text| text.parse::<i32>())
    });
    let failures = task::block_on(looping).unwrap_err();
    assert!(failures.errors().map(|(at, _)| at).eq([1]));
}

#[test]
fn awaiting_a_loop_whose_runtime_was_shut_down_before_it_began_panics() {
    within(20, || {
        let runtime = of_threads(1);
        let board = Arc::new(Board::new(2));
        let gates = Arc::clone(&board);
        runtime.install(|| {
            task::run_detached(move || {
                gates.happens(0);
                gates.wait_for(1);
            });
        });
        board.wait_for(0);
        let looping = runtime.install(|| parallel::spawn_loop(|_| blow("begun")));
        let handle = looping.handle();
        let ending = std::thread::spawn(move || drop(runtime));
        wait_until("the loop was dropped", || {
            // The worker goes on when the runtime has begun to end.
            board.happens(1);
            handle.is_finished()
        });
        ending.join().unwrap();
        let panics: Vec<String> = panics_of(|| task::block_on(looping))
            .iter()
            .map(message_of)
            .collect();
        // Where the worker was quicker than the end, the body has begun.
        let shut_down = "the runtime was shut down before a spawned loop began on it";
        assert!(panics == [shut_down] || panics == ["begun"], "{panics:?}");
    });
}

/// A worker runs eight interactive tasks for each four usual ones and each one of the background.
#[test]
fn spawned_loops_begin_by_their_priority() {
    const EACH: usize = 26;
    const PRIORITIES: [Priority; 3] = [
        Priority::Background,
        Priority::Normal,
        Priority::Interactive,
    ];
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let spawning = task::run(|| {
            let (note, noted) = mpsc::channel();
            let spawn = |priority| {
                let note = note.clone();
                let builder = Builder::new().priority(priority);
                builder.spawn_loop(move |_| note.send(priority).unwrap())
            };
            let each = |priority| iter::repeat_n(priority, EACH);
            let loops: Vec<_> = PRIORITIES.into_iter().flat_map(each).map(spawn).collect();
            (loops, noted)
        });
        let (loops, noted) = spawning.join().unwrap();
        let order: Vec<_> = loops.iter().map(|_| receive(&noted)).collect();
        let places = |priority| -> usize {
            let places = order.iter().enumerate();
            let of_it = places.filter(|(_, other)| **other == priority);
            of_it.map(|(place, _)| place).sum()
        };
        let sums = PRIORITIES.map(places);
        assert!(
            sums.is_sorted_by(|later, earlier| later > earlier),
            "{sums:?}"
        );
        loops.into_iter().for_each(task::block_on);
    });
}

#[test]
fn a_loop_is_awaited_beside_a_timer_on_one_thread() {
    fn squares(options: Options<'_, Spawned<'_>>) -> Result<Vec<u64>, Cancelled> {
        options.map(0..100_u64, |n| n * n)
    }
    for seed in 0..10 {
        Simulation::new(seed)
            .run(async {
                let mut looping = parallel::spawn_loop(squares);
                let mut late = Box::pin(time::sleep(Duration::from_millis(1)));
                let first = poll_fn(|context| {
                    if let Poll::Ready(squares) = Pin::new(&mut looping).poll(context) {
                        return Poll::Ready(Some(squares));
                    }
                    late.as_mut().poll(context).map(|()| None)
                });
                assert_eq!(first.await.unwrap().unwrap()[9], 81);
            })
            .unwrap();
    }
}

#[test]
fn a_loop_runs_where_it_was_spawned() {
    within(20, || {
        let named = Runtime::builder()
            .workers(2)
            .thread_name(|_| "chosen".into());
        let runtime = named.build().unwrap();
        let name = || std::thread::current().name().map(str::to_owned);
        let spawned =
            runtime.install(|| parallel::spawn_loop(move |options| options.map(0..50, |_| name())));
        let names = task::block_on(spawned).unwrap();
        assert!(names.iter().all(|name| name.as_deref() == Some("chosen")));
    });
}
