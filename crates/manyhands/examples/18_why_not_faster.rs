//! How to run: `cargo run --release --example 18_why_not_faster --features inspect`
//!
//! Five loops on two threads that do not get twice as fast, each for another reason, an async loop that a setting holds
//! back, and what the library says of each.
//! While a loop runs, `MANYHANDS_INSPECT=1` and `manyhands inspect` in another terminal show how far it is.

#![expect(clippy::print_stdout, reason = "it shows what the library says")]

use manyhands::{Runtime, channel, diagnostics, parallel, task, time};
use std::sync::Mutex;
use std::time::Duration;

/// Computes for some microseconds.
fn compute(micros: u64) {
    let end = time::now() + Duration::from_micros(micros);
    while time::now() < end {
        std::hint::spin_loop();
    }
}

/// Prints what the library says of the last loop of this thread.
fn explain(title: &str) -> Result<String, &'static str> {
    let why = diagnostics::explain_last().ok_or("no loop was recorded")?;
    println!("{title}\n    {why}\n");
    Ok(why)
}

fn loops() -> Result<(), Box<dyn std::error::Error>> {
    parallel::for_each(0..100_u64, |_| compute(200));
    explain("For comparison, a hundred equal items:")?;

    parallel::for_each(0..3_u64, |_| compute(5_000));
    explain("1. Three items:")?;
    parallel::for_each(0..1_u64, |_| compute(5_000));
    assert!(explain("   and one:")?.contains("too few"));

    // The calling thread measures the first items, and expects the others to be as light.
    parallel::for_each(0..73_u64, |i| compute(if i < 40 { 0 } else { 500 }));
    explain("2. Items that get heavier:")?;

    parallel::for_each(0..100_u64, |i| compute(if i == 50 { 80_000 } else { 100 }));
    explain("3. One item that is 800 times as long as the others:")?;

    let total = Mutex::new(0_u64);
    parallel::for_each(0..200_000_u64, |i| {
        let mut total = total
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        for step in 0..20 {
            *total = std::hint::black_box(total.wrapping_add(i ^ step));
        }
    });
    explain("4. Bodies that all need the same lock:")?;

    // The runtime has no other threads than these two workers.
    let (begun, begins) = channel::unbounded();
    let tasks = [begun.clone(), begun].map(|begun| {
        task::run(move || {
            let _ = begun.send_blocking(());
            compute(100_000);
        })
    });
    begins.recv_blocking()?;
    begins.recv_blocking()?;
    parallel::for_each(0..20_u64, |_| compute(1_000));
    explain("5. Workers that have other work:")?;
    for task in tasks {
        task.join()?;
    }

    let eight = parallel::AsyncOptions::new().degree_of_parallelism(8)?;
    let call = |_| time::sleep(Duration::from_millis(20));
    task::block_on(eight.for_each_async(0..100_u64, call));
    let why = explain("6. Calls that wait, eight at a time as it was set:")?;
    assert!(why.contains("the setting of 8 at a time"));
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    diagnostics::open();
    let runtime = Runtime::builder().workers(2).max_threads(2).build()?;
    runtime.install(loops)
}
