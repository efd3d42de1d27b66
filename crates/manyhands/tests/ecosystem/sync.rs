//! Locks, permits, notifications, barriers and cells of `tokio::sync` in tasks and async loops, on pools of one and of two
//! workers, with tokio around them and without.

use crate::support::in_time;
use manyhands::cancel::TokenSource;
use manyhands::task::JoinHandle;
use manyhands::{Runtime, parallel, task};
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore};

/// Runs the future that `make` gives as a task of each pool.
fn on_each_pool<F>(make: fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    in_time(move || {
        for workers in [1, 2] {
            for builder in [Runtime::builder(), Runtime::builder().tokio()] {
                let runtime = builder.workers(workers).build().unwrap();
                let _entered = runtime.enter();
                task::spawn(make()).join().unwrap();
            }
        }
    });
}

/// Spawns a future, which cannot end at once, and waits until it has been polled.
async fn spawn_waiting<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (completer, is_waiting) = task::completion();
    let waiting = task::spawn(async move {
        let mut future = pin!(future);
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            if !completer.is_completed() {
                completer.complete(polled.is_pending());
            }
            polled
        })
        .await
    });
    assert!(is_waiting.await.unwrap(), "it waits");
    waiting
}

async fn all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let results = task::when_all(tasks).await.into_iter();
    results.map(Result::unwrap).collect()
}

/// How many are inside, and how many were at most.
#[derive(Default)]
struct Inside {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Inside {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reads a number, lets others run, and writes the next one.
async fn count_up(lock: Arc<Mutex<u32>>) {
    let mut count = lock.lock().await;
    let before = *count;
    task::yield_now().await;
    *count = before + 1;
}

#[test]
fn a_mutex_is_held_across_waits_by_one_task_or_item_of_an_async_loop_at_a_time() {
    on_each_pool(|| async {
        let count = Arc::new(Mutex::new(0));
        let tasks = (0..50).map(|_| task::spawn(count_up(Arc::clone(&count))));
        let tasks: Vec<_> = tasks.collect();
        let of_loop = Arc::clone(&count);
        parallel::for_each_async(0..50, move |_| count_up(Arc::clone(&of_loop))).await;
        all(tasks).await;
        assert_eq!(*count.lock().await, 100);
    });
}

#[test]
fn closures_that_block_on_a_mutex_let_the_task_that_holds_it_go_on() {
    on_each_pool(|| async {
        let count = Arc::new(Mutex::new(0));
        let begun = Arc::new(AtomicUsize::new(0));
        let held = Arc::clone(&count).lock_owned().await;
        let closures = [(); 4].map(|()| {
            let (count, begun) = (Arc::clone(&count), Arc::clone(&begun));
            task::run(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                task::blocking(|| *count.blocking_lock() += 1);
            })
        });
        while begun.load(Ordering::SeqCst) < 4 {
            task::yield_now().await;
        }
        drop(held);
        all(closures.into()).await;
        assert_eq!(*count.lock().await, 4);
    });
}

/// Notes who is inside of a lock, and fails if one of `others` is.
async fn stay(inside: &Inside, others: &Inside) {
    inside.enter();
    task::yield_now().await;
    assert_eq!(others.now.load(Ordering::SeqCst), 0);
    inside.leave();
}

#[test]
fn readers_of_an_rw_lock_are_inside_together_and_a_writer_alone() {
    on_each_pool(|| async {
        let lock = Arc::new(RwLock::new(()));
        let sides = Arc::new((Inside::default(), Inside::default()));
        let mut tasks = Vec::new();
        for _ in 0..20 {
            let (lock_of_reader, sides_of_reader) = (Arc::clone(&lock), Arc::clone(&sides));
            tasks.push(task::spawn(async move {
                let _guard = lock_of_reader.read().await;
                stay(&sides_of_reader.0, &sides_of_reader.1).await;
            }));
            let (lock, sides) = (Arc::clone(&lock), Arc::clone(&sides));
            tasks.push(task::spawn(async move {
                let _guard = lock.write().await;
                stay(&sides.1, &sides.0).await;
            }));
        }
        all(tasks).await;
        assert_eq!(sides.1.most.load(Ordering::SeqCst), 1);
        // Neither of two readers leaves before the other is inside.
        let pair = Arc::new(Barrier::new(2));
        let together = [(); 2].map(|()| {
            let (lock, pair) = (Arc::clone(&lock), Arc::clone(&pair));
            task::spawn(async move {
                let _guard = lock.read().await;
                pair.wait().await;
            })
        });
        all(together.into()).await;
    });
}

#[test]
fn a_semaphore_limits_a_fan_out_of_tasks_and_all_its_permits_are_used() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(3));
        // Three tasks at a time get past it, and only if three have permits.
        let three = Arc::new(Barrier::new(3));
        let inside = Arc::new(Inside::default());
        let mut tasks = Vec::new();
        for _ in 0..99 {
            // As a server does that accepts no more connections than it can serve.
            let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
            let (three, inside) = (Arc::clone(&three), Arc::clone(&inside));
            tasks.push(task::spawn(async move {
                inside.enter();
                three.wait().await;
                inside.leave();
                drop(permit);
            }));
        }
        all(tasks).await;
        assert_eq!(inside.most.load(Ordering::SeqCst), 3);
        assert_eq!(permits.available_permits(), 3);
    });
}

#[test]
fn a_semaphore_limits_the_items_of_several_async_loops_together() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(3));
        let inside = Arc::new(Inside::default());
        let limited = || {
            let (permits, inside) = (Arc::clone(&permits), Arc::clone(&inside));
            parallel::for_each_async(0..40, move |_| {
                let (permits, inside) = (Arc::clone(&permits), Arc::clone(&inside));
                async move {
                    let _permit = permits.acquire().await.unwrap();
                    inside.enter();
                    task::yield_now().await;
                    inside.leave();
                }
            })
        };
        futures::join!(limited(), limited());
        assert!(inside.most.load(Ordering::SeqCst) <= 3);
        assert_eq!(permits.available_permits(), 3);
    });
}

thread_local! {
    static IS_RELEASING: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn a_release_runs_none_of_the_tasks_that_wait_for_it() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(0));
        let mut waiting = Vec::new();
        for _ in 0..3 {
            let permits = Arc::clone(&permits);
            waiting.push(
                spawn_waiting(async move {
                    permits.acquire().await.unwrap().forget();
                    IS_RELEASING.get()
                })
                .await,
            );
        }
        IS_RELEASING.set(true);
        permits.add_permits(3);
        IS_RELEASING.set(false);
        assert_eq!(all(waiting).await, [false; 3]);
    });
}

#[test]
fn more_permits_than_a_semaphore_can_count_are_a_panic_of_the_task() {
    on_each_pool(|| async {
        let permits = Semaphore::new(Semaphore::MAX_PERMITS);
        let added = task::run(move || permits.add_permits(1));
        assert!(added.await.unwrap_err().is_panic());
    });
}

#[test]
fn a_closed_semaphore_ends_the_waits_of_all_tasks() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(0));
        let waiting = spawn_waiting(Arc::clone(&permits).acquire_owned()).await;
        permits.close();
        assert!(waiting.await.unwrap().is_err());
    });
}

#[test]
fn a_task_that_is_cancelled_while_it_waits_leaves_its_place_to_the_next() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(2));
        let held = Arc::clone(&permits).acquire_many_owned(2).await.unwrap();
        let first = spawn_waiting(Arc::clone(&permits).acquire_many_owned(2)).await;
        let second = spawn_waiting(Arc::clone(&permits).acquire_owned()).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        drop(held);
        drop(second.await.unwrap().unwrap());
        assert_eq!(permits.available_permits(), 2);

        let mutex = Arc::new(Mutex::new(0));
        let held = Arc::clone(&mutex).lock_owned().await;
        let first = spawn_waiting(Arc::clone(&mutex).lock_owned()).await;
        let second = spawn_waiting(Arc::clone(&mutex).lock_owned()).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        drop(held);
        drop(second.await.unwrap());
        assert!(mutex.try_lock().is_ok());

        // A writer that waits keeps later readers out, until it is cancelled.
        let lock = Arc::new(RwLock::new(0));
        let reads = Arc::clone(&lock).read_owned().await;
        let writer = spawn_waiting(Arc::clone(&lock).write_owned()).await;
        let reader = spawn_waiting(Arc::clone(&lock).read_owned()).await;
        writer.abort();
        assert!(writer.await.unwrap_err().is_cancelled());
        drop(reader.await.unwrap());
        drop(reads);
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn what_was_given_to_a_task_that_is_cancelled_goes_to_the_next() {
    on_each_pool(|| async {
        for _ in 0..20 {
            let permits = Arc::new(Semaphore::new(0));
            let first = spawn_waiting(Arc::clone(&permits).acquire_owned()).await;
            let second = spawn_waiting(Arc::clone(&permits).acquire_owned()).await;
            // The only worker has no time to poll it in between; one of two perhaps has.
            permits.add_permits(1);
            first.abort();
            drop(first.await);
            drop(second.await.unwrap().unwrap());
            assert_eq!(permits.available_permits(), 1);

            let notify = Arc::new(Notify::new());
            let first = spawn_waiting(Arc::clone(&notify).notified_owned()).await;
            let second = spawn_waiting(Arc::clone(&notify).notified_owned()).await;
            notify.notify_one();
            first.abort();
            if first.await.is_ok() {
                notify.notify_one();
            }
            second.await.unwrap();
        }
    });
}

#[test]
fn a_cancelled_async_loop_gives_its_permits_back() {
    on_each_pool(|| async {
        let permits = Arc::new(Semaphore::new(3));
        let source = Arc::new(TokenSource::new());
        let token = source.token();
        let of_loop = Arc::clone(&permits);
        let held = Arc::new(AtomicUsize::new(0));
        let cancelled = parallel::AsyncOptions::new().cancellation(&token);
        let cancelled = cancelled.for_each_async(0..20, move |_| {
            let (permits, source, held) =
                (Arc::clone(&of_loop), Arc::clone(&source), Arc::clone(&held));
            async move {
                let _permit = permits.acquire().await.unwrap();
                if held.fetch_add(1, Ordering::SeqCst) == 2 {
                    source.cancel();
                }
                pending::<()>().await;
            }
        });
        assert!(cancelled.await.is_err());
        assert_eq!(permits.available_permits(), 3);
    });
}

#[test]
fn a_runtime_that_ends_gives_the_permits_of_its_tasks_back() {
    in_time(|| {
        let permits = Arc::new(Semaphore::new(2));
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let entered = runtime.enter();
        let tasks = [(); 5].map(|()| {
            let permits = Arc::clone(&permits);
            task::block_on(spawn_waiting(async move {
                let _permit = permits.acquire().await.unwrap();
                pending::<()>().await;
            }))
        });
        assert_eq!(permits.available_permits(), 0);
        drop(entered);
        runtime.shutdown_blocking();
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled());
        }
        assert_eq!(permits.available_permits(), 2);
    });
}

#[test]
fn a_notification_reaches_one_task_or_all_that_wait_or_the_next_that_comes() {
    on_each_pool(|| async {
        let notify = Arc::new(Notify::new());
        let mut waiting = Vec::new();
        for _ in 0..10 {
            waiting.push(spawn_waiting(Arc::clone(&notify).notified_owned()).await);
        }
        notify.notify_one();
        waiting.remove(0).await.unwrap();
        assert!(!waiting.iter().any(JoinHandle::is_finished));
        notify.notify_waiters();
        all(waiting).await;
        notify.notify_one();
        task::spawn(notify.notified_owned()).await.unwrap();
    });
}

#[test]
fn more_tasks_than_workers_meet_at_a_barrier_again_and_again_with_one_leader() {
    const TASKS: usize = 10;
    const PHASES: usize = 5;
    on_each_pool(|| async {
        let barrier = Arc::new(Barrier::new(TASKS));
        let arrived = Arc::new(AtomicUsize::new(0));
        let tasks = (0..TASKS).map(|_| {
            let (barrier, arrived) = (Arc::clone(&barrier), Arc::clone(&arrived));
            task::spawn(async move {
                let mut led = 0;
                for phase in 0..PHASES {
                    arrived.fetch_add(1, Ordering::SeqCst);
                    led += usize::from(barrier.wait().await.is_leader());
                    // Nobody is more than one phase ahead.
                    let seen = arrived.load(Ordering::SeqCst);
                    assert!(((phase + 1) * TASKS..=(phase + 2) * TASKS).contains(&seen));
                }
                led
            })
        });
        let led = all(tasks.collect()).await;
        assert_eq!(led.into_iter().sum::<usize>(), PHASES);
    });
}

#[test]
fn items_of_an_async_loop_meet_at_a_barrier_if_as_many_run_at_once() {
    on_each_pool(|| async {
        let barrier = Arc::new(Barrier::new(4));
        let met = parallel::AsyncOptions::new()
            .degree_of_parallelism(4)
            .unwrap();
        met.for_each_async(0..20, move |_| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
            }
        })
        .await;
    });
}

#[test]
fn a_task_that_is_cancelled_at_a_barrier_has_arrived() {
    on_each_pool(|| async {
        let barrier = Arc::new(Barrier::new(2));
        let of_task = Arc::clone(&barrier);
        let gone = spawn_waiting(async move { of_task.wait().await.is_leader() }).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert!(barrier.wait().await.is_leader());
    });
}

#[test]
fn a_cell_is_initialized_once_and_by_the_next_task_if_the_first_is_cancelled() {
    on_each_pool(|| async {
        let cell = Arc::new(OnceCell::new());
        let of_first = Arc::clone(&cell);
        let first = spawn_waiting(async move { *of_first.get_or_init(pending::<u32>).await }).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let others = (0..10).map(|_| {
            let (cell, calls) = (Arc::clone(&cell), Arc::clone(&calls));
            task::spawn(async move {
                let init = || async {
                    calls.fetch_add(1, Ordering::SeqCst);
                    task::yield_now().await;
                    42
                };
                *cell.get_or_init(init).await
            })
        });
        let others: Vec<_> = others.collect();
        task::yield_now().await;
        assert!(!others.iter().any(JoinHandle::is_finished));
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(all(others).await, [42; 10]);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    });
}
