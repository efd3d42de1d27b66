//! Broadcast and watch channels.
//!
//! Threads: two or three. Operations: send, a change by a closure, blocking receive, a receive that is polled once and dropped, the
//! end of the last sender.
//! Property: a receiver gets every item in order, or the number of items it lost; a wait for a change ends when
//! there is one, and returns the newest value; a wait for a value ends with it; no change by a closure is lost; no
//! receiver sleeps while there is a new item, or after the end.

use super::{check, poll_once};
use crate::channel::{self, broadcast::RecvError};
use loom::thread;

#[test]
fn every_receiver_gets_every_item_in_order() {
    check(|| {
        let (sender, mut receiver) = channel::broadcast(2);
        let mut other = receiver.clone();
        let speaker = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let listener = thread::spawn(move || (other.recv_blocking(), other.recv_blocking()));
        assert_eq!(
            (receiver.recv_blocking(), receiver.recv_blocking()),
            (Ok(1), Ok(2))
        );
        assert!(receiver.recv_blocking().is_err());
        assert_eq!(listener.join().unwrap(), (Ok(1), Ok(2)));
        speaker.join().unwrap();
    });
}

#[test]
fn what_is_lost_and_what_is_received_add_up() {
    check(|| {
        let (sender, mut receiver) = channel::broadcast(1);
        let speaker = thread::spawn(move || {
            (1..=3).for_each(|item| assert!(sender.send(item).is_ok()));
        });
        let mut last = 0;
        loop {
            match receiver.recv_blocking() {
                Ok(item) => {
                    assert_eq!(item, last + 1);
                    last = item;
                }
                Err(RecvError::Lagged(lost)) => last += lost,
                Err(RecvError::Closed(_)) => break,
            }
        }
        assert_eq!(last, 3);
        speaker.join().unwrap();
    });
}

#[test]
fn a_receive_that_is_given_up_skips_nothing() {
    check(|| {
        let (sender, mut receiver) = channel::broadcast(2);
        let mut other = receiver.clone();
        let speaker = thread::spawn(move || assert!(sender.send(1).is_ok()));
        let is_over = poll_once(receiver.recv()).is_some();
        assert_eq!(other.recv_blocking(), Ok(1));
        assert_eq!(receiver.recv_blocking().is_ok(), !is_over);
        speaker.join().unwrap();
    });
}

#[test]
fn a_wait_for_a_change_returns_the_newest() {
    check(|| {
        let (sender, mut receiver) = channel::watch(0);
        let writer = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let first = *receiver.changed_blocking().unwrap();
        if first == 1 {
            assert_eq!(receiver.changed_blocking().as_deref(), Ok(&2));
        }
        assert!(receiver.changed_blocking().is_err());
        writer.join().unwrap();
    });
}

#[test]
fn every_watcher_is_notified() {
    check(|| {
        let (sender, mut receiver) = channel::watch(0);
        let mut other = receiver.clone();
        let watcher = thread::spawn(move || other.changed_blocking().map(|value| *value));
        let writer = thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        let _ = poll_once(receiver.changed());
        assert_eq!(watcher.join().unwrap(), Ok(1));
        // Kept until now, so that only the change can notify, not the end of the channel.
        drop(writer.join().unwrap());
        assert_eq!(*receiver.latest(), 1);
    });
}

#[test]
fn a_wait_for_a_value_ends_with_it() {
    check(|| {
        let (sender, mut receiver) = channel::watch(0);
        let writer = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            sender
        });
        let found = receiver.wait_for_blocking(|value| *value == 2);
        assert_eq!(found.as_deref(), Ok(&2));
        // Kept until now, so that only the value can end the wait, not the end of the channel.
        drop(writer.join().unwrap());
    });
}

#[test]
fn no_change_by_a_closure_is_lost() {
    check(|| {
        let (sender, receiver) = channel::watch(0);
        let other = sender.clone();
        let writer = thread::spawn(move || other.send_modify(|value| *value += 1));
        assert_eq!(sender.send_modify(|value| *value += 2), Ok(()));
        assert_eq!(writer.join().unwrap(), Ok(()));
        assert_eq!(*receiver.latest(), 3);
    });
}
