//! Under which conditions a run measured, in words.

use super::units::{count, nanos, percent};
use crate::{
    findings::{Cause, Findings, Point, worst_clock},
    record::{PoolState, Scale},
    report::plural,
};

/// Lines for below the headline of a chart of some points: the machine, then how they were
/// measured, then, if the machine was not quiet, that.
#[must_use]
pub fn conditions<'point>(
    findings: &Findings,
    points: impl Iterator<Item = &'point Point>,
) -> Vec<String> {
    let settings = &findings.head.settings;
    let mut lines = vec![
        findings.head.machine.line(),
        format!(
            "medians of {} paired blocks a point, {}, seed {}, {}",
            blocks_words(points),
            pool_words(settings.pool),
            settings.seed,
            findings.head.started
        ),
    ];
    if !findings.quiet {
        lines.push(format!(
            "machine not quiet: {} of the blocks were disturbed",
            disturbed_share(findings)
        ));
    }
    lines
}

/// How many blocks the medians of some points are of.
fn blocks_words<'point>(points: impl Iterator<Item = &'point Point>) -> String {
    let used = |point: &Point| match point.blocks - point.disturbed {
        0 => point.blocks,
        clean => clean,
    };
    let used: Vec<usize> = points.map(used).collect();
    let fewest = used.iter().min().copied().unwrap_or(0);
    let most = used.iter().max().copied().unwrap_or(0);
    if fewest == most {
        count(most)
    } else {
        format!("{} to {}", count(fewest), count(most))
    }
}

/// One sentence if the machine was not quiet enough to trust the numbers.
#[must_use]
pub fn not_quiet_sentence(findings: &Findings) -> Option<String> {
    if findings.quiet {
        return None;
    }
    Some(format!(
        "The machine was not quiet enough: {} of {} blocks were disturbed, and up to {} are \
         tolerated; measure again while nothing else runs before relying on these numbers.",
        disturbed_share(findings),
        count(findings.blocks),
        percent(findings.head.settings.thresholds.too_noisy)
    ))
}

/// How the numbers came about, for readers who know none of it.
pub(super) fn method(findings: &Findings) -> String {
    let settings = &findings.head.settings;
    let thresholds = settings.thresholds;
    let processes = match settings.launches {
        1 => "process".to_owned(),
        _ => plural("process"),
    };
    format!(
        "All arms of a case are timed one after the other in shuffled order; that is a block, and \
         only times of one block are compared. The blocks of a case come from {} fresh {}, {}. \
         A speed-up is the median over the blocks of the baseline's time divided by the arm's \
         time, with a 95 % interval: above 1 the arm is faster. A difference counts from {} on. \
         A block is left out, with all its arms, when others used more than {} of the CPUs, when \
         threads waited for a CPU for more than {} of the time, or when a page was read from a \
         file; the value of a time is never a reason to leave it out. The scale was {}, the seed \
         is {}.",
        count(settings.launches as usize),
        processes,
        pool_words(settings.pool),
        percent(settings.smallest_effect),
        percent(thresholds.load),
        percent(thresholds.run_delay),
        scale_word(settings.scale),
        settings.seed
    )
}

/// What the clock can tell, at worst over all launches; nothing if it was not looked at.
pub(super) fn clock_sentence(findings: &Findings) -> Option<String> {
    let (cost, grain) = worst_clock(findings.cases().filter_map(|case| case.clock))?;
    let (cost, grain) = (nanos(cost), nanos(grain));
    Some(format!(
        "Reading the clock takes {cost}, and it steps by {grain}."
    ))
}

/// How many blocks were dropped, and why.
pub(super) fn disturbance(findings: &Findings) -> String {
    let mut sentence = format!(
        "{} of {} blocks were disturbed ({}).",
        count(findings.disturbed),
        count(findings.blocks),
        disturbed_share(findings)
    );
    for cause in [Cause::Load, Cause::RunDelay, Cause::MajorFault] {
        let of_cause = |(one, blocks): &(Cause, usize)| (*one == cause).then_some(*blocks);
        let dropped = findings.points().flat_map(|point| &point.dropped);
        let dropped: usize = dropped.filter_map(of_cause).sum();
        if dropped > 0 {
            sentence += &format!(" {}: {}.", cause_words(cause), count(dropped));
        }
    }
    sentence
}

/// A cause as the subject of a sentence.
fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Load => "Others used the CPUs",
        Cause::RunDelay => "Threads waited for a CPU",
        Cause::MajorFault => "Pages were read from files",
    }
}

/// Share of disturbed blocks in the whole run.
pub(super) fn disturbed_share(findings: &Findings) -> String {
    share(findings.disturbed, findings.blocks)
}

/// A part of a whole as a percentage; nothing of nothing is nothing.
pub(super) fn share(part: usize, whole: usize) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

pub(super) fn pool_words(pool: PoolState) -> &'static str {
    match pool {
        PoolState::Warm => "pool warm",
        PoolState::Parked => "pool parked before each call",
        PoolState::ColdPool => "a new pool for each call",
        PoolState::ColdProcess => "a new process for each call",
    }
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::Quick => "quick",
        Scale::Standard => "standard",
        Scale::Full => "full",
    }
}
