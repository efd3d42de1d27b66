//! Results as text: tables and sentences for people, files for programs. Nothing is judged here.

mod sentence;
mod store;
mod summary;
mod table;
mod units;

pub use sentence::break_even_sentence;
pub use store::{Provenance, RAW_FILE, SUMMARY_FILE, Store};
pub use table::section_table;
pub use units::{count, nanos, ratio};
