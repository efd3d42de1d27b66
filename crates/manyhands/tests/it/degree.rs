//! Degree of parallelism. That no entry exceeds it is in `entry.rs`.

use crate::support::{HighWater, attempt_until, busy_micros, on_each_runtime, on_runtime};
use manyhands::parallel::{Options, from_iter};
use std::sync::Mutex;

#[test]
fn long_loops_reach_the_degree_and_do_not_exceed_it() {
    on_runtime(3, |runtime| {
        for degree in [2, 3] {
            attempt_until("as many bodies at once as allowed", || {
                let inside = HighWater::default();
                let options = Options::new()
                    .runtime(runtime)
                    .degree_of_parallelism(degree)
                    .unwrap();
                options.for_each(0..300, |_| inside.during(|| busy_micros(100)));
                assert!(inside.highest() <= degree);
                inside.highest() == degree
            });
            attempt_until(
                "as many bodies at once as allowed, from an iterator",
                || {
                    let inside = HighWater::default();
                    let options = Options::new()
                        .runtime(runtime)
                        .degree_of_parallelism(degree)
                        .unwrap();
                    options.for_each(from_iter(0..300), |_| inside.during(|| busy_micros(100)));
                    assert!(inside.highest() <= degree);
                    inside.highest() == degree
                },
            );
        }
    });
}

#[test]
fn a_degree_above_the_number_of_workers_is_no_harm() {
    on_each_runtime(|runtime| {
        let inside = HighWater::default();
        let options = Options::new()
            .runtime(runtime)
            .degree_of_parallelism(100)
            .unwrap();
        options.for_each(0..500, |_| inside.during(|| busy_micros(20)));
        assert!(inside.highest() <= 100);
        let huge = options.degree_of_parallelism(usize::MAX).unwrap();
        let sum = huge.map_reduce(0..10_000_u64, |i| i, |a, b| a + b);
        assert_eq!(sum, Some(49_995_000));
        let squares = huge.map(0..500_u64, |i| {
            busy_micros(10);
            i * i
        });
        assert!(squares.into_iter().eq((0..500).map(|i| i * i)));
        let closures: Vec<_> = (0..20).map(|i| move || i).collect();
        assert!(huge.invoke(closures).into_iter().eq(0..20));
        huge.for_each(from_iter(0..500), |_| busy_micros(10));
    });
}

#[test]
fn degree_one_stays_in_order_in_a_loop_too_long_for_one_block() {
    on_runtime(2, |runtime| {
        let last = Mutex::new(None);
        let options = Options::new()
            .runtime(runtime)
            .degree_of_parallelism(1)
            .unwrap();
        options.for_each(0..3_000_000_u32, |i| {
            let mut last = last.lock().unwrap();
            assert_eq!(last.replace(i), i.checked_sub(1));
        });
    });
}

#[test]
fn nested_loops_keep_their_own_degrees() {
    on_each_runtime(|runtime| {
        let (outer, inner) = (HighWater::default(), Mutex::new(Vec::new()));
        let options = Options::new().runtime(runtime);
        options
            .degree_of_parallelism(2)
            .unwrap()
            .for_each(0..20, |_| {
                outer.during(|| {
                    let mine = HighWater::default();
                    options
                        .degree_of_parallelism(2)
                        .unwrap()
                        .for_each(0..20, |_| mine.during(|| busy_micros(20)));
                    inner.lock().unwrap().push(mine.highest());
                });
            });
        assert!(outer.highest() <= 2);
        assert!(
            inner
                .into_inner()
                .unwrap()
                .into_iter()
                .all(|highest| highest <= 2)
        );
    });
}
