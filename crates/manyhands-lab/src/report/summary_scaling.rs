//! What more CPUs bring, as part of the summary.

use super::summary::EstimateOut;
use crate::findings::{AtCopies, AtCpus, ExperimentFindings};
use serde::Serialize;

/// One arm of a case over CPUs or over copies.
#[derive(Serialize)]
pub(super) struct ArmOut<P> {
    case: String,
    n: usize,
    arm: String,
    points: Vec<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalability: Option<LawOut>,
}

#[derive(Serialize)]
struct LawOut {
    contention: f64,
    coherency: f64,
}

#[derive(Serialize)]
pub(super) struct AtCpusOut {
    cpus: usize,
    nanos: EstimateOut,
    speed_up: f64,
    serial_fraction: Option<f64>,
    rounds_bound_nanos: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct AtCopiesOut {
    copies: usize,
    nanos: EstimateOut,
    throughput: Option<f64>,
}

pub(super) fn over_cpus(experiment: &ExperimentFindings) -> Vec<ArmOut<AtCpusOut>> {
    let point = |at: &AtCpus| AtCpusOut {
        cpus: at.cpus,
        nanos: at.nanos.into(),
        speed_up: at.speed_up,
        serial_fraction: at.serial_fraction,
        rounds_bound_nanos: at.bound_nanos,
    };
    let mut arms = Vec::new();
    for case in experiment.over_cpus() {
        arms.extend(case.arms.iter().map(|arm| ArmOut {
            case: case.case.clone(),
            n: case.n,
            arm: arm.name.clone(),
            points: arm.points.iter().map(point).collect(),
            scalability: arm.law.map(|law| LawOut {
                contention: law.contention,
                coherency: law.coherency,
            }),
        }));
    }
    arms
}

pub(super) fn over_copies(experiment: &ExperimentFindings) -> Vec<ArmOut<AtCopiesOut>> {
    let point = |at: &AtCopies| AtCopiesOut {
        copies: at.copies,
        nanos: at.nanos.into(),
        throughput: at.throughput,
    };
    let mut arms = Vec::new();
    for case in experiment.over_copies() {
        arms.extend(case.arms.iter().map(|arm| ArmOut {
            case: case.case.clone(),
            n: case.n,
            arm: arm.name.clone(),
            points: arm.points.iter().map(point).collect(),
            scalability: None,
        }));
    }
    arms
}

#[cfg(test)]
mod tests {
    use crate::report::{fixture, summary_json};
    use serde_json::Value;

    #[test]
    fn the_summary_has_every_number_of_cpus_and_of_copies() {
        let mut findings = fixture::findings();
        findings.experiments = vec![fixture::over_cpus()];
        let summary: Value = serde_json::from_str(&summary_json(&findings)).expect("JSON");
        let experiment = &summary["experiments"][0];
        let arm = &experiment["over_cpus"][1];
        assert_eq!((&arm["arm"], &arm["n"]), (&"for".into(), &300.into()));
        assert_eq!(arm["points"].as_array().map(Vec::len), Some(4));
        assert!(arm["scalability"]["contention"].is_f64());
        let copies = &experiment["over_copies"][0]["points"][1];
        assert_eq!(copies["copies"], 2);
        let without: Value =
            serde_json::from_str(&summary_json(&fixture::findings())).expect("JSON");
        assert!(without["experiments"][0].get("over_cpus").is_none());
    }
}
