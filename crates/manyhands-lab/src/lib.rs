//! The laboratory: when does parallel pay, measured on the machine at hand.
//!
//! A benchmark of one's own is a file such as this in `benches/`, with `harness = false`; `cargo bench`
//! then prints its tables and its break-even:
//! ```no_run
//! use manyhands_lab::{Case, Experiment, harness};
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let case = Case::returning("sum of square roots")
//!         .full_sizes([100, 1_000, 10_000, 100_000, 1_000_000])
//!         .finds_break_even()
//!         .arm("sequential", |n| (0..n as u64).map(u64::isqrt).sum::<u64>())
//!         .arm("parallel", |n| {
//!             manyhands::parallel::map_reduce(0..n as u64, u64::isqrt, |a, b| a + b).unwrap_or(0)
//!         });
//!     harness::main(vec![Experiment::new("roots", "Adding square roots").case(case)])
//! }
//! ```
//!
//! An [`Experiment`] is a list of cases; a case has named arms (the first is the baseline) and sizes. The [`director`]
//! decides what is measured next, fresh processes ([`launcher`], [`child`]) measure it, and the [`store`] keeps every
//! event. `gate`, [`stats`] and [`verdict`] judge the blocks, [`break_even`] finds from which size on an arm pays;
//! [`findings`] is all of it together. [`report`] and [`chart`] show it, [`console`] is a run as its user sees it, and
//! [`harness`] the main function of a benchmark of one's own.
//!
//! [`contest`] compares what cannot share a process: contenders with pools of their own.
//!
//! # Features
//! All are on by default; a benchmark of one's own needs none of them and half the dependencies
//! without. `experiments` are those that come with the laboratory, and what was published about
//! them; `charts` draws, in the page and as SVG; `png` makes pictures of the charts.
//!
//! # Examples
//! ```standalone_crate
//! use manyhands_lab::{Case, Experiment, Scale, child};
//! use manyhands_lab::director::{Director, Statistics};
//! use manyhands_lab::launcher::{Launcher, Live};
//! use manyhands_lab::record::Settings;
//! use manyhands_lab::run::{self, Interrupt, Silent};
//! use manyhands_lab::{findings, machine::Machine};
//! use std::error::Error;
//!
//! fn main() -> Result<(), Box<dyn Error>> {
//!     let sum = Case::returning("sum")
//!         .full_sizes([10_000])
//!         .arm("loop", |n| (0..=n).fold(0, |sum, number| sum + std::hint::black_box(number)))
//!         .arm("formula", |n| n * (n + 1) / 2);
//!     let experiments = [Experiment::new("sums", "Sums, two ways").case(sum)];
//!     // The processes that measure are this program too.
//!     if child::is_wanted() {
//!         return Ok(child::serve(&experiments)?);
//!     }
//!
//!     let settings = Settings::new(Scale::Quick, 7);
//!     let head = run::head(&experiments, settings, Machine::here(), "2026-11-21T00:00:00Z");
//!     let mut director = Director::new(&head, Box::new(Statistics::new(&head)));
//!     let mut live = Live::new(Launcher::this_program()?, &head.settings);
//!     // A store::Store in place of this list keeps the events in a folder.
//!     let mut events = Vec::new();
//!     let interrupt = Interrupt::default();
//!     run::execute(&mut director, &mut live, &mut events, &mut Silent, &interrupt)?;
//!
//!     let findings = findings::analyse(&head, &events);
//!     let point = &findings.experiments[0].cases[0].points[0];
//!     assert!(point.comparisons[0].as_found.low > 1.0, "the formula is faster");
//!     Ok(())
//! }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

pub mod break_even;
pub mod chart;
pub mod child;
pub mod clock;
pub mod console;
pub mod contest;
pub mod director;
mod error;
mod experiment;
pub mod findings;
mod gate;
pub mod harness;
pub mod launcher;
pub mod machine;
pub mod meter;
pub mod paper;
pub mod plain;
#[cfg(feature = "experiments")]
pub mod published;
pub mod record;
#[cfg(feature = "experiments")]
pub mod registry;
pub mod report;
pub mod run;
pub mod self_test;
pub mod stats;
pub mod store;
mod system;
pub mod verdict;
#[cfg(feature = "experiments")]
mod workload;

pub use clock::ClockCard;
pub use error::LabError;
pub use experiment::{Case, Experiment, Returned, Stored, Trial, Workload};
pub use meter::CountingAllocator;
pub use record::Scale;

/// Its code is checked as documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
