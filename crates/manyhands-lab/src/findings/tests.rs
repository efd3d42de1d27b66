//! Tests of the whole analysis, on runs made up for it.

use super::{CaseFindings, Cause, Failure, Findings, analyse};
use crate::{
    break_even::Kind,
    machine::Machine,
    record::{
        Block, CaseCard, CoreTrace, Event, ExperimentCard, Head, ItemEnds, Key, Meters,
        PeakReading, PoolMeters, Sample, Scale, Settings,
    },
    run,
    verdict::Verdict,
};

fn head(sizes: &[usize]) -> Head {
    let case = CaseCard {
        name: "case".into(),
        arms: vec!["sequential".into(), "parallel".into()],
        sizes: sizes.to_vec(),
        finds_break_even: true,
        ..CaseCard::default()
    };
    let mut head = run::head(&[], Settings::new(Scale::Quick, 7), Machine::here(), "");
    head.machine.cpus = 2;
    head.experiments.push(ExperimentCard {
        id: "E".into(),
        cases: vec![case],
        ..ExperimentCard::default()
    });
    head
}

fn key(n: usize) -> Key {
    Key::new("E", "case", n)
}

/// A block in which one call of the baseline, the arm and the twin takes this many nanoseconds.
fn block(n: usize, launch: u32, nanos: [u64; 3], meters: Meters) -> Event {
    let sample = |nanos: u64| Sample {
        calls: 10,
        wall_nanos: nanos * 10,
        meters,
    };
    Event::Block {
        key: key(n),
        block: Block {
            launch,
            order: vec![0, 1, 2],
            samples: nanos.map(sample).to_vec(),
            checksum: "0".into(),
        },
    }
}

/// Quiet blocks in three launches.
fn blocks(n: usize, count: u32, nanos: [u64; 3]) -> Vec<Event> {
    (0..count)
        .map(|index| block(n, index % 3, nanos, Meters::default()))
        .collect()
}

fn delayed() -> Meters {
    Meters {
        run_delay_nanos: Some(1_000_000),
        ..Meters::default()
    }
}

fn only_case(findings: &Findings) -> &CaseFindings {
    &findings.experiments[0].cases[0]
}

fn only_point(findings: &Findings) -> &super::Point {
    let [point] = only_case(findings).points.as_slice() else {
        panic!("one point was measured");
    };
    point
}

fn only_answer(findings: &Findings) -> Kind {
    let [answer] = only_case(findings).answers.as_slice() else {
        panic!("one answer for one arm");
    };
    answer.kind.clone()
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-9
}

#[test]
fn times_ratios_and_the_floor_are_those_of_the_blocks() {
    let findings = analyse(&head(&[10]), &blocks(10, 12, [2_000, 1_000, 2_000]));
    let point = only_point(&findings);
    assert_eq!((point.n, point.blocks, point.disturbed), (10, 12, 0));
    assert_eq!(point.times.len(), 2);
    assert!(near(point.times[0].median.median, 2_000.0));
    assert!(near(point.times[1].mean, 1_000.0));
    assert!(near(point.floor.unwrap().high, 1.0));
    let [comparison] = point.comparisons.as_slice() else {
        panic!("the twin is no arm");
    };
    assert!(near(comparison.clean.unwrap().median, 2.0));
    assert_eq!(Some(comparison.as_found), comparison.clean);
    assert_eq!(comparison.verdict, Verdict::Faster);
    assert!(comparison.p_value < 0.01);
    assert_eq!(comparison.q_value, None);
}

#[test]
fn disturbed_blocks_are_shown_but_not_judged() {
    let mut events = blocks(10, 11, [1_000, 1_000, 1_000]);
    events.extend((0..12).map(|index| block(10, index % 3, [1_000, 4_000, 1_000], delayed())));
    let findings = analyse(&head(&[10]), &events);
    let point = only_point(&findings);
    assert_eq!((point.blocks, point.disturbed), (23, 12));
    assert_eq!(point.dropped, [(Cause::RunDelay, 12)]);
    assert!(near(point.times[1].median.median, 1_000.0));
    let comparison = &point.comparisons[0];
    assert!(near(comparison.clean.unwrap().low, 1.0));
    assert!(near(comparison.as_found.median, 0.25));
    assert_eq!(comparison.verdict, Verdict::NoDifference);
    assert!(!findings.quiet, "more than a third was disturbed");
}

#[test]
fn a_run_without_clean_blocks_has_times_and_no_verdict() {
    let events: Vec<Event> = (0..20)
        .map(|index| block(10, index % 3, [2_000, 1_000, 2_000], delayed()))
        .collect();
    let findings = analyse(&head(&[10]), &events);
    assert!(!findings.quiet);
    assert_eq!((findings.blocks, findings.disturbed), (20, 20));
    let point = only_point(&findings);
    assert!(near(point.times[1].median.median, 1_000.0));
    let comparison = &point.comparisons[0];
    assert_eq!(comparison.clean, None);
    assert!(near(comparison.as_found.median, 2.0));
    assert_eq!(comparison.verdict, Verdict::Undecided);
    assert_eq!(comparison.p_value, 1.0);
}

#[test]
fn what_is_missing_either_failed_or_was_left_out() {
    let mut events = blocks(10, 3, [1, 1, 1]);
    events.push(Event::Failed {
        key: key(20),
        message: "no room".into(),
    });
    let findings = analyse(&head(&[10, 20, 30]), &events);
    let failure = Failure {
        key: key(20),
        message: "no room".into(),
    };
    assert_eq!(findings.failures, [failure]);
    assert_eq!(findings.left_out, [key(30)]);

    let nothing = analyse(&head(&[10]), &[]);
    assert_eq!(nothing.left_out, [key(10)]);
    assert!(nothing.experiments[0].cases.is_empty());
    assert!(nothing.quiet);
}

#[test]
fn a_searched_case_has_an_answer_for_each_arm_and_a_mean_speed_up() {
    let mut head = head(&[10, 100]);
    let mut events = blocks(10, 12, [1_000, 2_000, 1_000]);
    events.extend(blocks(100, 12, [16_000, 2_000, 16_000]));
    // A size of the search counts for the answer, not for the mean.
    events.extend(blocks(50, 12, [4_000, 2_000, 4_000]));
    let findings = analyse(&head, &events);
    let case = only_case(&findings);
    assert_eq!(case.points.len(), 3);
    assert!(near(case.speed_ups[0].unwrap(), 2.0));
    let Kind::Between { lower, upper, .. } = only_answer(&findings) else {
        panic!("{:?}", case.answers);
    };
    assert_eq!((lower, upper), (10.0, 50.0));

    head.experiments[0].cases[0].finds_break_even = false;
    assert_eq!(only_case(&analyse(&head, &events)).answers, []);
}

#[test]
fn a_size_of_a_search_needs_more_evidence_than_a_size_alone() {
    let mut head = head(&[10]);
    let verdict = |head: &Head| {
        let findings = analyse(head, &blocks(10, 9, [2_000, 1_000, 2_000]));
        only_point(&findings).comparisons[0].verdict
    };
    assert_eq!(verdict(&head), Verdict::Undecided);
    head.experiments[0].cases[0].finds_break_even = false;
    assert_eq!(verdict(&head), Verdict::Faster);
}

#[test]
fn a_run_in_which_nothing_was_decided_does_not_say_never() {
    // Nearly all blocks are disturbed, and the few clean ones are those of a faster arm.
    let mut events = blocks(10, 1, [1_000, 500, 1_000]);
    events.extend((0..14).map(|index| block(10, index % 3, [1_000, 1_100, 1_000], delayed())));
    let kind = |events: &[Event]| only_answer(&analyse(&head(&[10]), events));
    assert_eq!(kind(&events), Kind::TooFewBlocks);

    // Blocks enough, of an arm that is faster in some and slower in others.
    let events: Vec<Event> = (0..24)
        .map(|index| {
            let nanos = [1_000, [600, 1_100][index as usize % 2], 1_000];
            block(10, index % 3, nanos, Meters::default())
        })
        .collect();
    let kind = kind(&events);
    assert!(
        matches!(kind, Kind::NotDecided { largest: 10, speed_up } if speed_up.high > 1.5),
        "{kind:?}"
    );
}

#[test]
fn order_of_events_does_not_matter_and_repetition_gives_the_same() {
    let mut events: Vec<Event> = (0_u32..30)
        .map(|index| {
            let nanos = 1_000 + u64::from(index * 7 % 11) * 10;
            block(10, index % 3, [nanos, 900, 1_000], Meters::default())
        })
        .collect();
    let head = head(&[10]);
    let first = analyse(&head, &events);
    assert_eq!(first, analyse(&head, &events));
    events.reverse();
    let reversed = analyse(&head, &events);
    let (first, reversed) = (only_point(&first), only_point(&reversed));
    assert_eq!(first.comparisons, reversed.comparisons);
    assert_eq!(first.times[0].median, reversed.times[0].median);
}

#[test]
fn many_comparisons_have_q_values() {
    let sizes: Vec<usize> = (1..=21).collect();
    let mut events = Vec::new();
    for n in &sizes {
        events.extend(blocks(*n, 9, [2_000, 1_000, 2_000]));
    }
    let findings = analyse(&head(&sizes), &events);
    for point in &only_case(&findings).points {
        // All are equally convincing, so none loses by the company of the others.
        let comparison = &point.comparisons[0];
        assert_eq!(comparison.q_value, Some(comparison.p_value));
    }
}

#[test]
fn counters_are_given_per_call() {
    let meters = Meters {
        cpu_nanos: Some(30),
        allocations: Some(20),
        allocated_bytes: Some(640),
        pool: Some(PoolMeters {
            steals: 5,
            parks: 10,
            threads_added: 0,
            contentions: 1,
        }),
        ..Meters::default()
    };
    let events: Vec<Event> = (0..3)
        .map(|launch| block(10, launch, [2, 1, 2], meters))
        .collect();
    let findings = analyse(&head(&[10]), &events);
    let times = only_point(&findings).times[1];
    assert_eq!(times.cpu, Some(3.0));
    assert_eq!(times.allocations, Some((2.0, 64.0)));
    assert_eq!(times.pool, Some([0.5, 1.0, 0.0, 0.1]));
}

#[test]
fn clocks_and_pictures_are_passed_on() {
    let clock = |launch, cost, grain| Event::Launched {
        experiment: "E".into(),
        case: "case".into(),
        launch,
        clock_cost_nanos: cost,
        clock_grain_nanos: grain,
    };
    let trace = CoreTrace {
        step_millis: 5.0,
        busy: vec![vec![1.0], vec![0.5]],
    };
    let cores = Event::Cores {
        key: key(10),
        arm: 1,
        trace: trace.clone(),
    };
    let mut events = blocks(10, 1, [1, 1, 1]);
    events.extend([clock(0, 20.0, 1.0), clock(1, 15.0, 3.0), cores]);
    let findings = analyse(&head(&[10]), &events);
    let case = only_case(&findings);
    assert_eq!(case.clock, Some((20.0, 3.0)));
    assert_eq!((case.traces[0].n, case.traces[0].arm), (10, 1));
    assert_eq!(case.traces[0].trace, trace);
}

#[test]
fn what_an_item_takes_is_the_slope_of_all_readings_of_the_peaks_with_an_interval() {
    let mut events = blocks(10, 1, [1, 1, 1]);
    let mut read = |n: usize, more: u64| {
        let peak = PeakReading {
            peak_bytes: 1_000_000 + n as u64 * 128 + more,
            ends: ItemEnds::of(vec![more, n as u64]),
            ..PeakReading::default()
        };
        let (key, arm) = (key(n), 1);
        events.push(Event::Memory { key, arm, peak });
        only_case(&analyse(&head(&[10]), &events)).clone()
    };
    read(250, 0);
    assert_eq!(read(500, 0).bytes_per_item(1), None);
    let exact = read(1_000, 0).bytes_per_item(1);
    let exact = exact.expect("three sizes have a slope");
    assert!((exact.slope - 128.0).abs() < 1e-6, "{exact:?}");
    assert!(exact.margin.expect("three points") < 1e-6, "{exact:?}");
    read(1_000, 4_096);
    let case = read(1_000, 400);
    let peak = case.peak(1_000, 1).expect("it was read");
    assert_eq!(peak.readings, [1_128_000, 1_128_400, 1_132_096]);
    assert_eq!(peak.bytes, 1_128_400);
    let ends = peak.ends.as_ref().expect("they were read");
    assert_eq!(ends.at(100), Some(1_000));
    let wide = case.bytes_per_item(1).expect("three sizes have a slope");
    assert!(wide.margin.expect("five points") > 1.0, "{wide:?}");
}
