//! Runs bodies on this process's pool: for the local engine all of a call, on a worker one chunk.

use crate::{
    caught::{UNNAMED, caught},
    remote::Combine,
    wire::Failure,
};
use manyhands::{
    PanicPayload,
    cancel::{Cancelled, Token},
    parallel::{self, Failure as Of},
};
use std::{convert::Infallible, ops::Range};

/// Why bodies have no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Failed(Failure),
    Cancelled,
}

/// The results of all items, in order.
pub(crate) fn items<R: Send>(
    range: Range<u64>,
    body: impl Fn(u64) -> R + Sync,
    token: &Token,
) -> Result<Vec<R>, Stop> {
    let options = parallel::Options::new().cancellation(token);
    let results = options.try_map(range.clone(), |i| Ok::<R, Infallible>(body(i)));
    results.map_err(|failures| {
        let first = failures.into_iter().next();
        let panicked = first.map(|(at, failure)| match failure {
            Of::Panic(payload) => (range.start + at, text(&payload)),
            Of::Error(never) => match never {},
        });
        panicked.map_or(Stop::Cancelled, |(at, message)| {
            Stop::Failed(Failure::Panicked {
                range: at..at + 1,
                message,
            })
        })
    })
}

/// The results of all items, combined; `None` if there are no items.
pub(crate) fn combined<R: Send>(
    range: Range<u64>,
    map: impl Fn(u64) -> R + Sync,
    combine: Combine<R>,
    token: &Token,
) -> Result<Option<R>, Stop> {
    let options = parallel::Options::new().cancellation(token);
    let call = || options.map_reduce(range.clone(), map, combine);
    let outcome = within(&range, call)?;
    outcome.map_err(|_: Cancelled| Stop::Cancelled)
}

/// What one body makes of the whole input.
pub(crate) fn whole<R>(
    range: &Range<u64>,
    body: impl FnOnce() -> R,
    token: &Token,
) -> Result<R, Stop> {
    if token.is_cancelled() {
        return Err(Stop::Cancelled);
    }
    within(range, body)
}

/// Runs a body, and up to `retries` times again if it panics.
pub(crate) fn again<R>(retries: u32, body: impl Fn() -> R) -> R {
    let tries = (0..retries).find_map(|_| caught(&body).ok());
    tries.unwrap_or_else(body)
}

/// Runs a closure whose panic belongs to this range.
pub(crate) fn within<R>(range: &Range<u64>, call: impl FnOnce() -> R) -> Result<R, Stop> {
    caught(call).map_err(|message| {
        let range = range.clone();
        Stop::Failed(Failure::Panicked { range, message })
    })
}

fn text(payload: &PanicPayload) -> String {
    payload.message().unwrap_or(UNNAMED).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands::cancel::TokenSource;
    use std::cell::Cell;

    #[test]
    fn a_panic_names_its_index() {
        let body = |i| assert!(i != 7, "seven");
        let stop = items(5..9, body, &Token::never()).unwrap_err();
        let message = "seven".to_owned();
        let range = 7..8;
        assert_eq!(stop, Stop::Failed(Failure::Panicked { range, message }));
    }

    #[test]
    fn nothing_runs_after_a_cancellation() {
        let source = TokenSource::new();
        source.cancel();
        let token = source.token();
        let never = |_: u64| -> u64 { panic!("it ran") };
        assert_eq!(items(0..9, never, &token), Err(Stop::Cancelled));
        let sum = |a, b| a + b;
        assert_eq!(combined(0..9, never, sum, &token), Err(Stop::Cancelled));
        assert_eq!(whole(&(0..9), || never(1), &token), Err(Stop::Cancelled));
    }

    #[test]
    fn a_body_is_run_again_as_often_as_it_may_be_and_no_longer_than_it_must() {
        let runs = Cell::new(0);
        let fails_twice = || {
            runs.set(runs.get() + 1);
            assert!(runs.get() > 2, "not yet");
            runs.get()
        };
        assert_eq!(again(9, fails_twice), 3);
        runs.set(0);
        assert_eq!(caught(|| again(1, fails_twice)), Err("not yet".to_owned()));
        assert_eq!(runs.get(), 2);
    }

    #[test]
    fn combining_keeps_the_order() {
        let texts = |i: u64| i.to_string();
        let join = |a: String, b: String| a + &b;
        let all = combined(0..200, texts, join, &Token::never()).unwrap();
        let expected: String = (0..200).map(|i: u64| i.to_string()).collect();
        assert_eq!(all, Some(expected));
    }
}
