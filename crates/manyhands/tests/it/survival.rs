//! No user code ends a thread of the runtime: not a panic whose payload panics when it is dropped, and
//! not one in a hook, a name, a waker, a destructor or a subscriber. After each the same worker continues.

use crate::support::{of_threads, on, panics_of, receive, within};
use manyhands::{Runtime, parallel, task, time};
use std::future::pending;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Panics when it is dropped, this number of times: each time with another one.
struct Evil(u32);

impl Drop for Evil {
    fn drop(&mut self) {
        if let Some(left) = self.0.checked_sub(1) {
            // Also where a panic is on its way, inside of a catch.
            resume_unwind(Box::new(Self(left)));
        }
    }
}

fn throw(times: u32) -> ! {
    resume_unwind(Box::new(Evil(times)))
}

/// Drops nothing: the test itself is to survive, too.
fn leak<T>(value: T) {
    let _ = ManuallyDrop::new(value);
}

/// More than anybody drops one after the other.
const ENDLESS: u32 = u32::MAX;

/// Builds a runtime with one worker, does `harm` to it, and sees the worker go on.
fn survives(
    build: impl FnOnce(manyhands::RuntimeBuilder) -> manyhands::RuntimeBuilder,
    harm: impl Fn(&Runtime) + Send + 'static,
) {
    let builder = Runtime::builder().workers(1).max_threads(1);
    on(build(builder).build().unwrap(), move |runtime| {
        let _entered = runtime.enter();
        for round in 0..3 {
            harm(runtime);
            assert_eq!(task::run(move || round).join().unwrap(), round);
            assert_eq!(task::spawn(async move { round }).join().unwrap(), round);
        }
        assert_eq!(runtime.threads(), 1);
    });
}

fn plain(builder: manyhands::RuntimeBuilder) -> manyhands::RuntimeBuilder {
    builder
}

#[test]
fn a_payload_that_panics_when_dropped_is_contained_however_often_it_does() {
    for times in [1, 2, 3, 7, 8, 9, 50, ENDLESS] {
        survives(plain, move |_| {
            task::run_detached(move || throw(times));
            drop(task::run(move || throw(times)));
            drop(task::spawn(async move { throw(times) }));
            // Its result is dropped by the pool, after the handle.
            let (sender, receiver) = mpsc::channel::<()>();
            drop(task::run(move || {
                receiver.recv().unwrap_err();
                Evil(times)
            }));
            drop(sender);
        });
    }
}

#[test]
fn a_task_that_panics_when_dropped_is_contained_however_often_it_does() {
    for times in [1, 2, ENDLESS] {
        survives(plain, move |_| {
            let evil = Evil(times);
            drop(task::spawn(async move {
                let _evil = evil;
                task::yield_now().await;
            }));
            let evil = Evil(times);
            let handle = task::spawn(async move {
                let _evil = evil;
                pending::<()>().await;
            });
            handle.abort();
            assert!(handle.join().unwrap_err().is_cancelled());
        });
    }
}

#[test]
fn what_panics_when_dropped_does_not_keep_a_runtime_from_ending() {
    within(30, || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let entered = runtime.enter();
        for times in [1, 2, ENDLESS] {
            let (in_future, in_closure) = (Evil(times), Evil(times));
            drop(task::spawn(async move {
                let _evil = in_future;
                pending::<()>().await;
            }));
            let (sender, receiver) = mpsc::channel::<()>();
            drop(task::run(move || receiver.recv().is_err()));
            drop(task::run(move || drop(in_closure)));
            drop(sender);
        }
        drop(entered);
        drop(runtime);
    });
}

#[test]
fn hooks_and_names_that_panic_with_anything_keep_no_worker_from_its_work() {
    for times in [0, 1, 2, ENDLESS] {
        survives(
            |builder| {
                builder
                    .thread_name(move |_| throw(times))
                    .on_thread_start(move |_| throw(times))
                    .on_thread_stop(move |_| throw(times))
            },
            |_| (),
        );
    }
}

#[test]
fn a_stall_hook_that_panics_with_anything_keeps_the_monitor() {
    for times in [0, 2, ENDLESS] {
        let (sender, stalled) = mpsc::channel();
        let builder = Runtime::builder().workers(1).max_threads(1);
        let builder = builder.on_stall(move |_| {
            sender.send(()).unwrap_or(());
            throw(times);
        });
        on(builder.build().unwrap(), move |runtime| {
            let _entered = runtime.enter();
            for _ in 0..2 {
                let (sender, receiver) = mpsc::channel::<()>();
                let waits = task::run(move || task::blocking(|| receiver.recv().is_err()));
                let behind = task::run(|| 7);
                receive(&stalled);
                drop(sender);
                assert!(waits.join().unwrap());
                assert_eq!(behind.join().unwrap(), 7);
                // The monitor fires timers of external threads.
                task::block_on(time::sleep(Duration::from_millis(5)));
            }
        });
    }
}

/// Panics when it is woken, and when the last of it is dropped.
struct Grenade(Evil);

impl Wake for Grenade {
    fn wake(self: Arc<Self>) {
        throw(self.0.0);
    }
}

fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn wakers_that_panic_when_woken_and_when_dropped_keep_no_worker_and_no_monitor() {
    // Long enough to be polled before it is due, also where all is slow.
    const SHORT: Duration = Duration::from_millis(if cfg!(sanitized) { 200 } else { 1 });
    for times in [1, 2, ENDLESS] {
        survives(plain, move |_| {
            let waker = Waker::from(Arc::new(Grenade(Evil(times))));
            // Woken by the worker that ends the task.
            let (sender, receiver) = mpsc::channel::<()>();
            let mut handle = task::run(move || receiver.recv().is_err());
            assert!(poll_with(Pin::new(&mut handle), &waker).is_pending());
            drop(sender);
            // Woken by the monitor, which advances the wheel for external threads.
            let mut sleep = Box::pin(time::sleep(SHORT));
            assert!(poll_with(sleep.as_mut(), &waker).is_pending());
            // Woken by the worker, whose wheel the sleep is in.
            let theirs = waker.clone();
            task::spawn(async move {
                let mut sleep = Box::pin(time::sleep(SHORT));
                assert!(poll_with(sleep.as_mut(), &theirs).is_pending());
                time::sleep(3 * SHORT).await;
                // The last waker but one goes with this task.
                leak(panics_of(|| drop(theirs)));
            })
            .join()
            .unwrap();
            task::block_on(time::sleep(3 * SHORT));
            leak(panics_of(|| drop(waker)));
        });
    }
}

#[test]
fn a_handle_that_was_polled_before_can_be_joined_on_a_worker() {
    let wakes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&wakes);
    survives(plain, move |_| {
        struct CountingWaker(Arc<AtomicUsize>);
        impl Wake for CountingWaker {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let waker = Waker::from(Arc::new(CountingWaker(Arc::clone(&counted))));
        let grenade = Waker::from(Arc::new(Grenade(Evil(2))));
        let joined = task::run(move || {
            let mut inner = task::run(|| 7);
            assert!(poll_with(Pin::new(&mut inner), &waker).is_pending());
            let first = inner.join().unwrap();
            let mut inner = task::run(|| 8);
            assert!(poll_with(Pin::new(&mut inner), &grenade).is_pending());
            leak(panics_of(|| drop(grenade)));
            (first, inner.join().unwrap())
        });
        assert_eq!(joined.join().unwrap(), (7, 8));
    });
    assert_eq!(
        wakes.load(Ordering::SeqCst),
        0,
        "a joining thread need not be woken"
    );
}

#[test]
fn bodies_states_and_sources_that_panic_with_anything_keep_no_worker() {
    for times in [1, 2, ENDLESS] {
        on(of_threads(2), move |runtime| {
            let _entered = runtime.enter();
            for _ in 0..3 {
                let keep = |payloads: Vec<crate::support::Payload>| {
                    assert!(!payloads.is_empty());
                    leak(payloads);
                };
                keep(panics_of(|| parallel::for_each(0..1000, |_| throw(times))));
                keep(panics_of(|| {
                    manyhands::join(|| throw(times), || Evil(times)).0
                }));
                keep(panics_of(|| manyhands::join(|| (), || throw(times))));
                keep(panics_of(|| {
                    manyhands::scope(|scope| (0..9).for_each(|_| scope.spawn(|_| throw(times))));
                }));
                keep(panics_of(|| {
                    task::scope_blocking(|scope| {
                        (0..9).for_each(|_| scope.spawn(async { throw(times) }));
                    });
                }));
            }
            assert_eq!(task::run(|| 7).join().unwrap(), 7);
        });
    }
}
