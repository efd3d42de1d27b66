//! Findings of one case at 1000 items, for tests of what is said about them.

use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Point, Times},
    machine::Machine,
    record::{CaseCard, FORMAT, Head, Scale, Settings},
    stats::Estimate,
};

/// One experiment with one case and one size; arms are a name, a time, and a CPU time.
pub(super) fn findings(id: &str, case: &str, arms: &[(&str, f64, Option<f64>)]) -> Findings {
    let point = Point {
        n: 1_000,
        blocks: 9,
        dropped: Vec::new(),
        disturbed: 0,
        times: arms
            .iter()
            .map(|(_, nanos, cpu)| times(*nanos, *cpu))
            .collect(),
        comparisons: Vec::new(),
        floor: None,
    };
    let card = CaseCard {
        name: case.to_owned(),
        arms: arms.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        sizes: vec![point.n],
        finds_break_even: false,
        unit: "item".to_owned(),
        throughput: None,
        cpus: None,
        of: None,
        copies: None,
        arm: None,
    };
    let case = CaseFindings {
        card,
        points: vec![point],
        answers: Vec::new(),
        speed_ups: Vec::new(),
        clock: None,
        peaks: Vec::new(),
        traces: Vec::new(),
        suspicious: Vec::new(),
    };
    Findings {
        head: Head {
            format: FORMAT,
            version: String::new(),
            started: String::new(),
            settings: Settings::new(Scale::Quick, 1),
            machine: Machine::here(),
            experiments: Vec::new(),
        },
        experiments: vec![ExperimentFindings {
            id: id.to_owned(),
            title: String::new(),
            cases: vec![case],
            ..ExperimentFindings::default()
        }],
        failures: Vec::new(),
        left_out: Vec::new(),
        blocks: 9,
        disturbed: 0,
        quiet: true,
    }
}

fn times(nanos: f64, cpu: Option<f64>) -> Times {
    Times {
        median: Estimate {
            median: nanos,
            low: nanos,
            high: nanos,
        },
        mean: nanos,
        standard_deviation: 0.0,
        minimum: nanos,
        percentile_95: nanos,
        deviation: 0.0,
        cpu,
        allocations: None,
        pool: None,
    }
}
