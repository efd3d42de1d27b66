//! Runs bodies on this process's pool: for the local engine all of a call, on a worker one chunk.

use crate::{
    caught::{caught, text_of},
    remote::Combine,
    wire::Failure,
};
use manyhands::{
    cancel::{Cancelled, Token},
    parallel::{self, Failure as Of},
};
use std::{cell::Cell, convert::Infallible, ops::Range, panic::resume_unwind};

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
    let results = options(token).try_map(range.clone(), |i| Ok::<R, Infallible>(body(i)));
    results.map_err(|failures| {
        let first = failures.into_iter().next();
        let panicked = first.map(|(at, failure)| match failure {
            Of::Panic(payload) => (range.start + at, text_of(&*payload.into_inner())),
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
    let call = || options(token).map_reduce(range.clone(), map, combine);
    let outcome = within(&range, call)?;
    outcome.map_err(|_: Cancelled| Stop::Cancelled)
}

fn options(token: &Token) -> parallel::Options<'_, &Token> {
    let options = || parallel::Options::new().cancellation(token);
    if SIMULATION.get() == 0 {
        return options();
    }
    let alone = options().degree_of_parallelism(1);
    // There is always one.
    alone.unwrap_or_else(|_| options())
}

/// Runs bodies of this simulation, in this thread only.
pub(crate) fn alone<R>(simulation: usize, run: impl FnOnce() -> R) -> R {
    let outer = SIMULATION.replace(simulation);
    // Panics of bodies do not come so far.
    let outcome = run();
    SIMULATION.set(outer);
    outcome
}

/// Whether this thread runs bodies of this simulation.
pub(crate) fn is_alone(simulation: usize) -> bool {
    SIMULATION.get() == simulation
}

thread_local! {
    /// The address of the simulation whose bodies this thread runs, or nothing.
    static SIMULATION: Cell<usize> = const { Cell::new(0) };
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

/// Runs a body, and up to `retries` times again if it panics, as long as the call is wanted.
pub(crate) fn again<R>(retries: u32, token: &Token, body: impl Fn() -> R) -> R {
    for _ in 0..retries {
        match caught(&body) {
            Ok(result) => return result,
            Err(message) if token.is_cancelled() => resume_unwind(Box::new(message)),
            Err(_) => {}
        }
    }
    body()
}

/// Runs a closure whose panic belongs to this range.
pub(crate) fn within<R>(range: &Range<u64>, call: impl FnOnce() -> R) -> Result<R, Stop> {
    caught(call).map_err(|message| {
        let range = range.clone();
        Stop::Failed(Failure::Panicked { range, message })
    })
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
    fn all_that_panics_at_once_is_said() {
        let token = Token::never();
        let both = || parallel::invoke((|| panic!("left"), || panic!("right")));
        let stop = whole(&(0..1), both, &token).unwrap_err();
        let of_item = items(0..1, |_| both(), &token).unwrap_err();
        for stop in [stop, of_item] {
            let Stop::Failed(Failure::Panicked { message, .. }) = stop else {
                panic!("{stop:?}");
            };
            for part in ["2 panics", "left", "right"] {
                assert!(message.contains(part), "{message}");
            }
        }
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
        let wanted = Token::never();
        assert_eq!(again(9, &wanted, fails_twice), 3);
        runs.set(0);
        let failed = || caught(|| again(1, &wanted, fails_twice));
        assert_eq!(failed(), Err("not yet".to_owned()));
        assert_eq!(runs.get(), 2);
    }

    #[test]
    fn a_body_of_a_call_that_nobody_wants_any_more_is_not_run_again() {
        let (source, runs) = (TokenSource::new(), Cell::new(0));
        let token = source.token();
        let fails = || {
            runs.set(runs.get() + 1);
            if runs.get() == 3 {
                source.cancel();
            }
            panic!("always");
        };
        let failed = caught(|| -> () { again(u32::MAX, &token, fails) });
        assert_eq!((failed, runs.get()), (Err("always".to_owned()), 3));
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
