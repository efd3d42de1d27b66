//! Two runs side by side.
//!
//! The runs were not paired, so what changed between them, such as the machine's temper, is in the ratios.

use super::{
    grid::{Column, Grid},
    sentence::kind_words,
    units::{count, nanos, ratio_cell},
    width::Width,
};
use crate::{
    findings::{CaseFindings, Findings, Point},
    stats::Estimate,
};

/// What became of every time and speed-up that both runs have, as text for a terminal.
#[must_use]
pub fn compare(before: &Findings, after: &Findings, width: Width) -> String {
    let mut text = String::new();
    for (name, run) in [("before", before), ("after ", after)] {
        let (started, machine) = (&run.head.started, run.head.machine.line());
        text += &width.wrapped(&format!("{name}  {started}, {machine}"));
    }
    let times = Times::of(before, after);
    if times == Times::DoNot {
        text += &width
            .wrapped("Warning: the machines differ. Times do not compare, only speed-ups do.");
    }
    for run in [before, after] {
        if let Some(sentence) = super::not_quiet_sentence(run) {
            text += &width.wrapped(&format!("Run of {}: {sentence}", run.head.started));
        }
    }
    let mut matched = false;
    for Pair {
        id,
        before: case,
        after: other,
    } in pairs(before, after)
    {
        let title = format!("{id}  {}", case.card.name);
        let grid = grid(case, other, times);
        if !grid.rows.is_empty() {
            matched = true;
            text += &format!("\n{}{}\n", width.wrapped(&title), grid.terminal(width));
            for (name, old, new) in break_evens(case, other) {
                let sentence = format!("Break-even of '{name}': {old} before, {new} after.");
                text += &width.wrapped(&sentence);
            }
        }
    }
    let ending = if matched {
        "The two runs were not paired: whatever changed on the machine between them is in these \
         ratios. A ratio above 1 means faster after than before. \"changed\" is said where 1 lies \
         outside the 95 % interval; of twenty such intervals one is wrong by chance."
    } else {
        "The two runs have no case, size and arm in common."
    };
    text + "\n" + &width.wrapped(ending)
}

/// A case that both runs have with the same baseline.
pub(super) struct Pair<'run> {
    /// Id of its experiment.
    pub(super) id: &'run str,
    pub(super) before: &'run CaseFindings,
    pub(super) after: &'run CaseFindings,
}

/// All such cases.
pub(super) fn pairs<'run>(before: &'run Findings, after: &'run Findings) -> Vec<Pair<'run>> {
    let mut pairs = Vec::new();
    for experiment in &before.experiments {
        let mut others = after.experiments.iter();
        let Some(other) = others.find(|other| other.id == experiment.id) else {
            continue;
        };
        for case in &experiment.cases {
            let same = |one: &&CaseFindings| {
                one.card.name == case.card.name && one.card.arms.first() == case.card.arms.first()
            };
            pairs.extend(other.cases.iter().find(same).map(|after| Pair {
                id: &experiment.id,
                before: case,
                after,
            }));
        }
    }
    pairs
}

/// Whether times of the two runs may be compared.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Times {
    Compare,
    DoNot,
}

impl Times {
    /// Those of different machines do not compare.
    pub(super) fn of(before: &Findings, after: &Findings) -> Self {
        if before.head.machine.line() == after.head.machine.line() {
            Self::Compare
        } else {
            Self::DoNot
        }
    }
}

/// One arm at one size in both runs.
pub(super) struct Change<'run> {
    pub(super) n: usize,
    pub(super) arm: &'run str,
    /// Times before and after.
    pub(super) times: (Estimate, Estimate),
    /// The time before over the time after, where times compare.
    pub(super) time: Option<Estimate>,
    /// Speed-ups before and after, of an arm that is not the baseline.
    pub(super) speed_ups: Option<(Estimate, Estimate)>,
    /// The speed-up after over the speed-up before.
    pub(super) gain: Option<Estimate>,
    /// What changed, in a word or none.
    pub(super) changed: &'static str,
}

/// Every arm at every size that both runs of a case have, as far as something can be compared.
pub(super) fn changes<'run>(
    before: &'run CaseFindings,
    after: &CaseFindings,
    times: Times,
) -> Vec<Change<'run>> {
    let mut changes = Vec::new();
    for point in &before.points {
        let Some(other) = after.points.iter().find(|other| other.n == point.n) else {
            continue;
        };
        for (arm, name) in before.card.arms.iter().enumerate() {
            let Some(arm_after) = after.card.arms.iter().position(|one| one == name) else {
                continue;
            };
            changes.extend(change(name, (point, arm), (other, arm_after), times));
        }
    }
    changes
}

/// One arm at one size in both runs; nothing if there is nothing to compare.
fn change<'run>(
    arm: &'run str,
    (before, arm_before): (&Point, usize),
    (after, arm_after): (&Point, usize),
    times: Times,
) -> Option<Change<'run>> {
    let old = before.times.get(arm_before)?.median;
    let new = after.times.get(arm_after)?.median;
    let time = (times == Times::Compare).then(|| old.over(new));
    let speed_ups = before.speed_up(arm_before).zip(after.speed_up(arm_after));
    let gain = speed_ups.map(|(old, new)| new.over(old));
    (time.is_some() || gain.is_some()).then(|| Change {
        n: before.n,
        arm,
        times: (old, new),
        time,
        speed_ups,
        gain,
        changed: changed(time, gain),
    })
}

fn grid(before: &CaseFindings, after: &CaseFindings, times: Times) -> Grid {
    let text = |value: Option<String>| value.unwrap_or_default();
    let speed_ups =
        |(old, new): (Estimate, Estimate)| format!("{:.2} → {:.2}", old.median, new.median);
    let row = |change: Change<'_>| {
        vec![
            Column::numbers("n", count(change.n)),
            Column::arms("arm", change.arm.to_owned()),
            Column::numbers("before", nanos(change.times.0.median)),
            Column::numbers("after", nanos(change.times.1.median)),
            Column::numbers("before ÷ after", text(change.time.map(ratio_cell))),
            Column::numbers("speed-ups", text(change.speed_ups.map(speed_ups))),
            Column::numbers("ratio of those", text(change.gain.map(ratio_cell))),
            Column::words("changed", change.changed.to_owned()),
        ]
    };
    Grid::of(changes(before, after, times).into_iter().map(row)).without_empty_columns()
}

/// The break-evens of the arms that were searched for one in both runs: arm, before, after.
pub(super) fn break_evens<'run>(
    before: &'run CaseFindings,
    after: &CaseFindings,
) -> Vec<(&'run str, String, String)> {
    let answer = |case: &CaseFindings, name: &String| {
        let mut arms = case.card.arms.iter().skip(1);
        let index = arms.position(|one| one == name)?;
        Some(kind_words(&case.answers.get(index)?.kind))
    };
    let found = |name: &'run String| {
        let (old, new) = (answer(before, name)?, answer(after, name)?);
        Some((name.as_str(), old, new))
    };
    before.card.arms.iter().filter_map(found).collect()
}

fn changed(time: Option<Estimate>, speed_up: Option<Estimate>) -> &'static str {
    let moved = |one: Estimate| one.low > 1.0 || one.high < 1.0;
    match (time.is_some_and(moved), speed_up.is_some_and(moved)) {
        (true, true) => "both",
        (true, false) => "time",
        (false, true) => "speed-up",
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_without_one_is_a_change() {
        let same = Estimate::new(1.02, 0.99, 1.05);
        let moved = Estimate::new(1.1, 1.01, 1.2);
        assert_eq!(changed(Some(same), Some(same)), "");
        assert_eq!(changed(Some(moved), None), "time");
        assert_eq!(changed(None, Some(same)), "");
        assert_eq!(changed(Some(same), Some(moved)), "speed-up");
        assert_eq!(changed(Some(moved), Some(moved)), "both");
    }
}
