//! Charts of crafted runs, whose answers are known.

use super::*;
use manyhands_lab::{
    Case, Experiment, Scale, chart, findings,
    machine::Machine,
    record::{Block, Event, Key, Meters, Sample, Settings},
    run,
};

/// A run of 300 items whose arms take these nanoseconds for each call.
fn measured(agent: &str, cpus: usize, nanos: [u64; 2]) -> OnMachine {
    let case = Case::returning("hash").full_sizes([300]);
    let case = case.arm("sequential", |n| n).arm("for", |n| n);
    let experiments = [Experiment::new("X", "Hashes").case(case)];
    let machine = Machine {
        cpus,
        cpu: "model".to_owned(),
        ..Machine::default()
    };
    let head = run::head(&experiments, Settings::new(Scale::Full, 1), machine, "now");
    let sample = |wall_nanos| Sample {
        calls: 1,
        wall_nanos,
        meters: Meters::default(),
    };
    let event = |launch| Event::Block {
        key: Key {
            experiment: "X".to_owned(),
            case: "hash".to_owned(),
            n: 300,
        },
        block: Block {
            launch,
            order: vec![0, 1, 2],
            samples: [nanos[0], nanos[1], nanos[0]].map(sample).to_vec(),
            checksum: "1".to_owned(),
        },
    };
    let events: Vec<Event> = (0..12).map(|block| event(block % 3)).collect();
    OnMachine {
        agent: agent.to_owned(),
        machine: None,
        findings: findings::analyse(&head, &events),
    }
}

fn runs() -> [OnMachine; 3] {
    [
        measured("small", 2, [600_000, 310_000]),
        measured("large", 8, [600_000, 80_000]),
        // Another machine of the same size.
        measured("other", 8, [600_000, 75_000]),
    ]
}

fn prices() -> Prices {
    let machine = |name: &str, cpus: usize, usd: f64| {
        format!(
            "[[machine]]\nname = '{name}'\nprovider = 'p'\nregion = 'r'\ncpus = {cpus}\nusd_per_hour = {usd}\n\
             date = '2026-11-23'\nsource = 's'\n"
        )
    };
    let table = [
        machine("two", 2, 0.36),
        machine("eight", 8, 1.8),
        machine("eight-dear", 8, 3.6),
    ];
    Prices::parse(&table.concat()).unwrap()
}

/// Medians come back from their logarithms.
fn rounded(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let places = |value: f64| (value * 1e4).round() / 1e4;
    let points = points.into_iter();
    points.map(|(x, y)| (places(x), places(y))).collect()
}

fn points(series: &Series) -> Vec<(f64, f64)> {
    rounded(series.points.iter().map(|mark| (mark.x, mark.y)))
}

fn chart_of(charts: &OverMachines, name: &str) -> ChartSpec {
    let mut charts = charts.charts.iter();
    let found = charts.find(|(one, _)| one == name);
    found.unwrap_or_else(|| panic!("no chart {name}")).1.clone()
}

#[test]
fn times_have_a_point_for_each_size_and_both_bounds() {
    let shown = over_machines(&runs(), None).remove(0);
    let panel = chart_of(&shown, "machines-x").panels.remove(0);
    assert_eq!(panel.caption, "hash, n = 300, time per call");
    assert_eq!(panel.series[1].name, "for");
    let expected = [(2.0, 310_000.0), (8.0, 80_000.0)];
    assert_eq!(points(&panel.series[1]), expected);
    let bound = |index: usize| rounded(panel.references[index].points.iter().copied());
    assert_eq!(bound(0), [(2.0, 300_000.0), (8.0, 75_000.0)]);
    // 300 items on 8 CPUs are 38 rounds.
    assert_eq!(bound(1), [(2.0, 300_000.0), (8.0, 76_000.0)]);
    let ticks = panel.x.ticks.iter().map(|tick| tick.label.as_str());
    assert_eq!(ticks.collect::<Vec<_>>(), ["2", "8"]);
}

#[test]
fn speed_ups_are_over_the_baseline_of_the_same_machine_and_below_the_rounds() {
    let shown = over_machines(&runs(), None).remove(0);
    let panel = chart_of(&shown, "machines-x-speed-ups").panels.remove(0);
    assert_eq!(panel.series.len(), 1, "the baseline has none");
    // 600 / 310 and 600 / 80.
    assert_eq!(points(&panel.series[0]), [(2.0, 1.9355), (8.0, 7.5)]);
    let line = |name: &str| {
        let mut lines = panel.references.iter();
        let line = lines.find(|one| one.name == name).unwrap();
        rounded(line.points.iter().copied())
    };
    assert_eq!(line("ideal: as many as CPUs"), [(2.0, 2.0), (8.0, 8.0)]);
    assert_eq!(line("bound by whole rounds"), [(2.0, 2.0), (8.0, 7.8947)]);
    assert!(panel.y.high > 8.0, "the lines are within the panel");
}

#[test]
fn dollars_are_the_price_of_the_time_on_every_machine() {
    let prices = prices();
    let shown = over_machines(&runs(), Some(&prices)).remove(0);
    let panel = chart_of(&shown, "machines-x-dollars").panels.remove(0);
    // A million calls of 310 µs are 310 s, at 0.36 $ an hour; of 80 µs and 75 µs, at 3.60 $ at most.
    let expected = [(75_000.0, 0.075), (80_000.0, 0.08), (310_000.0, 0.031)];
    assert_eq!(points(&panel.series[1]), expected);
    let ends = rounded(panel.series[1].points[0].interval);
    assert_eq!(ends, [(0.0375, 0.075)]);
    assert_eq!(panel.series[1].points[2].interval, None, "one price");
    // Of the six points, two cannot be left without losing time or money.
    let front = rounded(panel.references[0].points.iter().copied());
    assert_eq!(front, [(75_000.0, 0.075), (310_000.0, 0.031)]);
    let labels: Vec<&str> = panel.labels.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(labels, ["2 CPUs", "8 CPUs"]);
}

#[test]
fn the_list_has_every_machine_and_the_charts_are_drawn_from_it() {
    let prices = prices();
    let shown = over_machines(&runs(), Some(&prices)).remove(0);
    let agents: Vec<&str> = shown.rows.iter().map(|row| row.agent.as_str()).collect();
    assert_eq!(
        agents,
        ["small", "small", "large", "large", "other", "other"]
    );
    let last = &shown.rows[5];
    assert_eq!((last.cpus, last.arm.as_str()), (8, "for"));
    assert_eq!(
        last.usd_per_hour_least.zip(last.usd_per_hour_most),
        Some((1.8, 3.6))
    );
    assert_eq!(last.speed_up.map(f64::round), Some(8.0));
    assert_eq!(shown.rows[4].speed_up, None);
    for (name, spec) in &shown.charts {
        let svg = chart::svg(spec).unwrap();
        assert!(svg.contains("hash, n = 300"), "{name}");
        assert!(!spec.description.is_empty(), "{name}");
    }
    let dollars = chart_of(&shown, "machines-x-dollars");
    let svg = chart::svg(&dollars).unwrap();
    assert!(svg.contains("8 CPUs") && svg.contains("0.05 $"), "{svg}");
    assert!(
        dollars
            .description
            .contains("the cheapest is for at 2 CPUs"),
        "{}",
        dollars.description
    );
}

#[test]
fn without_prices_there_are_no_dollars() {
    let shown = over_machines(&runs(), None).remove(0);
    let names: Vec<&str> = shown.charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["machines-x", "machines-x-speed-ups"]);
    assert!(shown.rows.iter().all(|row| row.usd().is_none()));
    // A table without machines of these sizes is none either.
    let other = prices().only(&["two".to_owned()]).unwrap();
    let shown = over_machines(&runs()[1..], Some(&other));
    assert!(shown.is_empty(), "two machines of one size are no chart");
}

#[test]
fn machines_of_one_size_have_no_chart_and_a_sentence_that_says_why() {
    let of_one_size = &runs()[1..];
    assert!(over_machines(of_one_size, None).is_empty());
    let why = why_none(of_one_size).unwrap();
    assert!(why.contains("machines with 8 CPUs"), "{why}");
    assert!(over_machines(&[], None).is_empty());
    assert_eq!(why_none(&[]), None, "nothing is measured yet");
    assert_eq!(why_none(&runs()), None, "there are charts");
}

#[test]
fn sizes_that_have_no_case_in_common_have_a_sentence_too() {
    let mut runs = runs();
    runs[0].findings.experiments[0].id = "Y".to_owned();
    let why = why_none(&runs).unwrap();
    assert!(why.contains("no case has results"), "{why}");
}
