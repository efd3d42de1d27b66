//! The main cases of the other problems on 1, 2, 4, 8 … of this machine's CPUs: what scales, for a machine that nothing but
//! this program can be brought to.
//!
//! The process restricts itself before it starts the contenders, which make their pools as large as that. It goes downwards,
//! because a restriction cannot be taken back. The table and the chart go into a folder.

use std::fs;
use std::iter;
use std::path::Path;
use std::thread;
use std::time::Duration;

use manyhands_lab::chart::{Axis, ChartSpec, Form, Mark, Panel, Series};
use manyhands_lab::contest::{
    Arm, CaseResult, Conditions, Contest, Lifetime, Request, cell, notes, time,
};
use manyhands_lab::machine::{Machine, pin_to};
use manyhands_lab::record;
use manyhands_lab::report::markdown_table;

use crate::report::{Outcome, Report};

/// A case of another problem, and the contenders that it is measured with.
#[derive(Clone, Copy, Debug)]
struct Row {
    problem: &'static str,
    case: &'static str,
    title: &'static str,
    contenders: &'static [&'static str],
    lifetime: Lifetime,
    window: Duration,
}

/// Measures and writes into the folder, which is made if it is not there.
pub(crate) fn run(folder: &Path) -> Result<Outcome, String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut report = Report::to_file(Some(&folder.join("results.md")))?;
    let most = thread::available_parallelism().map_or(1, usize::from);
    let seed = record::Settings::drawn_seed();
    let command = format!("peers scale {}", folder.display());
    let conditions = Conditions::here(ROUNDS, Some(seed), Duration::ZERO, command);
    report.line(&format!("# Over CPUs\n\n{conditions}\n"));
    let mut all = Vec::new();
    for cpus in steps(most).into_iter().rev() {
        pin_to(cpus).map_err(|error| error.to_string())?;
        eprintln!("on {cpus} CPUs");
        all.push((cpus, ROWS.map(|row| measured(&row, seed))));
    }
    all.reverse();
    for (index, row) in ROWS.iter().enumerate() {
        let results: Vec<(usize, &CaseResult)> = all
            .iter()
            .map(|(cpus, rows)| (*cpus, &rows[index]))
            .collect();
        report.line(&format!("## {}\n", row.title));
        report.line(&table(row, &results));
    }
    if let Some(spec) = chart(&all) {
        report.chart("scale", &spec);
    }
    let results: Vec<CaseResult> = all.into_iter().flat_map(|(_, rows)| rows).collect();
    let (lines, agreed) = notes(&results);
    for line in lines {
        report.line(&line);
    }
    Ok(if agreed {
        Outcome::Agreed
    } else {
        Outcome::Failed
    })
}

/// Powers of two up to the number of CPUs, and that.
fn steps(most: usize) -> Vec<usize> {
    let powers = iter::successors(Some(1), |cpus| Some(cpus * 2));
    powers
        .take_while(|&cpus| cpus < most)
        .chain([most])
        .collect()
}

fn measured(row: &Row, seed: u64) -> CaseResult {
    let arms: Vec<Arm> = row
        .contenders
        .iter()
        .map(|name| Arm::contender(name))
        .collect();
    let request = Request {
        case: row.case.to_owned(),
        window: row.window,
    };
    Contest::new(row.problem, &arms, row.lifetime, seed).run(&request, ROUNDS)
}

/// A row for each contender, a column for each number of CPUs: its time, and how many times as fast that is as on one.
fn table(row: &Row, results: &[(usize, &CaseResult)]) -> String {
    let header = results.iter().map(|(cpus, _)| match cpus {
        1 => "1 CPU".to_owned(),
        more => format!("{more} CPUs"),
    });
    let header: Vec<String> = iter::once(String::new()).chain(header).collect();
    let line = |&label: &&'static str| {
        let alone = results
            .first()
            .and_then(|(_, one)| one.median(label, NANOS));
        let text = |result: &CaseResult| {
            let nanos = result.median(label, NANOS)?;
            let times = alone? / nanos;
            Some(format!("{} ({times:.2} ×)", time(nanos)))
        };
        let cells = results
            .iter()
            .map(|(_, result)| cell(Some(result), label, text));
        iter::once(label.to_owned()).chain(cells).collect()
    };
    markdown_table(&header, row.contenders.iter().map(line).collect())
}

/// A panel for each case; `None` where there is one CPU.
fn chart(all: &[(usize, [CaseResult; ROWS.len()])]) -> Option<ChartSpec> {
    let cpus: Vec<usize> = all.iter().map(|(cpus, _)| *cpus).collect();
    let panel = |(index, row): (usize, &Row)| {
        let line = |(family, &label): (usize, &&'static str)| {
            let mark = |(cpus, rows): &(usize, [CaseResult; ROWS.len()])| {
                Some(Mark {
                    x: *cpus as f64,
                    y: rows[index].median(label, NANOS)?,
                    interval: None,
                    is_doubtful: false,
                })
            };
            Series {
                name: label.to_owned(),
                family,
                form: Form::Line,
                points: all.iter().filter_map(mark).collect(),
                end_label: label.to_owned(),
            }
        };
        let series: Vec<Series> = row.contenders.iter().enumerate().map(line).collect();
        let times = series.iter().flat_map(|series| &series.points);
        Some(Panel {
            caption: row.title.to_owned(),
            height: 220,
            x: Axis::cpus("CPUs", &cpus)?,
            y: Axis::times(times.map(|mark| mark.y))?,
            series,
            references: Vec::new(),
            bands: Vec::new(),
            labels: Vec::new(),
        })
    };
    let panels: Option<Vec<Panel>> = ROWS.iter().enumerate().map(panel).collect();
    Some(ChartSpec {
        title: "Over CPUs".to_owned(),
        notes: vec![Machine::here().line()],
        description: "Times of each case over the number of CPUs that may be used.".to_owned(),
        columns: 2,
        panels: panels?,
    })
}

/// Kept processes, each asked for windows of this length.
const fn kept(
    problem: &'static str,
    case: &'static str,
    title: &'static str,
    contenders: &'static [&'static str],
) -> Row {
    Row {
        problem,
        case,
        title,
        contenders,
        lifetime: Lifetime::Kept,
        window: Duration::from_millis(60),
    }
}

/// A fresh process for each measurement.
const fn fresh(row: Row) -> Row {
    Row {
        lifetime: Lifetime::PerMeasurement,
        window: Duration::from_millis(500),
        ..row
    }
}

const LOOPS: &[&str] = &["sequential", "manyhands", "rayon", "chili"];
const DATA: &[&str] = &["sequential", "manyhands", "rayon"];
/// The first contender of each is the one whose checksums the others must have.
const ROWS: [Row; 12] = [
    kept("loops", "sha 100000 hot", "100,000 hashes", LOOPS),
    kept("loops", "sha 1000 hot", "1,000 hashes", LOOPS),
    kept(
        "loops",
        "sha 1000 parked",
        "1,000 hashes after a pause",
        LOOPS,
    ),
    kept(
        "joins",
        "fib",
        "fib(32), a join at each call",
        &["plain", "manyhands", "rayon", "chili"],
    ),
    fresh(kept(
        "items",
        "inside 1000000",
        "Empty closures from inside the pool",
        &["crossbeam-2", "manyhands-detached", "rayon", "tokio"],
    )),
    fresh(kept(
        "tasks",
        "awaited inside 1000",
        "Tasks spawned and awaited",
        &["tokio", "manyhands"],
    )),
    kept(
        "channels",
        "4to1 bounded",
        "Messages of four senders",
        &[
            "crossbeam",
            "manyhands",
            "manyhands-pool-tasks",
            "tokio-tasks",
        ],
    ),
    fresh(kept(
        "saturation",
        "loop",
        "Heavy requests of a service at saturation",
        &["manyhands", "tokio+rayon", "threads"],
    )),
    kept("keys", "sort 1000000", "Sort a million numbers", DATA),
    kept(
        "keys",
        "count-many 1000000",
        "Count by a million keys",
        DATA,
    ),
    kept(
        "queries",
        "map 1000000",
        "Map and collect a million numbers",
        DATA,
    ),
    kept("queries", "primes 100000", "Primes below 100,000", DATA),
];
const ROUNDS: usize = 7;
/// The first value of every problem's samples is its time.
const NANOS: usize = 0;

#[cfg(test)]
mod tests {
    use super::{ROWS, steps};
    use crate::problem::Problem;

    #[test]
    fn cpus_double_up_to_all() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(2), [1, 2]);
        assert_eq!(steps(6), [1, 2, 4, 6]);
        assert_eq!(steps(16), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn every_contender_is_one_of_its_problem() {
        for row in ROWS {
            let problem = Problem::named(row.problem).map_or(&[][..], |problem| problem.arms);
            for name in row.contenders {
                let is_known = problem.iter().any(|arm| arm.contender == *name);
                assert!(is_known, "{name} of {}", row.problem);
            }
        }
    }
}
