//! Runs with a budget: what is tried, what is measured, and when it ends.

use super::{
    Duration, Event, Scale, Settings, Simple, Simulation, Step, card, go, head, run, settings,
    with_budget,
};
use crate::director::{Director, PassKind};

#[test]
fn a_budget_is_kept_and_what_is_left_over_passes_on() {
    for millis in [150, 200, 400, 1_000] {
        let mut simulation = Simulation::new();
        let (log, _) = run(&head(with_budget(millis)), &mut simulation);
        // One block may overrun the end.
        let end = Duration::from_millis(millis + 3);
        assert!(simulation.now <= end, "{millis}");
        assert!(log.blocks_at("searched", 10) > 0);
    }
    // Not even one point fits: that is said, with the time it takes, and nothing is measured.
    let head = head(with_budget(20));
    let mut director = Director::new(&head, Box::new(Simple));
    let (log, _) = go(&mut director, &mut Simulation::new(), Vec::new());
    assert_eq!(log.blocks().count(), 0);
    let plan = director.plan().unwrap();
    assert_eq!(plan.left_out.len(), 4);
    assert!(plan.needed > plan.budget);
    // Plenty: every point takes what it wants, and time stays.
    let mut simulation = Simulation::new();
    let (log, _) = run(&super::head(with_budget(60_000)), &mut simulation);
    assert_eq!(log.blocks_at("plain", 1_000), 36);
    assert_eq!(log.blocks_at("plain", 10), 288);
    assert!(simulation.now < Duration::from_secs(6));
}

#[test]
fn with_a_budget_all_cases_are_tried_before_any_is_measured() {
    let (log, events) = run(&head(with_budget(400)), &mut Simulation::new());
    let pilot = |step: &Step| match step {
        Step::Pilot { subject, n, arms } => Some((subject.case.clone(), *n, *arms)),
        _ => None,
    };
    let pilots: Vec<_> = log.steps.iter().map_while(pilot).collect();
    let expected = ["searched", "plain"].map(|case| (case.to_owned(), 8, 3));
    assert_eq!(pilots, expected);
    let tried = |event: &&Event| matches!(event, Event::Piloted { .. });
    assert_eq!(events.iter().filter(tried).count(), 2);
    // Without one there is nothing to plan.
    let (log, _) = run(&head(settings(Scale::Quick)), &mut Simulation::new());
    assert!(log.steps.iter().all(|step| pilot(step).is_none()));
}

#[test]
fn time_for_some_goes_to_the_smallest_sizes_of_all() {
    let mut head = head(with_budget(3_000));
    let many = (0..19).map(|number| card(&number.to_string(), &[10, 1_000, 100_000]));
    head.experiments[0].cases = many.collect();
    let mut simulation = Simulation::new();
    let (log, _) = run(&head, &mut simulation);
    for number in 0..19 {
        let blocks = log.blocks_at(&number.to_string(), 10);
        assert!(blocks >= 12, "{number}: {blocks}");
        assert_eq!(log.blocks_at(&number.to_string(), 100_000), 0);
    }
    let end = simulation.now;
    assert!(end <= Duration::from_millis(3_003), "{end:?}");
}

/// What is undecided takes all time that it may.
#[test]
fn small_sizes_leave_time_for_the_largest_of_their_case() {
    let mut head = head(with_budget(9_000));
    let small = (1..=10).map(|number| 9 * number);
    let sizes: Vec<usize> = small.chain([100_000]).collect();
    head.experiments[0].cases = vec![card("plain", &sizes)];
    let mut simulation = Simulation::new();
    let (log, _) = run(&head, &mut simulation);
    assert!(log.blocks_at("plain", 100_000) >= 12);
    assert!(log.blocks_at("plain", 9) > 60);
    let taken = simulation.now;
    assert!(taken <= Duration::from_millis(9_250), "{taken:?}");
}

#[test]
fn the_untimed_passes_keep_the_budget_too() {
    for seconds in [3, 6, 20] {
        let settings = Settings {
            cores: true,
            ..with_budget(seconds * 1_000)
        };
        let mut simulation = Simulation::new();
        simulation.picture = Duration::from_secs(1);
        let (log, _) = run(&head(settings), &mut simulation);
        assert!(
            simulation.now <= Duration::from_secs(seconds),
            "{:?}",
            simulation.now
        );
        let pictures = log
            .steps
            .iter()
            .filter(|step| matches!(step, Step::Pass(pass) if pass.kind == PassKind::Cores));
        let expected = if seconds < 6 { 0..=2 } else { 4..=4 };
        let pictures = pictures.count();
        assert!(expected.contains(&pictures), "{pictures} in {seconds} s");
        assert!(log.blocks_at("plain", 10) >= 12);
    }
}

#[test]
fn the_only_size_of_a_case_leaves_time_for_the_memory_that_was_planned() {
    let settings = Settings {
        memory: true,
        ..with_budget(7_000)
    };
    let mut head = head(settings);
    // A block takes 250 ms, and more of them are wanted than there is time for.
    head.experiments[0].cases = vec![card("plain", &[100_000])];
    let mut simulation = Simulation::new();
    let (log, _) = run(&head, &mut simulation);
    assert!(log.blocks_at("plain", 100_000) >= 12);
    let peaks = log
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Pass(pass) if pass.kind == PassKind::Memory));
    assert_eq!(peaks.count(), 18, "{:?}", simulation.now);
}

#[test]
fn trying_takes_no_more_than_its_part_of_the_budget() {
    let mut head = head(with_budget(400));
    let many = (0..200).map(|number| card(&number.to_string(), &[10]));
    head.experiments[0].cases = many.collect();
    let mut director = Director::new(&head, Box::new(Simple));
    let (log, _) = go(&mut director, &mut Simulation::new(), Vec::new());
    let plan = director.plan().unwrap();
    assert!(log.blocks_at("0", 10) >= 12, "{plan:?}");
    // Those that were not tried are named, without a time.
    let (key, cost) = plan.left_out.last().unwrap();
    assert_eq!((key.case.as_str(), *cost), ("199", Duration::ZERO));
}
