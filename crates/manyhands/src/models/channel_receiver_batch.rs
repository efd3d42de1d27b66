//! Channels whose receivers move items to the receiver batch (the head), and the notifications across it.
//!
//! Threads: two or three. Operations: a receive that finds more than one item, which fills the head; receives from
//! it, by one receiver and by two; a send that waits for room, a wait for the drain, and a close meanwhile.
//! Property: each item is received once and in order, or given back; a thread that waits for a change of the head is
//! notified, else there is a deadlock here; a notified thread that does not come delays one position only.

use super::{beside, check};
use crate::channel::{self, TryRecvError, TrySendError};
use loom::thread;
use std::pin::Pin;
use std::task::{Context, Waker};

/// The second receive takes from the head while a sender finds the channel full, and waits for just that; nothing
/// later could notify it.
#[test]
fn a_sender_that_waits_hears_of_what_leaves_the_head() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (1..3).for_each(|n| sender.send_blocking(n).unwrap());
        let producer = beside(&sender, |sender| {
            (3..5).for_each(|n| sender.send_blocking(n).unwrap());
        });
        assert_eq!(
            (receiver.recv_blocking(), receiver.recv_blocking()),
            (Ok(1), Ok(2))
        );
        producer.join().unwrap();
        assert_eq!(
            (receiver.recv_blocking(), receiver.recv_blocking()),
            (Ok(3), Ok(4))
        );
        // Kept until here, because dropping it would notify the waiters once more.
        drop(sender);
    });
}

/// The item behind the first is in the head, on its way there, or in the line, and one of both gets it, before what
/// was sent later.
#[test]
fn two_receivers_share_the_head() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        (1..3).for_each(|n| sender.send_blocking(n).unwrap());
        let consumer = beside(&receiver, |receiver| receiver.recv_blocking().unwrap());
        let producer = thread::spawn(move || {
            sender.send_blocking(3).unwrap();
            sender
        });
        let received = [
            receiver.recv_blocking().unwrap(),
            receiver.recv_blocking().unwrap(),
        ];
        assert!(received[0] < received[1], "{received:?}");
        assert_eq!(received[0] + received[1] + consumer.join().unwrap(), 6);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(producer.join().unwrap());
    });
}

/// A sender looks at the head without its lock: it never finds room that is not there, and finds what there is.
#[test]
fn a_channel_with_a_head_holds_no_more_than_its_capacity() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (1..3).for_each(|n| sender.send_blocking(n).unwrap());
        let producer = beside(&sender, |sender| {
            let send = |n: &u32| sender.try_send(*n).is_ok();
            let sent = (3..6).filter(send).inspect(|_| assert!(sender.len() <= 2));
            sent.count()
        });
        let received = [
            receiver.recv_blocking().unwrap(),
            receiver.recv_blocking().unwrap(),
        ];
        assert_eq!(received, [1, 2]);
        let sent = producer.join().unwrap();
        assert!(sent <= 2 && receiver.len() == sent);
        let more = (6..9).filter(|n| sender.try_send(*n).is_ok()).count();
        assert_eq!(sent + more, 2);
        assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
    });
}

/// What is in the head belongs to the channel: it is not drained before that is out.
#[test]
fn a_waiter_for_the_drain_is_notified_of_what_leaves_the_batch() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        (1..3).for_each(|n| sender.send_blocking(n).unwrap());
        let consumer = beside(&receiver, |receiver| {
            [receiver.recv_blocking(), receiver.recv_blocking()]
        });
        sender.close();
        assert!(sender.wait_drained_blocking().is_ok());
        assert!(matches!(receiver.try_recv(), Err(TryRecvError::Closed(_))));
        assert_eq!(consumer.join().unwrap(), [Ok(1), Ok(2)]);
    });
}

/// A receive that waits, and one that takes from the head: the last one finds an item.
#[test]
fn nobody_waits_beside_a_head_with_items() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        let consumer = beside(&receiver, |receiver| receiver.recv_blocking().unwrap());
        let producer = thread::spawn(move || {
            (1..4).for_each(|n| sender.send_blocking(n).unwrap());
            sender
        });
        let received = receiver.recv_blocking().unwrap() + receiver.recv_blocking().unwrap();
        assert_eq!(received + consumer.join().unwrap(), 6);
        drop(producer.join().unwrap());
    });
}

/// Two places get free in one step, and the first of two senders that wait does not come for its.
#[test]
fn a_sender_that_was_notified_and_does_not_come_holds_up_one_place() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (1..3).for_each(|n| sender.send_blocking(n).unwrap());
        let mut idle = sender.send(3);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut idle).poll(&mut cx).is_pending());
        let producer = beside(&sender, |sender| sender.send_blocking(4).unwrap());
        let mut received = Vec::new();
        assert_eq!(receiver.recv_many_blocking(&mut received, 2), Ok(2));
        producer.join().unwrap();
        assert_eq!(received, [1, 2]);
        assert_eq!(receiver.recv_blocking(), Ok(4));
        drop(idle);
    });
}

/// Of two senders that wait, the first is notified and does not come. The items behind move to the head, and the second
/// one hears of its room when enough of these have been taken.
#[test]
fn a_sender_hears_of_what_leaves_a_head_that_was_filled_while_it_waited() {
    check(|| {
        let (sender, receiver) = channel::bounded(16);
        (0..16).for_each(|n| sender.send_blocking(n).unwrap());
        let mut idle = sender.send(16);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut idle).poll(&mut cx).is_pending());
        let producer = beside(&sender, |sender| sender.send_blocking(17).unwrap());
        (0..3).for_each(|n| assert_eq!(receiver.recv_blocking(), Ok(n)));
        producer.join().unwrap();
        let left: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        assert!(left.into_iter().eq((3..16).chain([17])));
        drop(idle);
    });
}
