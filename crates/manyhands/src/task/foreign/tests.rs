//! What the executor sees of such a task, and that each of its parts is dropped once, in whatever order threads meet.

use super::{ForeignRunnable, ForeignTask, OnPanic, WokenWhilePolled, spawn_foreign};
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// For a task that never ends.
const DEADLINE: Duration = Duration::from_secs(60);

/// Counts how many of what it was given to were dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

struct Dropped(Arc<AtomicUsize>);

impl Drops {
    fn guard(&self) -> Dropped {
        Dropped(Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Queue = mpsc::Receiver<(ForeignRunnable<()>, WokenWhilePolled)>;

fn spawn<F>(
    future: F,
    scheduler: &Drops,
    on_panic: OnPanic,
) -> (ForeignRunnable<()>, ForeignTask<F::Output, ()>, Queue)
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let (sender, queue) = mpsc::channel();
    let guard = scheduler.guard();
    let schedule = move |runnable, woken| {
        let _ = &guard;
        let _ = sender.send((runnable, woken));
    };
    // SAFETY: 1., 2. all of it can be sent, the sender by `Sync` of the standard library. 3. Nothing is borrowed.
    let (runnable, task) = unsafe { spawn_foreign(|()| future, schedule, (), on_panic) };
    (runnable, task, queue)
}

fn outcome<T>(task: &mut ForeignTask<T, ()>) -> Poll<Option<thread::Result<T>>> {
    task.poll_outcome(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_task_woken_while_it_is_polled_is_scheduled_once_and_says_so() {
    let scheduler = Drops::default();
    let future = poll_fn(|context| {
        context.waker().wake_by_ref();
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    let (runnable, mut task, queue) = spawn(future, &scheduler, OnPanic::Unwind);
    assert!(runnable.run());
    let (runnable, woken) = queue.try_recv().unwrap();
    assert_eq!(woken, WokenWhilePolled::Yes);
    assert!(queue.try_recv().is_err());
    assert!(outcome(&mut task).is_pending());
    drop(runnable);
    assert!(matches!(outcome(&mut task), Poll::Ready(None)));
    assert_eq!(scheduler.count(), 0);
    drop(task);
    assert_eq!(scheduler.count(), 1);
}

#[test]
fn a_cancelled_task_is_scheduled_once_more_to_be_dropped() {
    let (scheduler, dropped) = (Drops::default(), Drops::default());
    let guard = dropped.guard();
    let future = async move {
        let _guard = guard;
        pending::<()>().await;
    };
    let (runnable, mut task, queue) = spawn(future, &scheduler, OnPanic::Unwind);
    let waker = runnable.waker();
    assert!(!runnable.run());
    task.cancel();
    task.cancel();
    let (runnable, woken) = queue.try_recv().unwrap();
    assert_eq!((woken, dropped.count()), (WokenWhilePolled::No, 0));
    assert!(queue.try_recv().is_err() && outcome(&mut task).is_pending());
    assert!(!runnable.run());
    assert_eq!(dropped.count(), 1);
    assert!(matches!(outcome(&mut task), Poll::Ready(None)));
    drop((task, waker));
    assert_eq!(scheduler.count(), 1);
}

#[test]
fn a_panic_goes_where_it_was_asked_to() {
    let scheduler = Drops::default();
    let fails = || poll_fn(|_| -> Poll<()> { panic!("no") });
    let (runnable, mut task, _queue) = spawn(fails(), &scheduler, OnPanic::Unwind);
    let panic = catch_unwind(AssertUnwindSafe(|| runnable.run())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"no"));
    assert!(matches!(outcome(&mut task), Poll::Ready(None)));
    let (runnable, mut task, _queue) = spawn(fails(), &scheduler, OnPanic::Keep);
    assert!(!runnable.run());
    let Poll::Ready(Some(Err(panic))) = outcome(&mut task) else {
        panic!("the panic is the outcome");
    };
    assert_eq!(panic.downcast_ref(), Some(&"no"));
}

#[test]
fn a_generator_that_panics_leaves_nothing_behind() {
    let (scheduler, metadata) = (Drops::default(), Drops::default());
    let guard = scheduler.guard();
    let schedule = move |_: ForeignRunnable<Dropped>, _| {
        let _ = &guard;
    };
    let fails = |_: &Dropped| -> std::future::Ready<()> { panic!("no") };
    // SAFETY: all of it can be sent, and borrows nothing.
    let spawned = catch_unwind(AssertUnwindSafe(|| unsafe {
        spawn_foreign(fails, schedule, metadata.guard(), OnPanic::Unwind)
    }));
    assert!(spawned.is_err());
    assert_eq!((scheduler.count(), metadata.count()), (1, 1));
}

#[test]
fn metadata_is_found_whatever_the_alignment_of_the_rest() {
    #[repr(align(128))]
    struct Aligned(u8);
    let aligned = Aligned(7);
    assert_eq!(aligned.0, 7);
    let schedule = move |_: ForeignRunnable<u16>, _| {
        std::hint::black_box(&aligned);
    };
    // SAFETY: all of it can be sent, and borrows nothing but the metadata.
    let (runnable, task) =
        unsafe { spawn_foreign(|_| ready(Aligned(9)), schedule, 0x1234_u16, OnPanic::Unwind) };
    assert_eq!((*runnable.metadata(), *task.metadata()), (0x1234, 0x1234));
    drop(runnable);
    assert_eq!(*task.metadata(), 0x1234);
}

#[test]
fn wakes_cancellations_runs_and_drops_that_meet_drop_each_part_once() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let (scheduler, futures, outputs) = (Drops::default(), Drops::default(), Drops::default());
    for round in 0..ROUNDS {
        let (future_guard, output) = (futures.guard(), outputs.guard());
        let mut parts = Some((future_guard, output));
        let mut polls = 0;
        let future = poll_fn(move |_| {
            polls += 1;
            if polls < 3 {
                return Poll::Pending;
            }
            let (guard, output) = parts.take().expect("not polled again");
            drop(guard);
            Poll::Ready(output)
        });
        let (runnable, task, queue) = spawn(future, &scheduler, OnPanic::Keep);
        let wakers = [runnable.waker(), runnable.waker(), runnable.waker()];
        thread::scope(|threads| {
            threads.spawn(move || {
                runnable.run();
                while let Ok((runnable, _)) = queue.recv_timeout(DEADLINE) {
                    if round % 7 == 3 {
                        drop(runnable);
                    } else {
                        runnable.run();
                    }
                }
            });
            threads.spawn(move || {
                for waker in wakers {
                    if round % 2 == 0 {
                        waker.wake_by_ref();
                    }
                    waker.wake();
                }
            });
            let mut task = task;
            let _ = outcome(&mut task);
            if round % 3 == 0 {
                task.cancel();
            }
            drop(task);
        });
        let all = round + 1;
        assert_eq!(
            (scheduler.count(), futures.count(), outputs.count()),
            (all, all, all)
        );
    }
}
