//! Tests of `loopback.rs`: whole clusters in one process, with faults.

use super::*;
use crate::{Cluster, driver::Patience, remote};
use std::sync::OnceLock;

/// FNV-1a of all results in order.
fn digest(results: &[String]) -> u64 {
    let bytes = results.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Three calls one after the other on one cluster, so that messages of an ended call meet the next.
fn run(cluster: &Cluster, len: u64) -> (u64, Option<u64>, Vec<u64>) {
    // A day by the virtual clock: what does not end fails.
    let cluster = cluster.options().deadline(Duration::from_secs(86_400));
    let salt = "salt".to_owned();
    let salt = crate::Broadcast::new(salt);
    let texts = || remote!([&salt: crate::Broadcast<String>] |i| -> String { format!("{}{}", **salt, i * i) });
    let texts = [texts(), texts()].map(|texts| cluster.map(0..len, texts).unwrap());
    let texts = texts.concat();
    let sum = remote!([] |i| -> u64 { i ^ 5 }, |a, b| { a + b });
    let sum = cluster.map_reduce(3..len, sum).unwrap();
    let odd = remote!([] |part: std::ops::Range<u64>| -> Vec<u64> { part.filter(|i| i % 3 == 1).collect() });
    (digest(&texts), sum, cluster.query(0..len, odd).unwrap())
}

fn with_seed(seed: u64) -> Loopback {
    let mut random = Rng::with_seed(!seed);
    Loopback {
        workers: random.usize(1..6),
        faults: Faults {
            drop_percent: random.u8(0..30),
            duplicate_percent: random.u8(0..30),
            delay_percent: random.u8(0..50),
            vanish: random.usize(0..3),
            pause: random.usize(0..3),
            late: random.usize(0..3),
        },
        item: Duration::from_micros(random.u64(1..20_000)),
        ..Loopback::new(seed)
    }
}

#[test]
fn whatever_goes_wrong_the_results_are_those_of_the_local_run() {
    // Ten thousand: MANYHANDS_CLUSTER_SEEDS=10000 cargo test -p manyhands-cluster --release --lib loopback
    let wanted = std::env::var("MANYHANDS_CLUSTER_SEEDS").ok();
    let wanted = wanted.map(|count| count.parse().unwrap());
    let seeds: u64 = wanted.unwrap_or(if cfg!(miri) { 2 } else { 150 });
    let local = run(&Cluster::local(), 400);
    for seed in 0..seeds {
        let cluster = Cluster::loopback(with_seed(seed));
        assert_eq!(run(&cluster, 400), local, "seed {seed}");
    }
}

#[test]
fn a_seed_repeats_its_course_of_events() {
    let course = |seed| {
        let simulation = Mutex::new(Simulation::new(with_seed(seed)));
        let function = remote!([] |i| -> u64 { i });
        let spec = Spec {
            function: function.into_parts().0,
            captures: wire::Bytes::default(),
            values: Vec::new(),
            range: 0..300,
            limit: Some(Duration::from_secs(86_400)),
            patience: Patience::DEFAULT,
        };
        let mut parts = Vec::new();
        let mut take = |part: Part| {
            parts.push((part.range, part.host));
            Ok(())
        };
        super::run(&simulation, spec, &Token::never(), &mut take).unwrap();
        let simulation = simulation.into_inner().unwrap();
        (parts, simulation.now, simulation.put)
    };
    assert_eq!(course(7), course(7));
    assert_ne!(course(7), course(8));
}

#[test]
fn workers_that_come_late_get_work() {
    let setup = Loopback {
        workers: 4,
        faults: Faults {
            late: 3,
            ..Faults::NONE
        },
        item: Duration::from_millis(10),
        ..Loopback::new(1)
    };
    let simulation = Mutex::new(Simulation::new(setup));
    let function = remote!([] |i| -> u64 { i });
    let spec = Spec {
        function: function.into_parts().0,
        captures: wire::Bytes::default(),
        values: Vec::new(),
        range: 0..2_000,
        limit: None,
        patience: Patience::DEFAULT,
    };
    let mut hosts = std::collections::BTreeSet::new();
    let mut take = |part: Part| {
        hosts.insert(part.host);
        Ok(())
    };
    super::run(&simulation, spec, &Token::never(), &mut take).unwrap();
    assert_eq!(hosts.len(), 4);
}

#[test]
fn a_deadline_and_a_cancellation_end_a_call_and_the_next_one_runs() {
    let cluster = Cluster::loopback(Loopback::new(3));
    let slow = || remote!([] |i| -> u64 { i });
    let hasty = cluster.options().deadline(Duration::from_millis(50));
    assert_eq!(
        hasty.map(0..100_000, slow()),
        Err(ClusterError::DeadlinePassed)
    );
    let source = manyhands::cancel::TokenSource::new();
    source.cancel();
    let token = source.token();
    let cancelled = cluster.options().cancellation(&token).map(0..9, slow());
    assert_eq!(cancelled, Err(ClusterError::Cancelled));
    assert_eq!(cluster.map(0..3, slow()), Ok(vec![0, 1, 2]));
}

#[test]
fn items_that_take_longer_than_any_clock_end_by_the_deadline() {
    let for_ever = Loopback {
        item: Duration::MAX,
        ..Loopback::new(3)
    };
    let cluster = Cluster::loopback(for_ever);
    let hasty = cluster.options().deadline(Duration::from_secs(1));
    let late = hasty.map(0..2, remote!([] |i| -> u64 { i }));
    assert_eq!(late, Err(ClusterError::DeadlinePassed));
}

#[test]
fn who_takes_results_may_make_calls_and_a_body_that_does_is_refused() {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| Cluster::loopback(Loopback::new(3)));
    let hasty = cluster.options().deadline(Duration::from_secs(3_600));
    let mut taken = Vec::new();
    let take = |i, result| {
        let inner = cluster.call(remote!([] || -> u64 { 7 }));
        taken.push((i, result, inner));
    };
    let body = remote!([] |i| -> u64 { i });
    hasty.map_unordered(0..9, body, take).unwrap();
    taken.sort_unstable_by_key(|(i, ..)| *i);
    assert!(taken.into_iter().eq((0..9).map(|i| (i, i, Ok(7)))));
    let calls = remote!([] |_| -> String {
        let inner = CLUSTER.get().unwrap().call(remote!([] || -> u64 { 7 }));
        inner.unwrap_err().to_string()
    });
    let refused = hasty.map(0..99, calls).unwrap();
    assert!(
        refused
            .iter()
            .all(|text| text.contains("a body on loopback"))
    );
}

#[test]
fn there_are_no_more_workers_than_a_driver_knows() {
    let crowd = Loopback {
        workers: usize::MAX,
        faults: Faults {
            vanish: usize::MAX,
            pause: usize::MAX,
            late: usize::MAX,
            ..Faults::NONE
        },
        ..Loopback::new(3)
    };
    let all = Cluster::loopback(crowd).map(0..9, remote!([] |i| -> u64 { i }));
    assert!(all.unwrap().into_iter().eq(0..9));
}

#[test]
fn a_panic_comes_with_its_index_and_its_host() {
    let cluster = Cluster::loopback(Loopback::new(3));
    let body = remote!([] |i| -> u64 { if i == 30 { panic!("thirty") } else { i } });
    let failed = cluster.map(0..100, body).unwrap_err();
    let ClusterError::BodyPanicked {
        range,
        message,
        host,
    } = failed
    else {
        panic!("{failed}");
    };
    assert_eq!((range, message.as_str()), (30..31, "thirty"));
    assert!(host.starts_with("loopback/"), "{host}");
}
