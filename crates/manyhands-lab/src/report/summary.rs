//! The summary as JSON: its own copy of the findings, so that those stay free to change.

use super::{
    claim::{evidence_words, ruling_word},
    paper::{beside, memory, ranges_here},
    published::Published,
    verdict_words::{doubt_words, verdict_word},
};
use crate::{
    break_even::{Answer, Practical},
    findings::{
        CaseFindings, Comparison, ExperimentFindings, Failure, Findings, JudgedClaim, JudgedPart,
        Over, Peak, Point, Times,
    },
    paper::Paper,
    record::{Head, Key},
};
use serde::Serialize;
use serde_json::{Value, json};

/// The summary of a run as indented JSON.
///
/// # Fields
/// `format` counts up when a field changes its meaning or goes; fields may be added without that.
/// `head` is the run's head as recorded. `experiments[].cases[].points[]` has for each size
/// `times` by arm and `comparisons` by arm from the second on; a median or speed-up is always an
/// object with `median`, `low`, `high`, the ends of a 95 % interval; fewer than six blocks have none. Times are nanoseconds per
/// call; speed-ups are the baseline's time over the arm's. `verdict` is one of `faster`, `slower`,
/// `no difference`, `undecided`; of the last, `undecided_because` says in words why. `break_even[].kind` is one of
/// `between`, `always_from`, `never_up_to`, `not_decided`, `no_difference`, `several`,
/// `too_few_blocks`, with the fields of that kind beside it. `practical_from` is the smallest size
/// from which on an arm gains a tenth or more at every size that was decided, and `practical` the two
/// sizes between which that begins, if it begins above the smallest. `claim` has the claim's `text`, the
/// `verdict` on it, one of `holds`, `does not hold`, `undecided`, and the same of its `parts[]`, each with
/// what it `says`, the `evidence` in words, and in `needs_cpus` the fewest and the most CPUs that would decide it, if those here
/// cannot. `published[]` has for each machine of a paper, its `source`, the
/// `speed_ups[]` that both have, `there` and `here`, `ranges[]`, the ratio of the plain loop's time to that of ranges `here` and
/// `there` on each number of `cpus`, `memory[]`, the bytes of an item, the `break_even` that was claimed, and `notes`. A case of which the
/// throughput was asked has it as `per_second`, in its unit or in bytes. `peak_memory[]` has for an arm at
/// a size the `bytes`, which are the median of the `readings`, the slope over several sizes as `bytes_per_item`, whose
/// interval reaches as far as `bytes_per_item_margin` to both sides, how many `threads` there were, step by step, and
/// `item_ends`, the times until the first item had ended and each hundredth of all. `suspicious[]` are arms whose time does not grow with the
/// size. `over_cpus[]` and `over_copies[]`
/// are empty unless an experiment was measured on several numbers of CPUs: for each arm its `points` with
/// time, `speed_up`, `serial_fraction` (Karp and Flatt) and `rounds_bound_nanos`, which a baseline that mostly waits does not have, or its time and
/// `throughput`. What was not measured is `null`.
///
/// # Panics
/// Never: numbers, strings and lists have a form as JSON.
#[must_use]
pub fn summary_json(findings: &Findings, published: &Published) -> String {
    let of_experiment = |one| experiment(one, published);
    let file = SummaryFile {
        format: FORMAT,
        head: &findings.head,
        blocks: findings.blocks,
        disturbed: findings.disturbed,
        quiet: findings.quiet,
        experiments: findings.experiments.iter().map(of_experiment).collect(),
        failures: findings.failures.iter().map(failure).collect(),
        left_out: &findings.left_out,
    };
    serde_json::to_string_pretty(&file).expect("numbers, strings and lists have a JSON form")
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 4;

/// What the run was stands before what it found.
#[derive(Serialize)]
struct SummaryFile<'run> {
    format: u32,
    head: &'run Head,
    blocks: usize,
    disturbed: usize,
    quiet: bool,
    experiments: Vec<Value>,
    failures: Vec<Value>,
    left_out: &'run [Key],
}

fn failure(one: &Failure) -> Value {
    let mut failure = json!(one.key);
    failure["message"] = json!(one.message);
    failure
}

fn experiment(found: &ExperimentFindings, published: &Published) -> Value {
    let ranges = |case: &CaseFindings, paper: &Paper| {
        let all = paper.ranges.iter();
        let of_case = all.filter(|((name, _), _)| name == case.card.own_name());
        let there = of_case.map(|((_, cpus), ratio)| json!({ "cpus": cpus, "ratio": ratio }));
        let there: Vec<Value> = there.collect();
        (!there.is_empty())
            .then(|| json!({ "case": case.card.name, "there": there, "here": ranges_here(case) }))
    };
    let paper = |paper: &Paper| {
        let ranges = found.claimed().filter_map(|case| ranges(case, paper));
        json!({
            "source": paper.source,
            "break_even": paper.break_even_claimed,
            "speed_ups": beside(found, paper),
            "ranges": ranges.collect::<Vec<_>>(),
            "memory": memory(found, paper),
            "notes": paper.notes,
        })
    };
    let papers = published.papers_of(&found.id).iter();
    json!({
        "id": found.id,
        "title": found.title,
        "cases": found.cases.iter().map(case).collect::<Vec<_>>(),
        "source": found.source,
        "claim": found.claim.as_ref().map(claim),
        "notes": found.notes,
        "published": papers.map(paper).collect::<Vec<_>>(),
        "over_cpus": over(found.over_cpus()),
        "over_copies": over(found.over_copies()),
    })
}

fn over<P: Serialize>(cases: Vec<Over<P>>) -> Vec<Value> {
    let mut arms = Vec::new();
    for case in cases {
        arms.extend(case.arms.iter().map(|arm| {
            json!({
                "case": case.case, "n": case.n, "arm": arm.name,
                "points": arm.points,
            })
        }));
    }
    arms
}

fn claim(claim: &JudgedClaim) -> Value {
    let part = |part: &JudgedPart| {
        json!({
            "says": part.says,
            "verdict": ruling_word(part.ruling),
            "needs_cpus": part.needs_cpus,
            "evidence": evidence_words(&part.evidence),
        })
    };
    json!({
        "text": claim.text,
        "verdict": ruling_word(claim.ruling),
        "parts": claim.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn case(case: &CaseFindings) -> Value {
    let arms = &case.card.arms;
    let answers = arms.iter().skip(1).zip(&case.answers);
    let suspicious = case.suspicious.iter().map(|arm| &arms[*arm]);
    let points = case.points.iter().map(|one| point(case, one));
    let peaks = case.peaks.iter().map(|one| peak(case, one));
    json!({
        "name": case.card.name,
        "unit": case.card.unit,
        "points": points.collect::<Vec<_>>(),
        "break_even": answers.map(|(arm, one)| answer(arm, one)).collect::<Vec<_>>(),
        "peak_memory": peaks.collect::<Vec<_>>(),
        "suspicious": suspicious.collect::<Vec<_>>(),
        "clock_cost_nanos": case.clock.map(|(cost, _)| cost),
        "clock_grain_nanos": case.clock.map(|(_, grain)| grain),
    })
}

fn peak(case: &CaseFindings, peak: &Peak) -> Value {
    let slope = case.bytes_per_item(peak.arm);
    json!({
        "n": peak.n,
        "arm": case.card.arms[peak.arm],
        "bytes": peak.bytes,
        "readings": peak.readings,
        "bytes_per_item": slope.map(|slope| slope.slope),
        "bytes_per_item_margin": slope.and_then(|slope| slope.margin),
        "item_ends": peak.ends,
        "threads": peak.threads,
    })
}

fn point(case: &CaseFindings, point: &Point) -> Value {
    let times = case.card.arms.iter().zip(&point.times);
    let times = times.map(|(arm, times)| times_of(case, point.n, arm, times));
    let challengers = case.card.arms.iter().skip(1).zip(&point.comparisons);
    let comparisons = challengers.map(|(arm, one)| comparison(arm, one));
    json!({
        "n": point.n,
        "blocks": point.blocks,
        "disturbed": point.disturbed,
        "noise_floor": point.floor,
        "times": times.collect::<Vec<_>>(),
        "comparisons": comparisons.collect::<Vec<_>>(),
    })
}

fn times_of(case: &CaseFindings, n: usize, arm: &str, times: &Times) -> Value {
    json!({
        "arm": arm,
        "median": times.median,
        "per_second": case.card.per_second(n, times.median.median),
        "mean": times.mean,
        "standard_deviation": times.standard_deviation,
        "minimum": times.minimum,
        "percentile_95": times.percentile_95,
        "deviation": times.deviation,
        "cpu": times.cpu,
        "allocations": times.allocations.map(|(allocations, _)| allocations),
        "allocated_bytes": times.allocations.map(|(_, allocated)| allocated),
    })
}

fn comparison(arm: &str, comparison: &Comparison) -> Value {
    json!({
        "arm": arm,
        "speed_up": comparison.clean,
        "speed_up_as_found": comparison.as_found,
        "verdict": verdict_word(comparison.verdict),
        "undecided_because": comparison.doubt.map(doubt_words),
        "q_value": comparison.q_value,
        "spread_between_launches": comparison.spread.between_launches,
        "spread_within_launches": comparison.spread.within_launches,
    })
}

fn answer(arm: &str, answer: &Answer) -> Value {
    let (practical, practical_from) = match answer.practical {
        Practical::Between(lower, upper) => (Some((lower, upper)), Some(upper)),
        Practical::From(n) => (None, Some(n)),
        Practical::Nowhere => (None, None),
    };
    let mut said = json!(answer.kind);
    said["arm"] = json!(arm);
    said["practical"] = json!(practical);
    said["practical_from"] = json!(practical_from);
    said["model"] = json!(answer.fit);
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

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
        let copies = &experiment["over_copies"][0]["points"][1];
        assert_eq!(copies["copies"], 2);
    }
}
