//! What goes wrong in a process ends a point and not the run.

use crate::program::{self, BAD, Simple};
use manyhands_lab::{
    director::Director,
    launcher::{Launcher, Live},
    record::{Block, Event, Head, PoolState, Settings},
    run::{self, Interrupt, Outcome, Silent},
    store::{self, Damage, Existing, Store},
};
use std::time::Duration;

fn run(head: &Head, launcher: Launcher) -> Vec<Event> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), head, Existing::Keep).unwrap();
    let mut director = Director::new(head, Box::new(Simple));
    let mut live = Live::new(launcher, &head.settings);
    let interrupt = Interrupt::default();
    let outcome = run::execute(
        &mut director,
        &mut live,
        &mut store,
        &mut Silent,
        &interrupt,
    );
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    store::read(folder.path(), Damage::Refuse).unwrap().events
}

fn blocks_at(events: &[Event], n: usize) -> usize {
    let is_it = |event: &&Event| matches!(event, Event::Block { key, .. } if key.n == n);
    events.iter().filter(is_it).count()
}

fn launches(events: &[Event]) -> Vec<u32> {
    let launch = |event: &Event| match event {
        Event::Launched { launch, .. } => Some(*launch),
        _ => None,
    };
    events.iter().filter_map(launch).collect()
}

#[test]
fn a_case_is_measured_by_three_processes() {
    let events = run(
        &program::head(&["fine"], program::quick()),
        program::launcher(),
    );
    assert_eq!(launches(&events), [0, 1, 2]);
    for n in [7, BAD, 20] {
        assert_eq!(blocks_at(&events, n), 12);
    }
    for event in &events {
        match event {
            Event::Block { block, .. } => {
                assert_eq!(block.samples.len(), 3);
                for sample in &block.samples {
                    assert!(sample.calls > 1 && sample.wall_nanos > 1_000, "{block:?}");
                    let has_meters = sample.meters.cpu_nanos.is_some();
                    assert!(has_meters || !cfg!(target_os = "linux"), "{block:?}");
                }
            }
            Event::Launched {
                clock_grain_nanos, ..
            } => assert!(*clock_grain_nanos > 0.0),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_an_arm_prints_does_not_disturb_the_answers() {
    let events = run(
        &program::head(&["prints"], program::quick()),
        program::launcher(),
    );
    assert_eq!(blocks_at(&events, 20), 12);
}

#[test]
fn a_point_whose_process_fails_is_recorded_and_the_next_one_is_measured() {
    fn check(case: &str, expected: &str) {
        let launcher = match case {
            "hangs" => program::launcher().deadline(Duration::from_secs(3)),
            _ => program::launcher(),
        };
        let events = run(&program::head(&[case], program::quick()), launcher);
        let failure = |event: &Event| match event {
            Event::Failed { key, message } => Some((key.n, message.clone())),
            _ => None,
        };
        let failures: Vec<_> = events.iter().filter_map(failure).collect();
        let [(BAD, message)] = &failures[..] else {
            panic!("{case}: {failures:?}");
        };
        assert!(message.contains(expected), "{case}: {message}");
        assert!(!message.contains('\n'), "{case}: {message}");
        assert_eq!(blocks_at(&events, 7), 12, "{case}");
        assert_eq!(blocks_at(&events, BAD), 0, "{case}");
        assert_eq!(blocks_at(&events, 20), 12, "{case}");
        assert_eq!(launches(&events), [0, 1, 2, 3, 4, 5], "{case}");
    }
    check("dies", "the process ended: signal");
    check("hangs", "did not answer within 3s");
    check("panics", "an arm may panic");
    check("disagrees", "'special' stored other results than 'plain'");
    check("changes", "'special' stored other results than 'plain'");
    check("babbles", "something that is no answer");
}

#[test]
fn a_program_that_cannot_be_started_fails_every_point_and_the_run_ends() {
    let launcher = Launcher::new("/nonexistent/program", [""; 0]);
    let events = run(&program::head(&["fine"], program::quick()), launcher);
    assert_eq!(events.len(), 3);
    for event in events {
        let Event::Failed { message, .. } = event else {
            panic!("{event:?}");
        };
        assert!(message.contains("cannot start"), "{message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_processes_of_a_pinned_case_see_as_many_cpus_as_they_are_pinned_to() {
    let events = run(
        &program::head(&["pinned", "free"], program::quick()),
        program::launcher(),
    );
    let checksums = |name: &str| {
        let checksum = |event: &Event| match event {
            Event::Block { key, block } if key.case == name => Some(block.checksum.clone()),
            _ => None,
        };
        let mut all: Vec<_> = events.iter().filter_map(checksum).collect();
        all.dedup();
        all
    };
    assert_eq!(checksums("pinned").len(), 1);
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert_ne!(checksums("pinned"), checksums("free"));
    }
}

fn blocks(events: &[Event]) -> Vec<(&str, &Block)> {
    let blocks = events.iter().filter_map(|event| match event {
        Event::Block { key, block } => Some((key.case.as_str(), block)),
        Event::Failed { message, .. } => panic!("{message}"),
        _ => None,
    });
    blocks.collect()
}

#[cfg(target_os = "linux")]
#[test]
fn every_arm_is_confined_to_the_cpus_that_were_asked_for() {
    let mut head = program::head(&["pinned", "free"], program::quick());
    let card = head.experiments.remove(0);
    head.experiments.push(card.on_cpus(&[1], &[]));
    let events = run(&head, program::launcher());
    let blocks = blocks(&events);
    let checksum = |name: &str| blocks.iter().find(|(case, _)| *case == name);
    let (pinned, confined) = (
        checksum("pinned").unwrap(),
        checksum("free, 1 CPU").unwrap(),
    );
    assert_eq!(pinned.1.checksum, confined.1.checksum);
}

#[cfg(target_os = "linux")]
#[test]
fn copies_of_a_call_are_measured_together() {
    let mut head = program::head(&["fine"], program::quick());
    let card = head.experiments.remove(0);
    let cpus = std::thread::available_parallelism().unwrap().get().min(2);
    head.experiments.push(card.on_cpus(&[], &[cpus]));
    let events = run(&head, program::launcher());
    assert_eq!(blocks(&events).len(), 3 * 12);
}

#[test]
fn every_call_is_the_first_of_a_process_where_that_is_asked() {
    let settings = Settings {
        pool: PoolState::ColdProcess,
        launches: 1,
        ..program::quick()
    };
    let mut head = program::head(&["fine"], settings);
    head.experiments[0].cases[0].sizes = vec![7];
    let events = run(&head, program::launcher());
    let blocks = blocks(&events);
    assert!(!blocks.is_empty());
    for (_, block) in blocks {
        assert_eq!(block.samples.len(), 3);
        assert!(block.samples.iter().all(|sample| sample.calls == 1));
    }
}

#[cfg(unix)]
#[test]
fn the_same_arm_of_two_builds_is_paired() {
    let folder = tempfile::tempdir().unwrap();
    let builds = ["old", "new"].map(|name| {
        let build = folder.path().join(name);
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &build).unwrap();
        build
    });
    let settings = Settings {
        builds: builds.to_vec(),
        launches: 2,
        ..program::quick()
    };
    let mut head = program::head(&["fine"], settings);
    let card = head.experiments.remove(0);
    head.experiments.push(card.by_build(&builds));
    head.experiments[0]
        .cases
        .iter_mut()
        .for_each(|case| case.sizes = vec![7]);
    let events = run(&head, program::launcher());
    let blocks = blocks(&events);
    let of = |name: &str| blocks.iter().filter(|(case, _)| *case == name).count();
    assert!(of("fine: plain") > 0 && of("fine: special") == of("fine: plain"));
    assert!(blocks.iter().all(|(_, block)| block.samples.len() == 3));
}

#[test]
fn with_a_parked_pool_few_calls_are_timed_each_on_its_own() {
    let settings = Settings {
        pool: PoolState::Parked,
        workers: Some(1),
        launches: 1,
        ..program::quick()
    };
    let mut head = program::head(&["fine"], settings);
    head.experiments[0].cases[0].sizes = vec![7];
    let launcher = program::launcher().batch(manyhands_lab::child::Batch {
        at_least: Duration::from_micros(5),
        ..manyhands_lab::child::Batch::default()
    });
    let events = run(&head, launcher);
    for event in &events {
        if let Event::Block { block, .. } = event {
            for sample in &block.samples {
                assert!(sample.calls <= 16, "{block:?}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn peak_memory_and_pictures_of_the_cores_are_taken_of_every_arm() {
    let settings = Settings {
        memory: true,
        cores: true,
        ..program::quick()
    };
    let events = run(&program::head(&["memory"], settings), program::launcher());
    let peaks: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Memory { key, arm, peak } if key.n == 1 << 25 => {
                let threads = peak.threads.as_ref().expect("threads are counted");
                assert!(
                    threads.counts.iter().all(|count| *count >= 1),
                    "{threads:?}"
                );
                Some((*arm, peak.peak_bytes))
            }
            _ => None,
        })
        .collect();
    let [(0, little), (1, much), _, _, _, _] = peaks[..] else {
        panic!("{peaks:?}");
    };
    assert!(
        little < 1 << 24 && (30_000_000..1 << 26).contains(&much),
        "{peaks:?}"
    );
    let is_trace = |event: &&Event| match event {
        Event::Cores { trace, .. } => trace.busy.iter().all(|core| !core.is_empty()),
        _ => false,
    };
    assert_eq!(events.iter().filter(is_trace).count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn the_ends_of_items_are_recorded_where_an_arm_says_them() {
    let settings = Settings {
        memory: true,
        ..program::quick()
    };
    let events = run(&program::head(&["items"], settings), program::launcher());
    let mut readings = 0;
    for event in &events {
        let Event::Memory { key, arm, peak } = event else {
            continue;
        };
        readings += 1;
        let items = peak.ends.as_ref().map(|ends| ends.items);
        assert_eq!(items, (*arm == 1).then_some(key.n), "{event:?}");
    }
    assert_eq!(readings, 2 * 3 * 3);
}
