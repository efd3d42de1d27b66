//! The measured times of an experiment over CPUs.

use super::{Contender, Facet, Scaling, ScalingPoint, spec::ChartSpec};
use crate::{
    findings::{ArmOver, AtCpus, CaseFindings, ExperimentFindings, Findings, Over, Point},
    report::{conditions, count},
};

/// Times over CPUs, a panel for each case, with the lines that nothing goes below. `None` unless
/// the experiment was measured on several numbers of CPUs.
#[must_use]
pub fn over_cpus(findings: &Findings, experiment: &ExperimentFindings) -> Option<ChartSpec> {
    let found = experiment.over_cpus();
    let cases = experiment.cases.iter();
    let variants = cases.filter(|case| case.card.of.is_some());
    let points = variants.flat_map(|case: &CaseFindings| case.points.iter());
    let is_shown = |point: &&Point| found.iter().any(|case| case.n == point.n);
    super::scaling(&Scaling {
        title: format!("{}: measured times over CPUs", experiment.id),
        notes: conditions(findings, points.filter(is_shown)),
        facets: found.iter().map(facet).collect(),
    })
}

fn facet(case: &Over<AtCpus>) -> Facet {
    let point = |at: &AtCpus| ScalingPoint {
        cpus: at.cpus,
        nanos: at.nanos.median,
        interval: at.nanos.ends(),
    };
    let contender = |(family, arm): (usize, &ArmOver<AtCpus>)| Contender {
        name: arm.name.clone(),
        family,
        points: arm.points.iter().map(point).collect(),
    };
    let baseline = || case.arms.first().map_or(&[][..], |arm| &arm.points[..]);
    let alone = baseline().first().map_or(0.0, |at| at.nanos.median);
    // Waits have neither an ideal nor a bound.
    let bound = |at: &AtCpus| Some((at.cpus, at.bound_nanos?));
    let bound: Vec<(usize, f64)> = baseline().iter().filter_map(bound).collect();
    let ideal = bound.iter().map(|(cpus, _)| (*cpus, alone / *cpus as f64));
    Facet {
        caption: format!("{}, n = {}", case.case, count(case.n)),
        contenders: case.arms.iter().enumerate().map(contender).collect(),
        ideal: ideal.collect(),
        rounds_bound: bound,
    }
}
