//! A made-up run that all golden files are made from: several sizes, cases and arms, a disturbed
//! size, every kind of answer, and names that must be escaped.

use super::Published;
use crate::{
    break_even::{Answer, Fit, Kind, Practical, Source},
    findings::{
        CaseFindings, Cause, Comparison, ExperimentFindings, Failure, Findings, Peak, Point,
        Spread, Times, Trace,
    },
    machine::Machine,
    paper::{Figure, Paper},
    record::{
        Block, CaseCard, CoreTrace, Event, ExperimentCard, FORMAT, Head, ItemEnds, Key, Meters,
        Sample, Scale, Settings, ThreadCourse,
    },
    stats::Estimate,
    verdict::{Doubt, Verdict},
};
use std::collections::BTreeMap;

/// The run.
pub(crate) fn findings() -> Findings {
    let experiments = vec![sizes(), hashes(), kinds()];
    let card = |one: &ExperimentFindings| ExperimentCard {
        id: one.id.clone(),
        title: one.title.clone(),
        cases: one.cases.iter().map(|case| case.card.clone()).collect(),
        ..ExperimentCard::default()
    };
    Findings {
        head: Head {
            format: FORMAT,
            version: "0.1.0".into(),
            started: "2026-11-21T09:30:00Z".into(),
            settings: Settings::new(Scale::Standard, 42),
            machine: Machine {
                cpu: "Example Processor 2700 @ 2.50GHz".into(),
                cpus: 4,
                system: "Linux 6.1.0".into(),
                sha_instructions: true,
                ..Machine::default()
            },
            experiments: experiments.iter().map(card).collect(),
        },
        experiments,
        failures: vec![Failure {
            key: key("E2", "SHA-1", 1_000_000),
            message: "'ranges' stored other results than 'sequential'".into(),
        }],
        left_out: [1_000_000, 10_000_000]
            .map(|n| key("E3", SHA_512, n))
            .into(),
        blocks: 732,
        disturbed: 51,
        quiet: true,
    }
}

/// The same experiments on another, noisy machine, a little slower.
pub(crate) fn other_findings() -> Findings {
    let mut other = findings();
    other.head.started = "2026-11-22T18:00:00Z".into();
    other.head.machine.cpu = "Another Processor 9".into();
    (other.disturbed, other.quiet) = (300, false);
    let points = other.experiments[0].cases[0].points.iter_mut();
    for times in points.flat_map(|point| &mut point.times) {
        times.median = estimate(times.median.median * 1.25, 0.02);
    }
    other
}

/// Published numbers for the first experiment; one cell did not converge.
pub(crate) fn published() -> Published {
    let cell = |n, arm: &str, mean_nanos: f64, deviation: f64| Figure {
        case: SHA_512.into(),
        n,
        arm: arm.into(),
        mean_nanos,
        median_nanos: Some(mean_nanos * 0.99),
        standard_deviation_nanos: Some(deviation),
        ..Figure::default()
    };
    let paper = Paper {
        source: "i7-9750H, 12 CPUs, .NET 8.0".into(),
        cells: vec![
            cell(10, "sequential", 8_190.0, 100.0),
            cell(10, "for_each", 14_200.0, 1_900.0),
            cell(100, "sequential", 81_500.0, 900.0),
            cell(100, "for_each", 61_900.0, 800.0),
            cell(100, "ranges", 58_900.0, 700.0),
            cell(10_000, "sequential", 8_517_000.0, 90_000.0),
            cell(10_000, "for_each", 4_547_000.0, 50_000.0),
        ],
        break_even_claimed: Some((50.0, 50.0)),
        ranges: BTreeMap::new(),
        notes: vec!["The paper drops the results of one arm.".into()],
    };
    Published {
        papers: BTreeMap::from([("E3".to_owned(), vec![paper])]),
        charts: Vec::new(),
    }
}

/// Two blocks of the first experiment, the second disturbed, and events of other kinds.
pub(crate) fn events() -> Vec<Event> {
    let sample = |wall_nanos, others_nanos| Sample {
        calls: 20,
        wall_nanos,
        meters: Meters {
            cpu_nanos: Some(wall_nanos * 2),
            run_delay_nanos: Some(1_000 + others_nanos / 1_000),
            others_nanos: Some(others_nanos),
            steal_nanos: Some(0),
            allocated_bytes: Some(640),
            ..Meters::default()
        },
    };
    let walls = [46_000, 98_000, 91_000, 46_500];
    let block = |others| Event::Block {
        key: key("E3", SHA_512, 10),
        block: Block {
            launch: 1,
            order: vec![2, 0, 3, 1],
            samples: walls.map(|wall| sample(wall, others)).to_vec(),
            checksum: "00c0ffee".into(),
        },
    };
    let launched = Event::Launched {
        experiment: "E3".into(),
        case: SHA_512.into(),
        launch: 1,
        clock_cost_nanos: 21.0,
        clock_grain_nanos: 1.0,
    };
    vec![launched, block(0), block(90_000_000)]
}

const SHA_512: &str = "SHA-512";

/// One case over six sizes with two arms, one with a fitted break-even, one with a bracket.
fn sizes() -> ExperimentFindings {
    let sizes = [10, 100, 300, 1_000, 10_000, 100_000];
    let mut points = sizes.map(|n| {
        let work = 230.0 * n as f64;
        point(n, &[work, 5_100.0 + work / 2.9, 4_300.0 + work / 2.6])
    });
    points[2].disturbed = 19;
    points[2].dropped = vec![(Cause::Load, 15), (Cause::RunDelay, 9)];
    points[2].comparisons[0].as_found = estimate(2.31, 0.2);
    points[1].comparisons[0].verdict = Verdict::Undecided;
    let (agree, blocks) = (13, 24);
    points[1].comparisons[0].doubt = Some(Doubt::Split { agree, blocks });
    points[3].disturbed = points[3].blocks;
    points[3].dropped = vec![(Cause::MajorFault, 24)];
    points[3].comparisons[1].clean = None;
    points[3].comparisons[1].verdict = Verdict::Undecided;
    let (blocks, needed) = (0, 11);
    points[3].comparisons[1].doubt = Some(Doubt::FewBlocks { blocks, needed });
    let by_model = Answer {
        kind: Kind::Between {
            lower: 31.2,
            upper: 37.4,
            source: Source::Fit,
        },
        fit: Some(fit(34.1, 5_100.0, 2.9)),
        practical: Practical::Between(30, 60),
    };
    let by_sizes = Answer {
        kind: Kind::Between {
            lower: 25.0,
            upper: 60.0,
            source: Source::Bracket,
        },
        fit: Some(Fit {
            has_steps: true,
            lack_of_fit: 6.3,
            ..fit(30.0, 4_300.0, 2.6)
        }),
        practical: Practical::Nowhere,
    };
    let arms = ["sequential", "for_each", "ranges"];
    let mut case = case(SHA_512, &arms, points.into());
    case.card.unit = "hash".into();
    case.answers = vec![by_model, by_sizes];
    case.peaks = peaks();
    case.traces = vec![trace(0), trace(1)];
    let title = "SHA-512 of \"Hello World\", <n> times & stored";
    experiment("E3", title, vec![case])
}

/// The memory of one arm at three sizes, the last with a course of threads and the ends of its items.
fn peaks() -> Vec<Peak> {
    let peak = |n: usize| {
        let bytes = 65_536 * n as u64 / 1_000;
        Peak {
            n,
            arm: 1,
            bytes,
            readings: vec![bytes - 40_960, bytes, bytes + 4_096],
            ..Peak::default()
        }
    };
    let mut peaks = [25_000, 50_000, 100_000].map(peak);
    peaks[2].threads = Some(ThreadCourse {
        step_millis: 2.0,
        counts: vec![1, 5, 5, 4],
    });
    let ends = (1..=1_000_u64).map(|item| 7_900 * item.isqrt().pow(2));
    peaks[2].ends = ItemEnds::of(ends.collect());
    peaks.into()
}

/// Five cases with one size each.
fn hashes() -> ExperimentFindings {
    let hashes = [
        ("HMAC-SHA-512", 370.6e6, 2.4, 2.41),
        ("SHA-512", 210.1e6, 2.1, 2.3),
        ("SHA-256", 310.5e6, 2.8, 2.81),
        ("SHA-1", 163.4e6, 2.2, 2.15),
        ("MD5", 181.4e6, 0.71, 1.01),
    ];
    let cases = hashes.into_iter().map(|(name, base, one, two)| {
        let point = point(100_000, &[base, base / one, base / two]);
        case(name, &["sequential", "for_each", "ranges"], vec![point])
    });
    experiment("E2", "Five hashes over one paragraph", cases.collect())
}

/// One case for each kind of answer that the first experiment does not have.
fn kinds() -> ExperimentFindings {
    let answered = |name, speed_ups: [f64; 2], kind| {
        let point = |(n, speed_up): (usize, f64)| {
            let work = 1_000.0 * n as f64;
            point(n, &[work, work / speed_up])
        };
        let points = [(1, speed_ups[0]), (1_000, speed_ups[1])].map(point);
        let mut case = case(name, &["in series", "two tasks"], points.to_vec());
        case.answers = vec![Answer {
            kind,
            fit: None,
            practical: Practical::Nowhere,
        }];
        case
    };
    let crossings = vec![(1, 10), (10, 100), (100, 1_000)];
    let several = |settled_from| Kind::Several {
        crossings: crossings.clone(),
        settled_from,
    };
    let never = Kind::NeverUpTo {
        largest: 1_000,
        speed_up_at_most: 1.004,
    };
    let open = Kind::NotDecided {
        largest: 1_000,
        speed_up: estimate(1.2, 0.3),
    };
    let always = Kind::AlwaysFrom { smallest: 1 };
    let same = Kind::NoDifference { effect: 0.02 };
    let mut cases = vec![
        answered("always", [1.4, 1.9], always),
        answered("never", [0.3, 0.99], never),
        answered("same", [1.001, 0.999], same),
        answered("several", [0.9, 1.5], several(Some(1_000))),
        answered("unsettled", [0.9, 0.8], several(None)),
        answered("too few", [1.2, 1.3], Kind::TooFewBlocks),
        answered("open", [0.9, 1.2], open),
    ];
    cases[0].answers[0].fit = Some(fit(0.4, 400.0, 1.9));
    cases[0].answers[0].practical = Practical::From(1);
    let open = &mut cases[6].points[1].comparisons[0];
    (open.verdict, open.doubt) = (Verdict::Undecided, Some(Doubt::Interval));
    open.clean = Some(estimate(1.2, 0.3));
    experiment("E10", "Two loops in series or as two tasks", cases)
}

/// One case on 1 to 8 CPUs, and in one and two copies.
pub(crate) fn over_cpus() -> ExperimentFindings {
    let variant = |cpus: usize, copies: Option<usize>, medians: [f64; 2]| {
        let points = vec![point(300, &medians)];
        let mut case = case(SHA_512, &["sequential", "for"], points);
        case.card.of = Some(SHA_512.into());
        (case.card.cpus, case.card.copies) = (Some(cpus), copies);
        let what = if copies.is_some() { "copies" } else { "CPUs" };
        case.card.name = format!("{SHA_512}, {cpus} {what}");
        case
    };
    let alone = 300.0 * 1_000.0;
    let shared = [(1, 1.0), (2, 1.9), (4, 3.4), (8, 5.0)];
    let shared = shared.map(|(cpus, gain)| variant(cpus, None, [alone, alone / gain]));
    let contending = [(1, alone), (2, alone * 1.25)];
    let contending = contending.map(|(cpus, nanos)| variant(cpus, Some(cpus), [nanos, nanos]));
    let cases = shared.into_iter().chain(contending).collect();
    experiment("E1a", "SHA-512 over CPUs", cases)
}

fn experiment(id: &str, title: &str, cases: Vec<CaseFindings>) -> ExperimentFindings {
    ExperimentFindings {
        id: id.into(),
        title: title.into(),
        cases,
        ..ExperimentFindings::default()
    }
}

pub(crate) fn case(name: &str, arms: &[&str], points: Vec<Point>) -> CaseFindings {
    CaseFindings {
        card: CaseCard {
            name: name.into(),
            arms: arms.iter().map(ToString::to_string).collect(),
            sizes: points.iter().map(|point| point.n).collect(),
            finds_break_even: true,
            unit: "item".into(),
            ..CaseCard::default()
        },
        points,
        answers: Vec::new(),
        speed_ups: Vec::new(),
        clock: Some((21.0, 1.0)),
        peaks: Vec::new(),
        traces: Vec::new(),
        suspicious: Vec::new(),
    }
}

/// A point from the medians of its arms, in nanoseconds.
pub(crate) fn point(n: usize, medians: &[f64]) -> Point {
    let comparison = |arm: &f64| comparison(medians[0] / arm);
    Point {
        n,
        blocks: 24,
        dropped: Vec::new(),
        disturbed: 0,
        times: medians.iter().enumerate().map(times).collect(),
        comparisons: medians[1..].iter().map(comparison).collect(),
        floor: Some(estimate(1.001, 0.012)),
    }
}

fn times((arm, median): (usize, &f64)) -> Times {
    Times {
        median: estimate(*median, 0.01),
        mean: median * 1.02,
        standard_deviation: median * 0.03,
        minimum: median * 0.98,
        percentile_95: median * 1.08,
        deviation: median * 0.01,
        cpu: Some(if arm == 0 { *median } else { median * 3.4 }),
        allocations: (arm > 0).then_some((6.0, 640.0)),
        pool: (arm > 0).then_some([2.5, 0.25, 0.0, 1.0]),
    }
}

fn comparison(speed_up: f64) -> Comparison {
    let verdict = match speed_up {
        faster if faster > 1.02 => Verdict::Faster,
        slower if slower < 0.98 => Verdict::Slower,
        _ => Verdict::NoDifference,
    };
    Comparison {
        clean: Some(estimate(speed_up, 0.03)),
        as_found: estimate(speed_up, 0.03),
        verdict,
        doubt: None,
        spread: Spread {
            between_launches: 0.004,
            within_launches: 0.021,
        },
        p_value: 0.000_1,
        q_value: Some(if speed_up > 1.02 { 0.000_4 } else { 0.031 }),
    }
}

fn fit(break_even: f64, overhead_nanos: f64, asymptotic_speed_up: f64) -> Fit {
    Fit {
        c: asymptotic_speed_up.recip(),
        d: overhead_nanos / 230.0,
        overhead_nanos,
        asymptotic_speed_up,
        break_even: Some(estimate(break_even, 0.09)),
        lack_of_fit: 1.1,
        has_steps: false,
    }
}

fn estimate(median: f64, spread: f64) -> Estimate {
    Estimate::new(median, median * (1.0 - spread), median * (1.0 + spread))
}

/// The baseline keeps one of four cores busy, the other arm all of them for a third of the time.
fn trace(arm: usize) -> Trace {
    let (steps, busy_cores) = if arm == 0 { (24, 1) } else { (8, 4) };
    let busy = (0..4).map(|core| {
        let wobble = |step: usize| ((step * 7 + core * 3) % 5) as f64 * 0.04;
        let at = |step| match core < busy_cores {
            true => 1.0 - wobble(step),
            false => wobble(step) / 3.0,
        };
        (0..steps).map(at).collect()
    });
    Trace {
        n: 100_000,
        arm,
        trace: CoreTrace {
            step_millis: 1.0,
            busy: busy.collect(),
        },
    }
}

fn key(experiment: &str, case: &str, n: usize) -> Key {
    Key::new(experiment, case, n)
}
