//! Queries as iterators and streams: first items early, little memory, dropped early.

use crate::support::{Ledger, blow, few_settings, panics, wait_until, within_limit};
use futures::StreamExt as _;
use manyhands::query::{self, ExecutionMode, Merge, prelude::*};
use manyhands::{Runtime, cancel, parallel, task};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

const LEN: usize = 1_000_000;

#[test]
fn first_items_come_before_the_last_are_made() {
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
fn a_source_may_wait_for_what_an_unbuffered_query_gives() {
    const PAGES: u32 = 20;
    within_limit(|| {
        for setting in few_settings() {
            let crawl = || {
                let (found, pages) = mpsc::channel();
                found.send(0).unwrap();
                let query = parallel::from_iter(pages)
                    .into_par_query()
                    .runtime(setting.runtime());
                let query = query.execution_mode(ExecutionMode::Parallel);
                let query = query.merge(Merge::NotBuffered);
                (query, Some(found))
            };
            let follow = |page: u32, found: &mut Option<mpsc::Sender<u32>>| {
                if page < PAGES {
                    found.as_ref().unwrap().send(page + 1).unwrap();
                } else {
                    *found = None;
                }
                page
            };
            let all: Vec<_> = (0..=PAGES).collect();
            let (query, mut found) = crawl();
            let pages: Vec<_> = query
                .into_iter()
                .map(|page| follow(page, &mut found))
                .collect();
            assert_eq!(pages, all, "into_iter: {setting:?}");
            let (query, mut found) = crawl();
            let pages: Vec<_> =
                query.with_iter(|pages| pages.map(|page| follow(page, &mut found)).collect());
            assert_eq!(pages, all, "with_iter: {setting:?}");
            let (query, mut found) = crawl();
            let stream = query.stream().into_iter();
            let pages: Vec<_> = stream.map(|page| follow(page, &mut found)).collect();
            assert_eq!(pages, all, "stream: {setting:?}");
        }
    });
}

#[test]
fn a_source_is_not_read_after_a_panic() {
    within_limit(|| {
        let read = AtomicUsize::new(0);
        let source = (0..LEN).inspect(|_| {
            read.fetch_add(1, Ordering::Relaxed);
        });
        let mut items = parallel::from_iter(source)
            .into_par_query()
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
fn dropping_a_stream_early_ends_its_producer() {
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
fn a_stream_gives_every_item_in_order_to_threads_and_to_async_code() {
    within_limit(|| {
        let query = || (0..LEN).into_par_query().filter(|n| n % 3 == 0);
        assert!(
            query()
                .stream()
                .into_iter()
                .eq((0..LEN).filter(|n| n % 3 == 0))
        );
        let sum = task::block_on(async { query().stream().fold(0, async |sum, n| sum + n).await });
        assert_eq!(sum, (0..LEN).filter(|n| n % 3 == 0).sum::<usize>());
    });
}

#[test]
fn a_panic_of_the_producer_comes_through_the_stream() {
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
        assert!(highest.load(Ordering::Relaxed) <= 1 << 16);
        highest.store(0, Ordering::Relaxed);
        let items = (0..LEN / 10).into_par_query().map(|n| {
            if n % 100 == 0 {
                work(n);
            }
            highest.fetch_max(alive.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            Alive(&alive)
        });
        assert_eq!(items.with_iter(|items| items.count()), LEN / 10);
        assert!(highest.into_inner() <= 2 << 16);
    });
}

/// Works for long enough that the next step is worth handing over.
fn work(n: usize) -> usize {
    (0..40_000).fold(n, |n, _| std::hint::black_box(n))
}

#[test]
fn workers_run_ahead_while_the_caller_works_on_items() {
    within_limit(|| {
        for (merge, first_step) in [(Merge::NotBuffered, 1), (Merge::Auto, 64)] {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let made = AtomicUsize::new(0);
            let query = (0..10_000).into_par_query().runtime(&runtime).merge(merge);
            let query = query.map(|n| {
                made.fetch_add(1, Ordering::SeqCst);
                work(n)
            });
            query.with_iter(|mut items| {
                assert_eq!(items.next(), Some(0));
                // No item is requested meanwhile.
                let made = || made.load(Ordering::SeqCst);
                wait_until("items made ahead", || made() > first_step);
                assert!(items.by_ref().take(99).eq(1..100));
            });
            assert!(made.into_inner() < 10_000);
        }
    });
}

#[test]
fn an_iterator_that_runs_ahead_needs_only_one_worker() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let query = || (0..2_000).into_par_query().map(work).filter(|n| n % 3 == 0);
        let twin = || (0..2_000).filter(|n| n % 3 == 0);
        runtime.install(|| query().with_iter(|items| assert!(items.eq(twin()))));
        query()
            .runtime(&runtime)
            .with_iter(|items| assert!(items.eq(twin())));
        let nested: usize = runtime.install(|| {
            query().with_iter(|items| {
                items
                    .take(3)
                    .map(|n| query().with_iter(|i| i.count() + n))
                    .sum()
            })
        });
        assert_eq!(nested, 3 * twin().count() + 9);
    });
}

#[test]
fn dropping_an_iterator_early_ends_the_workers_that_run_ahead() {
    within_limit(|| {
        let ledger = Arc::new(Ledger::default());
        let made = AtomicUsize::new(0);
        let query = || {
            (0..LEN).into_par_query().map(|n| {
                made.fetch_add(1, Ordering::Relaxed);
                work(n);
                ledger.make(i32::try_from(n).expect("a million at most"))
            })
        };
        query().with_iter(|items| {
            for (item, number) in items.take(500).zip(0..) {
                assert_eq!(item.number, number);
            }
        });
        ledger.assert_settled("items dropped early");
        assert!(panics(|| query().with_iter(|items| {
            if items.take(300).count() == 300 {
                blow()
            }
        })));
        ledger.assert_settled("items of a caller that panicked");
        assert!(made.into_inner() < LEN);
    });
}

#[test]
fn a_panic_reaches_the_iterating_thread_at_its_item() {
    within_limit(|| {
        let query = || {
            let numbers = (0..10_000).into_par_query();
            numbers.map(|n| if n == 9_000 { blow() } else { work(n) })
        };
        query().with_iter(|mut items| {
            assert!(items.by_ref().take(500).eq(0..500));
            assert!(panics(|| while items.next().is_some() {}));
            assert!(items.next().is_none());
        });
        let first = query().with_iter(|mut items| items.next());
        assert_eq!(first, Some(0));
        // One step makes few items, when the first is requested. Runners that share it leave items out
        // when another's panics.
        for (len, degree) in [
            (1, 1),
            (63, 1),
            (64, 1),
            (65, 1),
            (1, 2),
            (63, 2),
            (64, 2),
            (65, 2),
        ] {
            let asked = AtomicUsize::new(0);
            let numbers = (0..len).into_par_query().map(|n| {
                asked.fetch_add(1, Ordering::Relaxed);
                if n == len - 1 { blow() } else { n }
            });
            let numbers = numbers.degree_of_parallelism(degree).unwrap();
            numbers.with_iter(|mut items| {
                assert_eq!(asked.load(Ordering::Relaxed), 0);
                assert!(panics(|| while items.next().is_some() {}));
                assert!(items.next().is_none());
            });
            let asked = asked.into_inner();
            assert!(asked == len || degree > 1 && (1..len).contains(&asked));
        }
    });
}

#[test]
fn a_cancelled_query_ends_its_iterator_with_the_error() {
    within_limit(|| {
        let source = cancel::TokenSource::new();
        let token = source.token();
        let query = || (0..LEN).into_par_query().map(work).cancellation(&token);
        let mut iter = query().into_iter();
        assert!(matches!(iter.next(), Some(Ok(0))));
        let items: Vec<_> = query().with_iter(|mut items| {
            assert!(matches!(items.next(), Some(Ok(0))));
            source.cancel();
            items.collect()
        });
        assert!(matches!(iter.next(), Some(Err(_))) && iter.next().is_none());
        assert!(items.len() == 1 && items[0].is_err());
    });
}

/// The most memory this process has had, in bytes.
#[cfg(target_os = "linux")]
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let words = status.split_whitespace();
    let kilobytes = words.skip_while(|word| *word != "VmHWM:").nth(1);
    let kilobytes = kilobytes.and_then(|text| text.parse::<usize>().ok());
    kilobytes.expect("the line has a number") * 1024
}

/// `cargo test --release -p manyhands --test query -- --ignored --nocapture hundred_million`
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "the measured memory is its result")]
#[ignore = "makes three hundred million items, and wants the process for itself"]
fn streaming_a_hundred_million_ordered_items_stays_below_64_megabytes() {
    const ITEMS: u64 = 100_000_000;
    const BYTES_MAX: usize = 64 << 20;
    within_limit(|| {
        let query = || {
            (0..2 * ITEMS)
                .into_par_query()
                .filter(|n| n % 2 == 0)
                .map(|n| n / 2)
        };
        let check = |way: &str, items: &mut dyn Iterator<Item = u64>| {
            let in_order = items.eq(0..ITEMS);
            let bytes = peak_bytes();
            println!("{way}: at most {:.1} MB", bytes as f64 / 1e6);
            assert!(in_order && bytes < BYTES_MAX, "{way}: {bytes} bytes");
        };
        check("into_iter", &mut query().into_iter());
        check("stream", &mut query().stream().into_iter());
        query().with_iter(|mut items| check("with_iter", &mut items));
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
        let found = parallel::from_iter(sums)
            .into_par_query()
            .map(|sum| sum * 2)
            .to_vec();
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
        let ordered = query().degree_of_parallelism(8).unwrap().map_async(body);
        assert_eq!(task::block_on(ordered.collect::<Vec<_>>()), twin);
        let mut unordered: Vec<u32> = task::block_on(query().unordered().map_async(body).collect());
        unordered.sort_unstable();
        assert_eq!(unordered, twin);
    });
}

#[test]
fn a_stream_is_made_on_the_runtime_that_the_query_names() {
    within_limit(|| {
        let builder = Runtime::builder().workers(2);
        let builder = builder.thread_name(|index| format!("named-{index}"));
        let named: &'static Runtime = Box::leak(Box::new(builder.build().unwrap()));
        let here = |_| thread::current().name().unwrap_or_default().to_owned();
        let names = (0..1_000).into_par_query().map(here).runtime(named);
        let names: BTreeSet<String> = names.stream().into_iter().collect();
        let is_right = |name: &String| name.starts_with("named-");
        assert!(names.iter().all(is_right), "{names:?}");
    });
}

#[test]
fn a_stream_that_nobody_reads_keeps_no_runtime_from_ending() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let stream = runtime.install(|| (0..LEN).into_par_query().stream());
        let mut items = stream.into_iter();
        assert_eq!(items.next(), Some(0));
        drop(runtime);
        assert!(panics(|| while items.next().is_some() {}));
    });
}

#[test]
fn a_stream_of_which_no_item_ever_comes_keeps_no_runtime_from_ending() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let of_query =
            runtime.install(|| (0..u64::MAX).into_par_query().filter(|_| false).stream());
        let source = query::from_stream(futures::stream::repeat(0));
        let of_stream = runtime.install(|| source.filter(|_| false).stream());
        runtime.install(|| task::spawn(async {})).join().unwrap();
        drop(runtime);
        assert!(panics(|| _ = of_query.into_iter().next()));
        assert!(panics(|| _ = of_stream.into_iter().next()));
    });
}
