//! The state of a broadcast channel between two operations: plain data, to be kept under a lock.
//!
//! # Protocol
//! Items are numbered from 0. Each receiver knows the number of the item that it receives next. Each slot counts the
//! receivers that have yet to receive its item. That count never falls from the front to the back, so a slot whose
//! count reaches 0 is the front one, and is removed. A receiver's number rises in the very step that returns the item:
//! a receive that is given up has skipped none.
//!
//! Items are in an `Arc`: cloning one is the user's code, and happens outside the lock.

use crate::channel::broadcast::RecvError;
use crate::channel::{HasSubscribers, Subscribers};
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of a broadcast channel.
pub(in crate::channel) struct State<T> {
    slots: VecDeque<Slot<T>>,
    /// The number of the first slot's item, or of the next item if there is none.
    first: u64,
    capacity: usize,
    pub(super) subscribers: Subscribers,
}

struct Slot<T> {
    item: Arc<T>,
    /// How many receivers have yet to receive it. Never 0.
    wanted: usize,
}

impl<T> State<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            slots: VecDeque::new(),
            first: 0,
            capacity,
            subscribers: Subscribers::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds an item for every receiver. Returns an item to be dropped where no lock is held: the one that was pushed
    /// out, or this one if there is no receiver.
    pub(super) fn push(&mut self, item: Arc<T>) -> Option<Arc<T>> {
        let wanted = self.subscribers.receiver_count;
        if wanted == 0 {
            return Some(item);
        }
        let is_full = self.slots.len() == self.capacity;
        let pushed_out = is_full.then(|| self.pop()).flatten();
        self.slots.push_back(Slot { item, wanted });
        pushed_out
    }

    fn take(&mut self, next: &mut u64) -> Option<Result<Arc<T>, RecvError>> {
        let Some(ahead) = next.checked_sub(self.first) else {
            let lost = self.first - *next;
            *next = self.first;
            return Some(Err(RecvError::Lagged(lost)));
        };
        let index = usize::try_from(ahead).ok()?;
        let slot = self.slots.get_mut(index)?;
        *next += 1;
        slot.wanted -= 1;
        if slot.wanted == 0 {
            return self.pop().map(Ok);
        }
        Some(Ok(Arc::clone(&slot.item)))
    }

    fn pop(&mut self) -> Option<Arc<T>> {
        let slot = self.slots.pop_front()?;
        self.first += 1;
        Some(slot.item)
    }

    /// The slots from this item on, or all if it has been pushed out.
    fn slots_from(&mut self, number: u64) -> impl Iterator<Item = &mut Slot<T>> {
        let from = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.slots.iter_mut().skip(from)
    }
}

/// The position of a receiver is the number of its next item.
impl<T> HasSubscribers for State<T> {
    type Item = T;
    type Error = RecvError;

    fn subscribers(&mut self) -> &mut Subscribers {
        &mut self.subscribers
    }

    fn next(&mut self, next: &mut u64) -> Option<Result<Arc<T>, RecvError>> {
        self.take(next).or_else(|| {
            let closed = self.subscribers.closed.clone()?;
            Some(Err(RecvError::Closed(closed)))
        })
    }

    fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    fn add_receiver(&mut self, next: u64) {
        self.subscribers.receiver_count += 1;
        self.slots_from(next).for_each(|slot| slot.wanted += 1);
    }

    fn remove_receiver(&mut self, next: u64) -> Vec<Arc<T>> {
        self.subscribers.receiver_count -= 1;
        self.slots_from(next).for_each(|slot| slot.wanted -= 1);
        let unwanted = self.slots.iter().take_while(|slot| slot.wanted == 0);
        let unwanted = unwanted.count();
        (0..unwanted).filter_map(|_| self.pop()).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::State;
    use crate::channel::broadcast::RecvError;
    use crate::channel::subscribers::HasSubscribers;
    use std::sync::Arc;

    fn filled(capacity: usize, count: u32) -> State<u32> {
        let mut state = State::new(capacity);
        (0..count).for_each(|n| drop(state.push(Arc::new(n))));
        state
    }

    #[test]
    fn an_item_is_dropped_when_every_receiver_has_received_it() {
        let mut state = filled(8, 0);
        state.add_receiver(0);
        drop(state.push(Arc::new(7)));
        let (mut one, mut two) = (0, 0);
        assert_eq!(state.take(&mut one).unwrap().unwrap(), Arc::new(7));
        assert_eq!(state.len(), 1);
        assert_eq!(state.take(&mut two).unwrap().unwrap(), Arc::new(7));
        assert_eq!((state.len(), state.end()), (0, 1));
        assert!(state.take(&mut one).is_none());
    }

    #[test]
    fn a_receiver_that_lags_learns_how_many_it_lost_and_continues_with_the_oldest() {
        let mut state = filled(3, 10);
        let mut next = 0;
        assert_eq!(state.take(&mut next), Some(Err(RecvError::Lagged(7))));
        assert_eq!(state.take(&mut next), Some(Ok(Arc::new(7))));
    }

    #[test]
    fn a_dropped_receiver_wants_no_item_any_more() {
        let mut state = filled(8, 4);
        state.add_receiver(2);
        assert_eq!(state.remove_receiver(0).len(), 2);
        assert_eq!(state.len(), 2);
        assert_eq!(state.remove_receiver(2).len(), 2);
        assert!(state.push(Arc::new(9)).is_some());
    }
}
