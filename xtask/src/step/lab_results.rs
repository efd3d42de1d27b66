//! The laboratory's page of results, and the tour in the README of its command: makes the runs as a user would,
//! and puts what they print and draw in the place of what is there.
//!
//! What a run has found stays in `target/lab-results/NAME.done`, and is put on the page again, in the words of today, when it
//! is asked for again. What was cut goes on where it was. Once all are there, the next whole round measures all anew.
//!
//! Not here: what is measured, and what a report says (`manyhands-lab`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::step::section;
use crate::workspace;

/// Time for the runs of the page in minutes.
pub(crate) const MINUTES_DEFAULT: u32 = 120;

/// Renews these parts, all where none is named; all runs of the page would take this long together. Measures what is not
/// kept, or nothing.
pub(crate) fn run(parts: &[String], minutes: u32, only_renders: bool) -> Result<()> {
    Invocation::cargo("build --locked --release --package manyhands-cli").run()?;
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| part == name);
    if is_wanted(THE_TOUR) && !only_renders {
        renew_tour(&manyhands(TOUR).accept(NOT_QUIET).stdout()?)?;
    }
    if parts.is_empty() && !only_renders && RUNS.iter().all(|run| run.kept().exists()) {
        let mut all = RUNS.iter();
        all.try_for_each(|run| workspace::remove_folder(&run.kept()))?;
    }
    for measured in RUNS.iter().filter(|run| is_wanted(run.name)) {
        let (line, kept) = (measured.line(minutes), measured.kept());
        if !kept.exists() && !only_renders {
            let folder = workspace::root().join(measured.out());
            let next = measured.next(&line, folder.exists());
            manyhands(&next).accept(NOT_QUIET).run()?;
            let moved = fs::rename(&folder, &kept);
            moved.with_context(|| format!("cannot move {}", folder.display()))?;
        }
        if kept.exists() {
            render(measured, &kept, &line)?;
        }
    }
    Ok(())
}

/// Puts a kept run on the page, under the command with which it was made, and when and where.
fn render(measured: &Measured, kept: &Path, line: &str) -> Result<()> {
    let heading = kept.join("heading.md");
    if !heading.exists() {
        let made = section::conditions();
        workspace::write(&heading, format!("## `manyhands {line}`\n\n{made}.\n\n"))?;
    }
    let heading = workspace::read(heading)?;
    let again = format!("lab report {}.done", measured.out());
    manyhands(&again).accept(NOT_QUIET).stdout()?;
    let report = workspace::read(kept.join("report.md"))?;
    let (report, claims) = without_claims(&report).context("the report has no claims")?;
    let text = heading.clone() + &as_section(&report);
    section::renew(PAGE, measured.name, &text)?;
    if let Some(cost) = cost_of_a_switch(&report) {
        let made = heading.lines().nth(2).unwrap_or_default();
        let said = format!("{cost} ({})\n", made.trim_end_matches('.'));
        section::renew(README, THE_SWITCH, &said)?;
    }
    let page = workspace::read(PAGE)?;
    let claims = all_claims(&page, &claims, measured.what.contains("--cpus"));
    section::renew(PAGE, THE_CLAIMS, &(short_hashes(&page) + &claims))?;
    let shown = linked_charts(&report, "charts").into_iter();
    let charts: Vec<PathBuf> = shown.map(|name| kept.join("charts").join(name)).collect();
    renew_charts(&workspace::root().join(LAB).join(CHARTS), &page, &charts)
}

/// A report without its table of claims, and the rows of that.
fn without_claims(report: &str) -> Option<(String, Vec<&str>)> {
    let (before, rest) = report.split_once("## What was claimed, and what was found\n")?;
    let (table, after) = rest.split_once("\n## ")?;
    let rows = table.lines().filter(|line| line.starts_with("| E"));
    Some((format!("{before}## {after}"), rows.collect()))
}

/// The page's table of claims after a run with these rows. Of the run over CPUs it has the parts over CPUs, and no others.
fn all_claims(page: &str, rows: &[&str], over_cpus: bool) -> String {
    let id = |row: &&str| row.split(' ').nth(1).unwrap_or_default().to_owned();
    let is_own = |row: &&str| row.contains("--cpus") == over_cpus;
    let stays = |row: &&str| !is_own(row) || rows.iter().all(|new| id(new) != id(row));
    let old = section::parts(page, THE_CLAIMS).map_or("", |[_, old, _]| old);
    let old = old.lines().filter(|line| line.starts_with("| E"));
    let mut all: Vec<&str> = old.filter(stays).collect();
    all.extend(rows.iter().copied().filter(is_own));
    all.sort_by_key(|row| {
        let number: Option<u32> = id(row).trim_matches(char::is_alphabetic).parse().ok();
        (number, id(row), row.contains("--cpus"))
    });
    let head = "| experiment | what was claimed | here | found |\n| --- | --- | --- | --- |\n";
    format!("{head}{}\n", all.join("\n"))
}

/// The break-evens of a loop of short hashes in all sections, as a sentence; empty if none has one.
fn short_hashes(page: &str) -> String {
    let of_line = |line| str::strip_prefix(line, SHORT_HASHES)?.strip_suffix('.');
    let said: Vec<&str> = page.lines().filter_map(of_line).collect();
    let sizes = said.iter().filter_map(|one| one.split(',').next());
    let sizes = sizes.flat_map(|sizes| sizes.split(" … "));
    let sizes: Vec<u32> = sizes.filter_map(|size| size.parse().ok()).collect();
    let Some((least, most)) = sizes.iter().min().zip(sizes.iter().max()) else {
        return String::new();
    };
    let said = said.join("; n = ");
    format!("A loop of short hashes breaks even at n = {least} … {most}, by run: n = {said}.\n\n")
}

/// A run of the page.
struct Measured {
    name: &'static str,
    what: &'static str,
    /// Of the minutes that there are by default.
    parts: u32,
}

impl Measured {
    const fn of(name: &'static str, what: &'static str, parts: u32) -> Self {
        Self { name, what, parts }
    }

    fn line(&self, minutes: u32) -> String {
        let seconds = minutes * 60 * self.parts / MINUTES_DEFAULT;
        let budget = match (seconds / 60, seconds % 60) {
            (minutes, 0) => format!("{minutes}m"),
            (0, seconds) => format!("{seconds}s"),
            (minutes, seconds) => format!("{minutes}m{seconds}s"),
        };
        // Each launch takes two of the ten blocks that a size needs at least.
        let what = self.what;
        format!("lab run {what} --launches 5 --seed 7 --budget {budget}")
    }

    /// The command that makes it, or goes on with what there is of it.
    fn next(&self, line: &str, is_there: bool) -> String {
        match is_there {
            true => format!("lab resume {}", self.out()),
            false => format!("{line} --out {}", self.out()),
        }
    }

    /// From the root of the workspace, where the runs begin.
    fn out(&self) -> String {
        format!("target/lab-results/{}", self.name)
    }

    /// Where it is once it is over.
    fn kept(&self) -> PathBuf {
        workspace::root().join(self.out()).with_extension("done")
    }
}

/// What a report answers to the question of E6, as a sentence.
pub(crate) fn cost_of_a_switch(report: &str) -> Option<&str> {
    report.lines().find_map(|line| {
        let said = line.strip_prefix("- ")?;
        said.starts_with("What a switch costs").then_some(said)
    })
}

fn manyhands(line: &str) -> Invocation {
    let name = format!("manyhands{}", std::env::consts::EXE_SUFFIX);
    let binary = workspace::target_subdir("release").join(name);
    Invocation::program(binary).words(line)
}

/// Puts what the tour printed in its place in the README of the command.
fn renew_tour(printed: &str) -> Result<()> {
    let (made, printed) = (section::conditions(), printed.trim_end());
    let block = format!("{made}.\n\n```text\n$ manyhands {TOUR}\n{printed}\n```\n");
    section::renew(CLI_README, THE_TOUR, &block)
}

/// A report without its headline, with its other headlines one level deeper, and links to the charts where they
/// are copied to.
fn as_section(report: &str) -> String {
    let is_headline = |line: &&str| line.starts_with("# ") || line.is_empty();
    let lines = report.lines().skip_while(is_headline);
    let line = |line: &str| match line.strip_prefix('#') {
        Some(_) => format!("#{line}\n"),
        None => format!("{}\n", line.replace("](charts/", &format!("]({CHARTS}/"))),
    };
    lines.map(line).collect()
}

/// Names of the charts in this folder that a report shows.
fn linked_charts(report: &str, folder: &str) -> Vec<String> {
    let begin = format!("]({folder}/");
    let links = report.split(&begin).skip(1);
    let names = links.filter_map(|link| Some(link.split_once(')')?.0.to_owned()));
    names.collect()
}

/// Copies these charts and removes those that the page does not show any more.
fn renew_charts(folder: &Path, page: &str, charts: &[PathBuf]) -> Result<()> {
    workspace::make_folder(folder)?;
    let shown = linked_charts(page, CHARTS);
    for name in workspace::names(folder, ".svg")? {
        let name = format!("{name}.svg");
        if !shown.contains(&name) {
            let path = folder.join(name);
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    for chart in charts {
        let name = chart.file_name().unwrap_or_default();
        workspace::copy_file(chart, folder.join(name))?;
    }
    Ok(())
}

/// What can be renewed one by one.
pub(crate) const PARTS: [&str; 9] = [
    THE_TOUR, "hashes", "queries", "cloud", "tasks", "queue", "calls", "millions", "cpus",
];
const THE_TOUR: &str = "tour";
const TOUR: &str = "tour --seed 7 --out target/tour --replace";
pub(crate) const THE_SWITCH: &str = "switch";
const THE_CLAIMS: &str = "claims";
const SHORT_HASHES: &str = "- A loop of short hashes breaks even at n = ";
/// Every experiment at the sizes that were published, and what more CPUs bring at smaller ones.
const RUNS: [Measured; 8] = [
    Measured::of(PARTS[1], "E1a E1b E2 E3 --full", 20),
    Measured::of(PARTS[2], "E4 E5 E6 --full", 5),
    Measured::of(PARTS[3], "E7 E8 E9 --full", 40),
    Measured::of(PARTS[4], "E10 E11 E12 --full", 16),
    Measured::of(PARTS[5], "E13 --full", 4),
    Measured::of(PARTS[6], "E14 --full --memory", 3),
    Measured::of(PARTS[7], "E15 E16 E17 --full --memory", 29),
    Measured::of(PARTS[8], "E3 E7 E8 E13 --cpus 1,2", 3),
];
const README: &str = "README.md";
const LAB: &str = "crates/manyhands-lab";
pub(crate) const PAGE: &str = "crates/manyhands-lab/RESULTS.md";
const CHARTS: &str = "results";
pub(crate) const CLI_README: &str = "crates/manyhands-cli/README.md";
/// The exit code on a machine where other things run: the report says so, too.
const NOT_QUIET: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_are_shared_out_among_the_runs() {
        assert_eq!(
            RUNS.iter().map(|run| run.parts).sum::<u32>(),
            MINUTES_DEFAULT
        );
        let line = |minutes| RUNS[0].line(minutes);
        let whole = "lab run E1a E1b E2 E3 --full --launches 5 --seed 7 --budget 20m";
        assert_eq!(line(MINUTES_DEFAULT), whole);
        assert!(line(13).ends_with("--budget 2m10s"), "{}", line(13));
        let what_was_cut = RUNS[0].next(&line(12), true);
        assert_eq!(what_was_cut, "lab resume target/lab-results/hashes");
    }

    #[test]
    fn every_experiment_is_measured_at_the_sizes_that_were_published() {
        let at_full = RUNS.iter().filter(|run| run.what.contains("--full"));
        let words = at_full.flat_map(|run| run.what.split(' '));
        let ids: Vec<&str> = words.filter(|word| word.starts_with('E')).collect();
        // E15 selects E15b, too.
        let all = "E1a E1b E2 E3 E4 E5 E6 E7 E8 E9 E10 E11 E12 E13 E14 E15 E16 E17";
        assert_eq!(ids.join(" "), all);
    }

    #[test]
    fn a_report_becomes_a_section_with_its_charts() {
        let report =
            "# Measured\n\nHere.\n\n## E3: x\n\n![a](charts/one.svg)\n![b](charts/two.svg)\n";
        let expected = "Here.\n\n### E3: x\n\n![a](results/one.svg)\n![b](results/two.svg)\n";
        assert_eq!(as_section(report), expected);
        assert_eq!(linked_charts(report, "charts"), ["one.svg", "two.svg"]);
        assert_eq!(cost_of_a_switch(report), None);
        let cost = cost_of_a_switch("x\n- What a switch costs: 3 ns.\n");
        assert_eq!(cost, Some("What a switch costs: 3 ns."));
    }

    #[test]
    fn each_part_of_a_claim_stands_once_with_the_ruling_of_the_run_that_can_decide_it() {
        let report = "x\n\n## What was claimed, and what was found\n\n| experiment |\n| E10 | a |\n\
            | E8 | b (--cpus) | undecided |\n| E8 | c | holds |\n\n## E8: y\n";
        let (rest, rows) = without_claims(report).unwrap();
        assert_eq!((rest.as_str(), rows.len()), ("x\n\n## E8: y\n", 3));
        let page = |table: &str| format!("<!-- begin claims -->\n{table}<!-- end claims -->\n");
        let all = all_claims(&page("| E8 | c | old |\n| E15b | d |\n"), &rows, false);
        let over_cpus = ["| E8 | b (--cpus) | holds |", "| E8 | c | undecided |"];
        let all = all_claims(&page(&all), &over_cpus, true);
        let expected =
            "| E8 | c | holds |\n| E8 | b (--cpus) | holds |\n| E10 | a |\n| E15b | d |\n";
        assert!(all.ends_with(&format!("| --- |\n{expected}")), "{all}");
    }

    #[test]
    fn a_break_even_of_short_hashes_is_a_range_over_the_sections() {
        let line = |found: &str| format!("{SHORT_HASHES}{found}.\n");
        let said = short_hashes(&(line("20 … 31, at 161 ns") + &line("18, at 1.02 µs")));
        assert!(said.contains("n = 18 … 31, by run: n = 20 … 31, at 161 ns; n = 18,"));
        assert_eq!(short_hashes("none"), "");
    }

    #[test]
    fn each_run_has_its_section_of_the_page() {
        let page = workspace::read(PAGE).unwrap();
        let mut names = RUNS.iter().map(|run| run.name).chain([THE_CLAIMS]);
        assert!(names.all(|name| section::replaced(&page, name, "").is_some()));
    }
}
