//! Does one operation a number of times on the calling thread: `program OPERATION COUNT [open]`. Prints how many
//! nanoseconds that took.
//!
//! The tasks run in a simulation, whose one worker is the caller: so the number of instructions does not depend on when
//! other threads wake.

use manyhands::simulation::Simulation;
use manyhands::{channel, diagnostics, parallel, task};
use std::hint::black_box;
use std::time::Instant;

/// A task is spawned and awaited.
fn spawn_and_join(count: u64) {
    let tasks = async move {
        for n in 0..count {
            assert_eq!(task::spawn(async move { n }).await.unwrap(), n);
        }
    };
    Simulation::new(7).run(tasks).unwrap();
}

/// An item passes from one task to another; each waits for the other.
fn channel(count: u64) {
    let tasks = async move {
        let (sender, receiver) = channel::bounded(1);
        let sends = task::spawn(async move {
            for n in 0..count {
                sender.send(n).await.unwrap();
            }
        });
        let mut received = 0;
        while let Ok(item) = receiver.recv().await {
            received += u64::from(item < count);
        }
        sends.await.unwrap();
        assert_eq!(received, count);
    };
    Simulation::new(7).run(tasks).unwrap();
}

/// A part of a task is annotated, and ends in its first poll.
fn frame(count: u64) {
    let tasks = async move {
        for n in 0..count {
            let part = async move { black_box(n) };
            assert_eq!(diagnostics::framed("part", part).await, n);
        }
    };
    Simulation::new(7).run(tasks).unwrap();
}

/// A loop so short that it runs in one block, without being measured.
fn short_loop(count: u64) {
    for n in 0..count {
        parallel::for_each(0..1, |i: u64| {
            black_box(i + n);
        });
    }
}

/// A loop whose runtime is given, which therefore takes the longer path, with a measurement and a record.
fn measured_loop(count: u64) {
    let runtime = manyhands::Runtime::builder().workers(1).build().unwrap();
    let options = parallel::Options::new().runtime(&runtime);
    for n in 0..count {
        options.for_each(0..1, |i: u64| {
            black_box(i + n);
        });
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, operation, count, rest @ ..] = words.as_slice() else {
        panic!("program OPERATION COUNT [open]");
    };
    let count = count.parse().unwrap();
    match rest {
        #[cfg(feature = "inspect")]
        [open] if open == "open" => diagnostics::open(),
        [] => {}
        other => panic!("what is {other:?}?"),
    }
    let begun = Instant::now();
    match operation.as_str() {
        "spawn-and-join" => spawn_and_join(count),
        "channel" => channel(count),
        "frame" => frame(count),
        "short-loop" => short_loop(count),
        "measured-loop" => measured_loop(count),
        other => panic!("what is {other}?"),
    }
    println!("{}", begun.elapsed().as_nanos());
}
