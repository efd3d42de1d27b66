//! Findings of one case at 1000 items, for tests of what is said about them.

use crate::{
    findings::{ExperimentFindings, Findings},
    report::fixture,
};

/// One experiment with one case and one size; arms are a name, a time, and a CPU time.
pub(super) fn findings(id: &str, case: &str, arms: &[(&str, f64, Option<f64>)]) -> Findings {
    let medians: Vec<f64> = arms.iter().map(|(_, nanos, _)| *nanos).collect();
    let mut point = fixture::point(1_000, &medians);
    for (times, (_, _, cpu)) in point.times.iter_mut().zip(arms) {
        times.cpu = *cpu;
    }
    let names: Vec<&str> = arms.iter().map(|(name, ..)| *name).collect();
    Findings {
        experiments: vec![ExperimentFindings {
            id: id.to_owned(),
            cases: vec![fixture::case(case, &names, vec![point])],
            ..ExperimentFindings::default()
        }],
        ..fixture::findings()
    }
}
