//! Wakers, callbacks and drops that panic, or use the object that calls them: no other code notices, and nothing is
//! lost.

use crate::support::{Ledger, blow, message_of, panics_of, within};
use futures::FutureExt;
use manyhands::cancel::TokenSource;
use manyhands::channel::{self, TryRecvError, WhenFull};
use manyhands::{parallel, task};
use std::collections::VecDeque;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

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
