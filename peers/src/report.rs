//! Markdown on standard output and, if asked for, in a file.

use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::path::Path;

use crate::against;
use crate::case_result::{CaseResult, Verdict};
use crate::stats;
use crate::team::Outcome;

/// Where the tables go.
#[derive(Debug)]
pub(crate) struct Report {
    file: Option<File>,
}

impl Report {
    /// Opens the file now, so that a bad path is refused before anything is measured.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, String> {
        let open = |path: &Path| {
            File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        Ok(Self {
            file: path.map(open).transpose()?,
        })
    }

    pub(crate) fn line(&mut self, text: &str) {
        // A closed pipe or a full disk must not end a long measurement.
        let _ = writeln!(io::stdout(), "{text}");
        if let Some(file) = &mut self.file {
            let _ = writeln!(file, "{text}");
        }
    }

    /// A table whose first column is text and whose others are numbers.
    pub(crate) fn table(&mut self, header: &[String], rows: &[Vec<String>]) {
        self.line(&format!("| {} |", header.join(" | ")));
        let rules: Vec<&str> = header
            .iter()
            .enumerate()
            .map(|(i, _)| if i == 0 { "---" } else { "--:" })
            .collect();
        self.line(&format!("| {} |", rules.join(" | ")));
        for row in rows {
            self.line(&format!("| {} |", row.join(" | ")));
        }
        self.line("");
    }

    /// A case's title and table: a row for each arm, a column for each value. Ratios are to the first arm.
    pub(crate) fn case(&mut self, title: &str, result: &CaseResult, columns: &[Column]) {
        self.line(&format!("### {title}\n"));
        let titles = columns.iter().map(|column| column.title);
        let header: Vec<String> = iter::once("").chain(titles).map(str::to_owned).collect();
        let base = result.arms.first().map_or("", |(arm, _)| arm.label);
        let row = |label: &str| {
            let cells = columns.iter().map(|column| {
                cell(Some(result), label, |result| {
                    column.text(result, label, base)
                })
            });
            iter::once(label.to_owned()).chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = result.arms.iter().map(|(arm, _)| row(arm.label)).collect();
        self.table(&header, &rows);
    }

    /// Says how this build compares with the other, if there is one, lists absent and failed arms, each
    /// once per message, and says how the comparison ended.
    pub(crate) fn notes(&mut self, results: &[CaseResult]) -> Outcome {
        against::print(results, self);
        let mut absent: Vec<String> = Vec::new();
        for (arm, verdict) in results.iter().flat_map(|result| &result.arms) {
            if let Verdict::Absent(reason) = verdict {
                absent.push(format!("Absent: {}: {reason}", arm.label));
            }
        }
        absent.sort_unstable();
        absent.dedup();
        let mut outcome = Outcome::Agreed;
        for line in absent {
            self.line(&line);
        }
        for result in results {
            for (label, message) in result.failures() {
                outcome = Outcome::Failed;
                self.line(&format!("FAILED: {}: {label}: {message}", result.case));
            }
        }
        if outcome == Outcome::Agreed {
            self.line("Checksums: equal in all contenders of every case.");
        }
        self.line("");
        outcome
    }
}

/// One column of a case's table: the values at one index of the samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    title: &'static str,
    index: usize,
    kind: Kind,
}

/// How a column shows its values.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Time,
    Ratio,
    Times,
    Megabytes,
}

impl Column {
    /// The median of nanoseconds.
    pub(crate) const fn time(title: &'static str, index: usize) -> Self {
        Self {
            title,
            index,
            kind: Kind::Time,
        }
    }

    /// The median ratio to the base.
    pub(crate) const fn ratio(title: &'static str, index: usize) -> Self {
        Self {
            title,
            index,
            kind: Kind::Ratio,
        }
    }

    /// The median of what are ratios already.
    pub(crate) const fn times(title: &'static str, index: usize) -> Self {
        Self {
            title,
            index,
            kind: Kind::Times,
        }
    }

    /// The median of megabytes.
    pub(crate) const fn megabytes(title: &'static str, index: usize) -> Self {
        Self {
            title,
            index,
            kind: Kind::Megabytes,
        }
    }

    fn text(self, result: &CaseResult, label: &str, base: &str) -> Option<String> {
        let median = || median_of(result, label, self.index);
        match self.kind {
            Kind::Time => median().map(time),
            Kind::Ratio => ratio_of(result, label, base, self.index).map(ratio),
            Kind::Times => median().map(|value| format!("{value:.2} ×")),
            Kind::Megabytes => median().map(|value| format!("{value:.1} MB")),
        }
    }
}

/// The title of `case`: of the first pair whose words it begins with.
pub(crate) fn title_of<'a>(titles: &[(&str, &'a str)], case: &'a str) -> &'a str {
    let begins = |words: &str| {
        let rest = case.strip_prefix(words);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let found = titles.iter().find(|(words, _)| begins(words));
    found.map_or(case, |(_, title)| title)
}

/// A cell of `combine(ours)`, or the word for why there is none.
pub(crate) fn cell(
    result: Option<&CaseResult>,
    label: &str,
    format: impl Fn(&CaseResult) -> Option<String>,
) -> String {
    let Some(result) = result else {
        return "·".to_owned();
    };
    match result.verdict(label) {
        None => "·".to_owned(),
        Some(Verdict::Absent(_)) => "absent".to_owned(),
        Some(Verdict::Failed(_)) => "FAILED".to_owned(),
        Some(Verdict::Measured(_)) => format(result).unwrap_or_else(|| "?".to_owned()),
    }
}

/// A cell of one arm's ratio to another.
pub(crate) fn ratio_cell(
    result: Option<&CaseResult>,
    ours: &str,
    theirs: &str,
    index: usize,
) -> String {
    cell(result, ours, |result| {
        ratio_of(result, ours, theirs, index).map(ratio)
    })
}

/// The first row of a table over sizes.
pub(crate) fn header(first: &str, lens: &[usize]) -> Vec<String> {
    let lens = lens.iter().map(|&len| count(len));
    iter::once(first.to_owned()).chain(lens).collect()
}

/// A row of a table over sizes.
pub(crate) fn row(label: &str, lens: &[usize], cell: impl Fn(usize) -> String) -> Vec<String> {
    iter::once(label.to_owned())
        .chain(lens.iter().map(|&len| cell(len)))
        .collect()
}

/// The median ratio within the round of one arm to another, of the values at `index`.
pub(crate) fn ratio_of(result: &CaseResult, ours: &str, theirs: &str, index: usize) -> Option<f64> {
    stats::ratio(&result.values(ours, index)?, &result.values(theirs, index)?)
}

/// The median of one arm's values at `index`.
pub(crate) fn median_of(result: &CaseResult, label: &str, index: usize) -> Option<f64> {
    stats::median(result.values(label, index)?)
}

/// A ratio with as many decimals as mean anything.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        value if !value.is_finite() => "·".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A time with three significant digits and its unit; an infinite one is "never".
pub(crate) fn time(nanos: f64) -> String {
    if nanos.is_infinite() {
        return "never".to_owned();
    }
    let (value, unit) = match nanos {
        nanos if nanos < 1e3 => (nanos, "ns"),
        nanos if nanos < 1e6 => (nanos / 1e3, "µs"),
        nanos if nanos < 1e9 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    match value {
        value if value < 10.0 => format!("{value:.2} {unit}"),
        value if value < 100.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.0} {unit}"),
    }
}

/// A count with its thousands apart.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{count, ratio, time, title_of};

    #[test]
    fn a_case_is_titled_by_its_whole_words() {
        let titles = [("in 10", "ten"), ("in 100", "a hundred")];
        assert_eq!(title_of(&titles, "in 100"), "a hundred");
        assert_eq!(title_of(&titles, "in 10 ms"), "ten");
        assert_eq!(title_of(&titles, "in 1"), "in 1");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(ratio(0.507), "0.51");
        assert_eq!(ratio(380.2), "380");
        assert_eq!(time(231.4), "231 ns");
        assert_eq!(time(23_140.0), "23.1 µs");
        assert_eq!(time(f64::INFINITY), "never");
        assert_eq!(count(999), "999");
        assert_eq!(count(16_777_215), "16,777,215");
    }
}
