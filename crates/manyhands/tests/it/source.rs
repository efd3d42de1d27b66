//! Sources: every kind, iterators pulled one by one, and when iterators are dropped.

use crate::support::{
    Board, blow, busy_micros, counters, message_of, of_threads, on, on_each_runtime, on_runtime,
    panics_of, values, within,
};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Control, Options, from_iter};
use manyhands::query::prelude::*;
use manyhands::task;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn every_kind_of_source_gives_each_item() {
    within(60, || {
        let total = AtomicUsize::new(0);
        let add = |n: usize| {
            total.fetch_add(n, Ordering::SeqCst);
        };
        let mut vector = vec![1, 2, 3];
        let mut array = [4, 5, 6];
        parallel::for_each(&vector, |&n| add(n));
        parallel::for_each(&vector[1..], |&n| add(n));
        parallel::for_each(&mut vector, |n| add(*n));
        parallel::for_each(&mut vector[..], |n| add(*n));
        parallel::for_each(&array, |&n| add(n));
        parallel::for_each(&mut array, |n| add(*n));
        parallel::for_each(vector, add);
        parallel::for_each(array, add);
        parallel::for_each(1..4_usize, add);
        parallel::for_each(1..=3_usize, add);
        parallel::for_each(from_iter([7, 8]), add);
        parallel::for_each(
            from_iter("a bc def".split(' ').map(str::len)).unbuffered(),
            add,
        );
        assert_eq!(
            total.into_inner(),
            6 + 5 + 6 + 6 + 15 + 15 + 6 + 15 + 6 + 6 + 15 + 6
        );
    });
}

#[test]
fn mutable_items_are_written_from_every_runner() {
    on_each_runtime(|runtime| {
        let mut numbers = vec![0_u32; 3_000];
        Options::new().runtime(runtime).for_each(&mut numbers, |n| {
            busy_micros(1);
            *n += 1;
        });
        assert!(numbers.iter().all(|&n| n == 1));
    });
}

#[test]
fn chunks_and_windows_are_those_of_the_standard_library() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let numbers: Vec<u32> = (0..70).collect();
        for len in [0, 1, 2, 7, 64, 70] {
            let slice = &numbers[..len];
            for size in [1, 2, 3, 7, 69, 70, 71, usize::MAX] {
                let owned = |part: &[u32]| part.to_vec();
                let chunks: Vec<_> = slice.chunks(size).map(owned).collect();
                assert_eq!(parallel::map(slice.par_chunks(size), owned), chunks);
                let windows: Vec<_> = slice.windows(size).map(owned).collect();
                assert_eq!(parallel::map(slice.par_windows(size), owned), windows);
                let query = slice.par_windows(size).rev().map(owned);
                assert!(query.to_vec().into_iter().rev().eq(windows));
                let query = slice.par_chunks(size).map(owned);
                assert_eq!(query.last(), chunks.last().cloned());
                let (mut ours, mut theirs) = (slice.to_vec(), slice.to_vec());
                let reverse = |(n, part): (usize, &mut [u32])| {
                    part.reverse();
                    part[0] += 100 * u32::try_from(n).expect("it is small");
                };
                let query = ours.par_chunks_mut(size);
                query.enumerate().for_each(reverse);
                theirs.chunks_mut(size).enumerate().for_each(reverse);
                assert_eq!(ours, theirs);
                parallel::for_each(ours.par_chunks_mut(size), <[u32]>::reverse);
                theirs.chunks_mut(size).for_each(<[u32]>::reverse);
                assert_eq!(ours, theirs);
            }
        }
    });
}

#[test]
fn chunks_and_windows_of_no_item_are_refused() {
    assert_eq!(panics_of(|| drop([1].par_chunks(0))).len(), 1);
    assert_eq!(panics_of(|| drop([1].par_chunks_mut(0))).len(), 1);
    assert_eq!(panics_of(|| drop([1].par_windows(0))).len(), 1);
}

#[test]
fn a_query_is_a_source_by_position_or_gathered() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let numbers: Vec<u32> = (0..3_000).collect();
        let pairs = || numbers.par_query().zip(numbers.par_query().rev());
        let sums = options.map(pairs(), |(up, down)| {
            busy_micros(1);
            up + down
        });
        assert_eq!(sums, vec![2_999; 3_000]);
        let even = numbers.par_query().filter(|n| **n % 2 == 0);
        let halves = options.map(even, |n| n / 2);
        assert!(halves.into_iter().eq(0..1_500));
        let body = |(up, _): (&u32, _), control: &Control<'_>| {
            if *up == 700 {
                control.break_at_current();
            }
        };
        let outcome = options.for_each_with_control(pairs(), body);
        assert_eq!(outcome.lowest_break(), Some(700));
    });
}

#[test]
fn the_options_of_a_loop_are_those_of_the_query_that_it_runs_over() {
    on_each_runtime(|runtime| {
        let caller = thread::current().id();
        let alone = Options::new().runtime(runtime).degree_of_parallelism(1);
        let even = (0..2_000_u32).into_par_query().filter(|n| {
            assert_eq!(thread::current().id(), caller);
            busy_micros(1);
            n % 2 == 0
        });
        let seen = Mutex::new(Vec::new());
        alone
            .unwrap()
            .for_each(even, |n| seen.lock().unwrap().push(n));
        let even = (0..2_000_u32).step_by(2);
        assert!(seen.into_inner().unwrap().into_iter().eq(even));
    });
}

#[test]
fn what_a_loop_leaves_of_a_query_is_dropped() {
    on_each_runtime(|runtime| {
        for is_kept in [true, false] {
            let thing = Arc::new(());
            let things = vec![Arc::clone(&thing); 2_000].into_par_query();
            let options = Options::new().runtime(runtime);
            let stop = |_: Arc<()>, control: &Control<'_>| control.stop();
            let outcome = match is_kept {
                true => options.for_each_with_control(things.map(|thing| thing), stop),
                false => options.for_each_with_control(things.filter(|_| true), stop),
            };
            assert!(outcome.is_stopped());
            assert_eq!(Arc::strong_count(&thing), 1);
        }
    });
}

#[test]
fn an_iterator_gives_each_item_once_whatever_its_size_hint() {
    struct Hinting(std::ops::Range<usize>, (usize, Option<usize>));
    impl Iterator for Hinting {
        type Item = usize;
        fn next(&mut self) -> Option<usize> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            self.1
        }
    }
    on_each_runtime(|runtime| {
        for n in [0, 1, 7, 1_024, 1_025, 4_000] {
            for hint in [(0, None), (0, Some(usize::MAX)), (n, Some(n))] {
                let ran = counters(n);
                Options::new()
                    .runtime(runtime)
                    .for_each(from_iter(Hinting(0..n, hint)), |i| {
                        ran[i].fetch_add(1, Ordering::SeqCst);
                    });
                assert!(values(&ran).iter().all(|&count| count == 1));
            }
        }
    });
}

#[test]
fn an_unbuffered_item_may_wait_for_the_next_one() {
    on_runtime(2, |runtime| {
        for round in 0..20 {
            let board = Board::new(40);
            let source = from_iter(0..40).unbuffered();
            Options::new().runtime(runtime).for_each(source, |i| {
                busy_micros(round % 2 * 20);
                if i % 2 == 0 {
                    board.wait_for(i + 1);
                }
                board.happens(i);
            });
            board.wait_for_all();
        }
    });
}

#[test]
fn unbuffered_items_may_wait_in_a_chain_and_in_every_kind_of_loop() {
    on_each_runtime(|runtime| {
        let board = Board::new(6);
        let wait_for_next = |board: &Board, i: usize| {
            if i + 1 < 6 {
                board.wait_for(i + 1);
            }
            board.happens(i);
            i
        };
        let options = Options::new().runtime(runtime);
        let source = || from_iter(0..6).unbuffered();
        options.for_each(source(), |i| assert_eq!(wait_for_next(&board, i), i));
        let board = Board::new(6);
        let mapped = options.map(source(), |i| wait_for_next(&board, i));
        assert_eq!(mapped, [0, 1, 2, 3, 4, 5]);
        let board = Board::new(6);
        let sum = options.map_reduce(source(), |i| wait_for_next(&board, i), |a, b| a + b);
        assert_eq!(sum, Some(15));
        let board = Board::new(6);
        let tried = options.try_map(source(), |i| Ok::<_, ()>(wait_for_next(&board, i)));
        assert_eq!(tried.unwrap().len(), 6);
    });
}

#[test]
fn unbuffered_loops_nest_deeper_than_a_slot_can_hold_open() {
    fn nest(depth: u32) -> u32 {
        if depth == 0 {
            return 1;
        }
        let both = parallel::map(from_iter(0..2_u32).unbuffered(), |_| nest(depth - 1));
        assert_eq!(both.len(), 2);
        both.into_iter().sum()
    }
    on_each_runtime(|runtime| runtime.install(|| assert_eq!(nest(10), 1_024)));
}

#[test]
fn an_unbuffered_source_is_never_pulled_ahead_of_its_runners() {
    on_each_runtime(|runtime| {
        for degree in [1, 2, 3] {
            let (pulled, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let ahead_max = AtomicUsize::new(0);
            let numbers = (0..200).inspect(|_| {
                let pulled = pulled.fetch_add(1, Ordering::SeqCst) + 1;
                let ahead = pulled - ran.load(Ordering::SeqCst);
                ahead_max.fetch_max(ahead, Ordering::SeqCst);
            });
            let options = Options::new()
                .runtime(runtime)
                .degree_of_parallelism(degree)
                .unwrap();
            options.for_each(from_iter(numbers).unbuffered(), |_| {
                busy_micros(3);
                ran.fetch_add(1, Ordering::SeqCst);
            });
            assert!(ahead_max.into_inner() <= degree, "degree {degree}");
        }
    });
}

/// Numbers, before some of which a task must run.
fn waiting(count: u32) -> impl Iterator<Item = u32> + Send {
    (0..count).inspect(|n| {
        if n % 20 == 19 {
            task::block_on(task::spawn(async {})).expect("it runs");
        }
    })
}

#[test]
fn an_iterator_may_wait_for_a_task_though_no_thread_can_be_added() {
    on(of_threads(2), |runtime| {
        for source in [
            from_iter(waiting(2_000)),
            from_iter(waiting(2_000)).unbuffered(),
        ] {
            let body = |n| {
                busy_micros(20);
                n
            };
            let numbers = Options::new().runtime(runtime).map(source, body);
            assert!(numbers.into_iter().eq(0..2_000));
        }
    });
}

#[test]
fn threads_do_not_gather_at_an_iterator_that_waits() {
    on_runtime(2, |runtime| {
        let source = from_iter(waiting(2_000)).unbuffered();
        Options::new()
            .runtime(runtime)
            .for_each(source, |_| busy_micros(20));
        let threads = runtime.threads();
        assert!(threads <= 16, "{threads} threads");
    });
}

/// An iterator that notes when it is dropped.
struct Noted {
    left: u32,
    panics_at: u32,
    dropped: Arc<AtomicUsize>,
}

impl Iterator for Noted {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.left == self.panics_at {
            blow("iterator");
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.left)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs `work` with a noted iterator, and checks that it was dropped once by the end.
fn is_dropped<T>(panics_at: u32, work: impl FnOnce(Noted) -> T) -> Vec<String> {
    let dropped = Arc::new(AtomicUsize::new(0));
    let payloads = panics_of(|| {
        work(Noted {
            left: 3_000,
            panics_at,
            dropped: Arc::clone(&dropped),
        });
    });
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    payloads.iter().map(message_of).collect()
}

const NOWHERE: u32 = u32::MAX;

#[test]
fn iterators_are_dropped_once_before_the_loop_returns() {
    on_each_runtime(|runtime| {
        for micros in [0, 2] {
            let options = Options::new().runtime(runtime);
            let body = |_| busy_micros(micros);
            let none: [&str; 0] = [];
            assert_eq!(
                is_dropped(NOWHERE, |i| options.for_each(from_iter(i), body)),
                none
            );
            let slow = |i| options.for_each(from_iter(i).unbuffered(), body);
            assert_eq!(is_dropped(NOWHERE, slow), none);
            assert_eq!(
                is_dropped(NOWHERE, |i| options.map(from_iter(i), body)),
                none
            );
            assert_eq!(
                is_dropped(NOWHERE, |i| from_iter(i)
                    .into_par_query()
                    .runtime(runtime)
                    .max()),
                none
            );
            let sum = |i| {
                from_iter(i)
                    .into_par_query()
                    .runtime(runtime)
                    .deterministic()
                    .sum::<u32>()
            };
            assert_eq!(is_dropped(NOWHERE, sum), none);
            let found = |i| {
                from_iter(i)
                    .into_par_query()
                    .runtime(runtime)
                    .find_any(|&i| i == 2_500)
            };
            assert_eq!(is_dropped(NOWHERE, found), none);
            let stopped = |i| {
                options.for_each_with_control(from_iter(i), |i, control| {
                    if i < 2_000 {
                        control.stop();
                    }
                })
            };
            assert_eq!(is_dropped(NOWHERE, stopped), none);
            let source = TokenSource::new();
            let token = source.token();
            let cancelled = |i| {
                options.cancellation(&token).for_each(from_iter(i), |i| {
                    if i < 2_000 {
                        source.cancel();
                    }
                })
            };
            assert_eq!(is_dropped(NOWHERE, cancelled), none);
        }
    });
}

#[test]
fn iterators_are_dropped_once_when_bodies_panic() {
    on_each_runtime(|runtime| {
        for at in [2_999, 2_998, 2_000, 0] {
            let options = Options::new().runtime(runtime);
            let body = |i| {
                busy_micros(1);
                if i == at {
                    blow("body");
                }
            };
            assert_eq!(
                is_dropped(NOWHERE, |i| options.for_each(from_iter(i), body)),
                ["body"]
            );
            let unbuffered = |i| options.for_each(from_iter(i).unbuffered(), body);
            assert_eq!(is_dropped(NOWHERE, unbuffered), ["body"]);
            assert_eq!(
                is_dropped(NOWHERE, |i| options.map(from_iter(i), body)),
                ["body"]
            );
        }
    });
}

#[test]
fn a_panic_of_the_iterator_is_one_panic_of_the_loop() {
    on_each_runtime(|runtime| {
        for at in [3_000, 2_999, 2_500, 1] {
            let options = Options::new().runtime(runtime);
            let (ran, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            let body = |i| {
                busy_micros(1);
                ran.fetch_add(1, Ordering::SeqCst);
                seen.lock().unwrap().push(i);
            };
            assert_eq!(
                is_dropped(at, |i| options.for_each(from_iter(i), body)),
                ["iterator"]
            );
            let unbuffered = |i| options.for_each(from_iter(i).unbuffered(), body);
            assert_eq!(is_dropped(at, unbuffered), ["iterator"]);
            assert_eq!(
                is_dropped(at, |i| options.map(from_iter(i), body)),
                ["iterator"]
            );
            let sum = |i| {
                from_iter(i)
                    .into_par_query()
                    .runtime(runtime)
                    .deterministic()
                    .sum::<u32>()
            };
            assert_eq!(is_dropped(at, sum), ["iterator"]);
            assert!(seen.into_inner().unwrap().into_iter().all(|i| i >= at));
        }
    });
}

/// Promise 18, that what cannot be shared out is refused, is kept by the compiler: see the doctests of
/// [`parallel::Source`]. This is its other half.
#[test]
fn what_can_be_sent_can_be_shared_out_even_if_it_cannot_be_shared() {
    fn double<S: parallel::Source<Item = u32>>(options: &Options<'_>, source: S) -> u32 {
        options
            .map_reduce(source, |n| n * 2, |a, b| a + b)
            .unwrap_or(0)
    }
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        // A `Cell` can be sent but not shared: by value and by mutable reference it will do.
        let cells: Vec<_> = (0..100).map(std::cell::Cell::new).collect();
        let sum = options.map_reduce(cells.clone(), |cell| cell.get(), |a, b| a + b);
        assert_eq!(sum, Some(4_950));
        let mut cells = cells;
        options.for_each(&mut cells, |cell| cell.set(1));
        assert!(cells.iter().all(|cell| cell.get() == 1));
        let (sender, receiver) = std::sync::mpsc::channel();
        (0..10).for_each(|n| sender.send(n).unwrap());
        drop(sender);
        assert_eq!(double(&options, from_iter(receiver.into_iter())), 90);
        assert_eq!(double(&options, 0..10_u32), 90);
        assert_eq!(double(&options, vec![1, 2, 3]), 12);
        assert_eq!(double(&options, [1, 2, 3]), 12);
    });
}
