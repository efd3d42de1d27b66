//! From the events of one case to its findings.

use super::{CaseFindings, Peak, Point, Trace, collect::CaseEvents, point::Observed, suspicion};
use crate::{
    break_even::{Answer, Finder, Verdicts},
    gate::Capacity,
    record::{CaseCard, CoreTrace, Head, PeakReading},
    stats::geometric_mean,
};
use std::collections::BTreeMap;

/// Analyses one case that has blocks.
pub(super) fn case(head: &Head, card: &CaseCard, found: &CaseEvents<'_>) -> CaseFindings {
    let capacity = Capacity::of(&head.machine, card.cpus);
    let blocks = found.blocks.iter();
    let observed: Vec<Observed<'_>> = blocks
        .map(|(n, blocks)| Observed::new(*n, blocks, card, capacity, &head.settings))
        .collect();
    let clocks = found.clocks.iter().copied();
    let trace = |(n, arm, trace): &(usize, usize, &CoreTrace)| Trace {
        n: *n,
        arm: *arm,
        trace: (*trace).clone(),
    };
    let arms = card.arms.len();
    let points: Vec<Point> = observed.iter().map(Observed::analyse).collect();
    CaseFindings {
        answers: answers(head, card, &observed, &points),
        speed_ups: (1..arms).map(|arm| speed_up(card, &points, arm)).collect(),
        clock: worst_clock(clocks),
        peaks: peaks(&found.peaks),
        traces: found.traces.iter().map(trace).collect(),
        suspicious: suspicion::suspicious(&points, arms, capacity.allowed),
        points,
        card: card.clone(),
    }
}

/// The largest cost of a reading and the largest grain, of several clocks.
pub(crate) fn worst_clock(clocks: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    clocks.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
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
        let points = observed.iter().map(|one| (one.n, one.ratios(arm)));
        let judged = |(one, point): (&Observed<'_>, &Point)| {
            Some((one.n, one.judged(point.comparisons.get(arm - 1)?)))
        };
        let verdicts: Verdicts = observed.iter().zip(found).filter_map(judged).collect();
        finder.answer(&points.collect(), &verdicts, head.settings.seed)
    };
    (1..card.arms.len()).map(answer).collect()
}

/// Geometric mean over the sizes of the case, without those of a search.
fn speed_up(card: &CaseCard, points: &[Point], arm: usize) -> Option<f64> {
    let points = points.iter().filter(|point| card.sizes.contains(&point.n));
    let speed_ups = points.filter_map(|point| Some(point.speed_up(arm)?.median));
    let speed_ups: Vec<f64> = speed_ups.collect();
    geometric_mean(&speed_ups).filter(|_| speed_ups.len() > 1)
}
