//! How to run: `cargo run --release --example 09_timers`
//!
//! A million tasks that sleep at once, what they take, how late they wake; then the tools built on sleeping:
//! limits, ticks, deadlines, and a day of simulated time.

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use manyhands::simulation::Simulation;
use manyhands::{cancel, task, time};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    a_million_sleepers()?;
    limits_ticks_deadlines();
    a_simulated_day()
}

/// Each sleeps for the given time, and says how late it woke.
fn a_million_sleepers() -> Result<(), Box<dyn Error>> {
    let count: u32 = 1_000_000;
    let duration = Duration::from_secs(3);
    let before = memory_kib();
    let start = time::now();
    let handles: Vec<_> = (0..count)
        .map(|_| {
            let deadline = time::now() + duration;
            task::spawn(async move {
                time::sleep_until(deadline).await;
                time::now() - deadline
            })
        })
        .collect();
    let spawned = start.elapsed();
    let memory = memory_kib()
        .zip(before)
        .map(|(after, before)| after - before);
    let mut latest = Duration::ZERO;
    for handle in handles {
        latest = latest.max(handle.join()?);
    }
    println!("{count} tasks spawned in {spawned:?}, the latest woke {latest:?} late");
    if let Some(memory) = memory {
        println!("asleep they took {} MB", memory / 1000);
    }
    Ok(())
}

fn limits_ticks_deadlines() {
    task::block_on(async {
        let limited = time::timeout(Duration::from_millis(5), std::future::pending::<()>());
        assert!(limited.await.is_err());

        let mut interval = time::interval(Duration::from_millis(2));
        let first = interval.tick().await;
        let third = (interval.tick().await, interval.tick().await).1;
        assert_eq!(third - first, Duration::from_millis(4));

        let source = cancel::TokenSource::new();
        source.cancel_after(Duration::from_millis(2));
        let cancelled = source.token().cancelled();
        cancelled.await;
    });
}

/// The same code by a virtual clock: a day passes at once, and every run with this seed is the same.
fn a_simulated_day() -> Result<(), Box<dyn Error>> {
    let hours = Simulation::new(42).run(async {
        let mut interval = time::interval(Duration::from_secs(3600));
        let midnight = interval.tick().await;
        let mut hours = 0;
        while interval.tick().await - midnight < Duration::from_secs(24 * 3600) {
            hours += 1;
        }
        hours
    })?;
    assert_eq!(hours, 23);
    Ok(())
}

/// Memory of this process, where the system tells.
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
