//! Experiments as JSON, before anything is measured.

use crate::{Experiment, Scale};
use serde_json::{Value, json};
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
/// # Examples
/// ```
/// use manyhands_lab::{Experiment, report::{Listed, experiments_json}};
/// let experiment = Experiment::new("X", "Sums").claim("It pays.");
/// let json = experiments_json(&[Listed { experiment, takes: None }]);
/// assert!(json.contains("\"claim\": \"It pays.\""));
/// ```
#[must_use]
pub fn experiments_json(experiments: &[Listed]) -> String {
    let experiments: Vec<Value> = experiments.iter().map(experiment).collect();
    format!(
        "{:#}",
        json!({ "format": FORMAT, "experiments": experiments })
    )
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 1;

fn experiment(listed: &Listed) -> Value {
    let experiment = &listed.experiment;
    json!({
        "id": experiment.id(),
        "title": experiment.title(),
        "claim": experiment.claimed(),
        "source": experiment.origin(),
        "notes": experiment.notes(),
        "cases": cases(experiment),
        "quick_seconds": listed.takes.map(|(quick, _)| quick.as_secs_f64()),
        "standard_seconds": listed.takes.map(|(_, standard)| standard.as_secs_f64()),
    })
}

fn cases(experiment: &Experiment) -> Vec<Value> {
    let [quick, standard, full] =
        [Scale::Quick, Scale::Standard, Scale::Full].map(|scale| experiment.card(scale).cases);
    let all = quick.into_iter().zip(standard).zip(full);
    all.map(|((quick, standard), full)| {
        json!({
            "name": full.name,
            "unit": full.unit,
            "arms": full.arms,
            "finds_break_even": full.finds_break_even,
            "cpus": full.cpus,
            "sizes": { "quick": quick.sizes, "standard": standard.sizes, "full": full.sizes },
        })
    })
    .collect()
}
