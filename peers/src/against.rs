//! This build's manyhands beside that of another build of the same program: the ratio of the two, case by
//! case, paired within the rounds.
//!
//! Each of our contenders has two twins: one from the other build, and a second process of this build, whose
//! ratio to the first is the noise.
//!
//! Not here: how the other build is made (`cargo xtask against`).

use manyhands_lab::contest::{self, Arm, Build, CaseResult};

use crate::report::Report;

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
    let (Some(first), false) = (results.first(), rows.is_empty()) else {
        return;
    };
    report.line("### This build against the other\n");
    report.line(
        "Below 1 this build is faster. Noise is the ratio of a second process of this build to the first.\n",
    );
    let corner = contest::corner(first, "case and contender");
    let others = ["before", "now", "ratio", "noise"].map(str::to_owned);
    let header: Vec<String> = std::iter::once(corner).chain(others).collect();
    report.table(&header, rows);
}

fn rows(result: &CaseResult) -> impl Iterator<Item = Vec<String>> {
    result.arms.iter().filter_map(|(arm, _)| {
        let before = arm.label;
        let ours = before.strip_prefix(BEFORE)?;
        let again = format!("{AGAIN}{ours}");
        Some(vec![
            format!("{}: {ours}", result.case),
            contest::time(result.median(before, VALUE)?),
            contest::time(result.median(ours, VALUE)?),
            result.ratio(ours, before, VALUE)?.to_string(),
            result.ratio(&again, ours, VALUE)?.to_string(),
        ])
    })
}

const OURS: &str = "manyhands";
const BEFORE: &str = "before: ";
const AGAIN: &str = "again: ";
/// The first value of every problem's samples is its time.
const VALUE: usize = 0;
