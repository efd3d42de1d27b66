//! States that async loops lend to their items: how often each is made, used and finished.

use crate::support::{Counted, HighWater, Ledger, blow, message_of, panics_of};
use manyhands::parallel::AsyncOptions;
use manyhands::simulation::Simulation;
use manyhands::time;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn simulate<F: Future>(seed: u64, future: F) -> F::Output {
    Simulation::new(seed).run(future).unwrap()
}

fn at_once(count: usize) -> AsyncOptions<'static> {
    AsyncOptions::new().degree_of_parallelism(count).unwrap()
}

async fn slow(i: usize) -> usize {
    time::sleep(Duration::from_millis(i as u64 * 7 % 13)).await;
    i
}

#[test]
fn states_of_an_async_loop_are_lent_to_one_item_at_a_time_and_finished() {
    let (made, finished) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Mutex::new(Vec::new())),
    );
    let (making, finishing) = (Arc::clone(&made), Arc::clone(&finished));
    simulate(1, async move {
        let init = move || {
            making.fetch_add(1, Ordering::SeqCst);
            0
        };
        let options = at_once(4);
        let options = options.local(init, move |sum| finishing.lock().unwrap().push(sum));
        let add = |n: u64, sum: u64| async move {
            time::sleep(Duration::from_millis(n % 3 + 1)).await;
            sum + n
        };
        options.for_each_async(0..100, add).await;
    });
    let finished = finished.lock().unwrap();
    assert_eq!((made.load(Ordering::SeqCst), finished.len()), (4, 4));
    assert_eq!(finished.iter().sum::<u64>(), 4_950);
}

/// How states are made and finished, all of them in the ledger, and how many were finished.
fn counted_states(
    ledger: &Arc<Ledger>,
) -> (
    impl Fn() -> Counted + use<>,
    impl Fn(Counted) + use<>,
    Arc<AtomicUsize>,
) {
    let next = AtomicUsize::new(0);
    let finished = Arc::new(AtomicUsize::new(0));
    let (making, finishing) = (Arc::clone(ledger), Arc::clone(&finished));
    let init = move || making.make(next.fetch_add(1, Ordering::SeqCst));
    let finish = move |state: Counted| {
        finishing.fetch_add(1, Ordering::SeqCst);
        drop(state);
    };
    (init, finish, finished)
}

#[test]
fn the_state_of_an_item_that_panics_is_dropped_and_the_others_are_finished() {
    let ledger = Ledger::new(4);
    let (init, finish, finished) = counted_states(&ledger);
    let options = at_once(4).local(init, finish);
    let looping = options.for_each_async(0..100, |n: u64, state| async move {
        time::sleep(Duration::from_millis(1)).await;
        if n == 50 {
            blow("at fifty");
        }
        state
    });
    assert_eq!(panics_of(|| simulate(1, looping)).len(), 1);
    assert_eq!(ledger.count_dropped(), 4);
    assert!((1..4).contains(&finished.load(Ordering::SeqCst)));
    ledger.assert_settled();
}

#[test]
fn results_come_beside_lent_states() {
    let finished = Arc::new(Mutex::new(Vec::new()));
    let finishing = Arc::clone(&finished);
    let options = at_once(4);
    let options = options.local(|| 0, move |sum| finishing.lock().unwrap().push(sum));
    let square = |n: u64, sum: u64| async move {
        time::sleep(Duration::from_millis(n % 3 + 1)).await;
        (n * n, sum + n)
    };
    let squares = simulate(1, options.map_async(0..100, square));
    assert!(squares.into_iter().eq((0..100).map(|n| n * n)));
    let finished = finished.lock().unwrap();
    assert_eq!((finished.len(), finished.iter().sum::<u64>()), (4, 4_950));
}

#[test]
fn the_state_of_an_item_that_fails_is_dropped_and_not_finished() {
    for maps in [false, true] {
        let ledger = Ledger::new(2);
        let (init, finish, finished) = counted_states(&ledger);
        let options = at_once(1);
        let options = options.local(init, finish);
        let failures = if maps {
            let check = |n, state| async move { if n < 5 { Ok((n, state)) } else { Err(n) } };
            simulate(1, options.try_map_async(0..9, check)).unwrap_err()
        } else {
            let check = |n, state| async move { if n < 5 { Ok(state) } else { Err(n) } };
            simulate(1, options.try_for_each_async(0..9, check)).unwrap_err()
        };
        assert!(failures.errors().eq([(5, &5)]), "{failures:?}");
        // The only one there was: no other came after it.
        assert_eq!(
            (ledger.count_dropped(), finished.load(Ordering::SeqCst)),
            (1, 0)
        );
    }
}

#[test]
fn a_stage_has_as_many_states_as_items_run_and_finishes_them_before_its_end() {
    for seed in 0..10 {
        let ledger = Ledger::new(4);
        let (init, finish, finished) = counted_states(&ledger);
        let used = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&used);
        let options = at_once(4).local(init, finish);
        let mut results = options.stream_async(0..100, move |n, state: Counted| {
            let kept = Arc::clone(&kept);
            async move {
                kept.lock().unwrap().push(state.id);
                (slow(n).await, state)
            }
        });
        simulate(seed, async {
            for n in 0..100 {
                assert_eq!(results.next().await, Some(n));
            }
            assert_eq!(finished.load(Ordering::SeqCst), 0);
            assert_eq!(results.next().await, None);
            assert_eq!(finished.load(Ordering::SeqCst), 4);
            assert_eq!(results.next().await, None);
        });
        assert_eq!(used.lock().unwrap().len(), 100);
        ledger.assert_settled();
    }
}

#[test]
fn a_stage_that_is_dropped_finishes_the_states_that_come_back_and_drops_those_of_its_items() {
    for taken in 0..20 {
        let (items, states) = (Ledger::new(100), Ledger::new(8));
        let (init, finish, finished) = counted_states(&states);
        let running = Arc::new(HighWater::default());
        let inside = Arc::clone(&running);
        let options = at_once(8).local(init, finish);
        let body = move |item: Counted, state: Counted| {
            let inside = Arc::clone(&inside);
            async move {
                let pass = inside.enter();
                slow(item.id).await;
                drop(pass);
                (item, state)
            }
        };
        let things = items.make_all();
        simulate(taken, async move {
            let mut results = options.stream_async_unordered(things, body);
            for _ in 0..taken {
                assert!(results.next().await.is_some());
            }
            let lent = running.now();
            drop(results);
            time::sleep(Duration::from_secs(1)).await;
            assert_eq!(running.now(), 0);
            let idle = if taken == 0 { 0 } else { 8 - lent };
            assert_eq!(finished.load(Ordering::SeqCst), idle);
        });
        items.assert_settled();
        states.assert_settled();
    }
}

#[test]
fn a_loop_that_is_dropped_finishes_the_states_that_come_back() {
    let states = Ledger::new(2);
    let (init, finish, finished) = counted_states(&states);
    simulate(1, async {
        let body = |n: usize, state| async move {
            // One ends, the other never does.
            time::sleep(Duration::from_secs([1, 1_000_000][n])).await;
            state
        };
        let looping = at_once(2).local(init, finish).for_each_async(0..2, body);
        let ended = time::timeout(Duration::from_secs(5), looping).await;
        assert!(ended.is_err());
        time::sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(finished.load(Ordering::SeqCst), 1);
    states.assert_settled();
}

#[test]
fn the_state_of_the_item_that_ends_a_stage_is_not_finished() {
    for seed in 0..10 {
        let ledger = Ledger::new(4);
        let (init, finish, finished) = counted_states(&ledger);
        let options = at_once(1).local(init, finish);
        let results = options.try_stream_async(0..50, |n, state: Counted| async move {
            if slow(n).await == 20 {
                Err(n)
            } else {
                Ok((n, state))
            }
        });
        assert_eq!(simulate(seed, results.try_to_vec()), Err(20));
        assert_eq!(finished.load(Ordering::SeqCst), 0);
        ledger.assert_settled();
        let ledger = Ledger::new(4);
        let (init, finish, finished) = counted_states(&ledger);
        let options = at_once(4).local(init, finish);
        let mut results = options.try_stream_async(0..50, |n, state: Counted| async move {
            if n < 20 {
                Ok((slow(n).await, state))
            } else {
                Err(n)
            }
        });
        simulate(seed, async {
            for n in 0..20 {
                assert_eq!(results.next().await, Some(Ok(n)));
            }
            assert_eq!(results.next().await, Some(Err(20)));
            assert_eq!(results.next().await, None);
        });
        // That of the one that failed is lost, and those of others that ran beside it may be.
        assert!(finished.load(Ordering::SeqCst) < 4);
        ledger.assert_settled();
    }
}

#[test]
fn a_panic_where_a_state_of_a_stage_is_made_or_finished_comes_to_who_takes_the_results() {
    let making = at_once(2).local(|| -> () { blow("made") }, drop);
    let results = making.stream_async(0..3, |n, ()| async move { (n, ()) });
    let panics = panics_of(|| simulate(1, results.to_vec()));
    assert!(panics.iter().all(|panic| message_of(panic) == "made") && !panics.is_empty());

    let finishing = at_once(2).local(|| (), |()| blow("finished"));
    let mut results = finishing.stream_async(0..3, |n, ()| async move { (n, ()) });
    let panics = panics_of(|| {
        simulate(1, async {
            for n in 0..3 {
                assert_eq!(results.next().await, Some(n));
            }
            results.next().await
        })
    });
    assert!(panics.iter().all(|panic| message_of(panic) == "finished") && !panics.is_empty());

    // Where nobody takes results any more, the panic is lost.
    let finishing = at_once(2).local(|| (), |()| blow("finished"));
    let mut results = finishing.stream_async(0..3, |n, ()| async move { (n, ()) });
    assert_eq!(simulate(1, async { results.next().await }), Some(0));
    drop(results);
}

/// Panics when it is dropped, as a capture.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            blow("a capture is dropped");
        }
    }
}

#[test]
fn a_body_whose_drop_panics_loses_neither_failures_nor_results_of_an_async_loop() {
    let ledger = Ledger::new(3);
    let (failures, results) = (Arc::clone(&ledger), Arc::clone(&ledger));
    let bomb = Bomb;
    let fails = move |id| {
        let _held = &bomb;
        let failure = failures.make(id);
        async move { Err::<(), _>(failure) }
    };
    let of_failures = panics_of(|| simulate(1, at_once(1).try_for_each_async(0..3, fails)));
    let bomb = Bomb;
    let lent = move |id, state: i32| {
        let _held = &bomb;
        let result = results.make(id);
        async move { (result, state) }
    };
    let lending = at_once(1).local(|| 0, drop);
    let of_results = panics_of(|| simulate(1, lending.map_async(0..3, lent)));
    for panics in [of_failures, of_results] {
        let messages: Vec<_> = panics.iter().map(message_of).collect();
        assert_eq!(messages, ["a capture is dropped"]);
    }
    ledger.assert_settled();
}
