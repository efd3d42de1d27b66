//! The texts and files that are made of a run, in one place, so that a run and a later report on it make the same.

use super::Screen;
use crate::{
    LabError, chart,
    director::Plan,
    findings::{self, ExperimentFindings, Findings},
    record::{Event, Head},
    report::{self, Published, Width},
    store::{EVENTS, Store},
};
use std::time::Duration;

/// What was published about the experiments of a run, given what the run has found.
pub type Companion = fn(&Findings) -> Published;

/// Nothing was published about these experiments.
#[must_use]
pub fn alone(_: &Findings) -> Published {
    Published::default()
}

/// What there is to print about one experiment when it is measured. The others are not looked at.
pub(super) fn section(
    head: &Head,
    events: &[Event],
    id: &str,
    companion: Companion,
    width: Width,
) -> String {
    let mut head = head.clone();
    head.experiments.retain(|one| one.id == id);
    // The events of an experiment follow each other.
    let first = events.iter().position(|event| event.subject().0 == id);
    let findings = findings::analyse(&head, &events[first.unwrap_or(0)..]);
    experiments(&findings, &companion(&findings), width)
}

/// The experiments that the time did not suffice to begin, in a sentence.
pub(super) fn not_begun(findings: &Findings, width: Width) -> String {
    let failed = |id: &str| findings.failures.iter().any(|one| one.key.experiment == id);
    let empty = |one: &&ExperimentFindings| one.cases.is_empty() && !failed(&one.id);
    let all = findings.experiments.iter().filter(empty);
    let ids: Vec<&str> = all.map(|one| one.id.as_str()).collect();
    if ids.is_empty() {
        return String::new();
    }
    width.wrapped(&format!(
        "Not begun, as no time was left: {}.",
        ids.join(", ")
    ))
}

/// What fits into the budget and what does not, before it is measured.
pub(super) fn plan_words(plan: &Plan, width: Width) -> String {
    let time = |time: Duration| {
        let whole = Duration::from_secs(time.as_secs());
        let up = u64::from(whole < time);
        humantime::format_duration(whole + Duration::from_secs(up))
    };
    let mut left_out: Vec<(String, Duration)> = Vec::new();
    let cases = plan
        .left_out
        .chunk_by(|(one, _), (next, _)| one.experiment == next.experiment && one.case == next.case);
    for case in cases {
        let (key, _) = &case[0];
        let from = if case.len() > 1 { "from" } else { "at" };
        let on = if case.len() > 1 { " on" } else { "" };
        let what = format!(
            "{} {} {from} n = {}{on}",
            key.experiment,
            key.case,
            report::count(key.n)
        );
        left_out.push((what, case.iter().map(|(_, cost)| *cost).sum()));
    }
    let passes = plan.passes_left_out.iter();
    left_out.extend(passes.map(|(key, cost)| {
        let what = format!("memory and cores of {} {}", key.experiment, key.case);
        (what, *cost)
    }));
    if left_out.is_empty() {
        return String::new();
    }
    let is_all_known = left_out.iter().all(|(_, cost)| !cost.is_zero());
    let names: Vec<String> = left_out
        .into_iter()
        .map(|(what, cost)| match cost {
            Duration::ZERO => what,
            cost => format!("{what} ({})", time(cost)),
        })
        .collect();
    width.wrapped(&format!(
        "Everything that was asked takes {} {}; in {} there is no time for: {}.",
        if is_all_known { "about" } else { "more than" },
        time(plan.needed),
        time(plan.budget),
        names.join("; ")
    ))
}

fn experiments(findings: &Findings, published: &Published, width: Width) -> String {
    let text = |experiment: &ExperimentFindings| {
        let papers = published.papers_of(&experiment.id);
        let text = report::experiment_text(findings, experiment, papers, width);
        text + &report::meters_text(experiment, width) + "\n"
    };
    findings.experiments.iter().map(text).collect()
}

/// What there is to print about a whole run.
#[must_use]
pub fn text(findings: &Findings, companion: Companion, width: Width) -> String {
    experiments(findings, &companion(findings), width) + &report::closing(findings, width)
}

/// Writes all files that are computed from a run. The answer is what there is to say about that, if anything.
///
/// # Errors
/// [`LabError::File`] if one cannot be written.
pub fn write(
    store: &mut Store,
    findings: &Findings,
    events: &[Event],
    companion: Companion,
    width: Width,
) -> Result<String, LabError> {
    let published = companion(findings);
    let files = report::files(findings, events, &published);
    let named: Vec<(&str, &[u8])> = files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes.as_slice()))
        .collect();
    let left_alone = store.write(&named)?;
    Ok(match left_alone.as_slice() {
        [] => String::new(),
        names => width.wrapped(&format!(
            "Not written, because files that are not of this program have these names: {}.",
            names.join(", ")
        )),
    })
}

/// Says where the results are.
pub(super) fn listing(findings: &Findings, folder: &str, screen: Screen) -> String {
    let first = chart::all(findings).into_iter().next();
    let chart = first.filter(|_| screen == Screen::Answer).map(|chart| {
        let path = report::chart_path(&chart.name);
        format!("Chart: {folder}/{path}\n")
    });
    let chart = chart.unwrap_or_default();
    format!(
        "{chart}Report, charts, tables: {folder}/report.html and beside it; as measured: {EVENTS}.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Key;

    fn key(n: usize) -> Key {
        Key::new("E1", "case", n)
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_time() {
        let seconds = Duration::from_secs;
        let mut plan = Plan {
            costs: Vec::new(),
            left_out: vec![(key(10), seconds(4)), (key(1_000), seconds(400))],
            passes_left_out: vec![(key(1_000), seconds(9))],
            needed: seconds(500),
            budget: seconds(70),
        };
        let words = plan_words(&plan, Width::default()).replace('\n', " ");
        for part in [
            "8m 20s",
            "1m 10s",
            "E1 case from n = 10 on (6m 44s)",
            "memory and cores",
        ] {
            assert!(words.contains(part), "'{part}' is missing in: {words}");
        }
        plan.left_out.clear();
        plan.passes_left_out.clear();
        assert_eq!(plan_words(&plan, Width::default()), "");
    }
}
