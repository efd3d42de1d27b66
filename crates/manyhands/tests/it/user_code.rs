//! Every place where the library calls code of the user: each waits there for a task of the same pool. So none is called
//! while its thread counts as searching, holds a lock that the task needs, or has claimed what others wait for. The list
//! of the places, with these tests, is in `docs/promises.md`.
//!
//! Unsafe: a waker made by hand, whose clone waits.
#![expect(unsafe_code, reason = "a waker by hand")]

use crate::support::{blow, of_threads, on, on_runtime, receive, wait_until, within};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options, from_iter};
use manyhands::query::prelude::*;
use manyhands::{Runtime, channel, join, scope, task, time};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;

/// Waits for a task of the current runtime that another thread must run.
fn wait_for_a_task() {
    task::spawn(async {}).join().expect("it only has to run");
}

/// Runs `work` on a worker of a runtime that begins with one, with what it is to call at its end.
fn on_a_worker(work: impl FnOnce() + Send + 'static) {
    on_runtime(1, |runtime| {
        let task = runtime.install(|| task::spawn(async move { work() }));
        task.join().unwrap();
    });
}

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Waits for a task when it is dropped, and then sends.
fn waits_when_dropped() -> (OnDrop<impl FnMut() + Send + 'static>, mpsc::Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    let drops = move || {
        wait_for_a_task();
        // The receiver may be gone.
        let _ = sender.send(());
    };
    (OnDrop(drops), receiver)
}

/// Waits for a task whenever it is compared or hashed.
#[derive(Debug, Clone, Copy)]
struct Key(u32);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        wait_for_a_task();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        wait_for_a_task();
        self.0.cmp(&other.0)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        wait_for_a_task();
        self.0.hash(state);
    }
}

fn keys() -> Vec<Key> {
    (0..12).rev().map(Key).collect()
}

#[test]
fn tasks_wait_where_they_run() {
    on_a_worker(|| {
        let (sender, receiver) = mpsc::channel();
        task::run_detached(move || {
            wait_for_a_task();
            sender.send(()).unwrap();
        });
        receive(&receiver);
        task::spawn(async { wait_for_a_task() }).join().unwrap();
    });
    on_runtime(1, |runtime| {
        let local = async { task::spawn_local(async { wait_for_a_task() }).await };
        let task = runtime.install(|| task::spawn(local));
        task.join().unwrap().unwrap();
    });
}

/// A future that is ready at once, and has something to drop.
struct Ready<T>(T);

impl<T: Unpin> Future for Ready<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

#[test]
fn what_a_task_holds_waits_when_it_is_dropped() {
    on_a_worker(|| {
        // A future that is ready.
        let (drops, is_dropped) = waits_when_dropped();
        drop(task::spawn(Ready(drops)));
        receive(&is_dropped);
        // One that is cancelled while it waits.
        let (drops, is_dropped) = waits_when_dropped();
        let (_completer, completion) = task::completion::<()>();
        let task = task::spawn(async move {
            let _drops = drops;
            let _ = completion.await;
        });
        task.abort();
        receive(&is_dropped);
        // A closure that is cancelled before it runs, or runs.
        let (drops, is_dropped) = waits_when_dropped();
        task::run(move || drop(drops)).abort();
        receive(&is_dropped);
        // An outcome that nobody takes.
        let (drops, is_dropped) = waits_when_dropped();
        drop(task::spawn(async move { drops }));
        receive(&is_dropped);
        // What a panic that nobody sees has carried.
        let (drops, is_dropped) = waits_when_dropped();
        task::run_detached(move || blow(drops));
        receive(&is_dropped);
    });
}

#[test]
fn forks_and_closures_of_scopes_wait_where_they_run() {
    on_a_worker(|| {
        join(wait_for_a_task, wait_for_a_task);
        scope(|s| (0..4).for_each(|_| s.spawn(|_| wait_for_a_task())));
        parallel::invoke((wait_for_a_task, wait_for_a_task));
        task::scope_blocking(|s| (0..4).for_each(|_| s.spawn(async { wait_for_a_task() })));
    });
}

#[test]
fn bodies_of_loops_wait_and_so_do_the_begin_and_the_end_of_their_states() {
    on_a_worker(|| {
        parallel::for_each(0..8, |_| wait_for_a_task());
        let local = Options::new().local(wait_for_a_task, |()| wait_for_a_task());
        local.for_each(0..8, |_, _, ()| wait_for_a_task());
        local.for_each(from_iter(0..8), |_, _, ()| wait_for_a_task());
        let sum = parallel::map_reduce(
            0..8,
            |i| {
                wait_for_a_task();
                i
            },
            |a, b| {
                wait_for_a_task();
                a + b
            },
        );
        assert_eq!(sum, Some(28));
        let found = (0..8).into_par_query().find(|_| {
            wait_for_a_task();
            false
        });
        assert_eq!(found, None);
    });
}

#[test]
fn an_iterator_waits_for_its_next_item_and_its_items_when_they_are_dropped() {
    on_a_worker(|| {
        let (drops, is_dropped) = waits_when_dropped();
        let items = (0..8).inspect(move |_| {
            let _held = &drops;
            wait_for_a_task();
        });
        parallel::for_each(from_iter(items), drop);
        receive(&is_dropped);
        // Items that are left.
        let items: Vec<_> = (0..8).map(|_| OnDrop(wait_for_a_task)).collect();
        Options::new().for_each_with_control(items, |_, control| control.stop());
    });
}

#[test]
fn comparisons_and_hashes_wait_in_sorts_and_queries() {
    on_a_worker(|| {
        let mut sorted = keys();
        sorted.par_sort();
        sorted.par_sort_unstable_by_key(|key| *key);
        assert!(sorted.iter().map(|key| key.0).eq(0..12));
        let ordered = keys().into_par_query().order_by(|key| *key).to_vec();
        assert!(ordered.iter().map(|key| key.0).eq(0..12));
        let groups = keys().into_par_query().group_by(|key| *key).to_vec();
        assert_eq!(groups.len(), 12);
        let chosen = keys()
            .into_par_query()
            .filter(|key| *key > Key(5))
            .distinct();
        assert_eq!(chosen.to_vec().len(), 6);
        assert!(keys().into_par_query().min().is_some_and(|key| key.0 == 0));
    });
}

#[test]
fn callbacks_of_a_cancellation_wait() {
    on_a_worker(|| {
        let source = TokenSource::new();
        let (sender, receiver) = mpsc::channel();
        let _registered = source.token().register(move || {
            wait_for_a_task();
            sender.send(()).unwrap();
        });
        let canceller = task::spawn(async move { source.cancel() });
        receive(&receiver);
        canceller.join().unwrap();
    });
}

#[test]
fn the_closures_of_channels_wait_for_what_does_not_use_them() {
    on_a_worker(|| {
        let (sender, receiver) = channel::ChannelOptions::new().prioritized();
        keys()
            .into_iter()
            .for_each(|key| sender.send_blocking(key).unwrap());
        assert_eq!(
            receiver.peek(|key| {
                wait_for_a_task();
                key.0
            }),
            Ok(0)
        );
        assert_eq!(receiver.recv_blocking().unwrap().0, 0);
        let (drops, is_dropped) = waits_when_dropped();
        let (sender, receiver) = channel::unbounded();
        assert!(sender.send_blocking(drops).is_ok());
        drop((sender, receiver));
        receive(&is_dropped);
    });
}

#[test]
fn hooks_of_threads_wait() {
    within(60, || {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        let (sender, receiver) = mpsc::channel();
        let waits = move |index| {
            // Each thread that stands in for one in its hook has a hook too.
            if index == 0 {
                wait_for_a_task();
                let _ = sender.send(());
            }
        };
        let builder = Runtime::builder().workers(1).on_thread_start(waits);
        let runtime = RUNTIME.get_or_init(|| builder.build().unwrap());
        runtime.install(wait_for_a_task);
        receive(&receiver);
    });
}

#[test]
fn a_stop_hook_may_bring_tasks_and_wait_for_them_though_no_worker_is_left() {
    within(60, || {
        for workers in [1, 2] {
            let (sender, receiver) = mpsc::channel();
            let waits = move |_| {
                // What it brings is dropped, and so is what that brings.
                let drops = OnDrop(|| drop(task::spawn(async {}).join()));
                let brought = task::spawn(async move { drop(drops) });
                let _ = sender.send(brought.join().is_err_and(|error| error.is_cancelled()));
                drop(task::spawn(async {
                    drop(OnDrop(|| drop(task::spawn(async {}).join())));
                }));
            };
            let builder = Runtime::builder().workers(workers).on_thread_stop(waits);
            let runtime = builder.build().unwrap();
            runtime.install(wait_for_a_task);
            runtime.shutdown_blocking();
            assert!(receive(&receiver));
        }
    });
}

thread_local! {
    /// What the next clone of [`on_clone`]'s waker does on this thread.
    static ON_CLONE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

static BY_HAND: RawWakerVTable = RawWakerVTable::new(
    |_| {
        if let Some(act) = ON_CLONE.take() {
            act();
        }
        RawWaker::new(ptr::null(), &BY_HAND)
    },
    |_| (),
    |_| (),
    |_| (),
);

/// A waker that wakes nobody, and that does this when it is cloned on this thread for the first time.
pub(crate) fn on_clone(act: impl FnOnce() + 'static) -> Waker {
    ON_CLONE.set(Some(Box::new(act)));
    // SAFETY: no function of the table looks behind the pointer.
    unsafe { Waker::new(ptr::null(), &BY_HAND) }
}

/// Polls a future that is pending.
fn poll_pending<F: Future>(future: &mut Pin<Box<F>>, waker: &Waker) {
    let polled = future.as_mut().poll(&mut Context::from_waker(waker));
    assert!(polled.is_pending());
}

/// What the runners of a loop do until its helper has left it for a task.
struct Leaving<'a> {
    runtime: &'a Runtime,
    is_helped: AtomicBool,
    has_left: AtomicBool,
}

impl<'a> Leaving<'a> {
    fn new(runtime: &'a Runtime) -> Self {
        Self {
            runtime,
            is_helped: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
        }
    }

    fn is_helper(&self) -> bool {
        self.runtime.worker_index().is_some()
    }

    fn has_left(&self) -> bool {
        self.has_left.load(Ordering::SeqCst)
    }

    /// A body. The first one on a helper brings a task, for which the helper leaves.
    fn body(&self) {
        if self.is_helper() && !self.is_helped.swap(true, Ordering::SeqCst) {
            drop(task::run(|| ()));
        }
        std::hint::spin_loop();
    }

    /// The end of a runner.
    fn end(&self) {
        if self.is_helper() {
            wait_for_a_task();
            self.has_left.store(true, Ordering::SeqCst);
        }
    }
}

/// Runs `work` with a helper that leaves, on a runtime of two workers.
fn with_leaving(work: impl FnOnce(&Leaving<'_>) + Send + 'static) {
    on_runtime(2, |runtime| {
        let leaving = Leaving::new(runtime);
        runtime.install(|| work(&leaving));
        assert!(leaving.has_left());
    });
}

#[test]
fn the_end_of_a_state_waits_when_its_helper_leaves_a_loop_over_positions() {
    with_leaving(|leaving| {
        let local = Options::new().local(|| (), |()| leaving.end());
        local.for_each(0..u64::MAX, |_, control, ()| {
            leaving.body();
            if leaving.has_left() && !control.should_exit() {
                control.stop();
            }
        });
    });
}

#[test]
fn the_end_of_a_state_waits_when_its_helper_leaves_a_loop_over_an_iterator() {
    with_leaving(|leaving| {
        let local = Options::new().local(|| (), |()| leaving.end());
        local.for_each(from_iter(0..u64::MAX), |_, control, ()| {
            leaving.body();
            if leaving.has_left() && !control.should_exit() {
                control.stop();
            }
        });
    });
}

#[test]
fn the_drop_of_a_state_waits_when_its_helper_leaves_a_loop() {
    with_leaving(|leaving| {
        let local = Options::new().local(|| OnDrop(|| leaving.end()), drop);
        local.for_each(0..u64::MAX, |_, control, _| {
            leaving.body();
            if leaving.has_left() && !control.should_exit() {
                control.stop();
            }
        });
    });
}

/// Polls what waits for a task of a pool of one thread, with a waker whose clone waits for another task of the pool,
/// which its thread comes to only after it has ended the first one and notified who waits for it.
fn clone_waits<F: Future>(wait_for: impl FnOnce(task::JoinHandle<()>) -> F + Send + 'static) {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let (open, gate) = mpsc::channel::<()>();
        // It ends when the gate is dropped.
        let first = task::run(move || assert!(gate.recv().is_err()));
        let mut waiting = Box::pin(wait_for(first));
        // From here on who ends the task has somebody to notify.
        poll_pending(&mut waiting, Waker::noop());
        let waker = on_clone(|| {
            drop(open);
            wait_for_a_task();
        });
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            task::block_on(waiting);
        }
    });
}

#[test]
fn a_clone_of_a_waker_waits_in_when_all() {
    clone_waits(|first| async move {
        task::when_all([first]).await;
    });
}

#[test]
fn a_clone_of_a_waker_waits_in_when_each() {
    clone_waits(|first| async move {
        let (_, result) = task::when_each([first]).next().await.unwrap();
        result.unwrap();
    });
}

#[test]
fn a_clone_of_a_waker_waits_in_a_completion() {
    clone_waits(|first| {
        let (completer, completion) = task::completion();
        drop(task::spawn(async move {
            first.await.unwrap();
            completer.complete(());
        }));
        async move { completion.await.unwrap() }
    });
}

#[test]
fn a_clone_of_a_waker_waits_in_an_async_loop_whose_limits_change() {
    clone_waits(|first| {
        let (ends, end) = channel::bounded::<()>(1);
        let looping = parallel::for_each_async(0..1, move |_| {
            let end = end.clone();
            async move { drop(end.recv().await) }
        });
        let handle = looping.handle();
        drop(task::spawn(async move {
            first.await.unwrap();
            handle.set_degree_of_parallelism(2).unwrap();
            drop(ends);
        }));
        async move {
            let _ = looping.await;
        }
    });
}

/// A waker of no executor: it waits for a task when it wakes, and when it is dropped.
struct Waits(Arc<AtomicUsize>);

impl Wake for Waits {
    fn wake(self: Arc<Self>) {
        wait_for_a_task();
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        wait_for_a_task();
    }
}

/// Polls `future`, which then `happens` wakes.
fn is_woken<F: Future>(what: &str, future: F, happens: impl FnOnce()) {
    let woken = Arc::new(AtomicUsize::new(0));
    let waker = Waker::from(Arc::new(Waits(Arc::clone(&woken))));
    let mut future = Box::pin(future);
    poll_pending(&mut future, &waker);
    drop(waker);
    happens();
    wait_until(what, || woken.load(Ordering::SeqCst) > 0);
}

#[test]
fn wakers_wait_where_they_are_woken_and_dropped() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = channel::bounded(1);
        is_woken("a channel", receiver.recv(), || {
            task::run_detached(move || sender.send_blocking(1).unwrap());
        });
        let source = TokenSource::new();
        let token = source.token();
        is_woken("a cancellation", token.cancelled(), || {
            task::run_detached(move || source.cancel());
        });
        let (completer, completion) = task::completion();
        is_woken("a completion", completion, || {
            task::run_detached(move || completer.complete(1));
        });
        let (open, gate) = mpsc::channel::<()>();
        let ends = task::run(move || assert!(gate.recv().is_err()));
        is_woken("a task", ends, || drop(open));
        is_woken("a timer", time::sleep(Duration::from_millis(1)), || ());
        let on_worker = async {
            let sleeps = time::sleep(Duration::from_millis(1));
            is_woken("a timer of a worker", sleeps, || ());
        };
        task::spawn(on_worker).join().unwrap();
    });
}

#[test]
fn destructors_wait_on_each_thread_on_which_a_runtime_ends() {
    for workers in [1, 2, 8] {
        within(60, move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let begun = Arc::new(AtomicUsize::new(0));
            let dropped: Vec<_> = runtime.install(|| {
                let spawn = |_| {
                    let (sender, dropped) = mpsc::channel();
                    let begun = Arc::clone(&begun);
                    let drops = OnDrop(move || {
                        // It is dropped, or run if a worker took it a moment before.
                        let _ = task::spawn(async {}).join();
                        task::block_on(time::sleep(Duration::from_millis(1)));
                        let _ = sender.send(());
                    });
                    let waiting = task::spawn(async move {
                        let _drops = drops;
                        begun.fetch_add(1, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    });
                    // With no handle nothing could wake it, and it would be dropped at once.
                    (waiting, dropped)
                };
                (0..10).map(spawn).collect()
            });
            wait_until("they begin", || begun.load(Ordering::SeqCst) == 10);
            runtime.shutdown_blocking();
            for (waiting, dropped) in dropped {
                dropped.try_recv().expect("it is dropped in the shutdown");
                assert!(waiting.join().is_err_and(|error| error.is_cancelled()));
            }
        });
    }
}
