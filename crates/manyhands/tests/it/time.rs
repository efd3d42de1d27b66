//! Timers by the system's clock: never early, woken once, cancelled from any thread, whichever threads are busy.

use crate::support::{Ledger, on_each_runtime, on_runtime, receive, wait_until, within};
use manyhands::cancel::TokenSource;
use manyhands::time::{self, MissedTickBehavior, Sleep};
use manyhands::{Runtime, task};
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A waker that counts.
#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Count {
    fn woken(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A sleep that has been polled here with the counting waker, and is not over.
fn begin(count: &Arc<Count>, duration: Duration) -> Pin<Box<Sleep>> {
    begin_with(&Waker::from(Arc::clone(count)), duration)
}

/// As `begin`, with any waker.
fn begin_with(waker: &Waker, duration: Duration) -> Pin<Box<Sleep>> {
    loop {
        let mut sleep = Box::pin(time::sleep(duration));
        let polled = sleep.as_mut().poll(&mut Context::from_waker(waker));
        if polled.is_pending() {
            return sleep;
        }
        // This thread was kept from running for longer than that.
        assert!(time::now() >= sleep.deadline());
    }
}

fn poll(sleep: &mut Pin<Box<Sleep>>, count: &Arc<Count>) -> Poll<()> {
    let waker = Waker::from(Arc::clone(count));
    sleep.as_mut().poll(&mut Context::from_waker(&waker))
}

#[test]
fn a_sleep_is_never_early() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for nanos in [0, 1, 999_999, 1_000_000, 1_000_001, 3_500_000, 70_000_000] {
                let duration = Duration::from_nanos(nanos);
                let sleeper = task::spawn(async move {
                    let start = time::now();
                    time::sleep(duration).await;
                    time::now() - start
                });
                assert!(sleeper.join().unwrap() >= duration);
            }
        });
    });
}

#[test]
fn threads_of_no_pool_sleep_too() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let deadline = time::now() + millis(3);
        task::block_on(time::sleep_until(deadline));
        assert!(time::now() >= deadline);
        time::sleep_blocking(millis(2));
        assert!(time::now() >= deadline + millis(2));
        let later = time::now() + millis(2);
        runtime.install(|| time::sleep_blocking(millis(2)));
        assert!(time::now() >= later);
    });
}

#[test]
fn a_sleep_longer_than_any_clock_does_not_end() {
    on_runtime(2, |runtime| {
        runtime.install(|| {
            let forever = time::sleep(Duration::MAX);
            assert!(!forever.is_elapsed() && forever.deadline() > time::now() + HOUR);
            let over = task::spawn(time::timeout(millis(3), forever));
            assert!(over.join().unwrap().is_err());
        });
    });
}

#[test]
fn each_sleep_wakes_once_and_dropped_ones_never() {
    on_each_runtime(|runtime| {
        let in_pool = |work: fn(&Arc<Count>)| {
            let count = Arc::new(Count::default());
            runtime.install(|| work(&count));
            wait_until("no waker is left in a wheel or in a sleep", || {
                Arc::strong_count(&count) == 1
            });
        };
        let storm: fn(&Arc<Count>) = |count| {
            let (mut kept, dropped) = (Vec::new(), Arc::new(Count::default()));
            let mut dropped_late = 0;
            for i in 0..500_u64 {
                let is_kept = i % 2 == 0;
                let count = if is_kept { count } else { &dropped };
                let (begun, duration) = (time::now(), millis(1 + i % 40));
                let mut sleep = Box::pin(time::sleep(duration));
                // This thread may be kept from running for longer than that.
                if poll(&mut sleep, count).is_pending() {
                    if is_kept {
                        kept.push(sleep);
                    } else {
                        drop(sleep);
                        dropped_late += usize::from(time::now() - begun >= duration);
                    }
                }
            }
            wait_until("the kept sleeps fire", || count.woken() >= kept.len());
            let all_ready = |sleep: &mut Pin<Box<Sleep>>| poll(sleep, count).is_ready();
            assert!(kept.iter_mut().all(all_ready));
            assert_eq!(count.woken(), kept.len());
            assert!(dropped.woken() <= dropped_late);
        };
        in_pool(storm);
        let _entered = runtime.enter();
        let count = Arc::new(Count::default());
        storm(&count);
        wait_until("none is left of threads of no pool either", || {
            Arc::strong_count(&count) == 1
        });
    });
}

#[test]
fn sleeps_are_dropped_by_other_threads_while_they_fire() {
    on_each_runtime(|runtime| {
        for _ in 0..10 {
            let counts: Vec<_> = (0..300).map(|_| Arc::new(Count::default())).collect();
            let begun = task_on(runtime, {
                let counts = counts.clone();
                move || counts.iter().map(|count| begin(count, millis(1))).collect()
            });
            let mut sleeps: Vec<Pin<Box<Sleep>>> = begun;
            let others = sleeps.split_off(150);
            let droppers = [sleeps, others].map(|sleeps| thread::spawn(move || drop(sleeps)));
            for dropper in droppers {
                dropper.join().unwrap();
            }
            wait_until("no waker is left", || {
                counts.iter().all(|count| Arc::strong_count(count) == 1)
            });
            assert!(counts.iter().all(|count| count.woken() <= 1));
        }
    });
}

/// Runs a closure as a task.
fn task_on<T: Send + 'static>(
    runtime: &Runtime,
    closure: impl FnOnce() -> T + Send + 'static,
) -> T {
    let _entered = runtime.enter();
    let handle = task::spawn(async { closure() });
    handle.join().unwrap()
}

#[test]
fn the_newest_waker_is_woken() {
    on_runtime(2, |runtime| {
        let (old, new) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut sleep = runtime.install(|| begin(&old, millis(5)));
        if poll(&mut sleep, &new).is_pending() {
            wait_until("the new waker is woken", || new.woken() > 0);
            assert_eq!(old.woken(), 0);
        }
        assert!(poll(&mut sleep, &new).is_ready());
    });
}

#[test]
fn a_reset_sleep_fires_at_its_new_deadline() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let count = Arc::new(Count::default());
        let mut sleep = begin(&count, HOUR);
        // Earlier, from another wheel, and without another poll.
        let deadline = time::now() + millis(3);
        sleep.as_mut().reset(deadline);
        assert_eq!(sleep.deadline(), deadline);
        wait_until("the reset sleep fires", || count.woken() > 0);
        assert!(time::now() >= deadline && sleep.is_elapsed());
        assert!(poll(&mut sleep, &count).is_ready());
        // Again, and later.
        sleep.as_mut().reset(time::now() + HOUR);
        assert!(!sleep.is_elapsed());
        assert!(poll(&mut sleep, &count).is_pending());
        assert_eq!(count.woken(), 1);
    });
}

#[test]
fn a_busy_or_blocked_worker_s_timers_are_fired_by_others() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = mpsc::channel();
        let busy = task::spawn(async move {
            let count = Arc::new(Count::default());
            let _sleep = begin(&count, millis(2));
            // Never returns to its worker's loop before the timer has fired.
            wait_until("somebody fires the busy worker's timer", || {
                count.woken() > 0
            });
            sender.send(()).unwrap();
        });
        receive(&receiver);
        busy.join().unwrap();
        let blocked = task::spawn(async {
            let (sender, receiver) = mpsc::channel::<()>();
            let send = Waker::from(Arc::new(Message(sender)));
            let _sleep = begin_with(&send, millis(2));
            receive(&receiver);
        });
        blocked.join().unwrap();
    });
}

/// A waker that sends a message.
#[derive(Debug)]
struct Message(mpsc::Sender<()>);

impl Wake for Message {
    fn wake(self: Arc<Self>) {
        // The receiver may have given up.
        let _ = self.0.send(());
    }
}

#[test]
fn a_worker_that_waits_turns_its_wheel() {
    on_each_runtime(|runtime| {
        let waited = runtime.install(|| {
            task::run(|| {
                let woken = task::block_on(async {
                    let before = time::now();
                    time::sleep(millis(3)).await;
                    time::now() - before
                });
                // A task of another worker, if there is one, that sleeps while this one waits for it.
                let other = task::spawn(async { time::sleep(millis(3)).await });
                other.join().unwrap();
                woken
            })
            .join()
            .unwrap()
        });
        assert!(waited >= millis(3));
    });
}

#[test]
fn a_timer_far_ahead_leaves_an_idle_pool_asleep() {
    on_runtime(2, |runtime| {
        let sleeper = {
            let _entered = runtime.enter();
            task::spawn(time::sleep(HOUR))
        };
        wait_until("the pool sleeps", || {
            runtime.metrics().asleep > 0 && runtime.metrics().working == 0
        });
        let before = runtime.metrics().parks;
        // On the default runtime.
        time::sleep_blocking(millis(300));
        // Looking once a millisecond would be 300 times.
        assert!(runtime.metrics().parks - before < 30);
        assert!(!sleeper.is_finished());
    });
}

#[test]
fn a_pool_that_has_been_idle_for_long_wakes_for_its_timer() {
    // Longer than the monitor watches a pool where nothing happens.
    let duration = millis(400);
    on_runtime(2, move |runtime| {
        let _entered = runtime.enter();
        let deadline = time::now() + duration;
        task::spawn(time::sleep(duration)).join().unwrap();
        assert!(time::now() >= deadline);
        task::block_on(time::sleep(duration));
        assert!(time::now() >= deadline + duration);
    });
}

#[test]
fn shutdown_drops_what_sleeps() {
    for workers in [1, 3] {
        let ledger = Ledger::new(100);
        on_runtime(workers, {
            let ledger = Arc::clone(&ledger);
            move |runtime| {
                let _entered = runtime.enter();
                for counted in ledger.make_all() {
                    let duration = millis(1000 * counted.id as u64 + 10_000);
                    drop(task::spawn(async move {
                        time::sleep(duration).await;
                        drop(counted);
                    }));
                }
            }
        });
        assert_eq!(ledger.count_dropped(), 100);
        ledger.assert_settled();
    }
}

#[test]
fn a_sleep_outlives_the_runtime_where_it_began() {
    within(20, || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let count = Arc::new(Count::default());
        let mut in_pool = task_on(&runtime, {
            let count = Arc::clone(&count);
            move || begin(&count, millis(400))
        });
        let mut outside = {
            let _entered = runtime.enter();
            begin(&count, millis(400))
        };
        let deadline = in_pool.deadline();
        drop(runtime);
        // Woken by the closed timers, to register elsewhere.
        wait_until("both sleeps are let go", || count.woken() == 2);
        for sleep in [&mut in_pool, &mut outside] {
            task::block_on(sleep);
        }
        assert!(time::now() >= deadline);
    });
}

#[test]
fn an_instant_from_before_the_library_read_the_clock_is_kept() {
    // Before this process.
    let start = time::now().checked_sub(HOUR).expect("the clock goes back");
    assert_eq!(time::sleep_until(start).deadline(), start);
    let ticks = |behavior| {
        task::block_on(async {
            let mut interval = time::interval_at(start, millis(1_000));
            interval.set_missed_tick_behavior(behavior);
            let first = interval.tick().await - start;
            (first, interval.tick().await - start)
        })
    };
    let burst = (Duration::ZERO, millis(1_000));
    assert_eq!(ticks(MissedTickBehavior::Burst), burst);
    let (first, second) = ticks(MissedTickBehavior::Skip);
    assert_eq!(first, Duration::ZERO);
    assert!(second > HOUR && second.subsec_nanos() == 0, "{second:?}");
    assert!(TokenSource::with_deadline(start).token().is_cancelled());
}

#[test]
fn a_timeout_gives_the_value_or_the_time_is_over() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let value = task::spawn(time::timeout(HOUR, async { 5 }));
            assert_eq!(value.join().unwrap(), Ok(5));
            let over = task::spawn(time::timeout(millis(2), pending::<()>()));
            let elapsed = over.join().unwrap().unwrap_err();
            assert_eq!(elapsed.to_string(), "deadline has elapsed");
            let past = task::spawn(time::timeout_at(time::now(), pending::<()>()));
            assert!(past.join().unwrap().is_err());
        });
    });
}

#[test]
fn a_future_that_is_always_busy_is_timed_out() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let busy = async {
            loop {
                // Ready at its second poll, and uses up the task's budget.
                time::sleep(Duration::ZERO).await;
            }
        };
        let spinning = poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let first = task::spawn(time::timeout(millis(3), busy));
        let second = task::spawn(time::timeout(millis(3), spinning));
        assert!(first.join().unwrap().is_err());
        assert!(second.join().unwrap().is_err());
    });
}

#[test]
fn a_source_cancels_itself_at_its_deadline() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let source = TokenSource::with_deadline(time::now() + millis(2));
        let (sender, receiver) = mpsc::channel();
        let token = source.token();
        let _registration = token.register(move || sender.send(()).unwrap());
        // The token is enough.
        drop(source);
        receive(&receiver);
        assert!(token.is_cancelled());
        let renewed = TokenSource::new();
        renewed.cancel_after(HOUR);
        renewed.cancel_after(millis(1));
        let token = renewed.token();
        wait_until("the second limit counts", || token.is_cancelled());
    });
}

#[test]
fn a_deadline_outlives_the_runtime_where_it_was_set() {
    within(20, || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let entered = runtime.enter();
        let of_a_deadline = TokenSource::with_deadline(time::now() + millis(300));
        let renewed = TokenSource::new();
        renewed.cancel_after(HOUR);
        renewed.cancel_after(millis(300));
        let (token, renewed_token) = (of_a_deadline.token(), renewed.token());
        // The token is enough.
        drop(of_a_deadline);
        drop(entered);
        drop(runtime);
        wait_until("both deadlines come", || {
            token.is_cancelled() && renewed_token.is_cancelled()
        });
    });
}
