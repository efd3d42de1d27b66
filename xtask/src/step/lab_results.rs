//! The laboratory's page of results, and the tour in the README of its command: makes the runs as a user would,
//! and puts what they print and draw in the place of what is there.
//!
//! Asked for again, what was cut goes on where it was: a run that is on the page is passed by until all are.
//!
//! Not here: what is measured, and what a report says (`manyhands-lab`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::Invocation;
use crate::step::section;
use crate::workspace;

/// Time for the runs of the page in minutes.
pub(crate) const MINUTES_DEFAULT: u32 = SHARES;

/// Renews these parts, all where none is named; all runs of the page would take this long together.
pub(crate) fn run(parts: &[String], minutes: u32) -> Result<()> {
    Invocation::cargo("build --locked --release --package manyhands-cli").run()?;
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| part == name);
    if is_wanted(THE_TOUR) {
        renew_tour(&manyhands(TOUR).accept(NOT_QUIET).stdout()?)?;
    }
    let root = workspace::root();
    for measured in RUNS.iter().filter(|run| is_wanted(run.name)) {
        let line = measured.line(minutes);
        let folder = root.join(measured.out());
        let done = folder.with_extension("done");
        if parts.is_empty() && done.exists() {
            continue;
        }
        manyhands(&measured.next(&line, folder.exists()))
            .accept(NOT_QUIET)
            .run()?;
        let report = workspace::read(folder.join("report.md"))?;
        let made = section::conditions();
        let text = format!(
            "## `manyhands {line}`\n\n{made}.\n\n{}",
            as_section(&report)
        );
        section::renew(PAGE, measured.name, &text)?;
        if let Some(cost) = cost_of_a_switch(&report) {
            let said = format!("{cost} ({made})\n");
            section::renew(README, THE_SWITCH, &said)?;
        }
        let shown = linked_charts(&report, "charts").into_iter();
        let charts: Vec<PathBuf> = shown.map(|name| folder.join("charts").join(name)).collect();
        renew_charts(
            &root.join(LAB).join(CHARTS),
            &workspace::read(PAGE)?,
            &charts,
        )?;
        workspace::remove_folder(&done)?;
        let moved = fs::rename(&folder, &done);
        moved.with_context(|| format!("cannot move {}", folder.display()))?;
    }
    let all = RUNS.iter().filter(|_| parts.is_empty());
    all.map(|run| root.join(run.out()))
        .try_for_each(|folder| workspace::remove_folder(&folder.with_extension("done")))
}

/// A run of the page.
struct Measured {
    name: &'static str,
    what: &'static str,
    /// Of all minutes, in parts of [`SHARES`].
    parts: u32,
}

impl Measured {
    const fn of(name: &'static str, what: &'static str, parts: u32) -> Self {
        Self { name, what, parts }
    }

    fn line(&self, minutes: u32) -> String {
        let seconds = minutes * 60 * self.parts / SHARES;
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
    let lines = printed.lines().count();
    ensure!(
        lines <= TOUR_LINES_MAX,
        "the tour prints {lines} lines, at most {TOUR_LINES_MAX}"
    );
    let made = section::conditions();
    let block = format!(
        "{made}.\n\n```text\n$ manyhands {TOUR}\n{}\n```\n",
        printed.trim_end()
    );
    section::renew(CLI_README, THE_TOUR, &block)
}

/// A report without its headline, with its other headlines one level deeper, and links to the charts where they
/// are copied to.
fn as_section(report: &str) -> String {
    let lines = report
        .lines()
        .skip_while(|line| line.starts_with("# ") || line.is_empty());
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
    links
        .filter_map(|link| Some(link.split_once(')')?.0.to_owned()))
        .collect()
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
/// Every experiment at the sizes that were published, and what more CPUs bring at smaller ones.
const RUNS: [Measured; 8] = [
    Measured::of(PARTS[1], "E1a E1b E2 E3 --full", 20),
    Measured::of(PARTS[2], "E4 E5 E6 --full", 5),
    Measured::of(PARTS[3], "E7 E8 E9 --full", 42),
    Measured::of(PARTS[4], "E10 E11 E12 --full", 14),
    Measured::of(PARTS[5], "E13 --full", 4),
    Measured::of(PARTS[6], "E14 --full --memory", 3),
    Measured::of(PARTS[7], "E15 E16 E17 --full --memory", 29),
    Measured::of(PARTS[8], "E3 E7 E8 E13 --cpus 1,2", 3),
];
const SHARES: u32 = 120;
const README: &str = "README.md";
const LAB: &str = "crates/manyhands-lab";
pub(crate) const PAGE: &str = "crates/manyhands-lab/RESULTS.md";
const CHARTS: &str = "results";
pub(crate) const CLI_README: &str = "crates/manyhands-cli/README.md";
/// What fits on one screen.
const TOUR_LINES_MAX: usize = 40;
/// The exit code on a machine where other things run: the report says so, too.
const NOT_QUIET: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_are_shared_out_among_the_runs() {
        assert_eq!(RUNS.iter().map(|run| run.parts).sum::<u32>(), SHARES);
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
    fn each_run_has_its_section_of_the_page() {
        let page = workspace::read(PAGE).unwrap();
        let mut runs = RUNS.iter();
        assert!(runs.all(|run| section::replaced(&page, run.name, "").is_some()));
    }
}
