//! How to run: `cargo run --release --example 17_pipeline`
//!
//! A pipeline of two channels: all downloads begin at once, four conversions run at a time, and the caller takes the
//! results in the order in which the conversions end.

use manyhands::{channel, task, time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FILES: usize = 100;
const CONVERSIONS: usize = 4;
static RUNNING: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let (downloaded, to_convert) = channel::unbounded();
    let (converted, results) = channel::unbounded();
    for file in 0..FILES {
        let downloaded = downloaded.clone();
        drop(task::spawn(async move {
            time::sleep(Duration::from_millis(file as u64 % 20)).await;
            downloaded
                .send(file)
                .await
                .expect("the converters take them all");
        }));
    }
    // The channel closes when the last download has dropped its sender, and the converters end.
    drop(downloaded);
    for _ in 0..CONVERSIONS {
        let (to_convert, converted) = (to_convert.clone(), converted.clone());
        drop(task::spawn(async move {
            while let Ok(file) = to_convert.recv().await {
                converted
                    .send(convert(file).await)
                    .await
                    .expect("the end is awaited");
            }
        }));
    }
    drop((to_convert, converted));
    let sum = task::block_on(async {
        let mut sum = 0;
        while let Ok(pages) = results.recv().await {
            sum += pages;
        }
        sum
    });
    assert_eq!(sum, (1..=FILES).sum::<usize>());
}

async fn convert(file: usize) -> usize {
    let running = RUNNING.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(running <= CONVERSIONS, "{running} run at once");
    time::sleep(Duration::from_millis(1)).await;
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    file + 1
}
