//! `take_while` and `map_while` over known positions write in place, in steps: what they give at the borders of steps, and what
//! becomes of items whose step ends by a panic or a cancellation.

use crate::support::{LIMIT, within_limit};
use manyhands::Runtime;
use manyhands::cancel::TokenSource;
use manyhands::query::{ExecutionMode, prelude::*};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Barrier, Mutex, mpsc};

/// The first step, and where the second one ends.
const STEPS: [usize; 2] = [1_024, 1_024 + 65_536];

/// Numbers, each of which is counted as long as it lives.
fn items(counted: &Arc<()>, len: usize) -> Vec<(usize, Arc<()>)> {
    (0..len).map(|n| (n, Arc::clone(counted))).collect()
}

#[test]
fn they_end_where_those_of_iterators_do_at_each_border_of_steps() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        let borders = STEPS.into_iter().flat_map(|step| step - 1..=step + 1);
        let sizes: Vec<_> = [0, 1].into_iter().chain(borders).collect();
        for (&len, &limit) in sizes
            .iter()
            .flat_map(|len| sizes.iter().map(move |limit| (len, limit)))
        {
            let counted = Arc::new(());
            let query = || items(&counted, len).into_par_query().runtime(&runtime);
            let numbers =
                |taken: &[(usize, Arc<()>)]| taken.iter().map(|(n, _)| *n).eq(0..len.min(limit));
            let taken = query().take_while(|(n, _)| *n < limit).to_vec();
            assert!(numbers(&taken), "{len}, {limit}");
            assert_eq!(Arc::strong_count(&counted), 1 + taken.len());
            let fixed = query()
                .deterministic()
                .take_while(|(n, _)| *n < limit)
                .to_vec();
            assert!(numbers(&fixed), "{len}, {limit}, deterministic");
            let some = query().take_while(|(n, _)| *n < limit).take(1_025).to_vec();
            assert_eq!(some.len(), len.min(limit).min(1_025));
            drop((taken, fixed, some));
            let position = query().position(|(n, _)| n == limit);
            assert_eq!(position, (limit < len).then_some(limit));
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    });
}

#[test]
fn a_panic_or_a_cancellation_in_a_later_step_drops_each_item_once() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        let counted = Arc::new(());
        let source = TokenSource::new();
        let token = source.token();
        for panics in [true, false] {
            let query = items(&counted, 70_000).into_par_query().runtime(&runtime);
            let taken = catch_unwind(AssertUnwindSafe(|| {
                let taken = query.cancellation(&token).take_while(|(n, _)| {
                    match *n {
                        1_500 if panics => resume_unwind(Box::new("blown")),
                        1_500 => source.cancel(),
                        _ => {}
                    }
                    true
                });
                taken.to_vec()
            }));
            assert_eq!(taken.is_err(), panics);
            assert!(taken.is_err() || taken.unwrap().is_err());
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    });
}

#[test]
fn bodies_may_wait_for_one_another_over_the_border_of_a_step() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        let query = |len| {
            (0..len)
                .into_par_query()
                .runtime(&runtime)
                .execution_mode(ExecutionMode::Parallel)
        };
        let barrier = Barrier::new(3);
        let three = query(STEPS[0] + 2).degree_of_parallelism(3).unwrap();
        let all = three.take_while(|_| {
            barrier.wait();
            true
        });
        assert_eq!(all.to_vec().len(), STEPS[0] + 2);
        let (tell, told) = mpsc::channel();
        let told = Mutex::new(told);
        let last = query(STEPS[0] + 1).take_while(|&n| {
            if n == STEPS[0] {
                tell.send(()).unwrap();
            }
            n != STEPS[0] - 1 || told.lock().unwrap().recv_timeout(LIMIT).is_ok()
        });
        assert_eq!(last.to_vec().len(), STEPS[0] + 1);
    });
}
