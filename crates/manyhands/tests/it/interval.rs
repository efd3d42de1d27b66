//! Intervals: each tick at its time, and what becomes of missed ones, by the virtual clock.

use crate::support::{wait_until, within};
use futures_core::Stream;
use manyhands::simulation::Simulation;
use manyhands::time::{self, Interval, MissedTickBehavior};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When each tick was due and when it was taken, in milliseconds, if the second and third are taken late.
fn ticks(behavior: MissedTickBehavior) -> Vec<(u128, u128)> {
    let run = Simulation::new(3).run(async {
        let start = time::now();
        let mut interval = time::interval(millis(100));
        interval.set_missed_tick_behavior(behavior);
        assert_eq!(interval.missed_tick_behavior(), behavior);
        let mut ticks = Vec::new();
        for busy in [0, 350, 2, 0, 0, 0] {
            time::sleep(millis(busy)).await;
            let due = interval.tick().await;
            ticks.push(((due - start).as_millis(), (time::now() - start).as_millis()));
        }
        ticks
    });
    run.unwrap()
}

#[test]
fn missed_ticks_burst() {
    let expected = [
        (0, 0),
        (100, 350),
        (200, 352),
        (300, 352),
        (400, 400),
        (500, 500),
    ];
    assert_eq!(ticks(MissedTickBehavior::Burst), expected);
}

#[test]
fn missed_ticks_delay_the_following_ones() {
    let expected = [
        (0, 0),
        (100, 350),
        (450, 450),
        (550, 550),
        (650, 650),
        (750, 750),
    ];
    assert_eq!(ticks(MissedTickBehavior::Delay), expected);
}

#[test]
fn missed_ticks_are_skipped() {
    let expected = [
        (0, 0),
        (100, 350),
        (400, 400),
        (500, 500),
        (600, 600),
        (700, 700),
    ];
    assert_eq!(ticks(MissedTickBehavior::Skip), expected);
}

#[test]
fn an_interval_begins_at_its_start_and_can_be_reset() {
    let run = Simulation::new(1).run(async {
        let start = time::now();
        let mut interval = time::interval_at(start + millis(30), millis(10));
        assert_eq!(interval.period(), millis(10));
        let mut passed = vec![interval.tick().await - start, interval.tick().await - start];
        time::sleep(millis(5)).await;
        interval.reset();
        passed.push(interval.tick().await - start);
        let second = poll_fn(|context| Pin::new(&mut interval).poll_next(context)).await;
        passed.push(second.unwrap() - start);
        passed
    });
    assert_eq!(run.unwrap(), [30, 40, 55, 65].map(millis));
}

#[test]
fn a_changed_period_counts_from_then_also_for_a_waiting_task() {
    let run = Simulation::new(1).run(async {
        let start = time::now();
        let mut interval = time::interval(millis(3_600_000));
        interval.tick().await;
        // A tick that is given up is not lost, and a waiting task uses the new period.
        assert!(time::timeout(millis(5), interval.tick()).await.is_err());
        let mut is_changed = false;
        let due = poll_fn(|context| {
            let polled = interval.poll_tick(context);
            if !is_changed {
                assert!(polled.is_pending());
                interval.set_period(millis(20));
                is_changed = true;
            }
            polled
        });
        let passed = [due.await - start, interval.tick().await - start];
        assert_eq!(interval.period(), millis(20));
        passed
    });
    assert_eq!(run.unwrap(), [25, 45].map(millis));
}

#[test]
fn ticks_by_the_system_s_clock_are_never_early() {
    manyhands::task::block_on(async {
        let start = time::now();
        let mut interval: Interval = time::interval(millis(3));
        for tick in 0..10 {
            let due = interval.tick().await;
            assert!(due - start >= millis(3) * tick);
            assert!(time::now() >= due);
        }
    });
}

#[test]
fn a_tick_that_was_taken_leaves_no_waker_for_the_next_one() {
    within(60, || {
        for _ in 0..20 {
            let awaited = Arc::new(Nobody);
            let waker = Waker::from(Arc::clone(&awaited));
            let mut context = Context::from_waker(&waker);
            // Due between two moments at which timers fire.
            let start = time::now() + Duration::from_micros(1_500);
            let mut interval = time::interval_at(start, Duration::from_secs(3_600));
            while interval.poll_tick(&mut context).is_pending() {}
            wait_until("the waker is let go", || Arc::strong_count(&awaited) == 2);
        }
    });
}

#[test]
#[should_panic(expected = "`period` must be non-zero")]
fn a_period_of_zero_is_refused() {
    let _interval = time::interval(Duration::ZERO);
}

#[test]
#[should_panic(expected = "`period` must be non-zero")]
fn a_change_to_a_period_of_zero_is_refused() {
    time::interval(millis(1)).set_period(Duration::ZERO);
}
