//! Statistics for noisy, shared machines, as pure functions.
//!
//! A value comes with its launch, the fresh process it was taken in, and `&[Vec<f64>]` is one list for
//! each launch; the values of [`rank_interval`] are independent. What is random is seeded.

mod correlation;
mod false_discovery;
mod interval;
mod moments;
#[cfg(test)]
pub(crate) mod noise;
mod order;
mod rank;
mod resample;
mod scaling;
mod sign;
mod slope;
mod spread;

pub(crate) use correlation::correlation_time;
pub(crate) use false_discovery::q_values;
pub(crate) use interval::interval_of;
pub use interval::{Estimate, by_launch, estimate_median};
pub(crate) use moments::geometric_mean;
pub use moments::{mean, standard_deviation};
pub use order::{median, median_absolute_deviation, quantile};
pub use rank::rank_interval;
pub(crate) use resample::{RESAMPLES, Resampler, rng_for};
pub(crate) use scaling::karp_flatt;
pub(crate) use sign::{SignTest, blocks_to_decide};
pub use slope::Slope;
pub use spread::{Spread, spread};
