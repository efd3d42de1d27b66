//! Statistics as pure functions: medians, a bootstrap of paired ratios, the sign e-process.

mod bootstrap;
mod median;
mod sign;

pub use bootstrap::{Estimate, median_of_ratios};
pub use median::median;
pub use sign::{SignTest, blocks_to_decide};
