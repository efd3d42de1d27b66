//! Experiments as JSON, before anything is measured.

use crate::{Experiment, Scale};
use serde::Serialize;
use std::time::Duration;

/// An experiment to be listed.
#[derive(Debug)]
pub struct Listed {
    /// The experiment.
    pub experiment: Experiment,
    /// How long a quick and a standard run of it take here, where that was asked.
    pub takes: Option<(Duration, Duration)>,
}

/// Experiments with their cases as indented JSON.
///
/// # Fields
/// `format` counts up when a field changes its meaning or goes; fields may be added without that.
/// `experiments[]` has `id`, `title`, `claim` and `source` or `null`, `notes`, and `cases[]` with
/// `name`, `unit`, `arms` (the first is the baseline), `finds_break_even`, `cpus` or `null`, and
/// the `sizes` of a `quick`, a `standard` and a `full` run. `quick_seconds` and `standard_seconds`
/// are `null` unless they were asked for.
///
/// # Panics
/// Never: numbers, strings and lists have a form as JSON.
///
/// # Examples
/// ```
/// use manyhands_lab::{Experiment, report::{Listed, experiments_json}};
/// let experiment = Experiment::new("X", "Sums").claim("It pays.");
/// let json = experiments_json(&[Listed { experiment, takes: None }]);
/// assert!(json.contains("\"claim\": \"It pays.\""));
/// ```
#[must_use]
pub fn experiments_json(experiments: &[Listed]) -> String {
    let file = ListFile {
        format: FORMAT,
        experiments: experiments.iter().map(ExperimentOut::new).collect(),
    };
    serde_json::to_string_pretty(&file).expect("numbers, strings and lists have a JSON form")
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct ListFile<'list> {
    format: u32,
    experiments: Vec<ExperimentOut<'list>>,
}

#[derive(Serialize)]
struct ExperimentOut<'list> {
    id: &'list str,
    title: &'list str,
    claim: Option<&'list str>,
    source: Option<&'list str>,
    notes: Vec<&'list str>,
    cases: Vec<CaseOut>,
    quick_seconds: Option<f64>,
    standard_seconds: Option<f64>,
}

impl<'list> ExperimentOut<'list> {
    fn new(listed: &'list Listed) -> Self {
        let experiment = &listed.experiment;
        let takes = listed.takes;
        Self {
            id: experiment.id(),
            title: experiment.title(),
            claim: experiment.claimed(),
            source: experiment.origin(),
            notes: experiment.notes().iter().map(AsRef::as_ref).collect(),
            cases: cases(experiment),
            quick_seconds: takes.map(|(quick, _)| quick.as_secs_f64()),
            standard_seconds: takes.map(|(_, standard)| standard.as_secs_f64()),
        }
    }
}

#[derive(Serialize)]
struct CaseOut {
    name: String,
    unit: String,
    arms: Vec<String>,
    finds_break_even: bool,
    cpus: Option<usize>,
    sizes: SizesOut,
}

#[derive(Serialize)]
struct SizesOut {
    quick: Vec<usize>,
    standard: Vec<usize>,
    full: Vec<usize>,
}

fn cases(experiment: &Experiment) -> Vec<CaseOut> {
    let [quick, standard, full] =
        [Scale::Quick, Scale::Standard, Scale::Full].map(|scale| experiment.card(scale).cases);
    let all = quick.into_iter().zip(standard).zip(full);
    all.map(|((quick, standard), full)| CaseOut {
        name: full.name,
        unit: full.unit,
        arms: full.arms,
        finds_break_even: full.finds_break_even,
        cpus: full.cpus,
        sizes: SizesOut {
            quick: quick.sizes,
            standard: standard.sizes,
            full: full.sizes,
        },
    })
    .collect()
}
