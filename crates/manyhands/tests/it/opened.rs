//! Calls at places whose calls were short until now, which take long: the monitor opens them to other threads.
//!
//! Their items wait for what only another thread can bring, so a call that stays on its thread meets a deadline. How long such
//! calls take is printed, not asserted: `cargo test --release -p manyhands --test it opened::table -- --ignored --nocapture`.

use crate::support::{
    Board, Deadline, blow, busy_micros, message_of, of_threads, panics_of, random_below, wait_until,
};
use crate::which_runtime::{named, thread_name};
use manyhands::query::prelude::*;
use manyhands::{Runtime, parallel, task};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The threads that run a call.
#[derive(Default)]
struct Threads {
    /// Items are short.
    is_short: AtomicBool,
    seen: Mutex<HashMap<ThreadId, String>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Threads {
    /// An item, which is over when as many threads as wanted have begun one.
    fn item(&self, wanted: usize) {
        if self.is_short.load(Ordering::SeqCst) {
            return;
        }
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.seen
            .lock()
            .unwrap()
            .insert(thread::current().id(), thread_name());
        wait_until("another thread begins an item", || {
            self.seen.lock().unwrap().len() >= wanted
        });
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    /// Makes calls of short items, until their place is known for that, and then one of long items.
    fn after_short_ones(&self, call: impl Fn(&Self)) {
        self.is_short.store(true, Ordering::SeqCst);
        (0..100).for_each(|_| call(self));
        self.is_short.store(false, Ordering::SeqCst);
        call(self);
    }
}

/// Runs `call` on a pool, from outside and on one of its workers.
fn everywhere(call: impl Fn() + Sync) {
    let runtime = Runtime::builder().workers(3).build().unwrap();
    runtime.install(&call);
    runtime.install(|| {
        manyhands::scope(|scope| scope.spawn(|_| call()));
    });
}

#[test]
fn a_loop_whose_calls_were_short_is_opened_while_its_first_item_runs() {
    everywhere(|| {
        Threads::default().after_short_ones(|threads| {
            parallel::for_each(0..16, |_| threads.item(2));
        });
        Threads::default().after_short_ones(|threads| {
            let items = parallel::map(&[0; 16], |_| threads.item(2));
            assert_eq!(items.len(), 16);
        });
        Threads::default().after_short_ones(|threads| {
            let found = (0..16).into_par_query().find(|i| {
                threads.item(2);
                *i == 15
            });
            assert_eq!(found, Some(15));
        });
        Threads::default().after_short_ones(|threads| {
            let sum: u64 = (0..16_u64)
                .into_par_query()
                .map(|i| {
                    threads.item(2);
                    i
                })
                .sum();
            assert_eq!(sum, 120);
        });
    });
}

#[test]
fn panics_of_the_caller_and_of_others_are_all_handed_on() {
    everywhere(|| {
        let thrown = AtomicUsize::new(0);
        let payloads = Mutex::new(Vec::new());
        Threads::default().after_short_ones(|threads| {
            let call = || {
                parallel::for_each(0..16, |i| {
                    threads.item(2);
                    if !threads.is_short.load(Ordering::SeqCst) {
                        thrown.fetch_add(1, Ordering::SeqCst);
                        blow(i)
                    }
                });
            };
            *payloads.lock().unwrap() = panics_of(call);
        });
        let mut items: Vec<i32> = payloads
            .into_inner()
            .unwrap()
            .into_iter()
            .map(|it| *it.downcast().unwrap())
            .collect();
        assert!(items.len() >= 2 && items.len() == thrown.into_inner());
        items.sort_unstable();
        assert_eq!(items[0], 0, "that of the caller");
    });
}

#[test]
fn a_panic_of_the_caller_is_seen_by_the_bodies_that_others_run() {
    everywhere(|| {
        let is_opened = AtomicBool::new(false);
        let panics = panics_of(|| {
            parallel::Options::new().for_each_with_control(0..2, |i, control| {
                if i == 0 {
                    wait_until("another thread begins", || is_opened.load(Ordering::SeqCst));
                    blow("the first");
                }
                is_opened.store(true, Ordering::SeqCst);
                let is_seen = || control.is_exceptional() && control.should_exit();
                wait_until("the panic of the caller", is_seen);
            });
        });
        let messages: Vec<_> = panics.iter().map(message_of).collect();
        assert_eq!(messages, ["the first"]);
    });
}

#[test]
fn a_loop_that_may_have_four_runners_is_opened_to_four() {
    everywhere(|| {
        let threads = Threads::default();
        threads.after_short_ones(|threads| {
            parallel::Options::new()
                .degree_of_parallelism(4)
                .unwrap()
                .for_each(0..64, |_| threads.item(2));
        });
        let most = threads.most.load(Ordering::SeqCst);
        assert!((2..=4).contains(&most), "{most}");
    });
}

#[test]
fn a_loop_that_may_have_two_runners_is_opened_at_its_next_item() {
    everywhere(|| {
        let threads = Threads::default();
        threads.after_short_ones(|threads| {
            parallel::Options::new()
                .degree_of_parallelism(2)
                .unwrap()
                .for_each(0..64, |_| {
                    if threads.is_short.load(Ordering::SeqCst) {
                        return;
                    }
                    let now = threads.now.fetch_add(1, Ordering::SeqCst) + 1;
                    threads.most.fetch_max(now, Ordering::SeqCst);
                    // An item is long, and cannot wait for another one: that begins when this one has ended. Any item may be
                    // the first that the monitor sees.
                    let long = Deadline::after(Duration::from_millis(20));
                    while threads.most.load(Ordering::SeqCst) < 2 && !long.has_passed() {
                        thread::yield_now();
                    }
                    threads.now.fetch_sub(1, Ordering::SeqCst);
                });
        });
        assert_eq!(threads.most.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn the_outer_and_the_inner_call_are_opened() {
    everywhere(|| {
        let (outer, inner) = (Threads::default(), Threads::default());
        outer.after_short_ones(|outer| {
            parallel::for_each(0..4, |_| {
                outer.item(2);
                if !outer.is_short.load(Ordering::SeqCst) {
                    inner.after_short_ones(|inner| {
                        parallel::for_each(0..4, |_| inner.item(2));
                    });
                }
            });
        });
    });
}

/// That a call was run by its caller and threads of the runtime of this name only.
fn assert_only(name: &str, threads: &Threads) {
    let mut seen = threads.seen.lock().unwrap().clone();
    seen.remove(&thread::current().id());
    let is_named = |found: &String| found.starts_with(name);
    assert!(seen.values().all(is_named), "{seen:?}");
}

#[test]
fn a_call_is_opened_where_it_began_while_a_body_is_in_another_runtime() {
    type Way<'pool> = &'pool (dyn Fn(&dyn Fn()) + Sync);
    let (one, two) = (named("one", 2), named("two", 2));
    let ways: [Way<'_>; 3] = [
        &|body| two.install(body),
        &|body| two.install(|| task::block_on(async { body() })),
        &|body| {
            // It ends with the body.
            let three = named("three", 1);
            let _entered = three.enter();
            body();
        },
    ];
    for way in ways {
        one.install(|| {
            Threads::default().after_short_ones(|threads| {
                parallel::for_each(0..16, |_| {
                    if !threads.is_short.load(Ordering::SeqCst) {
                        way(&|| threads.item(2));
                    }
                });
                assert_only("one", threads);
            });
        });
    }
}

#[test]
fn nested_calls_in_two_runtimes_are_opened_each_where_it_began() {
    /// A call whose first item goes inside, and whose others are to be run by others meanwhile.
    fn call(threads: &Threads, inside: &(dyn Fn() + Sync)) {
        threads.after_short_ones(|threads| {
            parallel::for_each(0..4, |i| {
                if i > 0 {
                    threads.item(1);
                } else if !threads.is_short.load(Ordering::SeqCst) {
                    inside();
                }
            });
        });
    }
    let (one, two) = (named("one", 2), named("two", 2));
    let [outer, middle, inner] = [(); 3].map(|()| Threads::default());
    let all = || {
        wait_until("others run each call", || {
            let is_opened = |threads: &&Threads| !threads.seen.lock().unwrap().is_empty();
            [&outer, &middle, &inner].iter().all(is_opened)
        });
    };
    let in_inner = || one.install(|| call(&inner, &all));
    let in_middle = || two.install(|| call(&middle, &in_inner));
    one.install(|| call(&outer, &in_middle));
    assert_only("one", &outer);
    assert_only("two", &middle);
    assert_only("one", &inner);
}

/// An item that is to be dropped once.
struct Item<'a>(&'a AtomicUsize, usize);

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn where_the_first_item_of_an_iterator_was_long_all_begin_together() {
    let both = Board::new(2);
    of_threads(2).install(|| {
        for was_long in [false, true] {
            parallel::for_each(parallel::from_iter(0..2), |item| {
                if !was_long {
                    return busy_micros(20_000);
                }
                both.happens(item);
                both.wait_for_all();
            });
        }
    });
}

#[test]
fn behind_a_long_first_item_of_an_iterator_the_next_ones_run_together() {
    let both = Board::new(2);
    of_threads(2).install(|| {
        parallel::for_each(parallel::from_iter(0..3), |item| {
            if item == 0 {
                return busy_micros(20_000);
            }
            both.happens(item - 1);
            both.wait_for_all();
        });
    });
}

/// A call of 64 items after short ones, in which the item of this number panics when two threads run. Returns how many
/// bodies were begun.
fn panics_at(number: usize) -> usize {
    let threads = Threads::default();
    let begun = AtomicUsize::new(0);
    let dropped = AtomicUsize::new(0);
    let mut made = 0;
    let call = |threads: &Threads| {
        let items: Vec<_> = (0..64).map(|number| Item(&dropped, number)).collect();
        parallel::for_each(items, |item| {
            threads.item(2);
            begun.fetch_add(1, Ordering::SeqCst);
            assert!(
                item.1 != number || threads.is_short.load(Ordering::SeqCst),
                "this item"
            );
        });
    };
    let caught = catch_unwind(AssertUnwindSafe(|| threads.after_short_ones(call)));
    let payload = caught.expect_err("a body has panicked");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"this item"));
    made += 101 * 64;
    assert_eq!(dropped.load(Ordering::SeqCst), made, "each item once");
    begun.load(Ordering::SeqCst) - 100 * 64
}

#[test]
fn a_panic_of_the_caller_or_of_a_helper_ends_a_call_that_was_opened() {
    everywhere(|| {
        for number in [0, 1, 40, 63] {
            assert!(panics_at(number) >= 1);
        }
    });
}

#[test]
fn an_opened_call_ends_where_it_is_stopped_or_cancelled() {
    everywhere(|| {
        let threads = Threads::default();
        threads.after_short_ones(|threads| {
            let outcome =
                parallel::Options::new().for_each_with_control(0..1_000_000_u64, |i, control| {
                    if i < 2 && !threads.is_short.load(Ordering::SeqCst) {
                        threads.item(1);
                    }
                    if i == 1 {
                        control.stop();
                    }
                });
            assert!(outcome.is_stopped());
        });
        let sources = AtomicUsize::new(0);
        threads.after_short_ones(|threads| {
            let source = manyhands::cancel::TokenSource::new();
            let token = source.token();
            let ended = parallel::Options::new()
                .cancellation(&token)
                .for_each(0..64, |_| {
                    threads.item(2);
                    if !threads.is_short.load(Ordering::SeqCst) {
                        source.cancel();
                    }
                });
            sources.fetch_add(usize::from(ended.is_err()), Ordering::SeqCst);
        });
        assert_eq!(sources.load(Ordering::SeqCst), 1);
    });
}

/// One number of a mix of earlier and later costs, lengths and pauses.
fn draw(mix: u64, what: u64, end: u64) -> u64 {
    random_below(mix * 16 + what, end)
}

/// Leaves the calling thread without calls for a time of any size up to 60 ms, or for none.
fn pause(mix: u64) {
    if let Some(log2) = draw(mix, 4, 17).checked_sub(1) {
        thread::park_timeout(Duration::from_micros(1 << log2));
    }
}

#[test]
fn no_mix_of_earlier_lengths_and_pauses_keeps_workers_from_a_call() {
    const WORKERS: usize = 8;
    let runtime = Runtime::builder().workers(WORKERS).build().unwrap();
    let _entered = runtime.enter();
    for mix in 0..100 {
        let threads = Threads::default();
        // Half of the pools have a thread that takes part, so that their monitors never rest.
        let held = (draw(mix, 5, 2) == 0).then(|| {
            let (end, ends) = std::sync::mpsc::channel::<()>();
            (
                task::run(move || task::blocking(|| ends.recv().is_err())),
                end,
            )
        });
        let call = |len: u64| {
            let wanted = WORKERS.min(usize::try_from(len).unwrap());
            parallel::for_each(0..len, |_| threads.item(wanted));
        };
        threads.is_short.store(true, Ordering::SeqCst);
        (0..20).for_each(|_| call(1 << draw(mix, 0, 8)));
        threads.is_short.store(false, Ordering::SeqCst);
        pause(mix);
        call(2 + draw(mix, 2, 30));
        if let Some((holds, end)) = held {
            drop(end);
            assert!(holds.join().unwrap());
        }
    }
}

/// Mixes of earlier and later costs, lengths and pauses: how long the call takes beside the better of alone and shared.
#[test]
#[ignore = "prints a table"]
#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a table of times"
)]
fn table() {
    const WORKERS: usize = 8;
    let mixes: u64 = std::env::var("MIXES").map_or(300, |mixes| mixes.parse().unwrap());
    let runtime = Runtime::builder().workers(WORKERS).build().unwrap();
    let _entered = runtime.enter();
    let sleep =
        |micros: u64| task::blocking(|| thread::park_timeout(Duration::from_micros(micros)));
    let mut beyond = Vec::new();
    for mix in 0..mixes {
        let draw = |what: u64, end: u64| draw(mix, what, end);
        let (short_len, short_nanos) = (1 << draw(0, 8), draw(1, 1_500));
        let (long_len, long_micros) = (2 + draw(2, 30), 1 << draw(3, 12));
        // How long the call takes, and an item of it on average.
        let call = |len: u64, nanos: u64, micros: u64| {
            let of_items = AtomicU64::new(0);
            let begun = Instant::now();
            parallel::for_each(0..len, |_| {
                let item = Instant::now();
                while item.elapsed().as_nanos() < u128::from(nanos) {}
                if micros > 0 {
                    sleep(micros);
                }
                let taken = u64::try_from(item.elapsed().as_nanos()).unwrap();
                of_items.fetch_add(taken, Ordering::Relaxed);
            });
            let item = of_items.into_inner() as f64 / len as f64;
            (begun.elapsed().as_secs_f64() * 1e3, item / 1e6)
        };
        (0..20).for_each(|_| {
            call(short_len, short_nanos / short_len, 0);
        });
        pause(mix);
        let (taken, item) = call(long_len, 0, long_micros);
        let alone = item * long_len as f64;
        let shared = item * long_len.div_ceil(WORKERS as u64) as f64;
        let limit = 1.1 * alone.min(shared) + 1.0;
        if taken > limit {
            beyond.push((taken / limit, format!("{short_len} × {short_nanos} ns, then {long_len} × {long_micros} µs: {taken:.2} ms, limit {limit:.2}")));
        }
    }
    beyond.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "{} of {mixes} mixes beyond 1.1 × the better of alone and shared + 1 ms",
        beyond.len()
    );
    beyond
        .iter()
        .take(20)
        .for_each(|(ratio, mix)| println!("{ratio:.2} {mix}"));
}
