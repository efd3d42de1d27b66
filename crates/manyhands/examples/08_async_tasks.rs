//! How to run: `cargo run --release --example 08_async_tasks`
//!
//! Futures run as tasks on the same workers as loops and forks. A future that waits costs its memory and no
//! thread; its result is awaited or joined through its handle.

use manyhands::cancel;
use manyhands::query::prelude::*;
use manyhands::task::{self, TaskGroup};
use std::thread;

/// An old interface that calls back from a thread of its own.
fn look_up(word: &'static str, callback: impl FnOnce(usize) + Send + 'static) {
    thread::spawn(move || callback(word.len()));
}

/// The same as a future.
async fn length_of(word: &'static str) -> usize {
    let (completer, completion) = task::completion();
    look_up(word, move |length| completer.complete(length));
    completion.await.expect("the callback is called")
}

/// Many tasks that wait at the same time, gathered in the order of their spawning.
async fn lengths() -> Vec<usize> {
    let mut group = TaskGroup::new();
    for word in ["many", "hands", "make", "light", "work"] {
        group.spawn(length_of(word));
    }
    let results = group.wait().await;
    results
        .into_iter()
        .map(|result| result.expect("none fails"))
        .collect()
}

/// The first failure cancels the others, and still it is waited until all have ended.
async fn first_failure() -> String {
    let mut group = TaskGroup::new();
    group.spawn(async { "12".parse::<u32>() });
    group.spawn(async { "twelve".parse::<u32>() });
    group.spawn(std::future::pending());
    group.try_wait().await.expect_err("one fails").to_string()
}

/// A wait that can be given up.
async fn given_up() -> bool {
    let source = cancel::TokenSource::new();
    let token = source.token();
    let waiting = task::spawn(async move {
        token
            .run_until_cancelled(std::future::pending::<()>())
            .await
    });
    source.cancel();
    waiting
        .await
        .expect("it was not the task that was cancelled")
        .is_err()
}

fn main() {
    assert_eq!(task::block_on(lengths()), [4, 5, 4, 5, 4]);
    assert_eq!(
        task::block_on(first_failure()),
        "task 1 of the group failed: invalid digit found in string"
    );
    assert!(task::block_on(given_up()));

    // Results as they come, and a loop inside a task: the same workers do both.
    let sum_below = |limit: u64| async move { (0..limit).into_par_query().sum::<u64>() };
    let sums = (1..=4).map(|n| task::spawn(sum_below(n * 1_000)));
    let total = task::block_on(async {
        let (mut sums, mut total) = (task::when_each(sums), 0_u64);
        while let Some((_, sum)) = sums.next().await {
            total += sum.expect("none fails");
        }
        total
    });
    assert_eq!(total, 14_995_000);

    // Futures that borrow end before what they borrow.
    let words = ["many", "hands"];
    let letters = std::sync::atomic::AtomicUsize::new(0);
    task::scope_blocking(|scope| {
        for word in &words {
            let letters = &letters;
            scope.spawn(async move {
                task::yield_now().await;
                letters.fetch_add(word.len(), std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    assert_eq!(letters.into_inner(), 9);
}
