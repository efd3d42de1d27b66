//! How to run: `cargo run --release --example 01_loop`
//!
//! Parallel loops over ranges, slices, vectors and iterators. There is no grain size to choose: the caller
//! begins by itself, and other threads are let in when that pays.

use manyhands::parallel;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    // For its effects, over a range of any integer type.
    let total = AtomicU64::new(0);
    parallel::for_each(1..=1000_u64, |i| {
        total.fetch_add(i, Ordering::Relaxed);
    });
    assert_eq!(total.into_inner(), 500_500);

    // In place, over a mutable slice.
    let mut pixels = vec![100_u8; 10_000];
    parallel::for_each(&mut pixels, |pixel| *pixel = pixel.saturating_add(200));
    assert!(pixels.iter().all(|&pixel| pixel == 255));

    // For its results, which come in order.
    let words = ["to", "be", "or", "not"];
    let shouted = parallel::map(&words, |word| word.to_uppercase());
    assert_eq!(shouted, ["TO", "BE", "OR", "NOT"]);

    // By value: each item is moved to the thread that runs its body.
    let lengths = parallel::map(shouted, String::into_bytes);
    assert_eq!(lengths.concat(), b"TOBEORNOT");

    // Over any iterator that can be sent, even one that does not know its length.
    let text = "one line\nanother line\n\na last one";
    let lines = parallel::from_iter(text.lines().filter(|line| !line.is_empty()));
    let words = parallel::map(lines, |line| line.split(' ').count());
    assert_eq!(words, [2, 2, 3]);

    // Loops nest and borrow what they like.
    let table = parallel::map(1..=9_u32, |a| parallel::map(1..=9_u32, |b| a * b));
    assert_eq!(table[6][7], 56);
}
