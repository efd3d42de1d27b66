//! The laboratory: when does parallel pay, measured on the machine at hand.
//!
//! An [`Experiment`] is a list of cases; a case has named arms (the first is the baseline) and
//! sizes. [`run`] and [`tour`] time the arms side by side in paired blocks, [`stats`] and
//! [`verdict`] judge the ratios, [`break_even`] finds from which size on the challenger wins,
//! [`report`] and [`chart`] show it.
//!
//! What it is not yet: blocks come from one process, nothing watches what the neighbours on the
//! machine do meanwhile, and there is no noise floor of an A/A pair. The intervals printed
//! cover the spread between blocks of this one run and nothing else.
//!
//! # Examples
//! ```
//! use manyhands_lab::{Case, Experiment, LiveSampler, Measurement, Scale, Stop, run};
//! use std::time::Duration;
//!
//! let squares = Case::slots("squares", 0_u64)
//!     .full_sizes([1_000])
//!     .arm("by index", |_, slots| {
//!         for index in 0..slots.len() {
//!             slots[index] = (index as u64).pow(2);
//!         }
//!     })
//!     .arm("by iterator", |_, slots| {
//!         for (index, slot) in slots.iter_mut().enumerate() {
//!             *slot = (index as u64).pow(2);
//!         }
//!     });
//! let experiment = Experiment::new("squares", "Squares, two ways").case(squares);
//!
//! let mut sampler = LiveSampler::new(7).batch(Duration::from_micros(200));
//! let stop = Stop::after_blocks(3);
//! let all = run::experiment(&experiment, Scale::Full, &mut sampler, &stop)?;
//! assert_eq!(all[0].blocks.len(), 3);
//! assert!(all[0].speed_up(1, 7).is_some());
//! # Ok::<(), manyhands_lab::LabError>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod break_even;
pub mod chart;
mod clock;
mod error;
mod experiment;
pub mod machine;
mod measurement;
pub mod registry;
pub mod report;
pub mod run;
mod sample;
pub mod stats;
pub mod tour;
pub mod verdict;
mod workload;

pub use error::LabError;
pub use experiment::{Case, Experiment, Scale, Trial, Workload};
pub use measurement::{Block, Measurement};
pub use run::Stop;
pub use sample::{LiveSampler, Sampler, Subject};
