//! Loops over iterators whose items are long, or become so: other threads run the rest meanwhile.
//!
//! Items wait for what only another thread can bring, so a loop that keeps its items on one thread meets a deadline.

use crate::support::{
    WORKERS, busy_micros, holds_within, message_of, on_runtime, panics_of, random_below, wait_until,
};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options, from_iter};
use manyhands::query::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// The threads that have begun a long item.
#[derive(Default)]
struct Threads(Mutex<HashSet<ThreadId>>);

impl Threads {
    /// A long item, which is over when two threads have begun one.
    fn meet(&self) {
        self.begin();
        wait_until("another thread begins an item", || self.are_several());
    }

    /// A long item, which goes on until another thread begins one, or for a while: those behind it cannot be taken before.
    fn wait_a_while(&self) {
        self.begin();
        let (limit, several) = (Duration::from_millis(200), || self.are_several());
        holds_within(limit, several);
    }

    fn are_several(&self) -> bool {
        self.0.lock().unwrap().len() > 1
    }

    fn begin(&self) {
        self.0.lock().unwrap().insert(thread::current().id());
    }
}

/// Runs `call` from outside and on a worker.
fn everywhere(call: impl Fn() + Send + Sync + 'static) {
    on_runtime(3, move |runtime| {
        runtime.install(&call);
        runtime.install(|| manyhands::scope(|scope| scope.spawn(|_| call())));
    });
}

#[test]
fn the_rest_is_run_while_the_first_item_goes_on() {
    everywhere(|| {
        let threads = Threads::default();
        parallel::for_each(from_iter(0..2), |_| threads.meet());
        let threads = Threads::default();
        let set: BTreeSet<usize> = (0..9).collect();
        let mapped = parallel::map(&set, |&n| (threads.meet(), n).1);
        assert_eq!(mapped, (0..9).collect::<Vec<_>>());
        let threads = Threads::default();
        let four = Options::new().degree_of_parallelism(4).unwrap();
        let texts = from_iter((0..9).map(|n: usize| n.to_string()));
        let joined = four.map_reduce(
            texts,
            |text| (threads.meet(), text).1,
            |left, right| left + &right,
        );
        assert_eq!(joined.as_deref(), Some("012345678"));
        let threads = Threads::default();
        let found = query_over(0..9).find(|&n| (threads.meet(), n == 5).1);
        assert_eq!(found, Some(5));
    });
}

fn query_over<I: Iterator<Item: Send> + Send>(
    items: I,
) -> manyhands::query::Query<'static, impl manyhands::query::Pipeline<Item = I::Item>> {
    from_iter(items).into_par_query()
}

#[test]
fn items_that_become_long_go_to_other_threads() {
    everywhere(|| {
        // The caller is alone with a block of the short ones; several runners have chunks of them.
        for (short, micros) in [(100, 0), (50_000, 0), (300, 1), (20_000, 1), (100, 20)] {
            // A part of a block of trivial ones is run to its end.
            for long in [if micros == 0 { 40 } else { 3 }, 200] {
                let threads = Threads::default();
                let mapped = parallel::map(from_iter(0..short + long), |n| {
                    if n >= short {
                        threads.wait_a_while();
                    } else if micros > 0 {
                        busy_micros(micros);
                    }
                    n
                });
                assert_eq!(mapped, (0..short + long).collect::<Vec<_>>());
                assert!(threads.are_several(), "{short} {micros} {long}");
            }
        }
    });
}

/// Counts how many of it are there.
struct Counted<'a>(usize, &'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(number: usize, alive: &'a AtomicUsize) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(number, alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_first_item_that_panics_while_others_run_loses_neither_panics_nor_items() {
    everywhere(|| {
        let (alive, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items = from_iter((0..100).map(|number| Counted::new(number, &alive)));
        let panics = panics_of(|| {
            parallel::for_each(items, |item| {
                begun.fetch_add(1, Ordering::SeqCst);
                wait_until("another item begins", || begun.load(Ordering::SeqCst) > 1);
                assert!(item.0 > 1, "{}", item.0);
            });
        });
        let mut messages: Vec<_> = panics.iter().map(message_of).collect();
        messages.sort();
        assert_eq!(messages, ["0", "1"]);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn no_more_items_begin_when_the_first_one_has_panicked() {
    everywhere(|| {
        let begun = AtomicUsize::new(0);
        let panics = panics_of(|| {
            parallel::for_each(from_iter(0..), |number: u64| {
                begun.fetch_add(1, Ordering::SeqCst);
                wait_until("another item begins", || begun.load(Ordering::SeqCst) > 1);
                assert!(number > 0, "the first");
            });
        });
        let messages: Vec<_> = panics.iter().map(message_of).collect();
        assert_eq!(messages, ["the first"]);
    });
}

/// Counts the calls of `next` behind the end.
struct Unfused<'a>(Option<Range<usize>>, &'a AtomicUsize);

impl Iterator for Unfused<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Some(numbers) = &mut self.0 else {
            self.1.fetch_add(1, Ordering::SeqCst);
            return None;
        };
        let next = numbers.next();
        if next.is_none() {
            self.0 = None;
        }
        next
    }
}

#[test]
fn an_iterator_that_has_ended_is_not_asked_again_however_long_its_last_items_are() {
    everywhere(|| {
        let run = |len: usize, long: usize| {
            let late = AtomicUsize::new(0);
            let mapped = parallel::map(from_iter(Unfused(Some(0..len), &late)), |number| {
                if number + long >= len {
                    busy_micros(4_000 / long as u64);
                }
                number
            });
            assert_eq!(mapped, (0..len).collect::<Vec<_>>());
            assert_eq!(late.load(Ordering::SeqCst), 0, "{len}, {long} of them long");
        };
        for round in 0..40 {
            // After a short call the next one begins alone.
            run(2, 0);
            run(300 + 97 * round, 1 + round % 3);
        }
    });
}

/// What stays the same however the items are spread over threads.
#[test]
fn random_loops_with_items_of_all_lengths_give_what_iterators_give() {
    let kinds = WORKERS.iter().cycle().zip([3, 40, 3_000].iter().cycle());
    for (seed, (&workers, &len_max)) in (0..60_u64).zip(kinds) {
        on_runtime(workers, move |runtime| {
            let _entered = runtime.enter();
            let draw = |place: u64, limit: u64| random_below(seed * 1_000 + place, limit);
            let small = |number: u64| usize::try_from(number).unwrap();
            let len = small(draw(0, len_max));
            let (one_in, degree) = (1 + draw(1, 200), small(draw(2, 6)));
            let long = |n: usize| {
                if random_below(seed ^ n as u64, one_in) == 0 {
                    busy_micros(random_below(n as u64, 1_500));
                }
                n
            };
            let mut options = Options::new();
            if degree > 0 {
                options = options.degree_of_parallelism(degree).unwrap();
            }
            let alive = AtomicUsize::new(0);
            let items = || from_iter((0..len).map(|number| Counted::new(number, &alive)));
            let mapped = options.map(items(), |item| long(item.0));
            assert_eq!(mapped, (0..len).collect::<Vec<_>>(), "{seed}");
            let text = |n: usize| format!("{n} ");
            let joined = options.map_reduce(
                items(),
                |item| text(long(item.0)),
                |left, right| left + &right,
            );
            let expected: String = (0..len).map(text).collect();
            assert_eq!(joined.unwrap_or_default(), expected, "{seed}");
            let wanted = len / 2;
            let found = query_over(0..len).find(|&n| long(n) >= wanted);
            assert_eq!(found, (0..len).find(|&n| n >= wanted), "{seed}");
            let taken = query_over(0..len).filter(|&n| long(n) % 3 > 0).take(wanted);
            let expected = (0..len).filter(|n| n % 3 > 0).take(wanted);
            assert_eq!(taken.to_vec(), expected.collect::<Vec<_>>(), "{seed}");
            let source = TokenSource::new();
            let token = source.token();
            let ran = AtomicUsize::new(0);
            let cancelled = options.cancellation(&token).for_each(items(), |item| {
                ran.fetch_add(1, Ordering::SeqCst);
                if long(item.0) == wanted {
                    source.cancel();
                }
            });
            let ran = ran.load(Ordering::SeqCst);
            assert!(cancelled.is_err() == (len > 0) && ran <= len, "{seed}");
            assert_eq!(alive.load(Ordering::SeqCst), 0, "{seed}");
        });
    }
}
