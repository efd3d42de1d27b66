//! Queries as iterators and streams: first items early, little memory, dropped early.

use crate::support::{Ledger, blow, panics, wait_until, within_limit};
use futures::StreamExt as _;
use manyhands::query::{Merge, prelude::*};
use manyhands::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LEN: usize = 1_000_000;

#[test]
fn p36_first_items_come_before_the_last_are_made() {
    within_limit(|| {
        let made = AtomicUsize::new(0);
        let count = |n: usize| {
            made.fetch_add(1, Ordering::Relaxed);
            n
        };
        let mut items = (0..LEN).into_par_query().map(count).into_iter();
        assert_eq!(items.next(), Some(0));
        assert!(made.load(Ordering::Relaxed) < LEN / 10);
        assert!(items.eq(1..LEN));
        made.store(0, Ordering::Relaxed);
        let mut all = (0..1000)
            .into_par_query()
            .map(count)
            .merge(Merge::FullyBuffered)
            .into_iter();
        assert_eq!(all.next(), Some(0));
        assert_eq!(made.into_inner(), 1000);
    });
}

#[test]
fn p36_a_source_is_not_read_after_a_panic() {
    within_limit(|| {
        let read = AtomicUsize::new(0);
        let source = (0..LEN).inspect(|_| {
            read.fetch_add(1, Ordering::Relaxed);
        });
        let mut items = source
            .parallel()
            .map(|n| if n == 100 { blow() } else { n })
            .into_iter();
        assert!(panics(|| while items.next().is_some() {}));
        let before = read.load(Ordering::Relaxed);
        assert!(items.next().is_none());
        assert_eq!(read.load(Ordering::Relaxed), before);
        assert!(before < LEN / 10);
    });
}

#[test]
fn p40_dropping_a_stream_early_ends_its_producer() {
    within_limit(|| {
        let ledger = Arc::new(Ledger::default());
        let making = Arc::clone(&ledger);
        let (made, alive) = (Arc::new(AtomicUsize::new(0)), Arc::new(()));
        let (counting, held) = (Arc::clone(&made), Arc::clone(&alive));
        let query = (0..LEN).into_par_query().map(move |n| {
            let _held = &held;
            counting.fetch_add(1, Ordering::Relaxed);
            making.make(i32::try_from(n).expect("a million at most"))
        });
        let mut stream = query.stream().into_iter();
        for number in 0..500 {
            assert_eq!(stream.next().unwrap().number, number);
        }
        drop(stream);
        wait_until("the producer's end", || Arc::strong_count(&alive) == 1);
        ledger.assert_settled("items of a stream");
        assert!(made.load(Ordering::Relaxed) < LEN);
    });
}

#[test]
fn p36_a_stream_gives_every_item_in_order_to_threads_and_to_async_code() {
    within_limit(|| {
        let query = || (0..LEN).into_par_query().filter(|n| n % 3 == 0);
        assert!(
            query()
                .stream()
                .into_iter()
                .eq((0..LEN).filter(|n| n % 3 == 0))
        );
        let sum = task::block_on(async { query().stream().fold(0, async |sum, n| sum + n).await });
        assert_eq!(sum, (0..LEN).filter(|n| n % 3 == 0).sum());
    });
}

#[test]
fn p36_a_panic_of_the_producer_comes_through_the_stream() {
    within_limit(|| {
        let mut stream = (0..1000)
            .into_par_query()
            .map(|n| if n == 500 { blow() } else { n })
            .stream()
            .into_iter();
        assert!(panics(|| while stream.next().is_some() {}));
        assert!(stream.next().is_none());
    });
}

#[test]
fn streaming_keeps_few_items_in_memory() {
    within_limit(|| {
        let (alive, highest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        struct Alive<'a>(&'a AtomicUsize);
        impl Drop for Alive<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let items = (0..LEN).into_par_query().map(|_| {
            highest.fetch_max(alive.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            Alive(&alive)
        });
        assert_eq!(items.into_iter().count(), LEN);
        assert!(highest.into_inner() <= 1 << 16);
    });
}

#[test]
fn sequential_and_parallel_switch_in_mid_chain() {
    within_limit(|| {
        let sums = (0..5000_u64)
            .into_par_query()
            .filter(|n| n % 2 == 0)
            .sequential()
            .scan(0, |sum, n| {
                *sum += n;
                Some(*sum)
            });
        let found = sums.parallel().map(|sum| sum * 2).to_vec();
        let twin = (0..5000).filter(|n| n % 2 == 0).scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        });
        assert!(found.into_iter().eq(twin.map(|sum| sum * 2)));
    });
}

#[test]
fn bodies_that_are_futures_run_over_a_query_in_order_or_as_they_end() {
    within_limit(|| {
        let query = || (0..300_u32).into_par_query().filter(|n| n % 3 == 0);
        let body = |n: u32| async move {
            for _ in 0..n % 7 {
                task::yield_now().await;
            }
            n + 1
        };
        let twin: Vec<u32> = (0..300).filter(|n| n % 3 == 0).map(|n| n + 1).collect();
        let ordered = query().degree_of_parallelism(8).map_async(body);
        assert_eq!(task::block_on(ordered.collect::<Vec<_>>()), twin);
        let mut unordered: Vec<u32> = task::block_on(query().unordered().map_async(body).collect());
        unordered.sort_unstable();
        assert_eq!(unordered, twin);
    });
}
