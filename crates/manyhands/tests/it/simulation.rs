//! Simulations: virtual time, repeatable orders, deadlocks.

use crate::support::{
    Ledger, holds_within, message_of, on_each_runtime, panics_of, receive, within,
};
use manyhands::cancel::TokenSource;
use manyhands::simulation::{Deadlock, Simulation};
use manyhands::{Handle, parallel, task, time};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn sleeps_end_in_the_order_of_their_deadlines_and_exactly_then() {
    for seed in 0..50 {
        let log = Simulation::new(seed).run(async {
            let start = time::now();
            let log = Arc::new(Mutex::new(Vec::new()));
            let durations = [700, 3, 64, 65, 1, 5_000, 90_000_000, 4_096, 2];
            let handles = durations.map(|duration| {
                let log = Arc::clone(&log);
                task::spawn(async move {
                    time::sleep(millis(duration)).await;
                    log.lock().unwrap().push((duration, time::now() - start));
                })
            });
            for handle in handles {
                handle.await.unwrap();
            }
            std::mem::take(&mut *log.lock().unwrap())
        });
        let log = log.unwrap();
        assert!(log.is_sorted());
        assert!(
            log.iter()
                .all(|(planned, passed)| millis(*planned) == *passed)
        );
    }
}

/// A program that depends on the order in which its tasks run; returns the order in which they did.
fn trace(seed: u64) -> Vec<(usize, u128)> {
    let run = Simulation::new(seed).run(async {
        let start = time::now();
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..20)
            .map(|id| {
                let (log, shared) = (Arc::clone(&log), Arc::clone(&shared));
                task::spawn(async move {
                    for step in 0..10 {
                        let drawn = shared.fetch_add(id * 7 + 1, Ordering::Relaxed) % 5;
                        match drawn {
                            0 => task::yield_now().await,
                            1 => assert_eq!(task::run(move || step).await.unwrap(), step),
                            drawn => {
                                let limit =
                                    time::timeout(millis(2), time::sleep(millis(drawn as u64)));
                                let _ = limit.await;
                            }
                        }
                        log.lock()
                            .unwrap()
                            .push((id, (time::now() - start).as_millis()));
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await.unwrap();
        }
        std::mem::take(&mut *log.lock().unwrap())
    });
    run.unwrap()
}

#[test]
fn equal_seeds_give_equal_runs_and_others_other_ones() {
    let first = trace(0);
    assert_eq!(first.len(), 200);
    for seed in 0..30 {
        assert_eq!(trace(seed), trace(seed), "seed {seed}");
    }
    assert!((1..30).any(|seed| trace(seed) != first));
}

#[test]
fn a_deadlock_is_reported_with_the_number_of_waiting_tasks() {
    let run: Result<(), Deadlock> = Simulation::new(7).run(async {
        let first = task::spawn(pending::<()>());
        let _second = task::spawn(pending::<()>());
        time::sleep(millis(3)).await;
        first.await.unwrap();
    });
    let deadlock = run.unwrap_err();
    assert_eq!((deadlock.waiting(), deadlock.seed()), (3, 7));
    assert_eq!(
        deadlock.to_string(),
        "deadlock in the simulation with seed 7: 3 tasks wait, none can run, and no timer is set"
    );
    let alone = Simulation::new(0).run(pending::<()>());
    assert!(alone.unwrap_err().to_string().contains("1 task waits"));
}

#[test]
fn a_wait_that_never_ends_is_a_deadlock_and_one_of_a_century_is_none() {
    let forever = Duration::MAX;
    let deadlock = Simulation::new(7).run(time::sleep(forever)).unwrap_err();
    assert_eq!((deadlock.waiting(), deadlock.seed()), (1, 7));
    let limited = Simulation::new(7).run(time::timeout(forever, pending::<()>()));
    assert!(limited.is_err(), "the limit was never over");
    let century = Duration::from_secs(100 * 365 * 86_400);
    let waited = Simulation::new(7).run(async {
        let start = time::now();
        time::sleep(century).await;
        time::now() - start
    });
    assert_eq!(waited, Ok(century));
}

#[test]
fn what_is_left_at_the_end_is_dropped() {
    let ledger = Ledger::new(3);
    let run = Simulation::new(2).run(async {
        for counted in ledger.make_all() {
            let id = counted.id;
            drop(task::spawn(async move {
                match id {
                    0 => pending::<()>().await,
                    1 => time::sleep(Duration::from_secs(9)).await,
                    _ => loop {
                        task::yield_now().await;
                    },
                }
                drop(counted);
            }));
        }
        time::sleep(Duration::ZERO).await;
    });
    run.unwrap();
    assert_eq!(ledger.count_dropped(), 3);
    ledger.assert_settled();
}

#[test]
fn panics_of_tasks_go_to_their_handles_and_the_main_one_s_goes_on() {
    let run = Simulation::new(5).run(async { task::spawn(async { panic!("inner") }).await });
    assert!(run.unwrap().unwrap_err().is_panic());
    let panics = panics_of(|| Simulation::new(5).run(async { panic!("outer") }));
    assert_eq!(message_of(&panics[0]), "outer");
}

#[test]
fn blocking_in_a_simulation_is_refused() {
    let panics = panics_of(|| {
        Simulation::new(1).run(async {
            let _ = task::spawn(pending::<()>()).join();
        })
    });
    assert_eq!(
        message_of(&panics[0]),
        "a simulated task blocks the only thread: await instead"
    );
}

#[test]
fn loops_and_nested_simulations_run_inside() {
    let run = Simulation::new(1).run(async {
        time::sleep(Duration::from_secs(1)).await;
        let before = time::now();
        let inner = Simulation::new(2).run(async {
            time::sleep(Duration::from_secs(50)).await;
            parallel::map(0..1000_u32, |i| i).len()
        });
        // Each has its own clock.
        assert_eq!(time::now(), before);
        inner.unwrap()
    });
    assert_eq!(run.unwrap(), 1000);
}

#[test]
fn a_simulation_leaves_the_thread_as_it_was() {
    within(20, || {
        Simulation::new(1).run(async {}).unwrap();
        assert_eq!(task::spawn(async { 5 }).join().unwrap(), 5);
        // A slot that a simulation has used has its clock from a real runtime again, and the other way round.
        for _ in 0..3 {
            time::sleep_blocking(millis(1));
            let slept = Simulation::new(1).run(time::sleep(Duration::from_secs(500)));
            slept.unwrap();
        }
    });
}

#[test]
fn a_simulation_in_a_task_gives_the_worker_back() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        let task = task::spawn(async {
            let inner = Simulation::new(1).run(async {
                time::sleep(millis(5)).await;
                task::spawn_local(async { task::yield_now().await }).await
            });
            inner.unwrap().unwrap();
            time::sleep(millis(1)).await;
            let local = task::spawn_local(async {
                time::sleep(millis(1)).await;
                7
            });
            local.await.unwrap()
        });
        assert_eq!(task.join().unwrap(), 7);
    });
}

#[test]
fn a_deadline_ends_with_its_source() {
    let run: Result<(), Deadlock> = Simulation::new(1).run(async {
        let source = TokenSource::new();
        source.cancel_after(Duration::from_secs(3600));
        time::sleep(millis(1)).await;
        drop(source);
        // The one that waited for the deadline is gone: else time would go on to it.
        pending::<()>().await;
    });
    assert_eq!(run.unwrap_err().waiting(), 1);
    let run = Simulation::new(1).run(async {
        let source = TokenSource::with_deadline(time::now() + Duration::from_secs(60));
        let token = source.token();
        drop(source);
        time::sleep(Duration::from_secs(59)).await;
        assert!(!token.is_cancelled());
        time::sleep(Duration::from_secs(2)).await;
        token.is_cancelled()
    });
    assert!(run.unwrap());
}

#[test]
fn ticks_that_were_due_before_the_simulation_began_keep_their_schedule() {
    let run = Simulation::new(1).run(async {
        let begin = time::now();
        let start = begin.checked_sub(millis(250)).expect("the clock goes back");
        assert_eq!(time::sleep_until(start).deadline(), start);
        let mut interval = time::interval_at(start, millis(100));
        let mut ticks = Vec::new();
        for _ in 0..5 {
            let due = interval.tick().await - start;
            ticks.push((due.as_millis(), (time::now() - begin).as_millis()));
        }
        ticks
    });
    let expected = [(0, 0), (100, 0), (200, 0), (300, 50), (400, 150)];
    assert_eq!(run.unwrap(), expected);
}

#[test]
fn a_deadline_ends_with_its_simulation() {
    let run = Simulation::new(1).run(async {
        let deadline = time::now() + millis(1);
        TokenSource::with_deadline(deadline).token()
    });
    let token = run.unwrap();
    // By the system's clock that time is long over.
    assert!(!holds_within(millis(20), || token.is_cancelled()));
}

#[test]
fn a_sleep_of_no_time_lets_others_go_first() {
    let run = Simulation::new(4).run(async {
        let polls = AtomicUsize::new(0);
        let start = time::now();
        let mut sleep = std::pin::pin!(time::sleep(Duration::ZERO));
        std::future::poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            sleep.as_mut().poll(context)
        })
        .await;
        (polls.into_inner(), time::now() - start)
    });
    assert_eq!(run.unwrap(), (2, Duration::ZERO));
}

#[test]
fn calls_that_would_wait_in_a_simulation_panic_and_others_work() {
    const REFUSED: &str = "a simulated task blocks the only thread: await instead";
    let refused = |work: fn()| {
        let in_main = panics_of(|| Simulation::new(1).run(async { work() }));
        assert_eq!(message_of(&in_main[0]), REFUSED);
        // In a task it goes to the handle.
        let in_task =
            Simulation::new(1).run(async move { task::spawn(async move { work() }).await });
        let error = in_task.unwrap().unwrap_err();
        assert_eq!(message_of(&error.try_into_panic().unwrap()), REFUSED);
    };
    refused(|| task::scope_blocking(|scope| scope.spawn(async {})));
    refused(|| task::scope_blocking(|_| ()));
    refused(|| {
        drop(task::try_scope_blocking(|scope| {
            scope.spawn(async { Err::<(), ()>(()) });
        }));
    });
    refused(|| task::block_on(pending()));
    refused(|| drop(task::spawn(async {}).join()));
    refused(|| drop(manyhands::channel::bounded::<u8>(1).1.recv_blocking()));

    let ran = Simulation::new(1).run(async {
        let sum = AtomicUsize::new(0);
        let add = || {
            sum.fetch_add(1, Ordering::Relaxed);
        };
        manyhands::scope(|scope| scope.spawn(|_| add()));
        manyhands::join(add, add);
        parallel::invoke((add, add));
        parallel::for_each(0..1000, |_| add());
        task::block_on(async { add() });
        task::run(|| ()).join().unwrap();
        sum.into_inner()
    });
    assert_eq!(ran.unwrap(), 1006);
}

#[test]
fn a_simulation_ends_though_a_thread_outside_is_in_a_call_of_its_runtime() {
    within(60, || {
        let (give, given) = mpsc::channel::<Handle>();
        let (say, said) = mpsc::channel();
        let (let_go, gate) = mpsc::channel();
        let outside = thread::spawn(move || {
            let handle = receive(&given);
            let _entered = handle.enter();
            manyhands::scope(|_| {
                say.send(()).unwrap();
                receive(&gate);
            });
        });
        let ended = Simulation::new(1).run(async {
            give.send(Handle::current()).unwrap();
            receive(&said);
        });
        assert_eq!(ended, Ok(()));
        let_go.send(()).unwrap();
        outside.join().unwrap();
    });
}
