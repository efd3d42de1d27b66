//! Tables of what a contest measured, as Markdown, and the lines below them.
//!
//! Not here: where they are printed, and which values a problem shows.

use super::{CaseResult, Verdict};
use crate::report;
use std::iter;

/// One column of a case's table: the values at one index of the samples.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    index: usize,
    kind: Kind,
}

/// How a column shows its values.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Time,
    Ratio { base: Option<&'static str> },
    Times,
    Megabytes,
    Percent,
}

impl Column {
    /// The median of nanoseconds.
    #[must_use]
    pub const fn time(title: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Time)
    }

    /// The ratio to the first arm.
    #[must_use]
    pub const fn ratio(title: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Ratio { base: None })
    }

    /// The ratio to the arm with the label `base`.
    #[must_use]
    pub const fn ratio_to(title: &'static str, base: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Ratio { base: Some(base) })
    }

    /// The median of what are ratios already.
    #[must_use]
    pub const fn times(title: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Times)
    }

    /// The median of megabytes.
    #[must_use]
    pub const fn megabytes(title: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Megabytes)
    }

    /// The median of percentages.
    #[must_use]
    pub const fn percent(title: &'static str, index: usize) -> Self {
        Self::new(title, index, Kind::Percent)
    }

    const fn new(title: &'static str, index: usize, kind: Kind) -> Self {
        Self { title, index, kind }
    }

    fn text(self, result: &CaseResult, label: &str, first: &str) -> Option<String> {
        let median = || result.median(label, self.index);
        // An arm that measures less than the others leaves a dot, not a doubt.
        if result.values(label, self.index).is_none() {
            return Some("·".to_owned());
        }
        match self.kind {
            Kind::Time => median().map(time),
            Kind::Ratio { base } => {
                let ratio = result.ratio(label, base.unwrap_or(first), self.index);
                // So does a base that did not run.
                Some(ratio.map_or_else(|| "·".to_owned(), |ratio| ratio.to_string()))
            }
            Kind::Times => median().map(|value| format!("{value:.2} ×")),
            Kind::Megabytes => median().map(|value| format!("{value:.1} MB")),
            Kind::Percent => median().map(|value| format!("{value:.1} %")),
        }
    }
}

/// The table of one case: a row for each arm, a column for each value. Its first cell says if it is a quick look.
#[must_use]
pub fn case_table(result: &CaseResult, columns: &[Column]) -> String {
    let titles = columns.iter().map(|column| column.title.to_owned());
    let header: Vec<String> = iter::once(corner(result, "")).chain(titles).collect();
    let first = result.arms.first().map_or("", |(arm, _)| arm.label);
    let row = |label: &str| {
        let text = |column: &Column| {
            cell(Some(result), label, |result| {
                column.text(result, label, first)
            })
        };
        let cells = columns.iter().map(text);
        iter::once(label.to_owned()).chain(cells).collect()
    };
    let rows = result.arms.iter().map(|(arm, _)| row(arm.label));
    report::markdown_table(&header, rows.collect())
}

/// The first cell of a table: what its first column holds, and whether the table is a quick look.
#[must_use]
pub fn corner(result: &CaseResult, title: &str) -> String {
    let quick = result.is_quick_look().then_some("quick look");
    let parts = [Some(title).filter(|title| !title.is_empty()), quick];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The text of one arm's cell, or the word for why there is none.
pub fn cell(
    result: Option<&CaseResult>,
    label: &str,
    text: impl FnOnce(&CaseResult) -> Option<String>,
) -> String {
    let measured = result.and_then(|result| Some((result, result.verdict(label)?)));
    match measured {
        None => "·".to_owned(),
        Some((_, Verdict::Absent(_))) => "absent".to_owned(),
        Some((_, Verdict::Failed(_))) => "FAILED".to_owned(),
        Some((result, Verdict::Measured(_))) => text(result).unwrap_or_else(|| "?".to_owned()),
    }
}

/// A time with its unit; an infinite one is "never".
#[must_use]
pub fn time(nanos: f64) -> String {
    if nanos.is_infinite() {
        return "never".to_owned();
    }
    report::nanos(nanos)
}

/// Lines that list absent arms, each once per reason, and failed ones, or say that all checksums
/// are equal; and whether nothing failed.
#[must_use]
pub fn notes(results: &[CaseResult]) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for result in results {
        for (arm, verdict) in &result.arms {
            match verdict {
                Verdict::Measured(_) => {}
                Verdict::Absent(reason) => lines.push(format!("Absent: {}: {reason}", arm.label)),
                Verdict::Failed(message) => {
                    let case = &result.case;
                    failures.push(format!("FAILED: {case}: {}: {message}", arm.label));
                }
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    let agreed = failures.is_empty();
    if agreed {
        lines.push("Checksums: equal in all contenders of every case.".to_owned());
    }
    lines.append(&mut failures);
    (lines, agreed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::result;

    #[test]
    fn a_table_has_ratios_to_the_first_arm_with_intervals_or_is_a_quick_look() {
        let columns = [Column::time("time", 0), Column::ratio("ratio", 0)];
        let table = |rounds: usize| {
            let (base, ours) = (vec![200.0; rounds], vec![100.0; rounds]);
            let result = result::measured("c", &[("base", &base), ("ours", &ours)]);
            case_table(&result, &columns)
        };
        assert_eq!(
            table(7),
            "|  | time | ratio |\n| --- | ---: | ---: |\n\
             | base | 200 ns | 1.00 (1.00 … 1.00) |\n| ours | 100 ns | 0.50 (0.50 … 0.50) |\n"
        );
        assert_eq!(
            table(2),
            "| quick look | time | ratio |\n| --- | ---: | ---: |\n\
             | base | 200 ns | 1.00 (–) |\n| ours | 100 ns | 0.50 (–) |\n"
        );
        let result = result::measured("c", &[("base", &[1.0])]);
        assert_eq!(corner(&result, "n"), "n, quick look");
        let columns = [
            Column::ratio_to("to a", "a", 0),
            Column::ratio_to("to base", "base", 0),
        ];
        let table = case_table(&result, &columns);
        assert!(table.ends_with("| base | · | 1.00 (–) |\n"), "{table}");
        let columns = [Column::time("measured", 0), Column::time("not measured", 1)];
        let table = case_table(&result, &columns);
        assert!(table.ends_with("| base | 1.00 ns | · |\n"), "{table}");
    }

    #[test]
    fn a_cell_without_a_value_says_why() {
        let mut result = result::measured("c", &[("base", &[1.0]), ("a", &[]), ("b", &[])]);
        result.arms[1].1 = Verdict::Absent("no compiler".to_owned());
        result.arms[2].1 = Verdict::Failed("lost".to_owned());
        let text = |label| cell(Some(&result), label, |_| None);
        let expected = ["?", "absent", "FAILED", "·"];
        assert_eq!(["base", "a", "b", "c"].map(text), expected);
        assert_eq!(cell(None, "base", |_| None), "·");
        let twice = [result.clone(), result];
        let (lines, agreed) = notes(&twice);
        assert!(!agreed);
        let expected = [
            "Absent: a: no compiler",
            "FAILED: c: b: lost",
            "FAILED: c: b: lost",
        ];
        assert_eq!(lines, expected);
        let [mut result, _] = twice;
        result.arms.truncate(2);
        let (lines, agreed) = notes(&[result]);
        assert!(agreed && lines[1].starts_with("Checksums: equal"));
        assert_eq!(lines[0], "Absent: a: no compiler");
    }

    #[test]
    fn what_never_happened_has_no_unit() {
        assert_eq!(time(f64::INFINITY), "never");
        assert_eq!(time(23_140.0), "23.1 µs");
    }
}
