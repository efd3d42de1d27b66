//! Priorities of tasks: which runs first, and that none starves.

use crate::support::{Board, loop_until, of_threads, on, on_runtime, receive, wait_until};
use manyhands::simulation::Simulation;
use manyhands::task::{self, Builder, Priority};
use manyhands::time;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const ALL: [Priority; 3] = [
    Priority::Background,
    Priority::Normal,
    Priority::Interactive,
];

/// Tasks of each priority.
const EACH: usize = 130;

#[test]
fn one_worker_runs_the_more_urgent_tasks_earlier() {
    // One thread: where spawning takes long, another would take the place of the blocked worker.
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let (started, queued) = (Arc::new(Board::new(1)), Arc::new(Board::new(1)));
        let first = task::run({
            let (started, queued) = (Arc::clone(&started), Arc::clone(&queued));
            move || {
                started.happens(0);
                queued.wait_for(0);
            }
        });
        started.wait_for(0);
        let spawned = Spawned::all_of(EACH);
        queued.happens(0);
        first.join().unwrap();
        spawned.check_order();
    });
}

#[test]
fn one_worker_runs_the_more_urgent_of_its_own_tasks_earlier() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = mpsc::channel();
        drop(task::run(move || {
            sender.send(Spawned::all_of(EACH)).unwrap();
        }));
        receive(&receiver).check_order();
    });
}

/// Tasks that note in which order they run.
struct Spawned {
    handles: Vec<task::JoinHandle<()>>,
    order: Arc<Mutex<Vec<Priority>>>,
}

impl Spawned {
    /// Spawns `each` tasks of each priority, the least urgent first.
    fn all_of(each: usize) -> Self {
        let order = Arc::new(Mutex::new(Vec::new()));
        let spawn = |priority| {
            let order = Arc::clone(&order);
            let note = move || order.lock().unwrap().push(priority);
            Builder::new().priority(priority).run(note)
        };
        let handles = ALL
            .into_iter()
            .flat_map(|priority| std::iter::repeat_n(priority, each))
            .map(spawn)
            .collect();
        Self { handles, order }
    }

    /// Checks, when all have run, that more urgent ones ran earlier on the average.
    fn check_order(self) {
        // Waiting for one of them would run it here and now.
        wait_until("every task", || {
            self.handles.iter().all(task::JoinHandle::is_finished)
        });
        let order = self.order.lock().unwrap();
        let places = |priority| {
            let places = order.iter().enumerate();
            let of_it = places.filter(move |(_, other)| **other == priority);
            of_it.map(|(place, _)| place).sum::<usize>()
        };
        let sums = ALL.map(places);
        assert!(
            sums.is_sorted_by(|later, earlier| later > earlier),
            "{sums:?}"
        );
    }
}

#[test]
fn an_endless_stream_of_interactive_tasks_starves_no_other() {
    fn again(stop: Arc<AtomicBool>, ran: Arc<AtomicUsize>) {
        if !stop.load(Ordering::Relaxed) {
            ran.fetch_add(1, Ordering::Relaxed);
            let next = move || again(stop, ran);
            drop(Builder::new().priority(Priority::Interactive).run(next));
        }
    }
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (stop, ran) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        (0..3).for_each(|_| again(Arc::clone(&stop), Arc::clone(&ran)));
        wait_until("the stream", || ran.load(Ordering::Relaxed) > 100);
        for priority in [Priority::Normal, Priority::Background] {
            let (sender, receiver) = mpsc::channel();
            drop(
                Builder::new()
                    .priority(priority)
                    .run(move || sender.send(())),
            );
            receive(&receiver);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_task_in_the_background_runs_beside_an_endless_loop() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let stop = Arc::new(AtomicBool::new(false));
        let looping = task::run({
            let stop = Arc::clone(&stop);
            move || {
                loop_until(&stop, || ());
            }
        });
        let stopping = move || stop.store(true, Ordering::Relaxed);
        drop(Builder::new().priority(Priority::Background).run(stopping));
        looping.join().unwrap();
    });
}

#[test]
fn a_future_of_any_priority_waits_and_is_woken_from_everywhere() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        for priority in ALL {
            let (sender, receiver) = manyhands::channel::unbounded();
            let named = Builder::new().name("summing").priority(priority);
            let summing = named.spawn(async move {
                time::sleep(Duration::from_millis(1)).await;
                task::yield_now().await;
                let mut sum = 0;
                while let Ok(number) = receiver.recv_async().await {
                    sum += number;
                }
                sum
            });
            assert_eq!(summing.name(), Some("summing"));
            (1..=100).for_each(|number| sender.try_send(number).unwrap());
            drop(sender);
            assert_eq!(summing.join().unwrap(), 5050);
        }
    });
}

#[test]
fn waiting_futures_of_any_priority_are_dropped_when_the_runtime_ends() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        for priority in ALL {
            let waiting = Builder::new()
                .priority(priority)
                .spawn(std::future::pending::<()>());
            waiting.cancel();
            assert!(waiting.join().unwrap_err().is_cancelled());
            drop(
                Builder::new()
                    .priority(priority)
                    .spawn(std::future::pending::<()>()),
            );
        }
    });
}

#[test]
fn a_simulation_runs_tasks_of_every_priority() {
    let sum = Simulation::new(7).run(async {
        let handles = ALL.map(|priority| Builder::new().priority(priority).spawn(async { 14 }));
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    });
    assert_eq!(sum.unwrap(), 42);
}
