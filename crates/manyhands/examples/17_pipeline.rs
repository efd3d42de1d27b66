//! How to run: `cargo run --release --example 17_pipeline`
//!
//! A pipeline: forty downloads run at a time and four conversions, and the caller takes the results in the order in which
//! the conversions end. If it takes them slowly, fewer downloads begin.

use manyhands::{parallel, task, time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FILES: usize = 100;
const CONVERSIONS: usize = 4;
static RUNNING: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let pages = parallel::pipeline(0..FILES)
        .stage_unordered(40, download)
        .stage_unordered(CONVERSIONS, convert)
        .to_vec();
    let pages = task::block_on(pages);
    assert_eq!(pages.len(), FILES);
    assert_eq!(pages.into_iter().sum::<usize>(), (1..=FILES).sum());
}

async fn download(file: usize) -> usize {
    time::sleep(Duration::from_millis(file as u64 % 20)).await;
    file
}

async fn convert(file: usize) -> usize {
    let running = RUNNING.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(running <= CONVERSIONS, "{running} run at once");
    time::sleep(Duration::from_millis(1)).await;
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    file + 1
}
