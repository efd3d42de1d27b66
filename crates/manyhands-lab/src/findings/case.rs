//! From the events of one case to its findings.

use super::{CaseFindings, Peak, Point, Trace, collect::CaseEvents, point::Observed, suspicion};
use crate::{
    break_even::{Answer, Finder, Points, Verdicts},
    gate::Capacity,
    record::{CaseCard, Head, PeakReading},
    stats::geometric_mean,
};
use std::collections::BTreeMap;

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
        peaks: peaks(&found.peaks),
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

/// The readings of each size and arm together.
fn peaks(readings: &[(usize, usize, &PeakReading)]) -> Vec<Peak> {
    let mut by_point: BTreeMap<(usize, usize), Vec<&PeakReading>> = BTreeMap::new();
    for (n, arm, reading) in readings {
        by_point.entry((*n, *arm)).or_default().push(reading);
    }
    let peak = |((n, arm), all): ((usize, usize), Vec<&PeakReading>)| {
        let mut readings: Vec<u64> = all.iter().map(|one| one.peak_bytes).collect();
        readings.sort_unstable();
        Peak {
            n,
            arm,
            bytes: readings[readings.len() / 2],
            readings,
            threads: all.iter().find_map(|one| one.threads.clone()),
            ends: all.iter().find_map(|one| one.ends.clone()),
        }
    };
    by_point.into_iter().map(peak).collect()
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
        .filter_map(|point| Some(point.speed_up(arm)?.median))
        .collect();
    if speed_ups.len() < 2 {
        return None;
    }
    geometric_mean(&speed_ups)
}
