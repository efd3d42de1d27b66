//! Rule: the README's one table of results is what the tables of `peers/RESULTS.md` say: for some kinds of work ours and
//! the best of the others, with the processor and the day, and whether the table says that it is older. `cargo xtask tidy
//! --write` renews it. Its sentence on what a switch costs is the laboratory's.

use anyhow::{Context, Result, ensure};

use super::finding::Finding;
use super::older::RESULTS;
use super::tree::Tree;
use crate::step::{lab_results, section};

pub(crate) const PAGE: &str = "README.md";
const SECTION: &str = "headlines";

/// In each line: a kind of work in the words of a newcomer, the heading of its table, the column, and the row that is ours.
const HEADLINES: &str = "\
loop of 10 short hashes, × one thread | SHA-512 of 11 bytes, hot | 10 | manyhands
loop of 1,000 short hashes, × one thread | SHA-512 of 11 bytes, hot | 1,000 | manyhands
`fib(32)`, a `join` at each call | fib(32) without cut-off | time per call | manyhands
a small closure, spawned from inside | 1,000,000 empty closures from inside the pool | time per item | manyhands-detached
a task, spawned and awaited | Spawned and awaited in batches of a thousand, from inside the pool | time | manyhands
an item through a channel between two threads | 1to1 unbounded | time | manyhands
a short task behind 64 threads that sleep undeclared | A short task behind 64 sleeps of 50 ms | short task after | manyhands
a round trip on one of 100 sockets | 100 connections | time | manyhands
`filter`, `collect` of a million, × one thread | Filter and collect | 1,000,000 | manyhands
";

type Headline<'text> = [&'text str; 4];

fn headlines() -> impl Iterator<Item = Headline<'static>> {
    let cells = |line: &'static str| line.split(" | ").collect::<Vec<_>>().try_into();
    HEADLINES
        .lines()
        .map(move |line| cells(line).expect("four cells"))
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.text(PAGE).unwrap_or_default();
    let said = section::parts(page, lab_results::THE_SWITCH).map_or("", |[_, said, _]| said);
    let lab = tree.text(lab_results::PAGE).unwrap_or_default();
    let measured = lab_results::cost_of_a_switch(lab).unwrap_or_default();
    if measured.is_empty() != said.is_empty() || !said.starts_with(measured) {
        let message = "what a switch costs is not what `lab-results` has found";
        return vec![Finding::in_file(PAGE, message)];
    }
    let message = match renewed(tree) {
        Ok(new) if new == page => return Vec::new(),
        Ok(_) => {
            "its table of results is out of date; `cargo xtask tidy --write` renews it".to_owned()
        }
        Err(missing) => missing.to_string(),
    };
    vec![Finding::in_file(PAGE, message)]
}

/// The page with the table as it should be.
pub(crate) fn renewed(tree: &Tree) -> Result<String> {
    let page = tree.text(PAGE).unwrap_or_default();
    let results = tree.text(RESULTS).unwrap_or_default();
    let mut table =
        "| work | manyhands | best other | on | day |\n|---|--:|--:|---|---|\n".to_owned();
    for headline in headlines() {
        let [work, heading, column, _] = headline;
        let mut found = rows(results, headline).peekable();
        ensure!(
            found.peek().is_some(),
            "{RESULTS} has no `{column}` below `{heading}`"
        );
        for cells in found {
            table += &format!("| {work} | {cells} |\n");
        }
    }
    section::replaced(page, SECTION, &table).context("has no table of results")
}

/// From each processor's table, as cells: ours, the best of the others with who it is, the processor, and when that was.
fn rows<'page>(
    results: &'page str,
    [_, heading, column, name]: Headline<'page>,
) -> impl Iterator<Item = String> {
    let mut made = String::new();
    let heading = format!("### {heading}");
    let mut lines = results.lines();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if line.starts_with("Machine: ") {
                made = on_and_day(line);
            }
            let found = (line == heading).then(|| compared(lines.clone(), column, name));
            if let Some((ours, best)) = found.flatten() {
                return Some(format!("{ours} | {best} | {made}"));
            }
        }
    })
}

/// The processor and the day, from the line of a section that says how it was made.
fn on_and_day(line: &str) -> String {
    let between = |begin: &str, end: &str| {
        let found = line
            .split_once(begin)
            .and_then(|(_, rest)| rest.split_once(end));
        found.map_or("", |(between, _)| between)
    };
    let (processor, day) = (between("Machine: ", " ·"), between("Date: ", "T"));
    let older = if line.ends_with("**") { ", older" } else { "" };
    format!("{processor} | {day}{older}")
}

/// From the next table: what stands in the column of our row, and the best of the others.
fn compared<'page>(
    lines: impl Iterator<Item = &'page str>,
    column: &str,
    name: &str,
) -> Option<(&'page str, String)> {
    let table = lines.skip_while(|line| !line.starts_with('|'));
    let mut table = table.take_while(|line| line.starts_with('|')).map(cells);
    let at = table.next()?.iter().position(|cell| *cell == column)?;
    // A figure has the interval behind it.
    let figures = table.filter_map(|row| {
        let figure = row.get(at)?.split(" (").next()?;
        value(figure).map(|value| (row[0], figure, value))
    });
    let (own, others): (Vec<_>, Vec<_>) = figures.partition(|row| row.0.starts_with("manyhands"));
    let (_, ours, _) = own.into_iter().find(|row| row.0 == name)?;
    let others = others.into_iter().filter(|row| is_peer(row.0));
    let (peer, best, _) = others.min_by(|a, b| a.2.total_cmp(&b.2))?;
    Some((ours, format!("{best} ({peer})")))
}

/// Not the plain code that the others are compared with.
fn is_peer(row: &str) -> bool {
    let row = row.trim_start_matches("dotnet-");
    !row.ends_with(" again") && !["sequential", "plain"].contains(&row)
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// A ratio, or a time in nanoseconds.
fn value(figure: &str) -> Option<f64> {
    let (number, unit) = figure.split_once(' ').unwrap_or((figure, "ns"));
    let nanos = ["ns", "µs", "ms", "s"]
        .iter()
        .position(|one| *one == unit)?;
    Some(number.parse::<f64>().ok()? * 1_000_f64.powi(i32::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\n|  | time | ratio |\n| --- | ---: | ---: |\n| plain | 1 ns | 1.00 |\n\
        | a | 1.50 µs | 2.0 (1.0 … 2.0) |\n| a again | 2 ns | 1 |\n| dotnet-plain | 2 ns | 1 |\n| b | 900 ns | 1.1 |\n| manyhands | 950 ns | 1.2 |\n\
        | manyhands-detached | 2 ns | 1 |\n";

    #[test]
    fn ours_stands_beside_the_best_of_the_others_for_each_processor() {
        let results = format!(
            "Machine: A B · x. Date: 2026-01-02T03. **Old.**\n### T\n{TABLE}\n\
             Machine: C · x. Date: 2026-01-03T04. Command: `T`.\n### T\n\nWords.\n{TABLE}"
        );
        let found = |column| -> Vec<_> { rows(&results, ["", "T", column, "manyhands"]).collect() };
        let row = |made| format!("950 ns | 900 ns (b) | {made}");
        let made = ["A B | 2026-01-02, older", "C | 2026-01-03"];
        assert_eq!(found("time"), made.map(row));
        assert!(found("ratio")[0].starts_with("1.2 | 1.1 (b) | "));
        assert!(found("memory").is_empty());
    }

    #[test]
    fn a_table_that_is_older_or_missing_is_found() {
        let all = headlines().map(|[_, heading, column, name]| {
            let row = |name: &str| format!("| {name} | 1 ns |\n");
            let head = format!("### {heading}\n\n|  | {column} |\n|---|---|\n");
            format!("{head}{}{}", row(name), row("x"))
        });
        let results: String = all.collect();
        let check = |page: &str| check(&Tree::of(&[(PAGE, page), (RESULTS, &results)]));
        let page = "a\n<!-- begin headlines -->\n<!-- end headlines -->\nb\n";
        let tree = Tree::of(&[(PAGE, page), (RESULTS, &results)]);
        let new = renewed(&tree).unwrap();
        assert!(new.starts_with("a\n") && new.ends_with("\nb\n"), "{new}");
        assert!(check(&new).is_empty());
        let lab = "- What a switch costs: 3 ns.\n";
        for (cost, findings) in [("3", 0), ("4", 1)] {
            let cost = format!("What a switch costs: {cost} ns. (now)\n");
            let page = format!("{new}<!-- begin switch -->\n{cost}<!-- end switch -->\n");
            let tree = Tree::of(&[(PAGE, &page), (RESULTS, &results), (lab_results::PAGE, lab)]);
            assert_eq!(super::check(&tree).len(), findings, "{cost}");
        }
        for old in [page, "a\nb\n", &new.replace("1 ns", "2 ns")] {
            assert_eq!(check(old).len(), 1, "{old}");
        }
    }
}
