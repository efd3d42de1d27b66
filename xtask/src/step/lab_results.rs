//! The laboratory's page of results, and the tour in the README of its command: makes the runs as a user would,
//! and puts what they print and draw in the place of what is there.
//!
//! A run that was cut goes on where it was when it is asked for again: its folder is moved aside only when its section
//! is on the page.
//!
//! Not here: what is measured, and what a report says (`manyhands-lab`).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::Invocation;
use crate::failure::Failure;
use crate::step::section;
use crate::workspace;

/// Time for the runs of the page in minutes.
pub(crate) const MINUTES_DEFAULT: u32 = SHARES;

/// Renews these parts, all where none is named; all runs of the page would take this long together.
pub(crate) fn run(parts: &[String], minutes: u32) -> Result<(), Failure> {
    Invocation::cargo("build --locked --release --package manyhands-cli").run()?;
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| part == name);
    if is_wanted(THE_TOUR) {
        renew_tour(&manyhands(TOUR).accept(NOT_QUIET).stdout()?)?;
    }
    let root = workspace::root();
    let mut charts: Vec<PathBuf> = Vec::new();
    for measured in RUNS.iter().filter(|run| is_wanted(run.name)) {
        let line = measured.line(minutes);
        let folder = root.join(measured.out());
        manyhands(&measured.next(&line, folder.exists()))
            .accept(NOT_QUIET)
            .run()?;
        let report = read(&folder.join("report.md"))?;
        let text = format!("## `manyhands {line}`\n\n{}", as_section(&report));
        section::renew(PAGE, measured.name, &text)?;
        if let Some(cost) = cost_of_a_switch(&report) {
            section::renew(
                README,
                THE_SWITCH,
                &format!("{cost} ({})\n", section::conditions()),
            )?;
        }
        let done = put_aside(&folder)?;
        let shown = linked_charts(&report, "charts").into_iter();
        charts.extend(shown.map(|name| done.join("charts").join(name)));
    }
    renew_charts(
        &root.join(LAB).join(CHARTS),
        &read(&root.join(PAGE))?,
        &charts,
    )
}

/// A run of the page.
struct Measured {
    name: &'static str,
    what: &'static str,
    /// Of all minutes, in parts of [`SHARES`].
    parts: u32,
}

impl Measured {
    fn line(&self, minutes: u32) -> String {
        let seconds = minutes * 60 * self.parts / SHARES;
        let budget = match (seconds / 60, seconds % 60) {
            (minutes, 0) => format!("{minutes}m"),
            (0, seconds) => format!("{seconds}s"),
            (minutes, seconds) => format!("{minutes}m{seconds}s"),
        };
        format!("lab run {} --seed 7 --budget {budget}", self.what)
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
fn cost_of_a_switch(report: &str) -> Option<&str> {
    report.lines().find_map(|line| {
        let said = line.strip_prefix("- ")?;
        said.starts_with("What a switch costs").then_some(said)
    })
}

/// Moves a run that is on the page out of the way of the next one.
fn put_aside(folder: &Path) -> Result<PathBuf, Failure> {
    let done = folder.with_extension("done");
    let cannot =
        |error: io::Error| Failure::new(format!("cannot move {}: {error}", folder.display()));
    if done.exists() {
        fs::remove_dir_all(&done).map_err(cannot)?;
    }
    fs::rename(folder, &done).map_err(cannot)?;
    Ok(done)
}

fn manyhands(line: &str) -> Invocation {
    let name = format!("manyhands{}", std::env::consts::EXE_SUFFIX);
    let binary = workspace::target_subdir("release").join(name);
    let words: Vec<&str> = line.split_whitespace().collect();
    Invocation::program(binary).args(&words)
}

/// Puts what the tour printed in its place in the README of the command.
fn renew_tour(printed: &str) -> Result<(), Failure> {
    let lines = printed.lines().count();
    if lines > TOUR_LINES_MAX {
        return Err(Failure::new(format!(
            "the tour prints {lines} lines, at most {TOUR_LINES_MAX}"
        )));
    }
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
fn renew_charts(folder: &Path, page: &str, charts: &[PathBuf]) -> Result<(), Failure> {
    let cannot =
        |error: io::Error| Failure::new(format!("cannot use {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot)?;
    let shown = linked_charts(page, CHARTS);
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let is_shown = |name: &OsStr| shown.iter().any(|shown| name == OsStr::new(shown));
        let is_chart = path.extension().is_some_and(|extension| extension == "svg");
        if is_chart && !path.file_name().is_some_and(is_shown) {
            fs::remove_file(path).map_err(cannot)?;
        }
    }
    for chart in charts {
        let name = chart.file_name().unwrap_or_default();
        fs::copy(chart, folder.join(name)).map_err(cannot)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// What can be renewed one by one.
pub(crate) const PARTS: [&str; 9] = [
    THE_TOUR,
    RUNS[0].name,
    RUNS[1].name,
    RUNS[2].name,
    RUNS[3].name,
    RUNS[4].name,
    RUNS[5].name,
    RUNS[6].name,
    RUNS[7].name,
];
const THE_TOUR: &str = "tour";
const TOUR: &str = "tour --seed 7 --out target/tour --replace";
const THE_SWITCH: &str = "switch";
/// Every experiment at the sizes that were published, and what more CPUs bring at smaller ones. The minutes are what the
/// fewest blocks take on two CPUs, and as much again where a break-even is searched.
const RUNS: [Measured; 8] = [
    Measured {
        name: "hashes",
        what: "E1a E1b E2 E3 --full",
        parts: 18,
    },
    Measured {
        name: "queries",
        what: "E4 E5 E6 --full",
        parts: 10,
    },
    Measured {
        name: "cloud",
        what: "E7 E8 E9 --full",
        parts: 42,
    },
    Measured {
        name: "tasks",
        what: "E10 E11 E12 --full",
        parts: 12,
    },
    Measured {
        name: "queue",
        what: "E13 --full",
        parts: 3,
    },
    Measured {
        name: "calls",
        what: "E14 --full --memory",
        parts: 3,
    },
    Measured {
        name: "millions",
        what: "E15 E16 E17 --full --memory",
        parts: 22,
    },
    Measured {
        name: "cpus",
        what: "E3 E7 E8 E13 --cpus 1,2",
        parts: 10,
    },
];
const SHARES: u32 = 120;
const README: &str = "README.md";
const LAB: &str = "crates/manyhands-lab";
const PAGE: &str = "crates/manyhands-lab/RESULTS.md";
const CHARTS: &str = "results";
const CLI_README: &str = "crates/manyhands-cli/README.md";
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
        let whole = "lab run E1a E1b E2 E3 --full --seed 7 --budget 18m";
        assert_eq!(line(MINUTES_DEFAULT), whole);
        assert!(line(12).ends_with("--budget 1m48s"), "{}", line(12));
        let parts = RUNS.map(|run| run.name);
        assert_eq!(PARTS[1..], parts);
    }

    #[test]
    fn every_experiment_is_measured_at_the_sizes_that_were_published() {
        let at_full: Vec<&str> = RUNS
            .iter()
            .filter(|run| run.what.contains("--full"))
            .flat_map(|run| run.what.split(' '))
            .filter(|word| word.starts_with('E'))
            .collect();
        // E15 selects E15b, too.
        let all = [
            "E1a", "E1b", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12",
            "E13", "E14", "E15", "E16", "E17",
        ];
        assert_eq!(at_full, all);
    }

    #[test]
    fn a_run_that_was_cut_goes_on() {
        let run = &RUNS[0];
        let line = run.line(12);
        assert_eq!(
            run.next(&line, true),
            "lab resume target/lab-results/hashes"
        );
        assert!(
            run.next(&line, false)
                .ends_with("--out target/lab-results/hashes")
        );
    }

    #[test]
    fn the_cost_of_a_switch_is_read_off_a_report() {
        let report = "- Note: x\n- What a switch costs: 3 ns.\n";
        assert_eq!(cost_of_a_switch(report), Some("What a switch costs: 3 ns."));
        assert_eq!(cost_of_a_switch("- Note: x\n"), None);
    }

    #[test]
    fn a_report_becomes_a_section_with_its_charts() {
        let report =
            "# Measured\n\nHere.\n\n## E3: x\n\n![a](charts/one.svg)\n![b](charts/two.svg)\n";
        let expected = "Here.\n\n### E3: x\n\n![a](results/one.svg)\n![b](results/two.svg)\n";
        assert_eq!(as_section(report), expected);
        assert_eq!(linked_charts(report, "charts"), ["one.svg", "two.svg"]);
    }

    #[test]
    fn each_run_has_its_section_of_the_page() {
        let page = read(&workspace::root().join(PAGE)).unwrap();
        let mut runs = RUNS.iter();
        assert!(runs.all(|run| section::replaced(&page, run.name, "").is_some()));
    }
}
