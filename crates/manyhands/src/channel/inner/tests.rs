//! Unit tests of `inner.rs`: who is notified, what moves into the batch, and what a look without the lock sees.

use super::{ChannelInner, Seen};
use crate::channel::buffer::ItemBuffer;
use crate::channel::step::Sending;
use crate::channel::wait_list::WaiterKey;
use crate::channel::{RecvError, TryRecvError, TrySendError, WhenFull};
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

#[test]
fn who_retries_sees_when_there_may_be_an_item() {
    let shared = channel(4);
    let seen = Seen::default();
    assert!(shared.may_have_changed(&seen), "nothing was seen yet");
    assert_eq!(shared.try_recv_and_note(&seen), Err(TryRecvError::Empty));
    assert!(!shared.may_have_changed(&seen));
    assert_eq!(shared.try_send(7), Ok(()));
    assert!(shared.may_have_changed(&seen));
    assert_eq!(shared.try_recv_and_note(&seen), Ok(7));
}

#[test]
fn who_retries_sees_when_there_may_be_room_also_in_the_batch() {
    let shared = channel(4);
    (0..4).for_each(|n| assert_eq!(shared.try_send(n), Ok(())));
    let seen = Seen::default();
    assert!(shared.may_have_room(&seen), "nothing was seen yet");
    for n in [4, 5, 6] {
        assert_eq!(
            shared.try_send_and_note(n, &seen),
            Err(TrySendError::Full(n))
        );
        assert!(!shared.may_have_room(&seen));
        // The first receive locks the state, later ones take from the batch.
        assert!(shared.try_recv().is_ok());
        assert!(shared.may_have_room(&seen));
        assert_eq!(shared.try_send_and_note(n, &seen), Ok(()));
    }
}
