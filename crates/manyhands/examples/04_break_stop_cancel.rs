//! How to run: `cargo run --release --example 04_break_stop_cancel`
//!
//! Three ways to end a loop early. Break: what lies below the index is still run. Stop: nothing more need
//! be run. Cancel: the holder of the source ends the call from outside.

use manyhands::{cancel, parallel};
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    // Break: like `break` in a sequential loop, everything before it has happened.
    let outcome = parallel::Options::new().for_each_with_control(0..1_000_000_u64, |i, control| {
        if i * i > 5_000 {
            control.break_at_current();
        }
    });
    assert_eq!(outcome.lowest_break(), Some(71));

    // Stop: any solution will do. Long bodies ask now and then whether they are still wanted.
    let outcome = parallel::Options::new().for_each_with_control(0..u64::MAX, |i, control| {
        let mut n = i + 1;
        let mut steps = 0;
        while n != 1 && !control.should_exit() {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        if n == 1 && steps > 200 {
            control.stop();
        }
    });
    assert!(outcome.is_stopped() && outcome.lowest_break().is_none());

    // Cancel: the loop only holds a token; it cannot cancel anything itself.
    let source = cancel::TokenSource::new();
    let (token, ran) = (source.token(), AtomicUsize::new(0));
    let (notify, notified) = std::sync::mpsc::channel();
    let _registration = token.register(move || {
        let _ = notify.send("cancelled");
    });
    let cancelled = parallel::Options::new()
        .cancellation(&token)
        .for_each(0..10_000_000, |_| {
            if ran.fetch_add(1, Ordering::Relaxed) == 100 {
                source.cancel();
            }
        });
    assert_eq!(
        cancelled.map_err(|error| error.token() == &token),
        Err(true)
    );
    assert_eq!(notified.recv(), Ok("cancelled"));

    // A source that is linked to several others is cancelled with any of them.
    let (user, shutdown) = (cancel::TokenSource::new(), cancel::TokenSource::new());
    let either = cancel::TokenSource::linked(&[user.token(), shutdown.token()]);
    shutdown.cancel();
    assert!(either.token().is_cancelled() && !user.token().is_cancelled());
}
