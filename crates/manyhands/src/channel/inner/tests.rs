//! Unit tests of `inner.rs`: which waiter is notified, what moves into the batch, and what a look without the lock sees.

use super::{ChannelInner, Seen};
use crate::channel::WaiterKey;
use crate::channel::buffer::ItemBuffer;
use crate::channel::step::Sending;
use crate::channel::{RecvError, SendError, TryRecvError, TrySendError, WhenFull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts how often it was woken.
#[derive(Default)]
struct Waiter {
    wakes: AtomicUsize,
}

impl Waiter {
    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

fn channel(capacity: usize) -> ChannelInner<u32> {
    ChannelInner::new(ItemBuffer::fifo(), capacity, WhenFull::Wait, None)
}

fn poll_recv(
    shared: &ChannelInner<u32>,
    key: &mut Option<WaiterKey>,
    waiter: &Arc<Waiter>,
) -> Poll<Result<u32, RecvError>> {
    let waker = Waker::from(Arc::clone(waiter));
    shared.poll_recv(key, &Context::from_waker(&waker))
}

#[test]
fn a_receiver_that_waits_again_is_notified_again() {
    let (shared, waiter) = (channel(4), Arc::default());
    for n in 1..4 {
        let mut key = None;
        assert!(poll_recv(&shared, &mut key, &waiter).is_pending());
        assert_eq!(shared.try_send(7), Ok(()));
        assert_eq!(waiter.wakes(), n);
        assert_eq!(poll_recv(&shared, &mut key, &waiter), Poll::Ready(Ok(7)));
        assert!(key.is_none());
    }
}

#[test]
fn a_receive_moves_the_rest_into_the_batch_unless_items_may_fall_out() {
    for (when_full, moved) in [(WhenFull::Wait, 3), (WhenFull::DropOldest, 0)] {
        let shared = ChannelInner::new(ItemBuffer::fifo(), 4, when_full, None);
        (0..4).for_each(|n| assert_eq!(shared.try_send(n), Ok(())));
        assert_eq!(shared.try_recv(), Ok(0));
        assert_eq!((shared.batch.len(), shared.buffered()), (moved, 3));
    }
}

#[test]
fn each_item_notifies_one_waiting_receiver() {
    let (shared, waiters) = (channel(4), <[Arc<Waiter>; 3]>::default());
    let mut keys = [None, None, None];
    for (waiter, key) in waiters.iter().zip(&mut keys) {
        assert!(poll_recv(&shared, key, waiter).is_pending());
    }
    for wakes in [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]] {
        assert_eq!(shared.try_send(7), Ok(()));
        assert_eq!(waiters.each_ref().map(|waiter| waiter.wakes()), wakes);
    }
}

#[test]
fn a_notified_receiver_notifies_the_sender_that_waits_for_its_room() {
    let (shared, receiver, sender) = (channel(1), Arc::default(), Arc::<Waiter>::default());
    let mut key = None;
    assert!(poll_recv(&shared, &mut key, &receiver).is_pending());
    assert_eq!(shared.try_send(1), Ok(()));
    let mut sending = Sending {
        item: Some(2),
        key: None,
    };
    let waker = Waker::from(Arc::clone(&sender));
    let cx = Context::from_waker(&waker);
    assert!(shared.poll_send(&mut sending, &cx).is_pending());
    assert_eq!(poll_recv(&shared, &mut key, &receiver), Poll::Ready(Ok(1)));
    assert_eq!(sender.wakes(), 1);
    assert_eq!(shared.poll_send(&mut sending, &cx), Poll::Ready(Ok(())));
    assert_eq!(shared.try_recv(), Ok(2));
}

/// Has a receiver wait that comes too late again and again, and leaves it notified of one item.
fn with_late_receiver(shared: &ChannelInner<u32>) -> Option<WaiterKey> {
    let (mut late, waiter) = (None, Arc::default());
    assert!(poll_recv(shared, &mut late, &waiter).is_pending());
    for n in 0..20 {
        assert_eq!(shared.try_send(n), Ok(()));
        assert_eq!(shared.try_recv(), Ok(n));
        assert!(poll_recv(shared, &mut late, &waiter).is_pending());
    }
    assert_eq!(shared.try_send(20), Ok(()));
    late
}

#[test]
fn a_late_receiver_that_never_comes_puts_others_off_for_a_while_only() {
    let (shared, waiter) = (channel(4), Arc::default());
    let mut late = with_late_receiver(&shared);
    let polls = (1..).find(|_| poll_recv(&shared, &mut None, &waiter).is_ready());
    assert_eq!(polls, Some(1_025));
    assert_eq!(waiter.wakes(), 1_024, "who is put off is woken");
    shared.cancel_recv(&mut late);
}

#[test]
fn newcomers_have_what_a_late_receiver_was_not_notified_of() {
    let (shared, waiter) = (channel(4), Arc::default());
    let mut late = with_late_receiver(&shared);
    assert_eq!(shared.try_send(21), Ok(()));
    assert_eq!(poll_recv(&shared, &mut None, &waiter), Poll::Ready(Ok(20)));
    assert!(poll_recv(&shared, &mut None, &waiter).is_pending());
    let cx = Context::from_waker(Waker::noop());
    let mut items = Vec::new();
    (22..24).for_each(|n| assert_eq!(shared.try_send(n), Ok(())));
    let many = shared.poll_recv_many(&mut None, &cx, &mut items, 9);
    assert_eq!((many, items), (Poll::Ready(Ok(2)), vec![21, 22]));
    assert_eq!(poll_recv(&shared, &mut late, &waiter), Poll::Ready(Ok(23)));
    assert_eq!(shared.try_send(24), Ok(()));
    assert_eq!(poll_recv(&shared, &mut None, &waiter), Poll::Ready(Ok(24)));
}

#[test]
fn a_late_receiver_puts_nobody_off_in_a_closed_channel_and_after_it_has_left() {
    for is_closed in [true, false] {
        let (shared, waiter) = (channel(4), Arc::default());
        let mut late = with_late_receiver(&shared);
        if is_closed {
            assert!(shared.close(None));
        } else {
            shared.cancel_recv(&mut late);
        }
        assert_eq!(poll_recv(&shared, &mut None, &waiter), Poll::Ready(Ok(20)));
        shared.cancel_recv(&mut late);
    }
}

fn poll_send(
    shared: &ChannelInner<u32>,
    sending: &mut Sending<u32>,
    waiter: &Arc<Waiter>,
) -> Poll<Result<(), SendError<u32>>> {
    let waker = Waker::from(Arc::clone(waiter));
    shared.poll_send(sending, &Context::from_waker(&waker))
}

const fn sending(item: u32) -> Sending<u32> {
    Sending {
        item: Some(item),
        key: None,
    }
}

/// As [`with_late_receiver`], of a sender and one place of a channel.
fn with_late_sender(shared: &ChannelInner<u32>) -> Sending<u32> {
    let (mut late, waiter) = (sending(99), Arc::default());
    let mut items = 0..;
    let mut send_next = || shared.try_send(items.next().expect("there are more"));
    (0..shared.capacity).for_each(|_| assert_eq!(send_next(), Ok(())));
    assert!(poll_send(shared, &mut late, &waiter).is_pending());
    for n in 0..20 {
        assert_eq!(shared.try_recv(), Ok(n));
        assert_eq!(send_next(), Ok(()));
        assert!(poll_send(shared, &mut late, &waiter).is_pending());
    }
    assert_eq!(shared.try_recv(), Ok(20));
    late
}

#[test]
fn newcomers_have_the_room_that_a_late_sender_was_not_notified_of() {
    for received_more in 0..3 {
        let (shared, waiter) = (channel(4), Arc::default());
        let mut late = with_late_sender(&shared);
        (0..received_more).for_each(|n| assert_eq!(shared.try_recv(), Ok(21 + n)));
        for n in 0..received_more {
            let sent = poll_send(&shared, &mut sending(n), &waiter);
            assert_eq!(sent, Poll::Ready(Ok(())));
        }
        for polls in 1..9 {
            assert!(poll_send(&shared, &mut sending(7), &waiter).is_pending());
            assert_eq!(waiter.wakes(), polls, "who is put off is woken");
        }
        assert_eq!(poll_send(&shared, &mut late, &waiter), Poll::Ready(Ok(())));
        assert_eq!(shared.try_send(8), Err(TrySendError::Full(8)));

        let (shared, waiter) = (channel(4), Arc::default());
        let mut late = with_late_sender(&shared);
        (0..received_more).for_each(|n| assert_eq!(shared.try_recv(), Ok(21 + n)));
        let sent = (0..9).take_while(|n| shared.try_send(*n).is_ok());
        assert_eq!(sent.count(), received_more as usize + 1, "all of it");
        assert!(poll_send(&shared, &mut late, &waiter).is_pending());
    }
}

#[test]
fn a_late_sender_that_never_comes_puts_others_off_for_a_while_only() {
    for receivers in [0, 1] {
        let (shared, waiter) = (channel(1), Arc::default());
        let mut late = with_late_sender(&shared);
        let mut keys: Vec<_> = (0..receivers).map(|_| None).collect();
        for key in &mut keys {
            assert!(poll_recv(&shared, key, &Arc::default()).is_pending());
        }
        let mut newcomer = sending(1);
        let polls = (1..).find(|_| poll_send(&shared, &mut newcomer, &waiter).is_ready());
        assert_eq!((polls, waiter.wakes()), (Some(1_025), 1_024));
        assert_eq!(shared.cancel_send(&mut late), Some(99));
        for key in &mut keys {
            shared.cancel_recv(key);
        }
    }
}

#[test]
fn who_finds_nothing_beside_a_late_waiter_waits_and_is_not_put_off() {
    let (shared, waiter) = (channel(1), Arc::default());
    let (mut late, mut newcomer) = (with_late_sender(&shared), sending(1));
    assert_eq!(shared.try_send(21), Ok(()));
    assert!(poll_send(&shared, &mut newcomer, &waiter).is_pending());
    assert!(newcomer.key.is_some());
    assert!(shared.close(None));
    let closed = Poll::Ready(Err(SendError(2)));
    assert_eq!(poll_send(&shared, &mut sending(2), &waiter), closed);
    assert_eq!(shared.cancel_send(&mut late), Some(99));
    assert_eq!(shared.cancel_send(&mut newcomer), Some(1));

    let (shared, mut key) = (channel(4), None);
    let mut late = with_late_receiver(&shared);
    assert_eq!(shared.try_recv(), Ok(20));
    let waker = Waker::from(Arc::clone(&waiter));
    let (cx, mut items) = (Context::from_waker(&waker), Vec::new());
    let many = shared.poll_recv_many(&mut key, &cx, &mut items, 2);
    assert!(many.is_pending() && key.is_some());
    shared.cancel_recv(&mut late);
    shared.cancel_recv(&mut key);
    assert_eq!(waiter.wakes(), 1, "only the close has woken anybody");
}

#[test]
fn a_receiver_that_waits_and_was_not_notified_is_put_off_for_a_late_one_and_keeps_its_place() {
    let (shared, waiter) = (channel(4), Arc::default());
    let (mut late, mut key) = (with_late_receiver(&shared), None);
    assert_eq!(shared.try_recv(), Ok(20));
    assert!(poll_recv(&shared, &mut key, &waiter).is_pending());
    assert_eq!(shared.try_send(21), Ok(()));
    assert!(poll_recv(&shared, &mut key, &waiter).is_pending());
    assert_eq!(waiter.wakes(), 1, "who is put off is woken");
    let cx = Context::from_waker(Waker::noop());
    let many = shared.poll_recv_many(&mut key, &cx, &mut Vec::new(), 2);
    assert!(many.is_pending());
    assert!(poll_recv(&shared, &mut key, &waiter).is_pending());
    assert_eq!(poll_recv(&shared, &mut late, &waiter), Poll::Ready(Ok(21)));
    assert_eq!(shared.try_send(22), Ok(()));
    assert_eq!(waiter.wakes(), 3, "it was put off twice, then notified");
    assert_eq!(poll_recv(&shared, &mut key, &waiter), Poll::Ready(Ok(22)));
}

#[test]
fn a_sender_that_waits_and_was_not_notified_is_put_off_for_a_late_one_and_keeps_its_place() {
    let (shared, waiter) = (channel(1), Arc::default());
    let (mut late, mut other) = (with_late_sender(&shared), sending(1));
    assert_eq!(shared.try_send(21), Ok(()));
    assert!(poll_send(&shared, &mut other, &waiter).is_pending());
    assert_eq!(shared.try_recv(), Ok(21));
    assert!(poll_send(&shared, &mut other, &waiter).is_pending());
    assert_eq!(waiter.wakes(), 1, "who is put off is woken");
    assert_eq!(poll_send(&shared, &mut late, &waiter), Poll::Ready(Ok(())));
    assert_eq!((shared.try_recv(), waiter.wakes()), (Ok(99), 2));
    assert_eq!(poll_send(&shared, &mut other, &waiter), Poll::Ready(Ok(())));
    assert_eq!(shared.try_recv(), Ok(1));
}

#[test]
fn a_late_sender_puts_nobody_off_in_a_closed_channel() {
    let (shared, waiter) = (channel(1), Arc::default());
    let mut late = with_late_sender(&shared);
    assert!(shared.close(None));
    let closed = Poll::Ready(Err(SendError(1)));
    assert_eq!(poll_send(&shared, &mut sending(1), &waiter), closed);
    assert_eq!(shared.cancel_send(&mut late), Some(99));
}

#[test]
fn who_retries_sees_when_there_may_be_an_item() {
    let shared = channel(4);
    let mut seen = Seen::default();
    assert!(shared.may_have_changed(&seen), "nothing was seen yet");
    assert_eq!(
        shared.try_recv_and_note(&mut seen),
        Err(TryRecvError::Empty)
    );
    assert!(!shared.may_have_changed(&seen));
    assert_eq!(shared.try_send(7), Ok(()));
    assert!(shared.may_have_changed(&seen));
    assert_eq!(shared.try_recv_and_note(&mut seen), Ok(7));
}

#[test]
fn who_retries_sees_when_there_may_be_room_also_in_the_batch() {
    let shared = channel(4);
    (0..4).for_each(|n| assert_eq!(shared.try_send(n), Ok(())));
    let mut seen = Seen::default();
    assert!(shared.may_have_room(&seen), "nothing was seen yet");
    for n in [4, 5, 6] {
        assert_eq!(
            shared.try_send_and_note(n, &mut seen),
            Err(TrySendError::Full(n))
        );
        assert!(!shared.may_have_room(&seen));
        // The first receive locks the state, later ones take from the batch.
        assert!(shared.try_recv().is_ok());
        assert!(shared.may_have_room(&seen));
        assert_eq!(shared.try_send_and_note(n, &mut seen), Ok(()));
    }
}
