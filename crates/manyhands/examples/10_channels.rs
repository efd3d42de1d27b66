//! How to run: `cargo run --release --example 10_channels`
//!
//! Channels: threads and async code at the two ends of the same one, little room that slows a producer down,
//! dropping instead of waiting, the most urgent first, everybody hears, the latest value only.

use futures::StreamExt;
use futures::executor::block_on;
use manyhands::channel::{self, WhenFull};
use std::collections::VecDeque;
use std::error::Error;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    // A thread sends and waits when four items are inside; async code receives.
    let (sender, receiver) = channel::bounded(4);
    let producer = thread::spawn(move || (1..=100).try_for_each(|n| sender.send_blocking(n)));
    let sum = block_on(
        receiver
            .into_stream()
            .fold(0, |sum, n| async move { sum + n }),
    );
    assert_eq!(sum, 5050);
    producer.join().expect("the producer does not panic")?;

    // Several at a time, and an end with a reason.
    let (sender, receiver) = channel::unbounded();
    sender.send_many_blocking(&mut VecDeque::from(["a", "b", "c"]))?;
    sender.close_with("the file has ended");
    let mut letters = Vec::new();
    assert_eq!(receiver.recv_many_blocking(&mut letters, 10)?, 3);
    let ended = receiver
        .recv_blocking()
        .expect_err("the channel is closed and drained");
    let reason = ended.reason().map(ToString::to_string);
    assert_eq!(reason.as_deref(), Some("the file has ended"));

    // Only the newest two matter.
    let (sender, receiver) = channel::ChannelOptions::new()
        .capacity(2)
        .when_full(WhenFull::DropOldest)
        .on_drop(|old: u32| assert!(old <= 3))
        .fifo();
    (1..=5).try_for_each(|n| sender.send_blocking(n))?;
    assert_eq!(
        (receiver.recv_blocking()?, receiver.recv_blocking()?),
        (4, 5)
    );

    // The most urgent first.
    let (sender, receiver) = channel::ChannelOptions::new().prioritized();
    for job in [(2, "sweep"), (1, "put out the fire"), (2, "mop")] {
        sender.send_blocking(job)?;
    }
    assert_eq!(receiver.recv_blocking()?.1, "put out the fire");

    // Every receiver gets everything; a late one learns how much was lost.
    let (sender, mut one) = channel::broadcast(16);
    let mut other = sender.subscribe();
    assert_eq!(sender.send("news")?, 2);
    assert_eq!(
        (one.recv_blocking()?, other.recv_blocking()?),
        ("news", "news")
    );

    // Only the latest value, for settings and progress.
    let (sender, mut progress) = channel::watch(0);
    let worker = thread::spawn(move || (1..=100).try_for_each(|percent| sender.send(percent)));
    let mut seen = 0;
    while let Ok(percent) = progress.changed_blocking() {
        assert!(*percent > seen);
        seen = *percent;
    }
    assert_eq!(seen, 100);
    worker.join().expect("the worker does not panic")?;
    Ok(())
}
