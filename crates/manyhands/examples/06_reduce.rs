//! How to run: `cargo run --release --example 06_reduce`
//!
//! Reductions keep the order of the source. How values are grouped may differ from call to call, which
//! floating-point sums show, unless they are asked to be deterministic.

use manyhands::query::prelude::*;
use manyhands::{BuildError, Runtime, parallel};

fn main() -> Result<(), BuildError> {
    let numbers: Vec<i64> = (-500..=500).rev().collect();
    assert_eq!(numbers.par_query().sum::<i64>(), 0);
    assert_eq!(numbers.par_query().min(), Some(&-500));
    assert_eq!(numbers.par_query().max(), Some(&500));
    assert_eq!(numbers.par_query().find(|&&n| n % 7 == 0), Some(&497));

    // The operation need not commute.
    let text = parallel::map_reduce(0..1000, |i| i.to_string(), |a, b| a + &b);
    assert_eq!(text.map(|text| text.len()), Some(2_890));

    // Several results in one pass: mean and variance by counts, sums and sums of squares.
    let (count, sum, squares) = parallel::map_reduce(
        &numbers,
        |&n| (1, n, n * n),
        |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2),
    )
    .unwrap_or_default();
    assert_eq!((count, sum, squares / count), (1_001, 0, 83_500));

    // The same bits from every call, on any number of workers.
    let terms = parallel::map(0..100_000_u32, |i| 1.0 / (f64::from(i) * 2.0 + 1.0));
    let mut sums = Vec::new();
    for workers in [1, 2, 3, 8] {
        let runtime = Runtime::builder().workers(workers).build()?;
        let query = terms.par_query().runtime(&runtime).deterministic();
        sums.push(query.sum::<f64>().to_bits());
    }
    assert!(sums.iter().all(|&sum| sum == sums[0]));
    Ok(())
}
