//! Readings made up and real, and their differences.

use super::*;
use manyhands::{Runtime, task};
use std::{hint, sync::Arc, thread};

/// What is cheap to ask, at the beginning or at the end of a reading.
fn edge(cpu: u64, faults: u64, allocations: u64) -> Meters {
    Meters {
        cpu_nanos: Some(cpu),
        minor_faults: Some(faults),
        major_faults: Some(faults / 10),
        voluntary_switches: Some(faults + 1),
        involuntary_switches: Some(faults + 2),
        allocations: Some(allocations),
        allocated_bytes: Some(8 * allocations),
        ..Meters::default()
    }
}

/// What a meter would have read first.
fn reading(begin: Meters, end: Meters, busy_nanos: u64) -> Reading {
    let with_rest = |edge: Meters| Meters {
        steal_nanos: Some(busy_nanos / 100),
        run_delay_nanos: Some(busy_nanos / 1_000),
        pool: Some(PoolMeters {
            steals: busy_nanos,
            parks: 5,
            threads_added: 2,
            contentions: 1,
        }),
        ..edge
    };
    Reading {
        begin: with_rest(begin),
        others_nanos: Others::default().observe(Some(busy_nanos), begin.cpu_nanos),
        ended_faults: None,
        end: with_rest(end),
    }
}

#[test]
fn a_difference_leaves_out_what_reading_itself_cost() {
    let earlier = reading(edge(100, 10, 1), edge(150, 20, 5), 1_000);
    let later = reading(edge(450, 50, 8), edge(999, 99, 99), 9_000);
    let meters = later.since(&earlier);
    assert_eq!(meters.cpu_nanos, Some(300));
    assert_eq!(meters.minor_faults, Some(30));
    assert_eq!(meters.major_faults, Some(3));
    assert_eq!(meters.voluntary_switches, Some(30));
    assert_eq!(meters.involuntary_switches, Some(30));
    assert_eq!(meters.allocations, Some(3));
    assert_eq!(meters.allocated_bytes, Some(24));
}

#[test]
fn others_are_what_the_machine_did_less_what_we_did() {
    let earlier = reading(edge(0, 0, 0), edge(0, 0, 0), 1_000);
    let later = reading(edge(3_000, 0, 0), edge(9_999, 0, 0), 9_000);
    let meters = later.since(&earlier);
    assert_eq!(meters.others_nanos, Some(5_000));
    assert_eq!(meters.steal_nanos, Some(80));
    assert_eq!(meters.run_delay_nanos, Some(8));
    let pool = meters.pool.expect("both readings have it");
    assert_eq!((pool.steals, pool.parks), (8_000, 0));
}

#[test]
fn ticks_that_lag_behind_our_own_time_give_zero() {
    let earlier = reading(edge(0, 0, 0), edge(0, 0, 0), 9_000);
    let later = reading(edge(3_000, 0, 0), edge(3_000, 0, 0), 9_000);
    assert_eq!(later.since(&earlier).others_nanos, Some(0));
}

#[test]
fn what_one_reading_lacks_the_difference_lacks() {
    let whole = reading(edge(0, 0, 0), edge(0, 0, 0), 0);
    let bare = Meters::default();
    let nothing = Reading {
        begin: bare,
        others_nanos: None,
        ended_faults: None,
        end: bare,
    };
    assert_eq!(whole.since(&nothing), Meters::default());
    assert_eq!(nothing.since(&whole), Meters::default());
    let no_cpu = reading(bare, bare, 0);
    assert_eq!(no_cpu.since(&whole).others_nanos, None);
}

#[test]
fn work_on_any_thread_shows_in_every_counter_there_is() {
    const BYTES: usize = 32 << 20;
    let pool = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let mut meter = Meter::new().with_pool(Arc::clone(&pool));
    let before = meter.read();
    pool.install(|| task::run(|| ()).join().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| drop(hint::black_box(vec![1_u8; BYTES])));
    });
    let meters = meter.read().since(&before);
    let at_least = |value: Option<u64>, least: u64| value.is_none_or(|value| value >= least);
    assert!(at_least(meters.cpu_nanos, 1_000), "{meters:?}");
    assert!(at_least(meters.minor_faults, 8), "{meters:?}");
    assert!(at_least(meters.allocations, 1), "{meters:?}");
    assert!(at_least(meters.allocated_bytes, BYTES as u64), "{meters:?}");
    assert_eq!(meters.pool.map(|pool| pool.threads_added > 0), Some(true));
}

#[cfg(target_os = "linux")]
#[test]
fn linux_has_processor_time_faults_and_switches() {
    let mut meter = Meter::new();
    let meters = {
        let before = meter.read();
        meter.read().since(&before)
    };
    assert!(meters.cpu_nanos.is_some());
    assert!(meters.minor_faults.is_some() && meters.major_faults.is_some());
    assert!(meters.voluntary_switches.is_some() && meters.involuntary_switches.is_some());
    // Of the meters they are unknown if another test's process has ended meanwhile.
    assert!(allocations().is_some(), "the tests count");
    assert_eq!(meters.pool, None, "nobody gave a function");
}

#[cfg(unix)]
#[test]
fn the_allocations_of_processes_that_ended_are_unknown() {
    let mut meter = Meter::new();
    let before = meter.read();
    let ended = std::process::Command::new("true").status();
    assert!(ended.is_ok_and(|status| status.success()));
    let meters = meter.read().since(&before);
    assert_eq!(meters.allocations.or(meters.allocated_bytes), None);
}
