//! A waker that panics when it is cloned panics in the poll only: nothing is left behind, and other threads
//! continue.
//!
//! Unsafe: a waker made by hand.
#![expect(unsafe_code, reason = "a waker by hand")]

use crate::support::{message_of, on_runtime, panics_of};
use manyhands::cancel::TokenSource;
use manyhands::channel;
use manyhands::{Runtime, task, time};
use std::pin::Pin;
use std::ptr;
use std::sync::mpsc;
use std::task::{Context, RawWakerVTable, Waker};
use std::time::Duration;

const MESSAGE: &str = "a waker that panics when it is cloned";

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|_| panic!("{MESSAGE}"), |_| (), |_| (), |_| ());

/// Polls `future`, which is not ready, with such a waker, twice.
#[track_caller]
fn poll_with_panicking_waker<F: Future>(mut future: Pin<&mut F>) {
    // SAFETY: no function of the table looks behind the pointer.
    let waker = unsafe { Waker::new(ptr::null(), &VTABLE) };
    for _ in 0..2 {
        let payloads = panics_of(|| {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_ready(), "the waker is kept, so it is cloned");
        });
        assert_eq!(message_of(&payloads[0]), MESSAGE);
    }
}

/// The same future is then waited for, once `happens` has made it ready.
#[track_caller]
fn goes_on<F: Future>(future: F, happens: impl FnOnce()) -> F::Output {
    let mut future = Box::pin(future);
    poll_with_panicking_waker(future.as_mut());
    happens();
    task::block_on(future)
}

#[test]
fn a_task_goes_on() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        for _ in 0..3 {
            let (release, released) = mpsc::channel();
            let handle = task::run(move || released.recv().unwrap());
            assert_eq!(goes_on(handle, || release.send(7).unwrap()).unwrap(), 7);
            let (release, released) = channel::bounded(1);
            let handle = task::spawn(async move { released.recv().await.unwrap() });
            assert_eq!(
                goes_on(handle, || release.send_blocking(8).unwrap()).unwrap(),
                8
            );
        }
    });
}

/// In a task, so that it is a worker's stack that the panic goes up.
fn in_a_task(runtime: &Runtime, work: impl FnOnce() + Send + 'static) {
    runtime.install(|| task::run(work)).join().unwrap();
    assert_eq!(runtime.install(|| task::run(|| 7)).join().unwrap(), 7);
}

#[test]
fn channels_go_on() {
    on_runtime(1, |runtime| {
        in_a_task(runtime, || {
            let (sender, receiver) = channel::bounded(1);
            let got = goes_on(receiver.recv(), || sender.send_blocking(1).unwrap());
            assert_eq!(got, Ok(1));
            sender.send_blocking(2).unwrap();
            let sent = goes_on(sender.send(3), || {
                assert_eq!(receiver.recv_blocking(), Ok(2));
            });
            assert_eq!((sent, receiver.recv_blocking()), (Ok(()), Ok(3)));
            drop(sender);
            assert!(receiver.recv_blocking().is_err());
        });
        in_a_task(runtime, || {
            let (sender, mut receiver) = channel::broadcast(2);
            let got = goes_on(receiver.recv(), || {
                sender.send(1).unwrap();
            });
            assert_eq!(got, Ok(1));
            let (sender, mut receiver) = channel::watch(0);
            let got = goes_on(receiver.changed(), || {
                sender.send(1).unwrap();
            });
            assert_eq!(*got.unwrap(), 1);
        });
    });
}

#[test]
fn timers_and_cancellations_go_on() {
    on_runtime(1, |runtime| {
        let sleeps = || {
            let mut long = Box::pin(time::sleep(Duration::from_secs(3600)));
            poll_with_panicking_waker(long.as_mut());
            task::block_on(time::sleep(Duration::from_millis(2)));
            poll_with_panicking_waker(long.as_mut());
            drop(long);
            task::block_on(time::sleep(Duration::from_millis(2)));
        };
        // In the wheel for external threads, and in the worker's.
        sleeps();
        in_a_task(runtime, sleeps);
        in_a_task(runtime, || {
            let source = TokenSource::new();
            goes_on(source.token().cancelled(), || source.cancel());
        });
    });
}

#[test]
fn what_waits_for_several_tasks_goes_on() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let task = || {
            let (release, released) = channel::bounded(1);
            let task = task::spawn(async move { released.recv().await.unwrap() });
            (release, task)
        };
        let (release, first) = task();
        let (release_second, second) = task();
        let all = goes_on(task::when_all([first, second]), || {
            release.send_blocking(1).unwrap();
            release_second.send_blocking(2).unwrap();
        });
        let all: Vec<i32> = all.into_iter().map(Result::unwrap).collect();
        assert_eq!(all, [1, 2]);
        let (release, first) = task();
        let (release_second, second) = task();
        let any = goes_on(task::when_any([first, second]), || {
            release.send_blocking(1).unwrap();
        });
        assert_eq!(any.result.unwrap(), 1);
        release_second.send_blocking(2).unwrap_or(());
    });
}
