//! A benchmark of one's own: from how many square roots on does it pay to add them in parallel?
//!
//! `cargo bench -p manyhands-lab` finds the break-even; `-- --quick` does so in less time.

use manyhands::parallel;
use manyhands_lab::{Case, Experiment, harness};
use std::process::ExitCode;

fn main() -> ExitCode {
    let case = Case::returning("sum of square roots")
        .full_sizes([100, 1_000, 10_000, 100_000, 1_000_000])
        .unit("root")
        .finds_break_even()
        .arm("sequential", |n| (0..n as u64).map(u64::isqrt).sum::<u64>())
        .arm("parallel", |n| {
            parallel::map_reduce(0..n as u64, u64::isqrt, |a, b| a + b).unwrap_or(0)
        });
    harness::main(vec![
        Experiment::new("roots", "Adding square roots").case(case),
    ])
}
