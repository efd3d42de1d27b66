//! Findings as text: tables and sentences for people, files for programs, pages for browsers.
//!
//! Everything here is a pure function of [`Findings`](crate::findings::Findings), or, for the raw
//! table, of a run's head and events. Nothing is judged here and nothing is written to disk.

mod answer;
mod cell;
mod claim;
mod compare;
mod compare_json;
mod conditions;
mod experiments_json;
mod files;
mod grid;
mod html;
mod markdown;
mod measurements_csv;
mod paper;
mod published;
mod results;
mod results_csv;
mod scaling;
mod section;
mod sentence;
mod slower;
mod summary;
mod terminal;
mod units;
mod verdict_words;
mod width;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
#[cfg(all(feature = "experiments", feature = "png"))]
mod golden;
#[cfg(test)]
mod rows_agree;

pub use answer::answer_text;
pub use compare::compare;
pub use compare_json::compare_json;
pub use conditions::{conditions, not_quiet_sentence};
pub use experiments_json::{Listed, experiments_json};
pub(crate) use files::{FILES, chart_path};
pub use files::{ReportFile, files};
pub use grid::markdown_table;
pub use html::html;
pub use markdown::markdown;
pub use measurements_csv::measurements_csv;
pub use published::Published;
pub use results_csv::results_csv;
pub use sentence::{break_even_label, break_even_sentence};
pub use slower::slower;
pub use summary::summary_json;
pub use terminal::{closing, experiment_text, meters_text};
pub use units::{bytes, count, digits, nanos, percent, plural, ratio};
pub use width::Width;
