//! What more CPUs bring, as part of the summary.

use crate::{
    findings::{AtCopies, AtCpus, ExperimentFindings},
    stats::Scalability,
};
use serde::Serialize;

/// One arm of a case over CPUs or over copies.
#[derive(Serialize)]
pub(super) struct ArmOut<P> {
    case: String,
    n: usize,
    arm: String,
    points: Vec<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalability: Option<Scalability>,
}

pub(super) fn over_cpus(experiment: &ExperimentFindings) -> Vec<ArmOut<AtCpus>> {
    let cases = experiment.over_cpus().into_iter();
    arms(cases.map(|case| (case.case, case.n, case.arms)), |arm| {
        (arm.name, arm.points, arm.law)
    })
}

pub(super) fn over_copies(experiment: &ExperimentFindings) -> Vec<ArmOut<AtCopies>> {
    let cases = experiment.over_copies().into_iter();
    arms(cases.map(|case| (case.case, case.n, case.arms)), |arm| {
        (arm.name, arm.points, None)
    })
}

/// The arms of all cases in one list; `parts` gives an arm's name, its points, and the law through them.
fn arms<A, P>(
    cases: impl Iterator<Item = (String, usize, Vec<A>)>,
    parts: impl Fn(A) -> (String, Vec<P>, Option<Scalability>),
) -> Vec<ArmOut<P>> {
    let arms = cases.flat_map(|(case, n, arms)| {
        let arms = arms.into_iter();
        arms.map(move |arm| (case.clone(), n, arm))
    });
    let shown = arms.map(|(case, n, arm)| {
        let (arm, points, scalability) = parts(arm);
        ArmOut {
            case,
            n,
            arm,
            points,
            scalability,
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use crate::report::{Published, fixture, summary_json};
    use serde_json::Value;

    #[test]
    fn the_summary_has_every_number_of_cpus_and_of_copies() {
        let mut findings = fixture::findings();
        findings.experiments = vec![fixture::over_cpus()];
        let summary: Value =
            serde_json::from_str(&summary_json(&findings, &Published::default())).expect("JSON");
        let experiment = &summary["experiments"][0];
        let arm = &experiment["over_cpus"][1];
        assert_eq!((&arm["arm"], &arm["n"]), (&"for".into(), &300.into()));
        assert_eq!(arm["points"].as_array().map(Vec::len), Some(4));
        assert!(arm["scalability"]["contention"].is_f64());
        let copies = &experiment["over_copies"][0]["points"][1];
        assert_eq!(copies["copies"], 2);
        let without: Value =
            serde_json::from_str(&summary_json(&fixture::findings(), &Published::default()))
                .expect("JSON");
        assert!(without["experiments"][0].get("over_cpus").is_none());
    }
}
