//! Broadcast and watch channels.

use crate::support::{blow, panics_of, within};
use futures::executor::block_on;
use futures::future::FutureExt;
use futures::stream::{FusedStream, StreamExt};
use manyhands::channel::broadcast::{Receiver, RecvError, TryRecvError};
use manyhands::channel::{self, SendError};
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn every_receiver_gets_every_item_in_order_in_threads_and_async() {
    within(60, || {
        let (sender, receiver) = channel::broadcast(20_000);
        let listeners: Vec<_> = (0..4)
            .map(|id| {
                let mut receiver = receiver.clone();
                thread::spawn(move || {
                    for expected in 0..10_000_u32 {
                        let received = if id % 2 == 0 {
                            receiver.recv_blocking()
                        } else {
                            block_on(receiver.recv())
                        };
                        assert_eq!(received, Ok(expected));
                    }
                    assert!(matches!(
                        receiver.recv_blocking(),
                        Err(RecvError::Closed(_))
                    ));
                })
            })
            .collect();
        drop(receiver);
        for item in 0..10_000 {
            sender.send(item).unwrap();
        }
        drop(sender);
        listeners
            .into_iter()
            .for_each(|listener| listener.join().unwrap());
    });
}

#[test]
fn a_receiver_that_lags_learns_how_many_items_it_lost() {
    let (sender, mut receiver) = channel::broadcast(3);
    (0..10).for_each(|item| assert_eq!(sender.send(item), Ok(1)));
    assert_eq!(receiver.recv_blocking(), Err(RecvError::Lagged(7)));
    assert_eq!(receiver.clone().recv_blocking(), Ok(7));
    assert_eq!(
        [
            receiver.recv_blocking(),
            receiver.recv_blocking(),
            receiver.recv_blocking()
        ],
        [7, 8, 9].map(Ok)
    );
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert!(
        receiver
            .recv_timeout_blocking(Duration::from_millis(1))
            .is_err()
    );
}

#[test]
fn an_item_is_dropped_when_the_last_receiver_has_it_or_is_gone() {
    let item = Arc::new(());
    let (sender, mut receiver) = channel::broadcast(8);
    let other = receiver.clone();
    sender.send(Arc::clone(&item)).unwrap();
    drop(receiver.recv_blocking());
    assert_eq!((Arc::strong_count(&item), sender.len()), (2, 1));
    drop(other);
    assert_eq!((Arc::strong_count(&item), sender.len()), (1, 0));
    drop(receiver);
    assert_eq!(sender.send(Arc::clone(&item)), Ok(0));
    assert_eq!((Arc::strong_count(&item), sender.receiver_count()), (1, 0));
}

#[test]
fn a_broadcast_that_is_closed_gives_items_back_and_its_reason_to_every_receiver() {
    let (sender, mut receiver) = channel::broadcast(8);
    let mut late = sender.subscribe();
    sender.send(1).unwrap();
    assert!(sender.close_with("over"));
    assert!(!sender.close());
    assert_eq!(sender.send(2), Err(SendError(2)));
    for receiver in [&mut receiver, &mut late] {
        assert_eq!(receiver.recv_blocking(), Ok(1));
        let reason = receiver
            .recv_blocking()
            .unwrap_err()
            .source()
            .unwrap()
            .to_string();
        assert_eq!(reason, "over");
    }
}

#[test]
fn a_broadcast_receive_that_is_given_up_skips_nothing() {
    let (sender, mut receiver) = channel::broadcast(8);
    for item in 0..100 {
        let mut given_up = receiver.recv();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(given_up.poll_unpin(&mut cx).is_pending());
        sender.send(item).unwrap();
        drop(given_up);
        assert_eq!(receiver.recv_blocking(), Ok(item));
    }
}

#[test]
fn a_watcher_sees_the_newest_value_and_each_change_once() {
    let (sender, mut receiver) = channel::watch(0);
    assert!(!receiver.has_changed());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(*receiver.latest(), 2);
    assert_eq!(receiver.changed_blocking().as_deref(), Ok(&2));
    assert!(!receiver.has_changed() && receiver.changed().now_or_never().is_none());
    assert!(
        sender
            .subscribe()
            .changed_timeout_blocking(Duration::from_millis(1))
            .is_err()
    );
    sender.send(3).unwrap();
    drop(sender);
    assert_eq!(block_on(receiver.changed()).as_deref(), Ok(&3));
    assert!(receiver.changed_blocking().is_err());
    assert_eq!(*receiver.latest(), 3);
}

#[test]
fn every_watcher_reaches_the_last_value() {
    within(60, || {
        let (sender, receiver) = channel::watch(0_u32);
        let watchers: Vec<_> = (0..4)
            .map(|id| {
                let mut receiver = receiver.clone();
                thread::spawn(move || {
                    let mut last = 0;
                    while let Ok(value) = if id % 2 == 0 {
                        receiver.changed_blocking()
                    } else {
                        block_on(receiver.changed())
                    } {
                        assert!(*value > last);
                        last = *value;
                    }
                    last
                })
            })
            .collect();
        (1..=5_000).for_each(|value| sender.send(value).unwrap());
        drop(sender);
        for watcher in watchers {
            assert_eq!(watcher.join().unwrap(), 5_000);
        }
    });
}

#[test]
fn a_watch_that_is_closed_gives_values_back() {
    let (sender, receiver) = channel::watch(1);
    assert!(sender.close_with("over"));
    assert_eq!(sender.send(2), Err(SendError(2)));
    assert!(receiver.is_closed() && sender.is_closed());
    assert_eq!((*sender.latest(), sender.receiver_count()), (1, 1));
}

#[test]
fn streams_get_every_item_or_hear_how_many_are_lost_and_end_with_the_channel() {
    within(60, || {
        let (sender, receiver) = channel::broadcast(4);
        let listeners: Vec<_> = (0..3)
            .map(|_| {
                let stream = receiver.clone().into_stream();
                thread::spawn(move || {
                    block_on(stream.fold(0_u64, async |next, item| match item {
                        Ok(item) => {
                            assert_eq!(item, next);
                            next + 1
                        }
                        Err(RecvError::Lagged(lost)) => next + lost,
                        Err(RecvError::Closed(_)) => unreachable!("a stream ends then"),
                    }))
                })
            })
            .collect();
        drop(receiver);
        (0..10_000_u64).for_each(|item| assert!(sender.send(item).is_ok()));
        drop(sender);
        for listener in listeners {
            assert_eq!(listener.join().unwrap(), 10_000);
        }
    });
}

#[test]
fn a_watch_s_stream_shows_changes_up_to_the_last_value() {
    within(60, || {
        let (sender, receiver) = channel::watch(0_u32);
        let watcher = thread::spawn(move || {
            block_on(receiver.into_stream().fold(0, async |last, value| {
                assert!(*value > last);
                *value
            }))
        });
        (1..=5_000).for_each(|value| sender.send(value).unwrap());
        drop(sender);
        assert_eq!(watcher.join().unwrap(), 5_000);
    });
}

#[test]
fn streams_wait_for_what_is_new_and_are_over_once_only() {
    let (sender, receiver) = channel::broadcast(4);
    let mut items = receiver.clone().into_stream();
    assert_eq!(
        (items.next().now_or_never(), sender.receiver_count()),
        (None, 2)
    );
    sender.send(1).unwrap();
    assert_eq!(items.next().now_or_never(), Some(Some(Ok(1))));
    // Given up while it waits, a stream leaves no waker behind.
    let woken = Arc::new(Woken);
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = receiver.clone().into_stream();
    let polled = waiting.poll_next_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_ready());
    let polled = waiting.poll_next_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_pending() && Arc::strong_count(&woken) == 3);
    drop(waiting);
    assert_eq!(Arc::strong_count(&woken), 2);
    drop(sender);
    assert!(!items.is_terminated());
    assert_eq!(items.next().now_or_never(), Some(None));
    assert!(items.is_terminated());

    let (sender, receiver) = channel::watch(1);
    let mut changes = receiver.clone().into_stream();
    let polled = changes.poll_next_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_pending() && Arc::strong_count(&woken) == 3);
    drop(changes);
    assert_eq!(Arc::strong_count(&woken), 2);
    let mut changes = receiver.into_stream();
    assert!(sender.close() && !changes.is_terminated());
    assert_eq!(changes.next().now_or_never(), Some(None));
    assert!(changes.is_terminated());
}

struct Woken;

impl Wake for Woken {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn an_item_whose_drop_panics_when_it_was_cloned_does_not_lose_the_clone() {
    struct Item {
        is_original: bool,
        /// Lets the channel's item go when the first receiver clones it.
        other: Mutex<Option<Receiver<Self>>>,
        counted: Arc<()>,
    }
    impl Clone for Item {
        fn clone(&self) -> Self {
            drop(self.other.lock().unwrap().take());
            Self {
                is_original: false,
                other: Mutex::new(None),
                counted: Arc::clone(&self.counted),
            }
        }
    }
    impl Drop for Item {
        fn drop(&mut self) {
            if self.is_original && !thread::panicking() {
                blow("dropped");
            }
        }
    }
    let counted = Arc::new(());
    let (sender, mut receiver) = channel::broadcast(1);
    let item = Item {
        is_original: true,
        other: Mutex::new(Some(receiver.clone())),
        counted: Arc::clone(&counted),
    };
    assert!(sender.send(item).is_ok());
    assert_eq!(panics_of(|| receiver.try_recv()).len(), 1);
    assert_eq!(Arc::strong_count(&counted), 1);
}
