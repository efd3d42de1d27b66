//! The laboratory's page of results, and the tour in the README of its command: makes the runs as a user would,
//! and puts what they print and draw in the place of what is there.
//!
//! Not here: what is measured, and what a report says (`manyhands-lab`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

/// Time for the runs of the page in minutes: with the tour and a build it stays below half an hour.
pub(crate) const MINUTES_DEFAULT: u32 = 22;

/// Makes all of it; the runs of the page take this long together.
pub(crate) fn run(minutes: u32) -> Result<(), Failure> {
    Invocation::cargo("build --locked --release --package manyhands-cli").run()?;
    let tour = manyhands(TOUR).accept(NOT_QUIET).stdout()?;
    renew_tour(&tour)?;
    let mut page = HEAD.to_owned();
    let mut charts: Vec<PathBuf> = Vec::new();
    for measured in &RUNS {
        let line = measured.line(minutes);
        manyhands(&format!("{line} --out {} --replace", measured.out))
            .accept(NOT_QUIET)
            .run()?;
        let folder = workspace::root().join(measured.out);
        let report = read(&folder.join("report.md"))?;
        page += &format!("\n## `manyhands {line}`\n\n{}", section(&report));
        charts.extend(linked_charts(&report).map(|name| folder.join("charts").join(name)));
    }
    let lab = workspace::root().join(LAB);
    renew_charts(&lab.join(CHARTS), &charts)?;
    write(&lab.join("RESULTS.md"), &page)
}

/// A run of the page.
struct Measured {
    what: &'static str,
    /// Of all minutes, in parts of [`PARTS`].
    parts: u32,
    out: &'static str,
}

impl Measured {
    fn line(&self, minutes: u32) -> String {
        let seconds = minutes * 60 * self.parts / PARTS;
        let budget = match (seconds / 60, seconds % 60) {
            (minutes, 0) => format!("{minutes}m"),
            (0, seconds) => format!("{seconds}s"),
            (minutes, seconds) => format!("{minutes}m{seconds}s"),
        };
        format!("lab run {} --seed 7 --budget {budget}", self.what)
    }
}

fn manyhands(line: &str) -> Invocation {
    let name = format!("manyhands{}", std::env::consts::EXE_SUFFIX);
    let binary = workspace::target_subdir("release").join(name);
    let words = line.split_whitespace();
    words.fold(Invocation::program(binary), Invocation::arg)
}

/// Puts what the tour printed in its place in the README of the command.
fn renew_tour(printed: &str) -> Result<(), Failure> {
    let lines = printed.lines().count();
    if lines > TOUR_LINES_MAX {
        return Err(Failure::new(format!(
            "the tour prints {lines} lines, at most {TOUR_LINES_MAX}"
        )));
    }
    let path = workspace::root().join(CLI_README);
    let text = read(&path)?;
    let block = format!("```text\n$ manyhands {TOUR}\n{}\n```", printed.trim_end());
    let renewed = replaced(&text, &block).ok_or_else(|| {
        Failure::new(format!(
            "{CLI_README} has no place for the tour: {BEGIN} and {END}"
        ))
    })?;
    write(&path, &renewed)
}

/// The text with this between the two comments.
fn replaced(text: &str, block: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{block}\n{END}{after}"))
}

/// A report without its headline, with its other headlines one level deeper, and links to the charts where they
/// are copied to.
fn section(report: &str) -> String {
    let lines = report
        .lines()
        .skip_while(|line| line.starts_with("# ") || line.is_empty());
    let line = |line: &str| match line.strip_prefix('#') {
        Some(_) => format!("#{line}\n"),
        None => format!("{}\n", line.replace("](charts/", &format!("]({CHARTS}/"))),
    };
    lines.map(line).collect()
}

/// Names of the charts that a report shows.
fn linked_charts(report: &str) -> impl Iterator<Item = &str> {
    let links = report.split("](charts/").skip(1);
    links.filter_map(|link| Some(link.split_once(')')?.0))
}

/// Copies these charts and removes those of the results before.
fn renew_charts(folder: &Path, charts: &[PathBuf]) -> Result<(), Failure> {
    let cannot =
        |error: io::Error| Failure::new(format!("cannot use {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot)?;
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "svg") {
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

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// Folders are named from the root of the workspace, where the runs begin.
const TOUR: &str = "tour --seed 7 --out target/tour --replace";
const RUNS: [Measured; 2] = [
    Measured {
        what: "E3 E9 E13 --cpus 1,2",
        parts: 10,
        out: "target/lab-results/loops",
    },
    Measured {
        what: "E14 E15 E16 E17 --cpus 1,2 --memory",
        parts: 12,
        out: "target/lab-results/waits",
    },
];
const PARTS: u32 = 22;
const HEAD: &str = "\
# Results of the laboratory

Two runs of published experiments, asked again on one machine: loops and queues on one CPU and on two, and many waits with
the memory that they take. `cargo xtask lab-results` makes both, and this page of their reports. What the words and
numbers mean is in the [README](README.md#method).
";
const LAB: &str = "crates/manyhands-lab";
const CHARTS: &str = "results";
const CLI_README: &str = "crates/manyhands-cli/README.md";
const BEGIN: &str = "<!-- begin tour -->";
const END: &str = "<!-- end tour -->";
/// What fits on one screen.
const TOUR_LINES_MAX: usize = 40;
/// The exit code on a machine where other things run: the report says so, too.
const NOT_QUIET: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_are_shared_out_among_the_runs() {
        let line = |minutes| RUNS.map(|run| run.line(minutes));
        let [loops, waits] = line(MINUTES_DEFAULT);
        assert_eq!(loops, "lab run E3 E9 E13 --cpus 1,2 --seed 7 --budget 10m");
        assert!(waits.ends_with("--memory --seed 7 --budget 12m"), "{waits}");
        let [loops, _] = line(4);
        assert!(loops.ends_with("--budget 1m49s"), "{loops}");
    }

    #[test]
    fn only_what_stands_between_the_comments_is_replaced() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let expected = format!("a\n{BEGIN}\nnew\n{END}\nb\n");
        assert_eq!(replaced(&text, "new"), Some(expected));
        assert_eq!(replaced("a\nb\n", "new"), None);
        let readme = read(&workspace::root().join(CLI_README)).unwrap();
        assert!(replaced(&readme, "new").is_some());
    }

    #[test]
    fn a_report_becomes_a_section_with_its_charts() {
        let report =
            "# Measured\n\nHere.\n\n## E3: x\n\n![a](charts/one.svg)\n![b](charts/two.svg)\n";
        let expected = "Here.\n\n### E3: x\n\n![a](results/one.svg)\n![b](results/two.svg)\n";
        assert_eq!(section(report), expected);
        assert_eq!(
            linked_charts(report).collect::<Vec<_>>(),
            ["one.svg", "two.svg"]
        );
    }
}
