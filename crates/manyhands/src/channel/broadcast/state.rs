//! What a broadcast channel is, between two operations: plain data, to be kept under a lock.
//!
//! # Protocol
//! Items are numbered from 0. Each receiver knows the number of the item it wants next, and each slot how
//! many receivers want it still; so the slots at the front are wanted by the fewest, and one that nobody
//! wants is at the front and goes. A receiver's number rises in the very look that returns the item, so a
//! receive that is given up has skipped none.
//!
//! Items are shared by pointer, so that cloning one, which is the user's code, happens outside the lock.

use crate::channel::broadcast::RecvError;
use crate::channel::subscribers::{Stage, Subscribers, TakenWakers};
use crate::channel::wait_list::WaiterKey;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The state of a broadcast channel.
#[derive(Debug)]
pub(super) struct State<T> {
    slots: VecDeque<Slot<T>>,
    /// The number of the first slot's item, or of the next item if there is none.
    first: u64,
    capacity: usize,
    pub(super) audience: Subscribers,
}

#[derive(Debug)]
struct Slot<T> {
    item: Arc<T>,
    /// How many receivers will still get it. Never 0.
    wanted: usize,
}

impl<T> State<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            slots: VecDeque::new(),
            first: 0,
            capacity,
            audience: Subscribers::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number that the next item will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Adds an item for every receiver; returns what is not wanted any more, to be dropped where no lock is
    /// held: the item that was pushed out, or this one if nobody listens.
    pub(super) fn push(&mut self, item: Arc<T>) -> Option<Arc<T>> {
        let wanted = self.audience.receiver_count();
        if wanted == 0 {
            return Some(item);
        }
        let pushed_out = if self.slots.len() == self.capacity {
            self.pop()
        } else {
            None
        };
        self.slots.push_back(Slot { item, wanted });
        pushed_out
    }

    /// One look of a receiver that wants the item number `next`.
    pub(super) fn poll(
        &mut self,
        next: &mut u64,
        waiter: &mut Option<WaiterKey>,
        waker: Option<&Waker>,
    ) -> (Poll<Result<Arc<T>, RecvError>>, TakenWakers) {
        let result = match self.take(next) {
            Some(result) => result,
            None => match (self.audience.closed(), waker) {
                (Some(closed), _) => Err(RecvError::Closed(closed.clone())),
                (None, Some(waker)) => return (Poll::Pending, self.audience.wait(waiter, waker)),
                (None, None) => return (Poll::Pending, TakenWakers::default()),
            },
        };
        (Poll::Ready(result), self.audience.leave(waiter))
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

    /// One more receiver, which wants what one that is at `next` wants.
    pub(super) fn add_receiver(&mut self, next: u64) {
        self.audience.add_receiver();
        let from = self.index_of(next);
        for slot in self.slots.iter_mut().skip(from) {
            slot.wanted += 1;
        }
    }

    /// One receiver less; returns what nobody wants any more, to be dropped where no lock is held.
    pub(super) fn remove_receiver(&mut self, next: u64) -> Vec<Arc<T>> {
        self.audience.remove_receiver();
        let from = self.index_of(next);
        for slot in self.slots.iter_mut().skip(from) {
            slot.wanted -= 1;
        }
        let unwanted = self.slots.iter().take_while(|slot| slot.wanted == 0);
        let unwanted = unwanted.count();
        (0..unwanted).filter_map(|_| self.pop()).collect()
    }

    /// The place of the item, or of the first one if it has been pushed out.
    fn index_of(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }
}

impl<T> Stage for State<T> {
    fn audience(&mut self) -> &mut Subscribers {
        &mut self.audience
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::State;
    use crate::channel::broadcast::RecvError;
    use std::sync::Arc;

    fn filled(capacity: usize, count: u32) -> State<u32> {
        let mut state = State::new(capacity);
        (0..count).for_each(|n| drop(state.push(Arc::new(n))));
        state
    }

    #[test]
    fn an_item_goes_when_every_receiver_has_got_it() {
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
    fn who_is_behind_is_told_how_much_and_goes_on_with_the_oldest() {
        let mut state = filled(3, 10);
        let mut next = 0;
        assert_eq!(state.take(&mut next), Some(Err(RecvError::Lagged(7))));
        assert_eq!(state.take(&mut next), Some(Ok(Arc::new(7))));
    }

    #[test]
    fn a_receiver_that_goes_takes_its_wishes_along() {
        let mut state = filled(8, 4);
        state.add_receiver(2);
        assert_eq!(state.remove_receiver(0).len(), 2);
        assert_eq!(state.len(), 2);
        assert_eq!(state.remove_receiver(2).len(), 2);
        assert!(state.push(Arc::new(9)).is_some());
    }
}
