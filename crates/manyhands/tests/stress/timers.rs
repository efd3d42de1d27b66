//! Timers set, awaited, reset, passed on and dropped at random, on workers that are busy, blocked or asleep, and by
//! external threads; some runtimes end meanwhile.

use crate::rounds::{Random, Rounds, command};
use crate::watchdog::Watchdog;
use manyhands::{Runtime, task, time};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn random_timers_on_1_worker() {
    timers("timers::random_timers_on_1_worker", 1);
}

#[test]
fn random_timers_on_2_workers() {
    timers("timers::random_timers_on_2_workers", 2);
}

#[test]
fn random_timers_on_3_workers() {
    timers("timers::random_timers_on_3_workers", 3);
}

#[test]
fn random_timers_on_8_workers() {
    timers("timers::random_timers_on_8_workers", 8);
}

fn timers(name: &str, workers: usize) {
    let watchdog = Watchdog::new();
    for seed in Rounds::of(1) {
        let runtime = Runtime::builder().workers(workers).build();
        let runtime = Arc::new(runtime.expect("the number is right"));
        watchdog.begin(command(name, seed), &runtime);
        let mut random = Random::new(seed);
        let bag = Arc::new(Bag::default());
        let entered = runtime.enter();
        let count = 1 + random.below(60);
        let handles: Vec<_> = (0..count)
            .map(|_| task::spawn(live(Arc::clone(&bag), Random::new(random.next()))))
            .collect();
        thread::scope(|s| {
            for _ in 0..random.below(3) {
                let (runtime, bag) = (&runtime, Arc::clone(&bag));
                let random = Random::new(random.next());
                s.spawn(move || {
                    let _entered = runtime.enter();
                    task::block_on(live(bag, random));
                });
            }
        });
        let ends_early = random.is_one_in(3);
        for handle in handles {
            if random.is_one_in(8) {
                handle.abort();
            } else if !ends_early {
                handle.join().expect("no task fails");
            }
        }
        drop(entered);
        drop(runtime);
        // The remaining sleeps must move to another runtime; here that is the default one.
        let left = std::mem::take(&mut *bag.0.lock().expect("no panic under the lock"));
        left.into_iter().for_each(task::block_on);
    }
}

/// Sleeps that one task has begun and another continues.
#[derive(Debug, Default)]
struct Bag(Mutex<Vec<Pin<Box<time::Sleep>>>>);

impl Bag {
    fn put(&self, sleep: Pin<Box<time::Sleep>>) {
        self.0.lock().expect("no panic under the lock").push(sleep);
    }

    fn take(&self) -> Option<Pin<Box<time::Sleep>>> {
        self.0.lock().expect("no panic under the lock").pop()
    }
}

/// The program of one task.
async fn live(bag: Arc<Bag>, mut random: Random) {
    for _ in 0..random.below(12) {
        let duration = Duration::from_micros(random.below(6_000));
        let deadline = time::now() + duration;
        match random.below(9) {
            0 | 1 => {
                time::sleep(duration).await;
                assert_reached(deadline);
            }
            2 => {
                let long = time::sleep(Duration::from_secs(3600));
                assert!(time::timeout_at(deadline, long).await.is_err());
                assert_reached(deadline);
            }
            3 => {
                let mut sleep = Box::pin(time::sleep(Duration::from_secs(3600)));
                begin(&mut sleep).await;
                sleep.as_mut().reset(deadline);
                sleep.await;
                assert_reached(deadline);
            }
            4 => {
                let mut sleep = Box::pin(time::sleep(duration));
                begin(&mut sleep).await;
                bag.put(sleep);
            }
            5 => {
                if let Some(sleep) = bag.take() {
                    let deadline = sleep.deadline();
                    sleep.await;
                    assert_reached(deadline);
                }
            }
            6 => drop(bag.take()),
            7 => time::sleep_blocking(duration / 4),
            _ => spin_until(deadline),
        }
    }
}

fn assert_reached(deadline: Instant) {
    assert!(time::now() >= deadline, "early");
}

fn spin_until(deadline: Instant) {
    while time::now() < deadline {
        std::hint::spin_loop();
    }
}

/// Polls it once.
async fn begin(sleep: &mut Pin<Box<time::Sleep>>) {
    poll_fn(|context| {
        let _ = sleep.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}
