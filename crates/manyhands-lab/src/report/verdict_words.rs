//! Verdicts in words.

use super::units::count;
use crate::{
    findings::CaseFindings,
    verdict::{Doubt, Verdict},
};

/// Why arms of a case are neither faster nor slower, where the table says that only; nothing if all were decided.
pub(super) fn doubt_sentence(case: &CaseFindings) -> Option<String> {
    let mut doubts = Vec::new();
    for point in &case.points {
        for (arm, comparison) in case.card.arms.iter().skip(1).zip(&point.comparisons) {
            let n = count(point.n);
            let doubt = comparison.doubt.map(doubt_words);
            doubts.extend(doubt.map(|doubt| format!("'{arm}' at n = {n} ({doubt})")));
        }
    }
    (!doubts.is_empty()).then(|| format!("Undecided: {}.", doubts.join("; ")))
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
            "blocks that follow each other are alike: {} count as {}",
            count(blocks),
            count(worth)
        ),
        Doubt::Interval => "the blocks agree, but the interval is too wide".to_owned(),
        Doubt::Floor => "the blocks agree, but two equal arms differ by as much".to_owned(),
    }
}
