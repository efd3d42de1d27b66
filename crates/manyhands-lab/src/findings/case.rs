//! From the events of one case to its findings.

use super::{CaseFindings, Peak, Point, Trace, collect::CaseEvents, point::Observed, suspicion};
use crate::{
    break_even::{Answer, Finder, Points, Verdicts},
    gate::Capacity,
    record::{CaseCard, Head},
    stats::geometric_mean,
};

/// Analyses one case that has blocks.
pub(super) fn case(head: &Head, card: &CaseCard, found: &CaseEvents<'_>) -> CaseFindings {
    let capacity = Capacity::of(&head.machine, card.cpus);
    let observed: Vec<Observed<'_>> = found
        .blocks
        .iter()
        .map(|(n, blocks)| Observed::new(*n, blocks, card, capacity, &head.settings))
        .collect();
    let arms = card.arms.len();
    let points: Vec<Point> = observed.iter().map(Observed::analyse).collect();
    CaseFindings {
        answers: answers(head, card, &observed, &points),
        speed_ups: (1..arms).map(|arm| speed_up(card, &points, arm)).collect(),
        clock: found
            .clocks
            .iter()
            .copied()
            .reduce(|(cost, grain), (other_cost, other_grain)| {
                (cost.max(other_cost), grain.max(other_grain))
            }),
        peaks: found
            .peaks
            .iter()
            .map(|(n, arm, peak)| Peak {
                n: *n,
                arm: *arm,
                bytes: peak.peak_bytes,
                threads: peak.threads.clone(),
            })
            .collect(),
        traces: found
            .traces
            .iter()
            .map(|(n, arm, trace)| Trace {
                n: *n,
                arm: *arm,
                trace: (*trace).clone(),
            })
            .collect(),
        suspicious: suspicion::suspicious(&points, arms, capacity.allowed),
        points,
        card: card.clone(),
    }
}

fn answers(
    head: &Head,
    card: &CaseCard,
    observed: &[Observed<'_>],
    found: &[Point],
) -> Vec<Answer> {
    if !card.finds_break_even {
        return Vec::new();
    }
    let finder = Finder::of_case(card, &head.settings);
    let answer = |arm: usize| {
        let points: Points = observed
            .iter()
            .map(|point| (point.n, point.ratios(arm)))
            .collect();
        let verdicts: Verdicts = observed
            .iter()
            .zip(found)
            .filter_map(|(one, point)| Some((one.n, one.judged(point.comparisons.get(arm - 1)?))))
            .collect();
        finder.answer(&points, &verdicts, head.settings.seed)
    };
    (1..card.arms.len()).map(answer).collect()
}

/// Geometric mean over the sizes of the case, without those of a search.
fn speed_up(card: &CaseCard, points: &[Point], arm: usize) -> Option<f64> {
    let speed_ups: Vec<f64> = points
        .iter()
        .filter(|point| card.sizes.contains(&point.n))
        .map(|point| {
            let comparison = &point.comparisons[arm - 1];
            comparison.clean.unwrap_or(comparison.as_found).median
        })
        .collect();
    if speed_ups.len() < 2 {
        return None;
    }
    geometric_mean(&speed_ups)
}
