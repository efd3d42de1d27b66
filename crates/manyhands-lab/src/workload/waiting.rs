//! Many waits at the same time: a task around each, or one task for all; a timer for each, or one
//! that all share; and the list that holds them.
//!
//! Each function returns how many waits ended, and says of each when it has: for the one thread that awaits all in turn,
//! that is when it comes to it. How long a wait is follows from how many there are, see [`length`].

use crate::meter::item_ended;
use manyhands::{
    task::{self, JoinHandle},
    time::{self, Sleep},
};
use std::{
    future::poll_fn,
    hint::black_box,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// A task around each wait, in a list that grows.
pub(crate) fn list_grows(n: usize) -> usize {
    spawn_into(Vec::new(), n)
}

/// A task around each wait, in a list that has room for all from the start.
pub(crate) fn list_preallocated(n: usize) -> usize {
    spawn_into(Vec::with_capacity(n), n)
}

fn spawn_into(mut tasks: Vec<JoinHandle<()>>, n: usize) -> usize {
    for _ in 0..n {
        tasks.push(task::spawn(async move {
            time::sleep(length(n)).await;
            item_ended();
        }));
    }
    ended(tasks)
}

/// Timers without tasks: the thread that measures awaits them all. Every timer is set at once, which
/// needs each in a place of its own.
pub(crate) fn timers_alone(n: usize) -> usize {
    let mut timers: Vec<Pin<Box<Sleep>>> = Vec::new();
    for _ in 0..n {
        timers.push(Box::pin(time::sleep(length(n))));
    }
    task::block_on(all(timers))
}

/// Deadlines without tasks: they are awaited one after another, and one that has passed meanwhile needs no timer.
pub(crate) fn deadlines_in_turn(n: usize) -> usize {
    let mut timers: Vec<Sleep> = Vec::new();
    for _ in 0..n {
        timers.push(time::sleep(length(n)));
    }
    task::block_on(in_turn(timers, |()| ()))
}

/// One timer, and a task for each that waits for it.
pub(crate) fn one_timer_many_tasks(n: usize) -> usize {
    let (completer, completion) = task::completion();
    let mut tasks = Vec::new();
    for _ in 0..n {
        let completion = completion.clone();
        tasks.push(task::spawn(async move {
            completion.await.expect(COMPLETED);
            item_ended();
        }));
    }
    drop(task::spawn(async move {
        time::sleep(length(n)).await;
        completer.complete(());
    }));
    ended(tasks)
}

/// One timer that is in the list as often as there are waits; all are awaited one after another.
pub(crate) fn one_timer_many_times(n: usize) -> usize {
    let (completer, completion) = task::completion();
    let waits: Vec<_> = (0..n).map(|_| completion.clone()).collect();
    drop(task::spawn(async move {
        time::sleep(length(n)).await;
        completer.complete(());
    }));
    task::block_on(in_turn(waits, |completed| completed.expect(COMPLETED)))
}

/// Awaits one after another, and counts them.
async fn in_turn<F: Future>(waits: Vec<F>, ended: fn(F::Output)) -> usize {
    let count = waits.len();
    for wait in waits {
        ended(wait.await);
        item_ended();
    }
    count
}

/// Appends to a list that grows, and to nothing else.
pub(crate) fn append_grows(n: usize) -> usize {
    append(Vec::new(), n)
}

/// Appends to a list that has room for all from the start.
pub(crate) fn append_preallocated(n: usize) -> usize {
    append(Vec::with_capacity(n), n)
}

fn append(mut list: Vec<&'static str>, n: usize) -> usize {
    for _ in 0..n {
        list.push(black_box("element"));
    }
    black_box(list).len()
}

/// Waits for all tasks and counts them.
fn ended(tasks: Vec<JoinHandle<()>>) -> usize {
    let results = task::block_on(task::when_all(tasks));
    results.iter().filter(|result| result.is_ok()).count()
}

/// Sets all timers, then waits for each in turn, and counts them.
async fn all(mut timers: Vec<Pin<Box<Sleep>>>) -> usize {
    let mut has_ended = vec![false; timers.len()];
    let set = |context: &mut Context<'_>| {
        for (timer, has_ended) in timers.iter_mut().zip(&mut has_ended) {
            *has_ended = timer.as_mut().poll(context).is_ready();
        }
        Poll::Ready(())
    };
    poll_fn(set).await;
    let count = timers.len();
    for (timer, has_ended) in timers.into_iter().zip(has_ended) {
        if !has_ended {
            timer.await;
        }
        item_ended();
    }
    count
}

/// As the posts' ten seconds are to their million tasks: 10 µs for each.
fn length(n: usize) -> Duration {
    Duration::from_micros(10 * n as u64)
}

const COMPLETED: &str = "the timer's task completes it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_wait_ten_seconds() {
        assert_eq!(length(1_000_000), Duration::from_secs(10));
    }

    #[test]
    fn no_arm_ends_before_its_time() {
        for arm in [
            list_grows,
            list_preallocated,
            timers_alone,
            deadlines_in_turn,
            one_timer_many_tasks,
            one_timer_many_times,
        ] {
            let start = time::now();
            assert_eq!(arm(500), 500);
            assert!(time::now() - start >= length(500));
        }
    }
}
