//! Who waits for something, in order, with what each left behind.
//!
//! A list in a slab: joining, being notified and leaving are O(1), and its places are used again. Plain
//! data, to be kept under a lock.
//!
//! # States of a place
//! `Free` nobody's · `Waiting` in the list, with a waker · `Notified` out of the list, its waker handed out;
//! it has not looked since.
//!
//! Being notified promises nothing but that something may have come: the notified one looks for itself, and
//! either leaves, or waits again as the first of the list, whose age it keeps.

use std::num::NonZeroU32;
use std::task::Waker;

/// The places of those who wait, each with data of type `D`.
#[derive(Debug)]
pub(super) struct WaitList<D> {
    waiters: Vec<Waiter<D>>,
    /// The first free place, by `next`.
    free: usize,
    front: usize,
    back: usize,
    waiting: usize,
    notified: usize,
}

/// The number of a place that somebody holds, counted from one: so a future that may hold one stays small.
#[derive(Debug)]
pub(super) struct WaiterKey(NonZeroU32);

impl WaiterKey {
    fn of(waiter: usize) -> Self {
        let number = u32::try_from(waiter + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 wait for one channel"))
    }

    fn index(&self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug)]
struct Waiter<D> {
    state: WaiterState,
    waker: Option<Waker>,
    data: Option<D>,
    previous: usize,
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaiterState {
    Free,
    Waiting,
    Notified,
}

impl<D> WaitList<D> {
    /// Nobody waits.
    pub(super) const fn new() -> Self {
        Self {
            waiters: Vec::new(),
            free: NONE,
            front: NONE,
            back: NONE,
            waiting: 0,
            notified: 0,
        }
    }

    /// How many are in the list.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many have been notified and have not looked since.
    pub(super) fn notified(&self) -> usize {
        self.notified
    }

    /// Joins as the last.
    pub(super) fn join(&mut self, waker: Waker, data: Option<D>) -> WaiterKey {
        let waiter = Waiter {
            state: WaiterState::Waiting,
            waker: Some(waker),
            data,
            previous: self.back,
            next: NONE,
        };
        let number = self.free;
        let number = if let Some(free) = self.waiters.get_mut(number) {
            self.free = free.next;
            *free = waiter;
            number
        } else {
            self.waiters.push(waiter);
            self.waiters.len() - 1
        };
        match self.waiters.get_mut(self.back) {
            Some(last) => last.next = number,
            None => self.front = number,
        }
        self.back = number;
        self.waiting += 1;
        WaiterKey::of(number)
    }

    /// Waits again, with this waker; returns a waker that is not needed any more, to be dropped where no
    /// lock is held.
    pub(super) fn wait_again(&mut self, key: &WaiterKey, waker: &Waker) -> Option<Waker> {
        let front = self.front;
        let number = key.index();
        let waiter = &mut self.waiters[number];
        if waiter
            .waker
            .as_ref()
            .is_some_and(|old| old.will_wake(waker))
        {
            return None;
        }
        let old = waiter.waker.replace(waker.clone());
        if waiter.state == WaiterState::Notified {
            waiter.state = WaiterState::Waiting;
            waiter.previous = NONE;
            waiter.next = front;
            match self.waiters.get_mut(front) {
                Some(first) => first.previous = number,
                None => self.back = number,
            }
            self.front = number;
            self.notified -= 1;
            self.waiting += 1;
        }
        old
    }

    /// Takes a place, or keeps the one there is; returns a waker to be dropped where no lock is held.
    pub(super) fn wait(&mut self, waiter: &mut Option<WaiterKey>, waker: &Waker) -> Option<Waker> {
        match waiter {
            Some(key) => self.wait_again(key, waker),
            None => {
                *waiter = Some(self.join(waker.clone(), None));
                None
            }
        }
    }

    /// Gives the place back, if there is one; returns a waker to be dropped where no lock is held.
    pub(super) fn give_up(&mut self, waiter: &mut Option<WaiterKey>) -> Option<Waker> {
        let key = waiter.take()?;
        self.leave(&key).0
    }

    /// Whether the holder of the ticket has been notified and has not looked since.
    pub(super) fn is_notified(&self, key: &WaiterKey) -> bool {
        self.waiters[key.index()].state == WaiterState::Notified
    }

    /// What the holder of the ticket left here.
    pub(super) fn data_mut(&mut self, key: &WaiterKey) -> &mut Option<D> {
        &mut self.waiters[key.index()].data
    }

    /// Takes the first out of the list; it must be woken. What it left stays.
    #[inline]
    pub(super) fn notify_first(&mut self) -> Option<Waker> {
        let number = self.front;
        if number == NONE {
            return None;
        }
        self.unlink(number);
        self.notified += 1;
        let waiter = &mut self.waiters[number];
        waiter.state = WaiterState::Notified;
        waiter.waker.take()
    }

    /// As [`notify_first`](Self::notify_first), and takes what it left.
    pub(super) fn notify_first_with_data(&mut self) -> (Option<Waker>, Option<D>) {
        let front = self.front;
        let waker = self.notify_first();
        let data = self
            .waiters
            .get_mut(front)
            .and_then(|waiter| waiter.data.take());
        (waker, data)
    }

    /// What the first of the list left.
    pub(super) fn first_data(&self) -> Option<&D> {
        self.waiters.get(self.front)?.data.as_ref()
    }

    /// Takes everybody out of the list; all must be woken.
    pub(super) fn notify_all(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(waker) = self.notify_first() {
            wakers.push(waker);
        }
    }

    /// Gives a place back; returns what was there, to be dropped where no lock is held.
    pub(super) fn leave(&mut self, key: &WaiterKey) -> (Option<Waker>, Option<D>) {
        let number = key.index();
        if self.waiters[number].state == WaiterState::Waiting {
            self.unlink(number);
        } else {
            self.notified -= 1;
        }
        let waiter = &mut self.waiters[number];
        waiter.state = WaiterState::Free;
        waiter.next = self.free;
        self.free = number;
        (waiter.waker.take(), waiter.data.take())
    }

    fn unlink(&mut self, number: usize) {
        let Waiter { previous, next, .. } = self.waiters[number];
        match self.waiters.get_mut(previous) {
            Some(waiter) => waiter.next = next,
            None => self.front = next,
        }
        match self.waiters.get_mut(next) {
            Some(waiter) => waiter.previous = previous,
            None => self.back = previous,
        }
        self.waiting -= 1;
    }
}

/// No place has this number.
const NONE: usize = usize::MAX;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::WaitList;
    use std::task::Waker;

    fn list() -> WaitList<u32> {
        WaitList::new()
    }

    fn order(list: &mut WaitList<u32>) -> Vec<u32> {
        std::iter::from_fn(|| list.notify_first_with_data().1).collect()
    }

    #[test]
    fn the_first_to_join_is_the_first_to_be_notified() {
        let mut list = list();
        let _tickets = [1, 2, 3].map(|n| list.join(Waker::noop().clone(), Some(n)));
        assert_eq!((list.waiting(), list.notified()), (3, 0));
        assert_eq!(order(&mut list), [1, 2, 3]);
        assert_eq!((list.waiting(), list.notified()), (0, 3));
    }

    #[test]
    fn whoever_leaves_is_skipped_wherever_it_stood() {
        for left in 0..3 {
            let mut list = list();
            let tickets = [0, 1, 2].map(|n| list.join(Waker::noop().clone(), Some(n)));
            assert_eq!(list.leave(&tickets[left as usize]).1, Some(left));
            let rest: Vec<u32> = (0..3).filter(|n| *n != left).collect();
            assert_eq!(order(&mut list), rest);
        }
    }

    #[test]
    fn a_notified_one_that_waits_again_is_first() {
        let mut list = list();
        let first = list.join(Waker::noop().clone(), Some(1));
        let _second = list.join(Waker::noop().clone(), Some(2));
        assert!(list.notify_first().is_some());
        assert!(list.wait_again(&first, Waker::noop()).is_none());
        assert_eq!((list.waiting(), list.notified()), (2, 0));
        assert_eq!(order(&mut list), [1, 2]);
    }

    #[test]
    fn places_are_used_again() {
        let mut list = list();
        for n in 0..100 {
            let key = list.join(Waker::noop().clone(), Some(n));
            assert_eq!(list.leave(&key).1, Some(n));
        }
        assert_eq!(list.waiters.len(), 1);
    }

    #[test]
    fn a_notified_one_may_leave() {
        let mut list = list();
        let key = list.join(Waker::noop().clone(), None);
        assert!(list.notify_first().is_some());
        assert!(list.leave(&key).0.is_none());
        assert_eq!((list.waiting(), list.notified()), (0, 0));
    }
}
