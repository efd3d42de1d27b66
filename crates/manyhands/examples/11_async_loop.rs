//! How to run: `cargo run --release --example 11_async_loop`
//!
//! A hundred calls of 10 to 50 ms each: four at once, and as many as the other side takes, which is found
//! while they run; then results in order, as a stream, and what becomes of failures.

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use manyhands::{parallel, task, time};
use std::time::Duration;

fn main() -> Result<(), parallel::ConcurrencyError> {
    let delays: Vec<u64> = (0..100).map(|i| 10 + i * 7_919 % 41).collect();
    let longest = delays.iter().max().copied().unwrap_or_default();

    let start = time::now();
    let few = parallel::AsyncOptions::new().degree_of_parallelism(4)?;
    task::block_on(few.for_each_async(delays.clone(), call));
    println!("4 at once:         {:?}", start.elapsed());

    let start = time::now();
    let looping = parallel::for_each_async(delays.clone(), call);
    let handle = looping.handle();
    task::block_on(looping);
    let found = handle.degree_of_parallelism();
    println!(
        "as many as it pays: {:?}, up to {found} at once",
        start.elapsed()
    );
    println!("the longest call:  {longest} ms");

    task::block_on(async {
        let mut results = parallel::AsyncOptions::new().stream_async(delays, |millis| async move {
            call(millis).await;
            millis
        });
        assert_eq!(results.next().await, Some(10));
    });

    let words = ["1", "2", "three"];
    let parsed = parallel::try_map_async(words, |word| async { word.parse::<u32>() });
    let failures = task::block_on(parsed).expect_err("three is not a number");
    assert_eq!(failures.errors().next().map(|(place, _)| place), Some(2));
    Ok(())
}

/// Something that waits for somebody else.
async fn call(millis: u64) {
    time::sleep(Duration::from_millis(millis)).await;
}
