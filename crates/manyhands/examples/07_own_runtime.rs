//! How to run: `cargo run --release --example 07_own_runtime`
//!
//! A runtime of one's own: a number of workers, with names, a stack and hooks. Most programs need none, and
//! use the default one, which is made when it is first needed.

use manyhands::query::prelude::*;
use manyhands::{BuildError, Runtime, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

fn main() -> Result<(), BuildError> {
    let (started, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (on_start, on_stop) = (Arc::clone(&started), Arc::clone(&stopped));
    let crunching = Runtime::builder()
        .workers(3)
        .thread_name(|index| format!("crunch-{index}"))
        .stack_size(8 << 20)
        .on_thread_start(move |_| {
            on_start.fetch_add(1, Ordering::SeqCst);
        })
        .on_thread_stop(move |_| {
            on_stop.fetch_add(1, Ordering::SeqCst);
        })
        .build()?;
    assert_eq!(crunching.workers(), 3);

    // One call on it.
    let sum: u64 = (0..1_000_u64).into_par_query().runtime(&crunching).sum();
    assert_eq!(sum, 499_500);

    // Everything inside on it; tasks too.
    let (sender, receiver) = mpsc::channel();
    crunching.install(|| {
        drop(task::run(move || {
            sender.send(std::thread::current().name().map(str::to_owned))
        }));
    });
    let name = receiver.recv().ok().flatten();
    assert!(name.is_some_and(|name| name.starts_with("crunch-")));

    // What went wrong in the configuration is said in words.
    let refused = Runtime::builder().workers(0).build();
    let message = refused.map_err(|error| error.to_string()).err();
    assert_eq!(
        message.as_deref(),
        Some("a runtime needs at least one worker")
    );

    // The end: running work is finished, queued work is dropped and counted, threads are gone.
    let report = crunching.shutdown_blocking();
    assert_eq!(report.dropped, 0);
    assert!(started.load(Ordering::SeqCst) >= 1);
    assert_eq!(
        started.load(Ordering::SeqCst),
        stopped.load(Ordering::SeqCst)
    );
    Ok(())
}
