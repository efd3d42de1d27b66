//! Verdicts in words.

use super::units::{count, interval, percent, ratio};
use crate::{
    findings::{CaseFindings, Comparison, Findings},
    stats::Estimate,
    verdict::Verdict,
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

/// The rest of a sentence that begins with the arm.
fn at_one_size(comparison: &Comparison, baseline: &str, effect: &str) -> String {
    let found = comparison.clean.unwrap_or(comparison.as_found);
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
            "may be faster or slower than '{baseline}', the blocks do not tell: the speed-up is {} \
             {}.",
            ratio(found.median),
            interval(found)
        ),
    }
}

fn inverse(estimate: Estimate) -> Estimate {
    Estimate {
        median: estimate.median.recip(),
        low: estimate.high.recip(),
        high: estimate.low.recip(),
    }
}

/// Neighbouring sizes with the same verdict.
struct Run {
    verdict: Verdict,
    sizes: Vec<usize>,
}

fn runs(comparisons: &[(usize, &Comparison)]) -> Vec<Run> {
    let same =
        |one: &(usize, &Comparison), next: &(usize, &Comparison)| one.1.verdict == next.1.verdict;
    comparisons
        .chunk_by(same)
        .map(|chunk| Run {
            verdict: chunk[0].1.verdict,
            sizes: chunk.iter().map(|(n, _)| *n).collect(),
        })
        .collect()
}

fn run_words(run: &Run) -> String {
    let sizes = match run.sizes.as_slice() {
        [first, .., last] => format!("from n = {} to n = {}", count(*first), count(*last)),
        [one] => format!("at n = {}", count(*one)),
        [] => String::new(),
    };
    format!("{} {sizes}", verdict_word(run.verdict))
}
