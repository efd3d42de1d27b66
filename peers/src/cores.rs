//! Loops on many cores: the simulated time over the shortest one possible, beside what was published for .NET.
//!
//! The simulation runs the library's own steps, so a test of the library prints it (`engine/tests/many_cores.rs`). Nothing is
//! timed here, so there are no contenders.

use std::collections::BTreeSet;
use std::env;
use std::iter;
use std::process::Command;

use manyhands_lab::chart::{Axis, ChartSpec, Form, Mark, Panel, Reference, Series, Stroke};
use manyhands_lab::contest::Arm;
use manyhands_lab::paper::{Figure, figures};

use crate::cli::Settings;
use crate::report::{Outcome, Report};

pub(crate) const ARMS: [Arm; 0] = [];

/// Nobody is measured.
pub(crate) fn serve(_contender: &str) -> bool {
    false
}

/// A loop, or what runs it: its time as a multiple of the bound, by the number of CPUs.
struct Line {
    name: String,
    points: Vec<(usize, f64)>,
}

impl Line {
    fn named(&self, name: String) -> Self {
        let points = self.points.clone();
        Self { name, points }
    }
}

/// The simulation, as no arguments can change it.
pub(crate) fn compare(_settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let printed = printed()?;
    let simulated = lines(&printed)?;
    let published = published();
    report.line(
        "## Loops on many cores, by simulation\n\nNothing is timed: every machine prints the same. Command: `cargo xtask \
         results cores`.\n\n1.00 is the shortest time possible: whole rounds of equal items, or an equal share of items \
         that differ. [The page of decisions](../docs/decisions/23-many-cores.md) says what is simulated and what is \
         not.\n",
    );
    report.chart("cores", &chart(&simulated, &published));
    report.line("### Simulated, to the bound\n");
    let table: Vec<&str> = printed.lines().filter(is_of_table).collect();
    report.line(&table.join("\n"));
    report.line(&format!(
        "\n### {PUBLISHED_LOOP}: published for .NET, to the bound\n"
    ));
    report.line(
        "Measured by others on cloud machines, for the blog post from which the laboratory's experiment E9 is taken: `for` is \
         Parallel.For, a query is one of PLINQ. That an item takes longer there where two threads share a core is taken out.\n",
    );
    let (header, rows) = rows(&published);
    report.table(&header, rows);
    Ok(Outcome::Agreed)
}

/// What the library's test prints.
fn printed() -> Result<String, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = Command::new(cargo);
    test.args(["test", "--quiet", "--manifest-path", MANIFEST, "--lib"])
        .args([
            "engine::tests::many_cores::table",
            "--",
            "--ignored",
            "--nocapture",
        ]);
    let output = test
        .output()
        .map_err(|error| format!("cannot run the simulation: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the simulation failed: {said}"));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn is_of_table(line: &&str) -> bool {
    line.starts_with('|')
}

/// The rows of the printed table.
fn lines(printed: &str) -> Result<Vec<Line>, String> {
    let mut table = printed.lines().filter(is_of_table).map(cells);
    let header = table.next().ok_or("the simulation printed no table")?;
    let cpus: Vec<usize> = numbers(&header)?;
    // The rule below it.
    table.next();
    table
        .map(|row| {
            let ratios: Vec<f64> = numbers(&row)?;
            Ok(Line {
                name: row
                    .first()
                    .map(|name| (*name).to_owned())
                    .unwrap_or_default(),
                points: cpus.iter().copied().zip(ratios).collect(),
            })
        })
        .collect()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// All cells but the first.
fn numbers<T: std::str::FromStr>(cells: &[&str]) -> Result<Vec<T>, String> {
    let number = |cell: &&str| cell.parse().map_err(|_| format!("'{cell}' is no number"));
    cells.iter().skip(1).map(number).collect()
}

/// What was published for this loop. An item takes longer on a busy machine than alone, by what the time closest to the bound
/// shows.
fn published() -> Vec<Line> {
    let of_loop = |figure: &&Figure| figure.experiment == "E9" && figure.case == PUBLISHED_CASE;
    let (alone, shared): (Vec<&Figure>, Vec<&Figure>) = figures()
        .iter()
        .filter(of_loop)
        .partition(|figure| figure.arm == "sequential");
    let to_bound = |figure: &Figure| {
        let alone = alone.iter().find(|alone| alone.cpus == figure.cpus)?;
        let rounds = figure.n.div_ceil(figure.cpus);
        Some(figure.mean_nanos / (alone.mean_nanos * rounds as f64 / alone.n as f64))
    };
    let busy = shared.iter().filter_map(|figure| to_bound(figure));
    let busy = busy.fold(f64::INFINITY, f64::min);
    let mut lines: Vec<Line> = Vec::new();
    for figure in shared {
        let Some(ratio) = to_bound(figure).filter(|_| PARALLEL.contains(&figure.arm.as_str()))
        else {
            continue;
        };
        let point = (figure.cpus, ratio / busy);
        match lines.iter_mut().find(|line| line.name == figure.arm) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name: figure.arm.clone(),
                points: vec![point],
            }),
        }
    }
    lines
}

fn rows(lines: &[Line]) -> (Vec<String>, Vec<Vec<String>>) {
    let cpus = cpus_of(lines);
    let row = |line: &Line| {
        let cell = |cpus: &usize| {
            let point = line.points.iter().find(|(at, _)| at == cpus);
            point.map_or_else(|| "·".to_owned(), |(_, ratio)| format!("{ratio:.2}"))
        };
        let cells = cpus.iter().map(cell);
        iter::once(line.name.clone()).chain(cells).collect()
    };
    let header = cpus.iter().map(usize::to_string);
    (
        iter::once("CPUs".to_owned()).chain(header).collect(),
        lines.iter().map(row).collect(),
    )
}

/// All numbers of CPUs of these lines, ascending.
fn cpus_of(lines: &[Line]) -> Vec<usize> {
    let points = lines.iter().flat_map(|line| &line.points);
    let cpus: BTreeSet<usize> = points.map(|(cpus, _)| *cpus).collect();
    cpus.into_iter().collect()
}

fn chart(simulated: &[Line], published: &[Line]) -> ChartSpec {
    let beside: Vec<Line> = simulated
        .iter()
        .filter(|line| line.name.starts_with(PUBLISHED_LOOP))
        .map(|line| line.named("manyhands, simulated".to_owned()))
        .chain(
            published
                .iter()
                .map(|line| line.named(format!("{}, .NET", line.name))),
        )
        .collect();
    // Without the times of their items, which would not fit.
    let short = |line: &Line| {
        let name = line.name.split(" (").next().unwrap_or_default();
        line.named(name.to_owned())
    };
    let last = beside.iter().filter_map(|line| {
        let (cpus, ratio) = line.points.last()?;
        Some(format!("{} on {cpus} CPUs {ratio:.2}", line.name))
    });
    let description = format!(
        "Time over the shortest possible. {PUBLISHED_LOOP}: {}.",
        last.collect::<Vec<_>>().join("; ")
    );
    ChartSpec {
        title: "Loops on many cores".to_owned(),
        notes: vec!["1 is the shortest time possible.".to_owned()],
        description,
        columns: 1,
        panels: vec![
            panel(PUBLISHED_LOOP, &beside),
            panel(
                "all loops that are simulated",
                &simulated.iter().map(short).collect::<Vec<_>>(),
            ),
        ],
    }
}

fn panel(what: &str, lines: &[Line]) -> Panel {
    let points = lines.iter().flat_map(|line| &line.points);
    let most = points.map(|(_, ratio)| *ratio).fold(1.1, f64::max);
    let whole = |at: f64| format!("{at:.0}");
    let x = Axis::cpus("CPUs", &cpus_of(lines));
    let x = x.unwrap_or_else(|| Axis::span("CPUs", 1.0, 192.0, whole));
    let bound = Reference {
        name: String::new(),
        stroke: Stroke::Dashed,
        points: vec![(x.low, 1.0), (x.high, 1.0)],
    };
    Panel {
        caption: format!("{what}: time to the bound"),
        height: 240,
        y: Axis::span("", 0.95, most * 1.03, |at| format!("{at:.2}")),
        x,
        references: vec![bound],
        bands: Vec::new(),
        labels: Vec::new(),
        series: lines.iter().enumerate().map(series).collect(),
    }
}

fn series((family, line): (usize, &Line)) -> Series {
    let mark = |(cpus, ratio): &(usize, f64)| Mark {
        x: *cpus as f64,
        y: *ratio,
        interval: None,
        is_doubtful: false,
    };
    Series {
        name: line.name.clone(),
        family,
        form: Form::Line,
        points: line.points.iter().map(mark).collect(),
        end_label: line.name.clone(),
    }
}

/// The workspace of the library.
const MANIFEST: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/manyhands/Cargo.toml"
);
/// As the simulation names it.
const PUBLISHED_LOOP: &str = "300 × BCrypt, cost 10";
/// The arms that were run on all CPUs.
const PARALLEL: [&str; 5] = [
    "ranges",
    "query, ordered",
    "query, unordered",
    "for",
    "for_each",
];
/// As the laboratory names it.
const PUBLISHED_CASE: &str = "BCrypt cost 10";

#[cfg(test)]
mod tests {
    use super::{lines, published};

    #[test]
    fn a_printed_table_becomes_lines_and_what_is_no_number_is_refused() {
        let table =
            "running 1 test\n| loop | 2 | 192 |\n| --- | --: | --: |\n| a | 1.00 | 1.20 |\n.\n";
        let lines = lines(table).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].name, "a");
        assert_eq!(lines[0].points, [(2, 1.0), (192, 1.2)]);
        assert!(super::lines("no table").is_err());
        assert!(super::lines("| loop | 2 |\n| --- | --: |\n| a | fast |").is_err());
    }

    #[test]
    fn no_published_loop_is_faster_than_the_bound() {
        let published = published();
        let points = published.iter().flat_map(|line| &line.points);
        assert!(points.clone().count() > 10);
        assert!(points.into_iter().all(|(_, ratio)| *ratio > 0.99));
    }
}
