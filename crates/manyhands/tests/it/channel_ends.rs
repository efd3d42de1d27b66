//! Ends of channels that are compared, and senders that do not keep their channel open.

use crate::support::within;
use manyhands::channel;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

#[test]
fn ends_are_of_the_same_channel_whatever_has_been_cloned() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    let (other_sender, other_receiver) = channel::bounded::<u32>(1);
    assert!(sender.same_channel(&sender.clone()) && receiver.same_channel(&receiver.clone()));
    assert!(!sender.same_channel(&other_sender) && !receiver.same_channel(&other_receiver));
    assert!(sender.downgrade().upgrade().unwrap().same_channel(&sender));
}

#[test]
fn a_weak_sender_keeps_no_channel_open_and_no_item_alive() {
    let item = Arc::new(());
    let (sender, receiver) = channel::unbounded();
    let weak = sender.downgrade();
    sender.send_blocking(Arc::clone(&item)).unwrap();
    drop(sender);
    assert!(receiver.is_closed() && weak.upgrade().is_none());
    assert!(receiver.recv_blocking().is_ok() && receiver.recv_blocking().is_err());
    let (sender, receiver) = channel::unbounded();
    let weak = sender.downgrade();
    sender.send_blocking(Arc::clone(&item)).unwrap();
    drop((sender, receiver));
    assert_eq!(Arc::strong_count(&item), 1);
    assert!(weak.clone().upgrade().is_none());
}

#[test]
fn a_sender_that_was_weak_keeps_its_channel_open() {
    let (sender, receiver) = channel::unbounded();
    let again = sender.downgrade().upgrade().unwrap();
    drop(sender);
    again.send_blocking(1).unwrap();
    assert!(!receiver.is_closed() && receiver.recv_blocking() == Ok(1));
    // Closed by hand, a channel still has senders.
    assert!(again.close());
    let closed = again.downgrade().upgrade().unwrap();
    assert!(closed.send_blocking(2).is_err());
    drop(again);
    assert!(closed.downgrade().upgrade().is_some());
}

#[test]
fn who_gets_a_sender_while_the_last_one_is_dropped_has_an_open_channel() {
    within(60, || {
        let opened = AtomicUsize::new(0);
        for _ in 0..if cfg!(miri) { 10 } else { 2_000 } {
            let (sender, receiver) = channel::unbounded();
            let weak = sender.downgrade();
            let start = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    if let Some(sender) = weak.upgrade() {
                        opened.fetch_add(1, Ordering::Relaxed);
                        sender.send_blocking(7).expect("nobody has closed it");
                    }
                });
                start.wait();
                drop(sender);
            });
            assert!(weak.upgrade().is_none());
            // What was sent has arrived, and the end after it.
            assert_eq!(receiver.iter().count(), opened.swap(0, Ordering::Relaxed));
        }
    });
}
