//! Verdicts in words.

use super::units::{count, interval, percent, ratio};
use crate::{
    findings::{CaseFindings, Comparison, Findings},
    stats::Estimate,
    verdict::{Doubt, Verdict},
};

/// What the blocks say about an arm, over all sizes of its case.
///
/// # Panics
/// If the case has no such arm, or `arm` is the baseline.
#[must_use]
pub fn verdict_sentence(findings: &Findings, case: &CaseFindings, arm: usize) -> String {
    let (name, baseline) = (&case.card.arms[arm], &case.card.arms[0]);
    let comparisons: Vec<(usize, &Comparison)> = case
        .points
        .iter()
        .filter_map(|point| Some((point.n, point.comparisons.get(arm - 1)?)))
        .collect();
    match comparisons.as_slice() {
        [] => format!("'{name}' was not measured."),
        [(_, comparison)] => {
            let effect = percent(findings.head.settings.smallest_effect);
            format!("'{name}' {}", at_one_size(comparison, baseline, &effect))
        }
        several => {
            let runs: Vec<String> = runs(several).iter().map(run_words).collect();
            format!("'{name}' against '{baseline}': {}.", runs.join("; "))
        }
    }
}

/// One word for a table.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no difference",
        Verdict::Undecided => "undecided",
    }
}

/// Why there is no verdict, as the end of a sentence.
pub(super) fn doubt_words(doubt: Doubt) -> String {
    match doubt {
        Doubt::FewBlocks { blocks, needed } => format!(
            "{} undisturbed {}, at least {} are needed",
            count(blocks),
            if blocks == 1 { "block" } else { "blocks" },
            count(needed)
        ),
        Doubt::Split { agree, blocks } => {
            format!("{} of {} blocks agree", count(agree), count(blocks))
        }
        Doubt::Alike { blocks, worth } => format!(
            "neighbouring blocks are alike, so that {} tell as much as {}",
            count(blocks),
            count(worth)
        ),
        Doubt::Interval => "the blocks agree, but the interval is too wide".to_owned(),
        Doubt::Floor => "the blocks agree, but two equal arms differ by as much".to_owned(),
    }
}

/// The rest of a sentence that begins with the arm.
fn at_one_size(comparison: &Comparison, baseline: &str, effect: &str) -> String {
    let found = comparison.shown();
    match comparison.verdict {
        Verdict::Faster => format!(
            "is {:.2} times as fast as '{baseline}' {}.",
            found.median,
            interval(found)
        ),
        Verdict::Slower => {
            let longer = inverse(found);
            format!(
                "takes {:.2} times as long as '{baseline}' {}.",
                longer.median,
                interval(longer)
            )
        }
        Verdict::NoDifference => format!(
            "takes as long as '{baseline}' to within {effect}: the speed-up is {} {}.",
            ratio(found.median),
            interval(found)
        ),
        Verdict::Undecided => format!(
            "may be faster or slower than '{baseline}', {}: the speed-up is {} {}.",
            comparison
                .doubt
                .map_or_else(|| "the blocks do not tell".to_owned(), doubt_words),
            ratio(found.median),
            interval(found)
        ),
    }
}

fn inverse(estimate: Estimate) -> Estimate {
    let Estimate { median, low, high } = estimate.each(f64::recip);
    Estimate::new(median, high, low)
}

/// Neighbouring sizes with the same verdict.
struct Run {
    verdict: Verdict,
    sizes: Vec<usize>,
    /// Why the largest of them is undecided.
    doubt: Option<Doubt>,
}

fn runs(comparisons: &[(usize, &Comparison)]) -> Vec<Run> {
    let same =
        |one: &(usize, &Comparison), next: &(usize, &Comparison)| one.1.verdict == next.1.verdict;
    comparisons
        .chunk_by(same)
        .map(|chunk| Run {
            verdict: chunk[0].1.verdict,
            sizes: chunk.iter().map(|(n, _)| *n).collect(),
            doubt: chunk.last().and_then(|(_, comparison)| comparison.doubt),
        })
        .collect()
}

fn run_words(run: &Run) -> String {
    let sizes = match run.sizes.as_slice() {
        [first, .., last] => format!("from n = {} to n = {}", count(*first), count(*last)),
        [one] => format!("at n = {}", count(*one)),
        [] => String::new(),
    };
    let why = match (run.doubt, run.sizes.as_slice()) {
        (None, _) => String::new(),
        (Some(doubt), [.., last]) if run.sizes.len() > 1 => {
            format!(" (at n = {}, {})", count(*last), doubt_words(doubt))
        }
        (Some(doubt), _) => format!(" ({})", doubt_words(doubt)),
    };
    format!("{} {sizes}{why}", verdict_word(run.verdict))
}
