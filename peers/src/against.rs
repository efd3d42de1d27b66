//! This build's manyhands beside that of another build of the same program: the ratio of the two, case by
//! case, paired within the rounds.
//!
//! Each of our contenders has two twins: one from the other build, and a second process of this build, whose
//! ratio to the first is the noise.
//!
//! Not here: how the other build is made (`cargo xtask against`).

use crate::case_result::CaseResult;
use crate::report::{self, Report};
use crate::stats;
use crate::team::{Arm, Build};

/// Whether a contender is manyhands itself.
pub(crate) fn is_ours(contender: &str) -> bool {
    contender == OURS || contender.starts_with("manyhands-")
}

/// The arms, and behind each of ours its twins.
pub(crate) fn with_twins(arms: &[Arm]) -> Vec<Arm> {
    let twin = |arm: Arm, before: &str, build: Build| Arm {
        // A label for each contender and run of this program: few and short.
        label: format!("{before}{}", arm.label).leak(),
        build,
        ..arm
    };
    let all = |&arm: &Arm| {
        let twins = [(BEFORE, Build::Other), (AGAIN, Build::This)];
        let twins = twins.map(|(name, build)| twin(arm, name, build));
        let twins = is_ours(arm.contender).then_some(twins);
        std::iter::once(arm).chain(twins.into_iter().flatten())
    };
    arms.iter().flat_map(all).collect()
}

/// The table of ratios; nothing where there is no other build.
pub(crate) fn print(results: &[CaseResult], report: &mut Report) {
    let rows: Vec<Vec<String>> = results.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return;
    }
    report.line("### This build against the other\n");
    report.line(
        "Medians over rounds of the ratio within the round, and intervals that cover the median with 95 %; \
         below 1 this build is faster. Noise is the same for a second process of this build.\n",
    );
    let header = ["case and contender", "before", "now", "ratio", "noise"].map(str::to_owned);
    report.table(&header, &rows);
}

fn rows(result: &CaseResult) -> impl Iterator<Item = Vec<String>> {
    result.arms.iter().filter_map(|(arm, _)| {
        let ours = arm.label.strip_prefix(BEFORE)?;
        let now = result.values(ours, VALUE)?;
        let before = result.values(arm.label, VALUE)?;
        let again = result.values(&format!("{AGAIN}{ours}"), VALUE)?;
        Some(vec![
            format!("{}: {ours}", result.case),
            report::time(stats::median(before.iter().copied())?),
            report::time(stats::median(now.iter().copied())?),
            ratio(&now, &before)?,
            ratio(&again, &now)?,
        ])
    })
}

/// The median of the ratios, and its interval.
fn ratio(ours: &[f64], theirs: &[f64]) -> Option<String> {
    let ratios = || ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs);
    let median = report::ratio(stats::median(ratios())?);
    Some(match stats::interval(ratios()) {
        None => median,
        Some((low, high)) => {
            format!(
                "{median} ({} … {})",
                report::ratio(low),
                report::ratio(high)
            )
        }
    })
}

const OURS: &str = "manyhands";
const BEFORE: &str = "before: ";
const AGAIN: &str = "again: ";
/// The first value of every problem's samples is its time.
const VALUE: usize = 0;
