//! A channel as its ends share it: the state under its lock, and what is done when the lock is given back.
//!
//! # Threads
//! Any thread calls anything. Each operation is quiet, or one or a few [steps](ChannelInner::step): take the lock, and what
//! is in the head, change the state, settle, give both back, and only then wake, drop wakers and hand dropped items to the user.
//! Under the lock runs no user code but a waker's `clone`, the comparisons of a prioritized channel, and the
//! closure given to `peek`. Held by `tests/it/channel_lock.rs`.
//!
//! # Ordering
//! All state is behind the lock, but for the items set apart in the head, which has a lock of its own. Who wants both
//! takes the state's first. A receive that takes from the head has only that one.

use crate::channel::WhenFull;
use crate::channel::buffer::ItemBuffer;
use crate::channel::error::{CloseReason, RecvError, SendError, TryRecvError, TrySendError};
use crate::channel::future::EndFuture;
use crate::channel::receiver_batch::{ReceiverBatch, ReceiverBatchGuard};
use crate::channel::state::State;
use crate::channel::step::{DeferredWakes, Offered, Sending, Taken, Until};
use crate::channel::thread;
use crate::channel::wait_list::WaiterKey;
use crate::job;
use crate::sync::{Padded, ShortGuard, ShortLock};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What the ends of a channel share.
pub(super) struct ChannelInner<T> {
    state: Padded<ShortLock<State<T>>>,
    /// Filled only by who has the lock of the state.
    head: ReceiverBatch<T>,
    capacity: usize,
    on_drop: Option<OnDrop<T>>,
}

/// Having the lock.
type Inside<'a, T> = ShortGuard<'a, State<T>>;

/// Having the lock, and the state what is in the head.
struct Whole<'a, T> {
    state: Inside<'a, T>,
    /// None if it is empty, and stays so.
    head: Option<ReceiverBatchGuard<'a, T>>,
}

/// Called with each item that falls out of a full channel.
pub(super) type OnDrop<T> = Box<dyn Fn(T) + Send + Sync>;

impl<T> ChannelInner<T> {
    pub(super) fn new(
        line: ItemBuffer<T>,
        capacity: usize,
        when_full: WhenFull,
        on_drop: Option<OnDrop<T>>,
    ) -> Self {
        let state = State::new(line, capacity, when_full);
        Self {
            // Half of what fits goes in or out before the other side looks again.
            state: Padded(ShortLock::with_patience(state, capacity / 2)),
            head: ReceiverBatch::new(capacity / 2),
            capacity,
            on_drop,
        }
    }

    /// Whether items only go from hand to hand.
    pub(super) fn is_rendezvous(&self) -> bool {
        self.capacity == 0
    }

    /// How many items fit; `None` if there is no limit.
    pub(super) fn capacity(&self) -> Option<usize> {
        (self.capacity != usize::MAX).then_some(self.capacity)
    }

    /// One step of the protocol.
    #[inline]
    fn step<R>(&self, change: impl FnOnce(&mut State<T>, &mut DeferredWakes<T>) -> R) -> R {
        self.step_inside(self.state.lock(), change)
    }

    /// One step of the protocol, of somebody who has the lock already.
    #[inline]
    fn step_inside<R>(
        &self,
        state: Inside<'_, T>,
        change: impl FnOnce(&mut State<T>, &mut DeferredWakes<T>) -> R,
    ) -> R {
        // Declared before the guard, so that an unwinding `change` drops them after it.
        let mut deferred = DeferredWakes::none();
        let mut whole = self.whole(state);
        let result = change(&mut whole.state, &mut deferred);
        whole.state.settle(&mut deferred);
        drop(whole);
        deferred.pay(|item| match &self.on_drop {
            Some(on_drop) => on_drop(item),
            None => drop(item),
        });
        result
    }

    /// Adds what is in the head to the state.
    fn whole<'a>(&'a self, state: Inside<'a, T>) -> Whole<'a, T> {
        let mut whole = Whole { state, head: None };
        if self.head.len() > 0 {
            let mut head = self.head.lock();
            head.swap(whole.state.ahead_mut());
            whole.head = Some(head);
        }
        whole
    }

    #[inline]
    pub(super) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| state.offer_quietly(item, &self.head))
    }

    /// As [`try_send`](Self::try_send), and may find the channel full although receivers have just made room. Who can
    /// wait does not look at what they are at before there is something to be gained.
    #[inline]
    pub(super) fn try_send_to_known_room(&self, item: T) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, State::offer_to_known_room)
    }

    #[inline]
    fn try_send_by(
        &self,
        item: T,
        offer: impl FnOnce(&mut State<T>, T) -> Offered<T>,
    ) -> Result<(), TrySendError<T>> {
        let mut state = self.state.lock();
        match offer(&mut state, item) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(TrySendError::Full(item)),
            Offered::NeedsSlowPath(item) => self.try_send_inside(state, item),
        }
    }

    #[inline(never)]
    fn try_send_inside(&self, state: Inside<'_, T>, item: T) -> Result<(), TrySendError<T>> {
        match self.offer_to_waiting(state, item) {
            Ok(()) => Ok(()),
            Err((state, item)) => {
                self.step_inside(state, |state, deferred| state.offer(item, deferred))
            }
        }
    }

    /// Puts an item in where all that follows is that one receiver is told, and wakes it outside the lock.
    #[inline]
    fn offer_to_waiting<'a>(
        &self,
        mut state: Inside<'a, T>,
        item: T,
    ) -> Result<(), (Inside<'a, T>, T)> {
        match state.offer_to_waiting(item, &self.head) {
            Ok(receiver) => {
                drop(state);
                job::wake(receiver);
                Ok(())
            }
            Err(item) => Err((state, item)),
        }
    }

    /// Sends as many as there is room for, from the front.
    pub(super) fn try_send_many(&self, items: &mut VecDeque<T>) -> Result<(), TrySendError<()>> {
        loop {
            let sent = self.step(|state, deferred| {
                while !deferred.has_dropped()
                    && let Some(item) = items.pop_front()
                {
                    if let Err(error) = state.offer(item, deferred) {
                        let is_full = error.is_full();
                        items.push_front(error.into_inner());
                        return Err(if is_full {
                            TrySendError::Full(())
                        } else {
                            TrySendError::Closed(())
                        });
                    }
                }
                Ok(())
            });
            if sent.is_err() || items.is_empty() {
                return sent;
            }
        }
    }

    #[inline]
    pub(super) fn poll_send(
        &self,
        sending: &mut Sending<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let item = sending.item.take();
        let mut state = self.state.lock_patiently();
        if let Some(item) = item {
            match state.offer_quietly(item, &self.head) {
                Offered::In => return Poll::Ready(Ok(())),
                Offered::Full(item) | Offered::NeedsSlowPath(item) => sending.item = Some(item),
            }
        }
        self.poll_send_inside(state, sending, cx)
    }

    #[inline(never)]
    fn poll_send_inside(
        &self,
        mut state: Inside<'_, T>,
        sending: &mut Sending<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        if let Some(item) = sending.item.take() {
            match self.offer_to_waiting(state, item) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err((inside, item)) => {
                    state = inside;
                    sending.item = Some(item);
                }
            }
        }
        self.step_inside(state, |state, deferred| {
            state.poll_send(sending, cx.waker(), deferred)
        })
    }

    /// Gives a send up; the item if it was not sent.
    #[inline]
    pub(super) fn cancel_send(&self, sending: &mut Sending<T>) -> Option<T> {
        if sending.key.is_none() {
            return sending.item.take();
        }
        self.leave_send(sending)
    }

    #[cold]
    fn leave_send(&self, sending: &mut Sending<T>) -> Option<T> {
        self.step(|state, deferred| state.leave_send(sending, deferred))
    }

    #[inline]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        if let Some(item) = self.head.take_quietly() {
            return Ok(item);
        }
        let mut state = self.state.lock();
        match self.take_quietly(&mut state) {
            Taken::Item(item) => Ok(item),
            Taken::Empty => Err(TryRecvError::Empty),
            Taken::NeedsSlowPath => self.try_recv_inside(state),
        }
    }

    /// Takes an item from the line, and sets apart what is behind it, if the head is empty and nothing else is to
    /// be done.
    #[inline]
    fn take_quietly(&self, state: &mut State<T>) -> Taken<T> {
        if self.head.len() > 0 {
            return Taken::NeedsSlowPath;
        }
        let taken = state.take_quietly();
        if let Taken::Item(_) = taken {
            state.fill(&self.head);
        }
        taken
    }

    #[inline(never)]
    fn try_recv_inside(&self, state: Inside<'_, T>) -> Result<T, TryRecvError> {
        self.step_inside(state, |state, deferred| {
            state.take(deferred).ok_or_else(|| nothing(state))
        })
    }

    /// Receives what there is, up to `max` items.
    pub(super) fn try_recv_many(
        &self,
        items: &mut Vec<T>,
        max: usize,
    ) -> Result<usize, TryRecvError> {
        items.reserve(self.buffered().min(max));
        self.step(
            |state, deferred| match take_many(state, deferred, items, max) {
                Some(count) => Ok(count),
                None if max == 0 => Ok(0),
                None => Err(nothing(state)),
            },
        )
    }

    #[inline]
    pub(super) fn poll_recv(
        &self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if waiter.is_none()
            && let Some(item) = self.head.take_quietly()
        {
            return Poll::Ready(Ok(item));
        }
        let mut state = self.state.lock_patiently();
        if waiter.is_none()
            && let Taken::Item(item) = self.take_quietly(&mut state)
        {
            return Poll::Ready(Ok(item));
        }
        self.poll_recv_inside(state, waiter, cx)
    }

    #[inline(never)]
    fn poll_recv_inside(
        &self,
        mut state: Inside<'_, T>,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if self.head.len() > 0 {
            // It takes a whole step.
        } else if waiter.is_none() {
            *waiter = state.wait_quietly(cx.waker());
            if waiter.is_some() {
                return Poll::Pending;
            }
        } else if let Some(item) = state.take_as_told(waiter) {
            return Poll::Ready(Ok(item));
        }
        self.step_inside(state, |state, deferred| {
            state.poll_receive(waiter, cx.waker(), deferred, State::take)
        })
    }

    pub(super) fn poll_recv_many(
        &self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
        items: &mut Vec<T>,
        max: usize,
    ) -> Poll<Result<usize, RecvError>> {
        if max == 0 {
            return Poll::Ready(Ok(0));
        }
        items.reserve(self.buffered().min(max));
        self.step(|state, deferred| {
            state.poll_receive(waiter, cx.waker(), deferred, |state, deferred| {
                take_many(state, deferred, items, max)
            })
        })
    }

    /// Gives a receive up.
    #[inline]
    pub(super) fn cancel_recv(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.leave_receive(waiter);
        }
    }

    #[cold]
    fn leave_receive(&self, waiter: &mut Option<WaiterKey>) {
        self.step(|state, deferred| state.leave_receive(waiter, deferred));
    }

    pub(super) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Result<R, TryRecvError> {
        let whole = self.whole(self.state.lock());
        match whole.state.first() {
            Some(item) => Ok(look(item)),
            None => Err(nothing(&whole.state)),
        }
    }

    pub(super) fn poll_until(
        &self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), CloseReason>> {
        self.step(|state, deferred| state.poll_until(until, waiter, cx.waker(), deferred))
    }

    /// Blocks until the end.
    pub(super) fn wait_until(&self, until: Until) -> Result<(), CloseReason> {
        let mut future = EndFuture::new(self, until);
        thread::wait(|cx| Pin::new(&mut future).poll(cx))
    }

    /// Gives waiting for the end up.
    pub(super) fn cancel_until(&self, until: Until, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.step(|state, deferred| state.leave_until(until, waiter, deferred));
        }
    }

    pub(super) fn close(&self) -> bool {
        self.step(|state, deferred| state.close(None, deferred))
    }

    pub(super) fn close_with(&self, reason: Box<dyn Error + Send + Sync>) -> bool {
        self.step(|state, deferred| state.close(Some(reason.into()), deferred))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed().is_some()
    }

    pub(super) fn buffered(&self) -> usize {
        let state = self.state.lock();
        self.head.len() + state.buffered()
    }

    pub(super) fn add_sender(&self) {
        self.state.lock().add_sender();
    }

    pub(super) fn remove_sender(&self) {
        self.step(State::remove_sender);
    }

    pub(super) fn add_receiver(&self) {
        self.state.lock().add_receiver();
    }

    pub(super) fn remove_receiver(&self) {
        // What nobody will receive is dropped here, where no lock is held.
        drop(self.step(State::remove_receiver));
    }
}

impl<T> Drop for Whole<'_, T> {
    fn drop(&mut self) {
        if let Some(mut head) = self.head.take() {
            head.swap(self.state.ahead_mut());
            head.leave(self.state.head_is_quiet_above());
        }
    }
}

/// Takes up to `max` items; `None` if there are none.
fn take_many<T>(
    state: &mut State<T>,
    deferred: &mut DeferredWakes<T>,
    items: &mut Vec<T>,
    max: usize,
) -> Option<usize> {
    let before = items.len();
    items.extend(std::iter::from_fn(|| state.take(deferred)).take(max));
    let count = items.len() - before;
    (count > 0).then_some(count)
}

/// Why there is nothing to receive.
fn nothing<T>(state: &State<T>) -> TryRecvError {
    state
        .closed()
        .map_or(TryRecvError::Empty, |closed| closed.clone().into())
}

impl<T> fmt::Debug for ChannelInner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("len", &self.buffered())
            .field("capacity", &self.capacity)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ChannelInner;
    use crate::channel::buffer::ItemBuffer;
    use crate::channel::step::Sending;
    use crate::channel::wait_list::WaiterKey;
    use crate::channel::{RecvError, WhenFull};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    /// Somebody who waits, and how often it was woken.
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
        place: &mut Option<WaiterKey>,
        waiter: &Arc<Waiter>,
    ) -> Poll<Result<u32, RecvError>> {
        let waker = Waker::from(Arc::clone(waiter));
        shared.poll_recv(place, &Context::from_waker(&waker))
    }

    #[test]
    fn who_waits_again_is_told_again() {
        let (shared, waiter) = (channel(4), Arc::default());
        for n in 1..4 {
            let mut place = None;
            assert!(poll_recv(&shared, &mut place, &waiter).is_pending());
            assert_eq!(shared.try_send(7), Ok(()));
            assert_eq!(waiter.wakes(), n);
            assert_eq!(poll_recv(&shared, &mut place, &waiter), Poll::Ready(Ok(7)));
            assert!(place.is_none());
        }
    }

    #[test]
    fn a_receive_that_finds_more_sets_the_rest_apart_unless_it_may_fall_out() {
        for (when_full, set_apart) in [(WhenFull::Wait, 3), (WhenFull::DropOldest, 0)] {
            let shared = ChannelInner::new(ItemBuffer::fifo(), 4, when_full, None);
            (0..4).for_each(|n| assert_eq!(shared.try_send(n), Ok(())));
            assert_eq!(shared.try_recv(), Ok(0));
            assert_eq!((shared.head.len(), shared.buffered()), (set_apart, 3));
        }
    }

    #[test]
    fn each_item_tells_one_of_those_who_wait() {
        let (shared, waiters) = (channel(4), <[Arc<Waiter>; 3]>::default());
        let mut places = [None, None, None];
        for (waiter, place) in waiters.iter().zip(&mut places) {
            assert!(poll_recv(&shared, place, waiter).is_pending());
        }
        for wakes in [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]] {
            assert_eq!(shared.try_send(7), Ok(()));
            assert_eq!(waiters.each_ref().map(|waiter| waiter.wakes()), wakes);
        }
    }

    #[test]
    fn a_receiver_that_was_told_tells_the_sender_that_waits_for_its_room() {
        let (shared, receiver, sender) = (channel(1), Arc::default(), Arc::<Waiter>::default());
        let mut place = None;
        assert!(poll_recv(&shared, &mut place, &receiver).is_pending());
        assert_eq!(shared.try_send(1), Ok(()));
        let mut sending = Sending {
            item: Some(2),
            key: None,
        };
        let waker = Waker::from(Arc::clone(&sender));
        let cx = Context::from_waker(&waker);
        assert!(shared.poll_send(&mut sending, &cx).is_pending());
        assert_eq!(
            poll_recv(&shared, &mut place, &receiver),
            Poll::Ready(Ok(1))
        );
        assert_eq!(sender.wakes(), 1);
        assert_eq!(shared.poll_send(&mut sending, &cx), Poll::Ready(Ok(())));
        assert_eq!(shared.try_recv(), Ok(2));
    }
}
