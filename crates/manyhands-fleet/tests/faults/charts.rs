//! Two agents of one machine, one with all of its CPUs and one with one of them: they do not measure at once, and there
//! are charts over both.

use crate::{
    experiments,
    in_process::{Fleet, Odds, setup},
    results,
};
use manyhands_fleet::{agent::Agent, commands, export, price::Prices, server::Database};
use manyhands_lab::{console, run::Interrupt};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use std::{collections::HashMap, fs, path::Path, thread};

pub(crate) fn two_agents_of_one_machine_take_turns_and_have_charts() {
    let cpus = thread::available_parallelism().unwrap().get();
    if cpus == 1 {
        println!("  skipped: this machine has one CPU");
        return;
    }
    let fleet = Fleet::new();
    let engine = fleet.engine(Odds::NONE, 1);
    let plan = format!("name = 'sizes'\nexperiments = ['T2']\ncpus = [1, {cpus}]\n");
    let id = commands::submit_to(&fleet.inner, &plan, None, &experiments()).unwrap();
    let stop = Interrupt::default();
    let ended = thread::scope(|scope| {
        for size in [1, cpus] {
            let mut setup = setup(&format!("with-{size}"), fleet.folder.path());
            // They take turns, as agents of one machine do.
            setup.host_lock = fleet.folder.path().join("host.lock");
            setup.cpus = size;
            let (engine, stop) = (&engine, &stop);
            scope.spawn(move || {
                if size == 1 {
                    pin();
                }
                let mut agent = Agent::new(setup, engine, experiments()).unwrap();
                agent.run(None, stop, |_| {});
            });
        }
        let ended = fleet.serve_until(&engine, |database| database.plans().unwrap()[0].done == 2);
        stop.set();
        ended
    });
    assert!(ended, "not done in time");
    let database = Database::open_to_read(&fleet.database).unwrap();
    let out = fleet.folder.path().join("out");
    results::check_plan(&database, &id, &fleet.folder.path().join("without prices"));
    check_turns(&database, &id);
    let prices = prices(cpus);
    export::export(&database, &id, &out, Some(&prices), console::alone).unwrap();
    let rows = rows(&out.join("machines-t2.csv"));
    assert_eq!(rows.len(), 4, "two machines with two arms each");
    for row in &rows {
        check_row(row, &rows, &out);
    }
    check_files(&out);
    let paths = ["machines-t2.csv", "machines-t2-dollars.svg"];
    let files = ["", paths[0], paths[1]];
    let [page, answers @ ..] = results::asked(&fleet.database, Some(prices), &id, files);
    assert!(
        page.contains("<figure>") && !page.contains("no charts"),
        "{page}"
    );
    for (path, shown) in paths.iter().zip(answers) {
        assert_eq!(shown, fs::read_to_string(out.join(path)).unwrap(), "{path}");
    }
}

/// The second run began after the first had ended.
fn check_turns(database: &Database, plan: &str) {
    let runs = database.jobs(plan).unwrap().into_iter();
    let mut spans: Vec<(i64, i64, String)> = runs
        .map(|job| {
            let run = job.run.unwrap();
            let lines = database.lines(&run.id).unwrap();
            let parse =
                |line: &String| -> serde_json::Value { serde_json::from_str(line).unwrap() };
            let (head, last) = (parse(&lines[0]), parse(lines.last().unwrap()));
            let began: jiff::Timestamp = head["started"].as_str().unwrap().parse().unwrap();
            let began = began.as_millisecond();
            (
                began,
                began + last["spent_millis"].as_i64().unwrap(),
                run.agent,
            )
        })
        .collect();
    spans.sort_unstable();
    assert_ne!(spans[0].2, spans[1].2, "one each");
    assert!(spans[0].1 <= spans[1].0, "at once: {spans:?}");
}

/// This thread, and the processes that it starts, on one of its CPUs.
fn pin() {
    let this = Pid::from_raw(0);
    let all = sched_getaffinity(this).unwrap();
    let first = (0..CpuSet::count()).find(|cpu| all.is_set(*cpu).unwrap());
    let mut one = CpuSet::new();
    one.set(first.unwrap()).unwrap();
    sched_setaffinity(this, &one).unwrap();
}

/// The small machine for 0.36 dollars an hour, the other one for twice as much.
fn prices(cpus: usize) -> Prices {
    let machine = |name: &str, cpus: usize, usd: f64| {
        format!(
            "[[machine]]\nname = '{name}'\nprovider = 'p'\nregion = 'r'\ncpus = {cpus}\nusd_per_hour = {usd}\n\
             date = '2026-11-23'\nsource = 's'\n"
        )
    };
    Prices::parse(&(machine("small", 1, 0.36) + &machine("large", cpus, 0.72))).unwrap()
}

type Row = HashMap<String, String>;

fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|cells| names.iter().cloned().zip(cells).collect())
        .collect()
}

fn number(row: &Row, name: &str) -> f64 {
    row[name]
        .parse()
        .unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

/// A cell as one who reads it has it: of two shortest texts of a number each list has either.
fn value(cell: &str) -> Result<u64, &str> {
    cell.parse().map(f64::to_bits).map_err(|_| cell)
}

/// The numbers of a row are those of the laboratory's report of that machine, and follow from each other.
fn check_row(row: &Row, rows: &[Row], out: &Path) {
    let agent = out.join("agents").join(&row["agent"]);
    let reported = self::rows(&agent.join("results.csv"));
    let same = reported
        .iter()
        .find(|one| one["arm"] == row["arm"])
        .unwrap();
    for name in ["n", "median_nanos"] {
        assert_eq!(value(&row[name]), value(&same[name]), "{name}");
    }
    // Without a quiet moment on this machine there is only what was found as it was.
    let is_clean = !same["speed_up"].is_empty();
    for (name, as_found) in [("speed_up", "as_found"), ("speed_up_low", "as_found_low")] {
        let reported = if is_clean { name } else { as_found };
        assert_eq!(value(&row[name]), value(&same[reported]), "{name}");
    }
    let cpus = number(row, "cpus");
    assert_eq!(row["agent"], format!("with-{cpus}"));
    let baseline = rows
        .iter()
        .find(|one| one["arm"] == "loop" && one["cpus"] == row["cpus"]);
    let alone = number(baseline.unwrap(), "median_nanos");
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    assert!(near(number(row, "ideal_nanos"), alone / cpus), "{row:?}");
    // A thousand items in whole rounds.
    let rounds = (1_000.0 / cpus).ceil();
    assert!(
        near(number(row, "rounds_bound_nanos"), alone * rounds / 1_000.0),
        "{row:?}"
    );
    let usd_per_hour = if row["cpus"] == "1" { 0.36 } else { 0.72 };
    let usd = number(row, "median_nanos") * 1e6 / 3.6e12 * usd_per_hour;
    assert!(
        near(number(row, "usd_per_million_calls_most"), usd),
        "{row:?}"
    );
}

/// Every chart is there as a list and as a picture, and shows the arms.
fn check_files(out: &Path) {
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("machines-t2.json")).unwrap()).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 4);
    for kind in ["", "-speed-ups", "-dollars"] {
        let svg = fs::read_to_string(out.join(format!("machines-t2{kind}.svg"))).unwrap();
        assert!(
            svg.contains("formula") && svg.contains("n = 1,000"),
            "{kind}"
        );
        let png = fs::read(out.join(format!("machines-t2{kind}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{kind}");
    }
}
