//! The summary as JSON: its own copy of the findings, so that those stay free to change.

use super::{
    paper::{Beside, beside},
    published::Published,
    summary_claim::ClaimOut,
    summary_scaling::{ArmOut, over_copies, over_cpus},
    verdict_words::{doubt_words, verdict_word},
};
use crate::{
    break_even::{Answer, Fit, Kind, Practical},
    findings::{AtCopies, AtCpus, CaseFindings, Comparison, Findings, Point, Times},
    paper::Paper,
    record::{Head, ItemEnds, Key, ThreadCourse},
    stats::Estimate,
};
use serde::Serialize;

/// The summary of a run as indented JSON.
///
/// # Fields
/// `format` counts up when a field changes its meaning or goes; fields may be added without that.
/// `head` is the run's head as recorded. `experiments[].cases[].points[]` has for each size
/// `times` by arm and `comparisons` by arm from the second on; a median or speed-up is always an
/// object with `median`, `low`, `high`, the ends of a 95 % interval; one or two blocks have none. Times are nanoseconds per
/// call; speed-ups are the baseline's time over the arm's. `verdict` is one of `faster`, `slower`,
/// `no difference`, `undecided`; of the last, `undecided_because` says in words why. `break_even[].kind` is one of
/// `between`, `always_from`, `never_up_to`, `not_decided`, `no_difference`, `several`,
/// `too_few_blocks`, with the fields of that kind beside it. `practical_from` is the smallest size
/// from which on an arm gains a tenth or more at every size measured, and `practical` the two
/// sizes between which that begins, if it begins above the smallest. `claim` has the claim's `text`, the
/// `verdict` on it, one of `holds`, `does not hold`, `undecided`, and the same of its `parts[]`, each with
/// what it `says` and the `evidence` in words. `published[]` has for each machine of a paper, its `source`, the
/// `speed_ups[]` that both have, `there` and `here`, the `break_even` that was claimed, and `notes`. A case of which the
/// throughput was asked has it as `per_second`, in its unit or in bytes. `peak_memory[]` has for an arm at
/// a size the `bytes`, which are the median of the `readings`, the slope over several sizes as `bytes_per_item`, whose
/// interval reaches as far as `bytes_per_item_margin` to both sides, how many `threads` there were, step by step, and
/// `item_ends`, the times until the first item had ended and each hundredth of all. `suspicious[]` are arms whose time does not grow with the
/// size. `over_cpus[]` and `over_copies[]`
/// are there if an experiment was measured on several numbers of CPUs: for each arm its `points` with
/// time, `speed_up`, `serial_fraction` (Karp and Flatt) and `rounds_bound_nanos`, which a baseline that mostly waits does not have, or its time and
/// `throughput`, and the `scalability` that fits them. What was not measured is `null`.
///
/// # Panics
/// Never: numbers, strings and lists have a form as JSON.
#[must_use]
pub fn summary_json(findings: &Findings, published: &Published) -> String {
    let failure = |one: &crate::findings::Failure| FailureOut {
        key: one.key.clone(),
        message: one.message.clone(),
    };
    let file = SummaryFile {
        format: FORMAT,
        head: &findings.head,
        blocks: findings.blocks,
        disturbed: findings.disturbed,
        quiet: findings.quiet,
        experiments: findings
            .experiments
            .iter()
            .map(|one| ExperimentOut::new(one, published.papers_of(&one.id)))
            .collect(),
        failures: findings.failures.iter().map(failure).collect(),
        left_out: &findings.left_out,
    };
    serde_json::to_string_pretty(&file).expect("numbers, strings and lists have a JSON form")
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 3;

#[derive(Serialize)]
struct SummaryFile<'run> {
    format: u32,
    head: &'run Head,
    blocks: usize,
    disturbed: usize,
    quiet: bool,
    experiments: Vec<ExperimentOut<'run>>,
    failures: Vec<FailureOut>,
    left_out: &'run [Key],
}

#[derive(Serialize)]
struct FailureOut {
    #[serde(flatten)]
    key: Key,
    message: String,
}

#[derive(Serialize)]
struct ExperimentOut<'run> {
    id: &'run str,
    title: &'run str,
    cases: Vec<CaseOut<'run>>,
    source: Option<&'run str>,
    claim: Option<ClaimOut<'run>>,
    notes: &'run [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<PaperOut<'run>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    over_cpus: Vec<ArmOut<AtCpus>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    over_copies: Vec<ArmOut<AtCopies>>,
}

impl<'run> ExperimentOut<'run> {
    fn new(experiment: &'run crate::findings::ExperimentFindings, papers: &'run [Paper]) -> Self {
        let published = |paper: &'run Paper| PaperOut {
            source: &paper.source,
            break_even: paper.break_even_claimed,
            speed_ups: beside(experiment, paper),
            notes: &paper.notes,
        };
        Self {
            id: &experiment.id,
            title: &experiment.title,
            cases: experiment.cases.iter().map(CaseOut::new).collect(),
            source: experiment.source.as_deref(),
            claim: experiment.claim.as_ref().map(ClaimOut::from),
            notes: &experiment.notes,
            published: papers.iter().map(published).collect(),
            over_cpus: over_cpus(experiment),
            over_copies: over_copies(experiment),
        }
    }
}

#[derive(Serialize)]
struct PaperOut<'run> {
    source: &'run str,
    break_even: Option<(f64, f64)>,
    speed_ups: Vec<Beside<'run>>,
    notes: &'run [String],
}

#[derive(Serialize)]
struct CaseOut<'run> {
    name: &'run str,
    unit: &'run str,
    points: Vec<PointOut<'run>>,
    break_even: Vec<AnswerOut<'run>>,
    peak_memory: Vec<PeakOut<'run>>,
    suspicious: Vec<&'run str>,
    clock_cost_nanos: Option<f64>,
    clock_grain_nanos: Option<f64>,
}

impl<'run> CaseOut<'run> {
    fn new(case: &'run CaseFindings) -> Self {
        let arms = case.card.arms.iter().skip(1);
        let peak = |one: &'run crate::findings::Peak| PeakOut {
            n: one.n,
            arm: &case.card.arms[one.arm],
            bytes: one.bytes,
            readings: &one.readings,
            bytes_per_item: case.bytes_per_item(one.arm).map(|slope| slope.slope),
            bytes_per_item_margin: case.bytes_per_item(one.arm).and_then(|slope| slope.margin),
            item_ends: one.ends.as_ref(),
            threads: one.threads.as_ref(),
        };
        Self {
            name: &case.card.name,
            unit: &case.card.unit,
            points: case
                .points
                .iter()
                .map(|one| PointOut::new(case, one))
                .collect(),
            break_even: arms
                .zip(&case.answers)
                .map(|(arm, answer)| AnswerOut::new(arm, answer))
                .collect(),
            peak_memory: case.peaks.iter().map(peak).collect(),
            suspicious: case
                .suspicious
                .iter()
                .map(|arm| case.card.arms[*arm].as_str())
                .collect(),
            clock_cost_nanos: case.clock.map(|(cost, _)| cost),
            clock_grain_nanos: case.clock.map(|(_, grain)| grain),
        }
    }
}

#[derive(Serialize)]
struct PeakOut<'run> {
    n: usize,
    arm: &'run str,
    bytes: u64,
    readings: &'run [u64],
    bytes_per_item: Option<f64>,
    bytes_per_item_margin: Option<f64>,
    item_ends: Option<&'run ItemEnds>,
    threads: Option<&'run ThreadCourse>,
}

#[derive(Serialize)]
struct PointOut<'run> {
    n: usize,
    blocks: usize,
    disturbed: usize,
    noise_floor: Option<Estimate>,
    times: Vec<TimesOut<'run>>,
    comparisons: Vec<ComparisonOut<'run>>,
}

impl<'run> PointOut<'run> {
    fn new(case: &'run CaseFindings, point: &'run Point) -> Self {
        let arms = case.card.arms.iter();
        let challengers = arms.clone().skip(1);
        Self {
            n: point.n,
            blocks: point.blocks,
            disturbed: point.disturbed,
            noise_floor: point.floor,
            times: arms
                .zip(&point.times)
                .map(|(arm, times)| TimesOut {
                    per_second: case.card.per_second(point.n, times.median.median),
                    ..TimesOut::new(arm, times)
                })
                .collect(),
            comparisons: challengers
                .zip(&point.comparisons)
                .map(|(arm, one)| ComparisonOut::new(arm, one))
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct TimesOut<'run> {
    arm: &'run str,
    median: Estimate,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    mean: f64,
    standard_deviation: f64,
    minimum: f64,
    percentile_95: f64,
    deviation: f64,
    cpu: Option<f64>,
    allocations: Option<f64>,
    allocated_bytes: Option<f64>,
}

impl<'run> TimesOut<'run> {
    fn new(arm: &'run str, times: &Times) -> Self {
        Self {
            arm,
            median: times.median,
            per_second: None,
            mean: times.mean,
            standard_deviation: times.standard_deviation,
            minimum: times.minimum,
            percentile_95: times.percentile_95,
            deviation: times.deviation,
            cpu: times.cpu,
            allocations: times.allocations.map(|(allocations, _)| allocations),
            allocated_bytes: times.allocations.map(|(_, allocated)| allocated),
        }
    }
}

#[derive(Serialize)]
struct ComparisonOut<'run> {
    arm: &'run str,
    speed_up: Option<Estimate>,
    speed_up_as_found: Estimate,
    verdict: &'static str,
    undecided_because: Option<String>,
    q_value: Option<f64>,
    spread_between_launches: f64,
    spread_within_launches: f64,
}

impl<'run> ComparisonOut<'run> {
    fn new(arm: &'run str, comparison: &Comparison) -> Self {
        Self {
            arm,
            speed_up: comparison.clean,
            speed_up_as_found: comparison.as_found,
            verdict: verdict_word(comparison.verdict),
            undecided_because: comparison.doubt.map(doubt_words),
            q_value: comparison.q_value,
            spread_between_launches: comparison.spread.between_launches,
            spread_within_launches: comparison.spread.within_launches,
        }
    }
}

#[derive(Serialize)]
struct AnswerOut<'run> {
    arm: &'run str,
    #[serde(flatten)]
    kind: &'run Kind,
    practical: Option<(usize, usize)>,
    practical_from: Option<usize>,
    model: Option<&'run Fit>,
}

impl<'run> AnswerOut<'run> {
    fn new(arm: &'run str, answer: &'run Answer) -> Self {
        let (practical, practical_from) = match answer.practical {
            Practical::Between(lower, upper) => (Some((lower, upper)), Some(upper)),
            Practical::From(n) => (None, Some(n)),
            Practical::Nowhere => (None, None),
        };
        Self {
            arm,
            kind: &answer.kind,
            practical,
            practical_from,
            model: answer.fit.as_ref(),
        }
    }
}
