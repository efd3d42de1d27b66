//! Small programs on whole pools, for Miri, which runs each instruction itself; `cargo xtask miri` runs them there.
//! Every wait has a deadline elsewhere: a hang under Miri is a deadlock that it reports.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use manyhands::query::prelude::*;
use manyhands::{Runtime, channel, join, parallel, scope, task, time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// This many items, where Miri does a thousandth of what the processor does.
const MANY: usize = if cfg!(miri) {
    60
} else if cfg!(sanitized) {
    2_000
} else {
    20_000
};

/// Runs `work` on a pool of two workers, and shuts it down.
fn on_pool<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let result = runtime.install(|| task::run(work)).join().unwrap();
    runtime.shutdown_blocking();
    result
}

fn sum_by_halves(numbers: &[usize]) -> usize {
    if numbers.len() < 4 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = join(|| sum_by_halves(left), || sum_by_halves(right));
    left + right
}

#[test]
fn halves_are_joined() {
    let sum = on_pool(|| sum_by_halves(&(0..MANY).collect::<Vec<_>>()));
    assert_eq!(sum, MANY * (MANY - 1) / 2);
}

#[test]
fn a_loop_runs_each_body_once() {
    on_pool(|| {
        let runs: Vec<AtomicUsize> = (0..MANY).map(|_| AtomicUsize::new(0)).collect();
        parallel::for_each(0..MANY, |i| {
            runs[i].fetch_add(1, Ordering::Relaxed);
        });
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
        let texts = parallel::map(0..MANY, |i| i.to_string());
        assert_eq!(texts[MANY - 1], (MANY - 1).to_string());
    });
}

/// How a call ends whose first item waits until another one has begun: it returns, or its first item panics.
fn goes_on(len: usize, panics: bool) -> bool {
    let (begun, others) = mpsc::channel();
    let others = Mutex::new(others);
    let texts: Vec<String> = (0..len).map(|i| i.to_string()).collect();
    let body = |text: String| {
        if text == "0" {
            let another = others.lock().unwrap().recv_timeout(Duration::from_secs(60));
            assert!(another.is_ok() && !panics, "the first");
        } else {
            begun.send(()).unwrap();
        }
    };
    catch_unwind(AssertUnwindSafe(|| parallel::for_each(texts, body))).is_ok()
}

#[test]
fn what_follows_an_item_that_goes_on_is_run_by_others() {
    on_pool(|| {
        for len in [2, 3, 6] {
            assert!(goes_on(len, false));
            assert!(!goes_on(len, true));
        }
    });
}

/// Says that it has more items than it has.
struct Boaster<'a>(usize, &'a mut [String]);

impl<'a> parallel::Producer for Boaster<'a> {
    type Item = &'a mut String;

    fn len(&self) -> usize {
        self.0
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.1.split_at_mut(index.min(self.1.len()));
        (Self(index, left), Self(self.0 - index, right))
    }

    fn into_iter(self) -> impl Iterator<Item = &'a mut String> {
        self.1.iter_mut()
    }
}

#[test]
fn a_collection_that_is_cut_is_run_once_and_a_wrong_length_only_panics() {
    on_pool(|| {
        let mut texts = vec![String::new(); MANY];
        let source = Boaster(MANY, &mut texts).into_par_query();
        let places = source.execution_mode(manyhands::query::ExecutionMode::Parallel);
        let numbered = places.enumerate().map(|(n, text)| {
            text.push_str(&n.to_string());
            &*text
        });
        assert_eq!(numbered.to_vec().len(), MANY);
        assert!(
            texts
                .iter()
                .enumerate()
                .all(|(n, text)| *text == n.to_string())
        );
        for len in [MANY / 2, MANY * 2] {
            let copies = || parallel::map(Boaster(len, &mut texts), |text| text.clone());
            assert!(catch_unwind(AssertUnwindSafe(copies)).is_err());
        }
    });
}

#[test]
fn closures_of_a_scope_borrow() {
    on_pool(|| {
        let mut squares: Vec<usize> = (0..MANY / 4).collect();
        scope(|s| {
            for square in &mut squares {
                s.spawn(move |_| *square *= *square);
            }
        });
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(i, square)| i * i == *square)
        );
    });
}

#[test]
fn tasks_and_futures_end_and_are_dropped() {
    on_pool(|| {
        let handles: Vec<_> = (0..MANY / 4)
            .map(|n| {
                task::spawn(async move {
                    let text = n.to_string();
                    task::yield_now().await;
                    text.len()
                })
            })
            .collect();
        for handle in handles {
            assert!(handle.join().unwrap() > 0);
        }
        drop(task::spawn(std::future::pending::<()>()));
    });
}

#[test]
fn a_channel_passes_in_order_between_tasks_and_threads() {
    on_pool(|| {
        let (sender, receiver) = channel::bounded(4);
        let producer = task::spawn(async move {
            for n in 0..MANY / 2 {
                sender.send(n.to_string()).await.unwrap();
            }
        });
        for n in 0..MANY / 2 {
            assert_eq!(receiver.recv_blocking().unwrap(), n.to_string());
        }
        producer.join().unwrap();
    });
}

#[test]
fn timers_ring() {
    on_pool(|| {
        let sleeps = [3, 1, 2].map(|millis| {
            task::spawn(async move { time::sleep(Duration::from_millis(millis)).await })
        });
        for sleep in sleeps {
            sleep.join().unwrap();
        }
    });
}

#[test]
fn blocked_tasks_let_others_run() {
    on_pool(|| {
        let (sender, receiver) = channel::bounded(0);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let receiver = receiver.clone();
                task::run(move || task::blocking(|| receiver.recv_blocking().unwrap()))
            })
            .collect();
        (0..3).for_each(|n| sender.send_blocking(n).unwrap());
        let sum: i32 = waiting.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(sum, 3);
    });
}

#[test]
fn queries_collect_group_and_sort() {
    on_pool(|| {
        let texts = (0..MANY)
            .into_par_query()
            .execution_mode(manyhands::query::ExecutionMode::Parallel)
            .filter(|n| n % 3 != 0)
            .map(|n| n.to_string())
            .to_vec();
        assert_eq!(texts.len(), MANY - MANY.div_ceil(3));
        let groups = (0..MANY)
            .into_par_query()
            .group_by(|n| n % 7)
            .map(|group| group.items().len())
            .to_vec();
        assert_eq!((groups.len(), groups.iter().sum::<usize>()), (7, MANY));
        let mut numbers: Vec<usize> = (0..MANY).map(|n| n * 7919 % MANY).collect();
        numbers.par_sort();
        assert!(numbers.is_sorted());
    });
}

#[test]
fn a_panic_goes_to_who_joins() {
    on_pool(|| {
        let failed = task::run(|| panic!("expected")).join();
        assert!(failed.is_err());
    });
}

#[test]
fn a_shutdown_drops_what_waits() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let kept = std::sync::Arc::new(());
    for _ in 0..4 {
        let held = std::sync::Arc::clone(&kept);
        drop(runtime.install(|| {
            task::spawn(async move {
                std::future::pending::<()>().await;
                drop(held);
            })
        }));
    }
    runtime.shutdown_blocking();
    assert_eq!(std::sync::Arc::strong_count(&kept), 1);
}
