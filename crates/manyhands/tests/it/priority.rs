//! Priorities of tasks: which runs first, and that none starves.

use crate::support::{Board, loop_until, of_threads, on, on_runtime, receive, wait_until};
use manyhands::Runtime;
use manyhands::simulation::Simulation;
use manyhands::task::{self, Builder, Priority};
use manyhands::time;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
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

/// With this number of workers, what threads bring is in several queues.
const WORKERS_MANY: usize = 64;

/// A runtime of many workers, all but one of which are held until the end.
fn with_one_of_many(work: impl FnOnce(&Runtime) + Send + 'static) {
    on(of_threads(WORKERS_MANY), |runtime| {
        let entered = runtime.enter();
        let (started, ended) = (
            Arc::new(Board::new(WORKERS_MANY)),
            Arc::new(Board::new(WORKERS_MANY)),
        );
        let hold = |number| {
            let (started, ended) = (Arc::clone(&started), Arc::clone(&ended));
            task::run(move || {
                started.happens(number);
                ended.wait_for(number);
            })
        };
        let held: Vec<_> = (0..WORKERS_MANY).map(hold).collect();
        (0..WORKERS_MANY).for_each(|number| started.wait_for(number));
        drop(entered);
        ended.happens(0);
        work(runtime);
        (1..WORKERS_MANY).for_each(|number| ended.happens(number));
        held.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn one_of_many_workers_runs_what_each_thread_brings_in_order_and_the_more_urgent_earlier() {
    const THREADS: usize = 9;
    with_one_of_many(|runtime| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let go_on = Arc::new(Board::new(1));
        let entered = runtime.enter();
        // Nothing is run before all is there.
        let (started, theirs) = (Arc::new(Board::new(1)), Arc::clone(&go_on));
        let starts = Arc::clone(&started);
        drop(task::run(move || {
            starts.happens(0);
            theirs.wait_for(0);
        }));
        started.wait_for(0);
        drop(entered);
        thread::scope(|s| {
            for thread in 0..THREADS {
                let order = &order;
                s.spawn(move || {
                    let _entered = runtime.enter();
                    for priority in ALL {
                        for number in 0..EACH {
                            let order = Arc::clone(order);
                            let note = move || {
                                order.lock().unwrap().push((thread, priority, number));
                            };
                            drop(Builder::new().priority(priority).run(note));
                        }
                    }
                });
            }
        });
        go_on.happens(0);
        wait_until("every task", || {
            order.lock().unwrap().len() == THREADS * ALL.len() * EACH
        });
        let order = order.lock().unwrap();
        let places = |priority| {
            let places = order.iter().enumerate();
            let of_it = places.filter(move |(_, task)| task.1 == priority);
            of_it.map(|(place, _)| place).sum::<usize>()
        };
        let sums = ALL.map(places);
        assert!(
            sums.is_sorted_by(|later, earlier| later > earlier),
            "{sums:?}"
        );
        // Usual tasks are taken by the dozen, and once in a round the first of a dozen passes those before it.
        for priority in [Priority::Interactive, Priority::Background] {
            for thread in 0..THREADS {
                let of_it = order
                    .iter()
                    .filter(|task| (task.0, task.1) == (thread, priority));
                let numbers: Vec<_> = of_it.map(|task| task.2).collect();
                assert!(numbers.into_iter().eq(0..EACH), "{priority:?}");
            }
        }
    });
}

#[test]
fn an_endless_stream_in_one_queue_of_interactive_tasks_starves_no_other_queue() {
    with_one_of_many(|runtime| {
        let entered = runtime.enter();
        let (stop, ran) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        for priority in [Priority::Interactive, Priority::Background] {
            again(priority, Arc::clone(&stop), Arc::clone(&ran));
        }
        wait_until("the streams", || ran.load(Ordering::Relaxed) > 100);
        drop(entered);
        let bring = |priority| {
            let (sender, receiver) = mpsc::channel();
            let send = move || sender.send(());
            drop(Builder::new().priority(priority).run(send));
            receiver
        };
        // One thread after the other, so they bring tasks to one queue after the other.
        let bring_both = || {
            let _entered = runtime.enter();
            [Priority::Interactive, Priority::Background].map(bring)
        };
        let are_run = (0..9).all(|_| {
            let receivers = thread::scope(|s| s.spawn(bring_both).join().unwrap());
            let mut receivers = receivers.iter();
            receivers.all(|receiver| receiver.recv_timeout(Duration::from_secs(10)).is_ok())
        });
        stop.store(true, Ordering::Relaxed);
        assert!(are_run);
    });
}

/// A task that spawns the same again, unless it is to stop.
fn again(priority: Priority, stop: Arc<AtomicBool>, ran: Arc<AtomicUsize>) {
    if !stop.load(Ordering::Relaxed) {
        ran.fetch_add(1, Ordering::Relaxed);
        let next = move || again(priority, stop, ran);
        drop(Builder::new().priority(priority).run(next));
    }
}

#[test]
fn an_endless_stream_of_interactive_tasks_starves_no_other() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (stop, ran) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let begin = |_| again(Priority::Interactive, Arc::clone(&stop), Arc::clone(&ran));
        (0..3).for_each(begin);
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
                while let Ok(number) = receiver.recv().await {
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
            waiting.abort();
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
