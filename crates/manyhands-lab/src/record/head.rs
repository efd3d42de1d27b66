//! The head of a run: what was asked, of which experiments, on which machine.

use super::Settings;
use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// Written before the first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// [`FORMAT`](super::FORMAT) of the files.
    pub format: u32,
    /// Version of the laboratory.
    pub version: String,
    /// Start of the run, UTC, RFC 3339.
    pub started: String,
    /// What was asked.
    pub settings: Settings,
    /// Where it ran.
    pub machine: Machine,
    /// What is measured, in order.
    pub experiments: Vec<ExperimentCard>,
}

/// An experiment as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentCard {
    /// Id, unique in a run.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Its cases, in the order they run.
    pub cases: Vec<CaseCard>,
}

/// A case as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCard {
    /// Name, unique in its experiment.
    pub name: String,
    /// Names of the arms; the first is the baseline.
    pub arms: Vec<String>,
    /// Sizes of this run, ascending.
    pub sizes: Vec<usize>,
    /// Whether sizes between these are searched for the break-even.
    pub finds_break_even: bool,
    /// What one unit of `n` is, in the singular: "hash", "item", "cycle".
    pub unit: String,
    /// CPUs the processes of this case are pinned to, counted from the first allowed one; `None`
    /// for all.
    pub cpus: Option<usize>,
}
