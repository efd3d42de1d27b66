//! How to run: `cargo run --release --example 16_deadlock --features inspect-unstable`
//!
//! Three tasks that wait for each other in a ring, and the program that finds them. It goes on until its standard input
//! has a line or ends, so that `manyhands inspect` in another terminal can look at it.

#![expect(clippy::print_stdout, reason = "it shows what it found")]

use manyhands::task::{self, JoinHandle};
use manyhands::{channel, diagnostics, inspect, time};
use std::time::Duration;

/// A task that waits for the task that it is sent.
fn clerk(name: &str) -> (channel::Sender<JoinHandle<()>>, JoinHandle<()>) {
    let (sender, receiver) = channel::bounded::<JoinHandle<()>>(1);
    let clerk = task::Builder::new().name(name).spawn(async move {
        if let Ok(colleague) = receiver.recv().await {
            let _ = colleague.await; // all three of them end up here
        }
    });
    (sender, clerk)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // From here on the library records what tasks wait for, and answers who asks.
    let path = diagnostics::serve()?;

    let (to_anna, anna) = clerk("Anna");
    let (to_bert, bert) = clerk("Bert");
    let (to_carl, carl) = clerk("Carl");
    to_anna.send_blocking(bert)?;
    to_bert.send_blocking(carl)?;
    to_carl.send_blocking(anna)?;

    let found = wait_for_deadlock();
    println!("{}", found.text);
    let names: Vec<_> = found
        .tasks
        .iter()
        .filter_map(|task| task.name.as_deref())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(found.certain, "each waits for nothing else");
    for task in &found.tasks {
        let at = &task.waits[0].at;
        assert!(at.starts_with(file!()), "the line is in this file: {at}");
    }

    let process = std::process::id();
    println!(
        "\n`manyhands inspect {process}` shows it, over {}; the Enter key ends it.",
        path.display()
    );
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

/// Takes snapshots until two in a row contain the same deadlock.
fn wait_for_deadlock() -> inspect::Deadlock {
    let deadline = time::now() + Duration::from_secs(30);
    let mut earlier = inspect::snapshot();
    while time::now() < deadline {
        task::block_on(time::sleep(Duration::from_millis(20)));
        let now = inspect::snapshot();
        if let Some(found) = now.deadlocks(&earlier).pop() {
            return found;
        }
        earlier = now;
    }
    panic!("no deadlock within 30 s");
}
