//! The summary as JSON: its own copy of the results, so that the core types stay free to change.

use super::store::Provenance;
use crate::{Measurement, break_even::BreakEven, stats::Estimate, tour::Section, verdict::Side};
use serde::Serialize;

/// The summary of a run.
pub(super) fn to_json(provenance: &Provenance, sections: &[Section]) -> String {
    let seed = provenance.seed;
    let file = SummaryFile {
        format: FORMAT,
        manyhands: env!("CARGO_PKG_VERSION"),
        seed,
        machine: MachineOut {
            cpu: &provenance.machine.cpu,
            cpus: provenance.machine.cpus,
            system: &provenance.machine.system,
            sha_instructions: provenance.machine.sha_instructions,
        },
        sections: sections.iter().map(|one| section(one, seed)).collect(),
    };
    serde_json::to_string_pretty(&file).expect("numbers, strings and lists have a JSON form")
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct SummaryFile<'run> {
    format: u32,
    manyhands: &'static str,
    seed: u64,
    machine: MachineOut<'run>,
    sections: Vec<SectionOut<'run>>,
}

#[derive(Serialize)]
struct MachineOut<'run> {
    cpu: &'run str,
    cpus: usize,
    system: &'run str,
    sha_instructions: bool,
}

#[derive(Serialize)]
struct SectionOut<'run> {
    experiment: &'run str,
    title: &'run str,
    margin: f64,
    alpha: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    break_even: Option<BreakEvenOut>,
    measurements: Vec<MeasurementOut<'run>>,
    left_out: Vec<LeftOut<'run>>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum BreakEvenOut {
    Between {
        lower: usize,
        upper: usize,
    },
    FromSmallest {
        smallest: usize,
    },
    NeverUpTo {
        largest: usize,
    },
    Unsettled {
        faster_at: usize,
        largest: usize,
    },
    Several {
        crossings: Vec<(usize, usize)>,
        settled_from: Option<usize>,
    },
    TooFewBlocks,
}

#[derive(Serialize)]
struct MeasurementOut<'run> {
    case: &'run str,
    n: usize,
    blocks: usize,
    arms: Vec<ArmOut<'run>>,
    speed_up: Option<EstimateOut>,
    side: &'static str,
}

#[derive(Serialize)]
struct ArmOut<'run> {
    name: &'run str,
    median_nanos: Option<f64>,
}

#[derive(Serialize)]
struct EstimateOut {
    median: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct LeftOut<'run> {
    case: &'run str,
    n: usize,
}

fn section(section: &Section, seed: u64) -> SectionOut<'_> {
    let measurement = |one| measurement(one, section, seed);
    SectionOut {
        experiment: &section.id,
        title: &section.title,
        margin: section.rule.margin,
        alpha: section.rule.alpha,
        break_even: section.break_even.as_ref().map(break_even),
        measurements: section.measurements.iter().map(measurement).collect(),
        left_out: section
            .left_out
            .iter()
            .map(|(case, n)| LeftOut { case, n: *n })
            .collect(),
    }
}

fn break_even(answer: &BreakEven) -> BreakEvenOut {
    match *answer {
        BreakEven::Between { lower, upper } => BreakEvenOut::Between { lower, upper },
        BreakEven::FromSmallest { smallest } => BreakEvenOut::FromSmallest { smallest },
        BreakEven::NeverUpTo { largest } => BreakEvenOut::NeverUpTo { largest },
        BreakEven::Unsettled { faster_at, largest } => {
            BreakEvenOut::Unsettled { faster_at, largest }
        }
        BreakEven::Several {
            ref crossings,
            settled_from,
        } => BreakEvenOut::Several {
            crossings: crossings.clone(),
            settled_from,
        },
        BreakEven::TooFewBlocks => BreakEvenOut::TooFewBlocks,
    }
}

fn measurement<'run>(
    measurement: &'run Measurement,
    section: &Section,
    seed: u64,
) -> MeasurementOut<'run> {
    let arm = |(index, name): (usize, &'run String)| ArmOut {
        name,
        median_nanos: measurement.median_nanos(index),
    };
    let side = section.rule.side(&measurement.ratios(1));
    MeasurementOut {
        case: &measurement.case,
        n: measurement.n,
        blocks: measurement.blocks.len(),
        arms: measurement.arms.iter().enumerate().map(arm).collect(),
        speed_up: measurement.speed_up(1, seed).map(estimate),
        side: side_name(side),
    }
}

fn estimate(estimate: Estimate) -> EstimateOut {
    EstimateOut {
        median: estimate.median,
        low: estimate.low,
        high: estimate.high,
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Faster => "faster",
        Side::Slower => "slower",
        Side::Undecided => "undecided",
    }
}
