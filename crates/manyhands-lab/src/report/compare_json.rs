//! Two runs side by side, as JSON.

use super::compare::{Change, Pair, Times, break_evens, changes, pairs};
use crate::findings::Findings;
use serde_json::{Value, json};

/// What [`compare`](super::compare) says, as indented JSON.
///
/// # Fields
/// `format` counts up when a field changes its meaning or goes; fields may be added without that.
/// `before` and `after` say when each run began, on which machine, and whether it was quiet.
/// `times_compare` is false on different machines; `time_ratio` is `null` then. `cases[].changes[]`
/// has each arm at each size that both runs have: `nanos_before` and `nanos_after`, the
/// `time_ratio` (before over after), `speed_up_before` and `speed_up_after`, the `speed_up_ratio`
/// (after over before), all with `median`, `low` and `high`, the ends of a 95 % interval; and
/// `changed`, which is `time`, `speed-up`, `both` or empty. `cases[].break_even[]` has the answers
/// in words.
///
/// # Examples
/// ```
/// use manyhands_lab::{Experiment, Scale, findings, machine::Machine, record::Settings, report, run};
/// let empty = [Experiment::new("X", "nothing")];
/// let head = run::head(&empty, Settings::new(Scale::Quick, 1), Machine::default(), "now");
/// let findings = findings::analyse(&head, &[]);
/// assert!(report::compare_json(&findings, &findings).contains("\"cases\": []"));
/// assert!(report::slower(&findings, &findings, 0.05).is_empty());
/// assert!(report::answer_text(&findings, report::Width::default()).starts_with("Nothing was measured"));
/// ```
#[must_use]
pub fn compare_json(before: &Findings, after: &Findings) -> String {
    let times = Times::of(before, after);
    let cases = pairs(before, after).into_iter();
    let file = json!({
        "format": FORMAT,
        "before": run(before),
        "after": run(after),
        "times_compare": times == Times::Compare,
        "cases": cases.map(|pair| case(&pair, times)).collect::<Vec<_>>(),
    });
    format!("{file:#}")
}

/// Counted up when a field changes its meaning or goes.
const FORMAT: u32 = 1;

fn run(findings: &Findings) -> Value {
    json!({
        "started": findings.head.started,
        "machine": findings.head.machine.line(),
        "quiet": findings.quiet,
    })
}

fn case(pair: &Pair<'_>, times: Times) -> Value {
    let changes = changes(pair.before, pair.after, times).into_iter();
    let answers = break_evens(pair.before, pair.after).into_iter();
    let answer = |(arm, before, after)| json!({ "arm": arm, "before": before, "after": after });
    json!({
        "experiment": pair.id,
        "case": pair.before.card.name,
        "changes": changes.map(|one| change(&one)).collect::<Vec<_>>(),
        "break_even": answers.map(answer).collect::<Vec<_>>(),
    })
}

fn change(change: &Change<'_>) -> Value {
    json!({
        "n": change.n,
        "arm": change.arm,
        "nanos_before": change.times.0,
        "nanos_after": change.times.1,
        "time_ratio": change.time,
        "speed_up_before": change.speed_ups.map(|(before, _)| before),
        "speed_up_after": change.speed_ups.map(|(_, after)| after),
        "speed_up_ratio": change.gain,
        "changed": change.changed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn what_the_text_compares_the_json_has_too() {
        let (before, mut after) = (fixture::findings(), fixture::other_findings());
        let read = |after: &Findings| -> Value {
            serde_json::from_str(&compare_json(&before, after)).expect("JSON")
        };
        let differ = read(&after);
        assert_eq!(differ["times_compare"], false);
        let first = &differ["cases"][0]["changes"][0];
        assert_eq!(first["arm"], "for_each");
        assert!(first["time_ratio"].is_null() && first["speed_up_ratio"]["low"].is_f64());
        assert_eq!(differ["cases"][0]["break_even"][0]["before"], "n = 31 … 37");

        after.head.machine = before.head.machine.clone();
        let same = read(&after);
        let baseline = &same["cases"][0]["changes"][0];
        assert_eq!(baseline["arm"], "sequential");
        assert_eq!(baseline["changed"], "time");
        let ratio = baseline["time_ratio"]["median"].as_f64().expect("a number");
        assert!((ratio - 0.8).abs() < 1e-9, "{ratio}");
    }
}
