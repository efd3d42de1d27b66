//! Wakers, callbacks and drops that panic, or use the object that calls them: no other code notices, and nothing is
//! lost.

use crate::support::{Ledger, blow, message_of, on_runtime, panics_of, within};
use futures::FutureExt;
use manyhands::cancel::TokenSource;
use manyhands::channel::{self, TryRecvError, WhenFull};
use manyhands::task::{GroupError, JoinHandle, TaskGroup, TaskTracker};
use manyhands::{parallel, task, time};
use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Panics when it is woken.
struct Grenade;

impl Wake for Grenade {
    fn wake(self: Arc<Self>) {
        blow("woken");
    }
}

/// Counts its wakes.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Keeps a value as long as the waker exists.
struct Keeper<T>(Mutex<T>);

impl<T: Send + 'static> Wake for Keeper<T> {
    fn wake(self: Arc<Self>) {}
}

/// Two futures wait: one whose waker panics, then one that counts. `notify` wakes both once, and
/// returns.
fn both_are_notified<F: Future + Unpin, T>(mut waiting: [F; 2], notify: impl FnOnce() -> T) -> T {
    let bell = Arc::new(Bell::default());
    let counting = Waker::from(Arc::clone(&bell));
    let wakers = [Waker::from(Arc::new(Grenade)), counting];
    for (future, waker) in waiting.iter_mut().zip(&wakers) {
        let polled = future.poll_unpin(&mut Context::from_waker(waker));
        assert!(polled.is_pending());
    }
    let result = notify();
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    result
}

#[test]
fn a_waker_that_panics_keeps_no_receiver_from_being_notified() {
    let (sender, receiver) = channel::unbounded();
    let waiting = [receiver.recv(), receiver.recv()];
    let sent = both_are_notified(waiting, || {
        sender.send_many_blocking(&mut VecDeque::from([1, 2]))
    });
    assert_eq!(sent, Ok(()));
    let mut received = Vec::new();
    assert_eq!(receiver.try_recv_many(&mut received, 9), Ok(2));
    let waiting = [receiver.recv(), receiver.recv()];
    assert!(both_are_notified(waiting, || sender.close()));
}

#[test]
fn a_waker_that_panics_does_not_panic_in_the_sender_of_one_item() {
    let (sender, receiver) = channel::unbounded();
    let waiting = [receiver.recv(), receiver.recv()];
    let sent = both_are_notified(waiting, || {
        (sender.send_blocking(1), sender.send(2).now_or_never())
    });
    assert_eq!(sent, (Ok(()), Some(Ok(()))));
    let waiting = [receiver.recv(), receiver.recv()];
    let mut received = Vec::new();
    assert_eq!(receiver.try_recv_many(&mut received, 9), Ok(2));
    let sent = both_are_notified(waiting, || {
        (sender.send(3).now_or_never(), sender.send_blocking(4))
    });
    assert_eq!(sent, (Some(Ok(())), Ok(())));
}

#[test]
fn a_waker_that_panics_loses_no_item() {
    let (sender, receiver) = channel::bounded(2);
    (0..2).for_each(|n| sender.send_blocking(n).unwrap());
    let waiting = [sender.send(2), sender.send(3)];
    let received = both_are_notified(waiting, || {
        (receiver.recv_blocking(), receiver.recv_blocking())
    });
    assert_eq!(received, (Ok(0), Ok(1)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_loses_no_item() {
    let (sender, receiver) = channel::unbounded();
    let mut notified = receiver.recv();
    let mut faster = receiver.recv();
    let mut context = Context::from_waker(Waker::noop());
    assert!(notified.poll_unpin(&mut context).is_pending());
    let waker = Waker::from(Arc::new(Keeper(Mutex::new(Bomb(true)))));
    let polled = faster.poll_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop(waker);
    sender.send_blocking(1).unwrap();
    // It takes the item before the notified one, and its own waker is not needed any more.
    assert_eq!(faster.poll_unpin(&mut context), Poll::Ready(Ok(1)));
    assert!(notified.poll_unpin(&mut context).is_pending());
}

#[test]
fn a_waker_that_panics_keeps_no_listener_from_being_notified() {
    let (sender, mut receiver) = channel::broadcast(4);
    let mut other = receiver.clone();
    let waiting = [receiver.recv(), other.recv()];
    assert_eq!(both_are_notified(waiting, || sender.send(1)), Ok(2));
    let (sender, mut receiver) = channel::watch(0);
    let mut other = receiver.clone();
    let waiting = [receiver.changed(), other.changed()];
    both_are_notified(waiting, || drop(sender));
}

#[test]
fn a_waker_that_panics_does_not_panic_in_the_thread_that_cancels_or_sets_a_result() {
    let source = TokenSource::new();
    let token = source.token();
    both_are_notified([token.cancelled(), token.cancelled()], || source.cancel());
    let (completer, completion) = task::completion();
    let waiting = [completion.clone(), completion];
    both_are_notified(waiting, || completer.complete(1));
}

#[test]
fn a_waker_that_panics_does_not_panic_in_the_thread_that_changes_a_loop_s_limits() {
    let mut looping = parallel::for_each_async(0..3, |_| pending());
    let handle = looping.handle();
    let waker = Waker::from(Arc::new(Grenade));
    let polled = looping.poll_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    handle.set_degree_of_parallelism(2).unwrap();
}

#[test]
fn a_waker_may_own_what_it_waits_for() {
    within(20, || {
        let (completer, mut completion) = task::completion();
        let keeper = Keeper(Mutex::new(completion.clone()));
        let owner = Waker::from(Arc::new(keeper));
        let first = completion.poll_unpin(&mut Context::from_waker(&owner));
        assert!(first.is_pending());
        drop(owner);
        // The old waker, and with it a completion, is dropped while the new one replaces it.
        let mut context = Context::from_waker(Waker::noop());
        assert!(completion.poll_unpin(&mut context).is_pending());
        completer.complete(7);
        assert_eq!(task::block_on(completion).unwrap(), 7);
    });
}

/// Polls with a waker that panics when its last clone is dropped. The future keeps a clone.
fn poll_with_bomb<F: Future>(future: Pin<&mut F>) {
    let waker = Waker::from(Arc::new(Keeper(Mutex::new(Bomb(true)))));
    let polled = future.poll(&mut Context::from_waker(&waker));
    drop(waker);
    assert!(polled.is_pending());
}

/// What each future gives.
const VALUE: u8 = 7;

/// `begin` makes a future that waits, and what it waits for. Each waits with a waker that panics when it is dropped. Then
/// it is dropped, or waits with another waker, or is ready at once: no panic comes out, and it gives its value.
fn its_waker_may_panic<F: Future<Output = u8>, H: FnOnce()>(begin: impl Fn() -> (F, H)) {
    let wait = || {
        let (future, happens) = begin();
        let mut future = Box::pin(future);
        poll_with_bomb(future.as_mut());
        (future, happens)
    };
    drop(wait());
    let (mut waiting, happens) = wait();
    let polled = waiting.poll_unpin(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    happens();
    assert_eq!(task::block_on(waiting), VALUE);
    let (ready, happens) = wait();
    happens();
    assert_eq!(task::block_on(ready), VALUE);
}

/// A task that waits, and what ends it.
fn waiting_task() -> (JoinHandle<u8>, impl FnOnce()) {
    let (completer, end) = task::completion::<u8>();
    let task = task::spawn(async move { end.await.unwrap_or_default() });
    (task, move || completer.complete(VALUE))
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_does_not_panic_in_what_waits_for_tasks() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        its_waker_may_panic(|| {
            let (task, end) = waiting_task();
            (task.map(Result::unwrap), end)
        });
        its_waker_may_panic(|| {
            let (task, end) = waiting_task();
            let all = task::when_all([task]);
            let sum = all.map(|ends| ends.into_iter().map(Result::unwrap).sum::<u8>());
            (sum, end)
        });
        its_waker_may_panic(|| {
            let (first, end) = waiting_task();
            let (other, other_end) = waiting_task();
            let any = task::when_any([first, other]);
            let first = any.map(move |ended| {
                drop(other_end);
                ended.result.unwrap()
            });
            (first, end)
        });
        its_waker_may_panic(|| {
            let (task, end) = waiting_task();
            let mut each = task::when_each([task]);
            let next = async move { each.next().await.unwrap().1.unwrap() };
            (next, end)
        });
        its_waker_may_panic(|| {
            let (task, end) = waiting_task();
            let mut group = TaskGroup::new();
            group.push(task);
            let ends = group.wait();
            let sum = ends.map(|ends| ends.into_iter().map(Result::unwrap).sum::<u8>());
            (sum, end)
        });
        its_waker_may_panic(|| {
            let tracker = TaskTracker::new();
            let token = tracker.token();
            tracker.close();
            let ended = async move {
                tracker.wait().await;
                VALUE
            };
            (ended, move || drop(token))
        });
    });
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_does_not_panic_in_what_waits_for_events() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        its_waker_may_panic(|| {
            let (completer, completion) = task::completion::<u8>();
            let value = completion.map(Result::unwrap);
            (value, move || completer.complete(VALUE))
        });
        its_waker_may_panic(|| {
            let source = TokenSource::new();
            let cancelled = source.token().cancelled().map(|()| VALUE);
            (cancelled, move || source.cancel())
        });
        its_waker_may_panic(|| {
            let (sender, receiver) = channel::bounded::<u8>(1);
            let received = async move { receiver.recv().await.unwrap() };
            (received, move || sender.send_blocking(VALUE).unwrap())
        });
        its_waker_may_panic(|| {
            let (completer, end) = task::completion::<u8>();
            let body = move |_: i32| end.clone().map(Result::unwrap_or_default);
            let sum = parallel::map_async(0..1, body).map(|ends| ends.into_iter().sum::<u8>());
            (sum, move || completer.complete(VALUE))
        });
        let mut looping = Box::pin(parallel::for_each_async(0..1, |_| pending()));
        let handle = looping.handle();
        poll_with_bomb(looping.as_mut());
        drop(looping);
        drop(handle);
    });
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_does_not_panic_in_a_sleep() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let wait = || {
            let mut sleep = Box::pin(time::sleep(Duration::from_secs(3600)));
            poll_with_bomb(sleep.as_mut());
            sleep
        };
        drop(wait());
        let mut waiting = wait();
        let polled = waiting.poll_unpin(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        let mut woken = wait();
        woken.as_mut().reset(time::now() + Duration::from_millis(2));
        task::block_on(woken);
    });
}

#[test]
fn a_waker_that_panics_does_not_panic_in_the_poll_that_wakes_it() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let waker = Waker::from(Arc::new(Grenade));
        let mut context = Context::from_waker(&waker);
        let mut passed = Box::pin(time::sleep(Duration::ZERO));
        assert!(passed.poll_unpin(&mut context).is_pending());
        assert!(passed.poll_unpin(&mut context).is_ready());
        let mut yielding = task::yield_now();
        assert!(yielding.poll_unpin(&mut context).is_pending());
        assert!(yielding.poll_unpin(&mut context).is_ready());
        // A task that does too much in one poll is put off.
        let put_off = task::spawn(async {
            let (completer, mut completion) = task::completion();
            completer.complete(());
            let waker = Waker::from(Arc::new(Grenade));
            let mut context = Context::from_waker(&waker);
            while completion.poll_unpin(&mut context).is_ready() {}
        });
        put_off.join().unwrap();
    });
}

#[test]
fn a_callback_that_panics_does_so_in_the_send_that_is_done() {
    let (sender, receiver) = channel::ChannelOptions::new()
        .capacity(1)
        .when_full(WhenFull::DropOldest)
        .on_drop(|lost: u32| blow(format!("lost {lost}")))
        .fifo();
    sender.send_blocking(1).unwrap();
    let panics = panics_of(|| sender.send_blocking(2));
    assert_eq!(
        panics.iter().map(message_of).collect::<Vec<_>>(),
        ["lost 1"]
    );
    let mut batch = VecDeque::from([3, 4]);
    let panics = panics_of(|| sender.send_many_blocking(&mut batch));
    assert_eq!(
        panics.iter().map(message_of).collect::<Vec<_>>(),
        ["lost 2"]
    );
    assert_eq!(
        (receiver.recv_blocking(), batch),
        (Ok(3), VecDeque::from([4]))
    );
}

#[test]
fn when_all_drops_every_future_also_if_some_panic_in_it() {
    for is_ready in [true, false] {
        let ledger = Ledger::new(100);
        let things = ledger.make_all().into_iter();
        let mut all = task::when_all(things.map(|thing| {
            // Dropped with the closure, and so with the future.
            let bomb = Bomb(thing.id % 3 == 1);
            std::future::poll_fn(move |_| {
                let _ = (&thing, &bomb);
                if is_ready {
                    Poll::Ready(thing.id)
                } else {
                    Poll::Pending
                }
            })
        }));
        let polled = all.poll_unpin(&mut Context::from_waker(Waker::noop()));
        if is_ready {
            assert_eq!(polled, Poll::Ready((0..100).collect()));
        }
        drop(all);
        assert_eq!(ledger.count_dropped(), 100);
        ledger.assert_settled();
    }
}

/// Panics when it is dropped, if it says so.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 {
            blow("dropped");
        }
    }
}

/// Ends at once, and panics when it is dropped.
struct EndsBadly<T>(T);

impl<T: Copy> Future for EndsBadly<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(self.0)
    }
}

impl<T> Drop for EndsBadly<T> {
    fn drop(&mut self) {
        blow("dropped");
    }
}

#[test]
fn a_scope_panics_with_what_the_drop_of_a_future_panics_with() {
    within(60, || {
        let panics = panics_of(|| task::scope_blocking(|scope| scope.spawn(EndsBadly(()))));
        assert_eq!(panics.len(), 1);
        assert_eq!(message_of(&panics[0]), "dropped");
    });
}

/// Panics when it is polled, and again when it is dropped.
struct PanicsTwice;

impl Future for PanicsTwice {
    type Output = Result<(), ()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        blow("polled")
    }
}

impl Drop for PanicsTwice {
    fn drop(&mut self) {
        blow("dropped");
    }
}

#[test]
fn a_future_that_panics_twice_has_failed_with_the_first_panic() {
    within(60, || {
        let failed = task::try_scope_blocking(|scope| scope.spawn(PanicsTwice));
        let Err(GroupError::Ended(0, error)) = failed else {
            panic!("{failed:?} hides the panic");
        };
        assert_eq!(message_of(&error.try_into_panic().unwrap()), "polled");
    });
}

#[test]
fn a_future_that_panics_when_it_is_dropped_has_failed_in_a_scope_whose_futures_may_fail() {
    within(60, || {
        for ended in [Ok(()), Err(())] {
            let failed = task::try_scope_blocking(|scope| scope.spawn(EndsBadly(ended)));
            let Err(GroupError::Ended(0, error)) = failed else {
                panic!("{failed:?} hides the panic");
            };
            assert_eq!(message_of(&error.try_into_panic().unwrap()), "dropped");
        }
    });
}
