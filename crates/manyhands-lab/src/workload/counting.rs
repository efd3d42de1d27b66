//! Two equal pieces of work: counting loops, or sleeps.
//!
//! Each function makes the body of an arm: a way to run one closure twice.

use std::{hint::black_box, thread, time::Duration};

/// A piece of work of this size; it returns what it counted.
pub(crate) type Piece = fn(usize) -> usize;

/// Counts to `cycles`. Every step passes through an opaque place, or the loop would be folded into one addition.
pub(crate) fn count(cycles: usize) -> usize {
    let mut counted = 0;
    while counted < cycles {
        counted = black_box(counted + 1);
    }
    counted
}

/// Sleeps this many milliseconds, and counts them as done.
#[expect(clippy::disallowed_methods, reason = "the sleep is what is measured")]
pub(crate) fn sleep(millis: usize) -> usize {
    thread::sleep(Duration::from_millis(millis as u64));
    millis
}

/// One after the other, on the calling thread.
pub(crate) fn in_series(piece: Piece) -> impl Fn(usize) -> usize {
    move |n| piece(n) + piece(n)
}

/// Two tasks, and a wait for both: the post's two `Task.Run`.
pub(crate) fn two_tasks(piece: Piece) -> impl Fn(usize) -> usize {
    move |n| {
        let [first, second] = [(); 2].map(|()| manyhands::task::run(move || piece(n)));
        let [first, second] = [first, second].map(|task| task.join().expect(NO_PANIC));
        first + second
    }
}

/// Fork-join: the caller runs one of the two unless it is taken from it.
pub(crate) fn join(piece: Piece) -> impl Fn(usize) -> usize {
    move |n| {
        let (first, second) = manyhands::join(|| piece(n), || piece(n));
        first + second
    }
}

/// Rayon's fork-join.
pub(crate) fn rayon(piece: Piece) -> impl Fn(usize) -> usize {
    move |n| {
        let (first, second) = rayon::join(|| piece(n), || piece(n));
        first + second
    }
}

/// Two threads, started in the call.
pub(crate) fn threads(piece: Piece) -> impl Fn(usize) -> usize {
    move |n| {
        let [first, second] = [(); 2].map(|()| thread::spawn(move || piece(n)));
        let [first, second] = [first, second].map(|thread| thread.join().expect(NO_PANIC));
        first + second
    }
}

const NO_PANIC: &str = "counting and sleeping do not panic";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_counts_every_cycle() {
        assert_eq!([0, 1, 1_000].map(count), [0, 1, 1_000]);
    }
}
