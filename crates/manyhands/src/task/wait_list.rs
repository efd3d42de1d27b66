//! The waiters for one event, in order, each with the data that it left.
//!
//! A linked list in a slab: joining, notifying and leaving are O(1), and entries are reused. Plain data, to be kept
//! under a lock.
//!
//! # States of an entry
//! - Free: nobody has its key.
//! - Waiting: it is in the list, with a waker.
//! - Notified: it is out of the list, and its waker was handed out; the waiter has not tried again since.
//!
//! A notified waiter may find nothing: it tries again, and either leaves, or waits again as the first of the list.
//!
//! # Nobody waits for ever
//! One that was not notified may be there before a notified waiter: a newcomer, which was never in the list, or a waiter that
//! is polled for another reason. One that always is would keep the waiter waiting for good. So a waiter that came too late
//! several times is owed some of the others' turns when it is notified: as many polls of those that were not notified do
//! nothing but wake themselves, so that their executor comes to the waiter first.
//! The next time it is owed twice as many. Nothing is reserved for it: if it does not come, others take what it was
//! notified of.

use crate::task::PollWaker;
use std::num::NonZeroU32;
use std::task::Waker;

/// The entries of the waiters, each with data of type `D`.
pub(crate) struct WaitList<D> {
    waiters: Vec<Waiter<D>>,
    /// The first free entry; its `next` leads to the next one.
    free: usize,
    front: usize,
    back: usize,
    waiting: usize,
    notified: usize,
    /// How many polls of others are still put off for the notified waiters.
    owed: u32,
}

/// The number of a waiter's entry, counted from one: so an `Option<WaiterKey>` in a future stays small.
pub(crate) struct WaiterKey(NonZeroU32);

impl WaiterKey {
    fn of(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 wait for one thing"))
    }

    fn index(&self) -> usize {
        self.0.get() as usize - 1
    }
}

struct Waiter<D> {
    /// Present while it waits.
    waker: Option<Waker>,
    data: Option<D>,
    previous: usize,
    next: usize,
    /// How often it was notified and found nothing.
    found_nothing: u32,
}

impl<D> WaitList<D> {
    /// An empty list.
    pub(crate) const fn new() -> Self {
        Self {
            waiters: Vec::new(),
            free: NONE,
            front: NONE,
            back: NONE,
            waiting: 0,
            notified: 0,
            owed: 0,
        }
    }

    /// How many waiters are in the list.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many waiters have been notified and have not tried again since.
    pub(crate) fn notified(&self) -> usize {
        self.notified
    }

    /// Joins as the last.
    pub(crate) fn join(&mut self, waker: Waker, data: Option<D>) -> WaiterKey {
        let waiter = Waiter {
            waker: Some(waker),
            data,
            previous: self.back,
            next: NONE,
            found_nothing: 0,
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

    /// Waits again, with the waker of this poll. Returns a waker that is not needed any more; the caller drops it where no
    /// lock is held.
    pub(crate) fn wait_again(&mut self, key: &WaiterKey, by: &mut PollWaker<'_>) -> Option<Waker> {
        let front = self.front;
        let number = key.index();
        let waiter = &mut self.waiters[number];
        let known = waiter.waker.as_ref();
        if known.is_some_and(|known| known.will_wake(by.waker)) {
            return None;
        }
        let old = waiter.waker.replace(by.keep());
        if old.is_none() {
            waiter.found_nothing = waiter.found_nothing.saturating_add(1);
            waiter.previous = NONE;
            waiter.next = front;
            match self.waiters.get_mut(front) {
                Some(first) => first.previous = number,
                None => self.back = number,
            }
            self.front = number;
            self.waiting += 1;
            self.is_back();
        }
        old
    }

    /// Joins, or waits again; returns a waker to be dropped where no lock is held.
    pub(crate) fn wait(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        by: &mut PollWaker<'_>,
    ) -> Option<Waker> {
        match waiter {
            Some(key) => self.wait_again(key, by),
            None => {
                *waiter = Some(self.join(by.keep(), None));
                None
            }
        }
    }

    /// Leaves, if there is a key; returns a waker to be dropped where no lock is held.
    pub(crate) fn give_up(&mut self, waiter: &mut Option<WaiterKey>) -> Option<Waker> {
        let key = waiter.take()?;
        self.leave(&key).0
    }

    /// Whether the holder of the key has been notified and has not tried again since.
    pub(crate) fn is_notified(&self, key: &WaiterKey) -> bool {
        self.waiters[key.index()].waker.is_none()
    }

    /// The data that the holder of the key left.
    pub(crate) fn data_mut(&mut self, key: &WaiterKey) -> &mut Option<D> {
        &mut self.waiters[key.index()].data
    }

    /// Takes the first waiter out of the list and returns its waker, for the caller to wake. Its data stays.
    #[inline]
    pub(crate) fn notify_first(&mut self) -> Option<Waker> {
        let number = self.front;
        if number == NONE {
            return None;
        }
        self.unlink(number);
        self.notified += 1;
        let waiter = &mut self.waiters[number];
        if waiter.found_nothing >= FOUND_NOTHING_MAX {
            let owed = 1 << waiter.found_nothing.min(OWED_DOUBLINGS_MAX);
            self.owed = self.owed.max(owed);
        }
        waiter.waker.take()
    }

    /// Whether polls of waiters that were not notified return `Pending`.
    pub(crate) fn puts_off(&self) -> bool {
        self.owed > 0
    }

    /// The same once the first waiter in the list has been notified.
    pub(crate) fn would_put_off(&self) -> bool {
        let came_too_late = |first: &Waiter<D>| first.found_nothing >= FOUND_NOTHING_MAX;
        self.puts_off() || self.waiters.get(self.front).is_some_and(came_too_late)
    }

    /// Puts off a poll of a waiter that was not notified: it returns `Pending` and only wakes its own task, by the waker that
    /// this returns. One that is in the list stays there as it is.
    pub(crate) fn put_off(&mut self, by: &mut PollWaker<'_>) -> Waker {
        self.owed = self.owed.saturating_sub(1);
        by.keep()
    }

    /// A notified waiter has tried again, or leaves.
    fn is_back(&mut self) {
        self.notified -= 1;
        if self.notified == 0 {
            self.owed = 0;
        }
    }

    /// As [`notify_first`](Self::notify_first), and takes the data.
    pub(crate) fn notify_first_with_data(&mut self) -> (Option<Waker>, Option<D>) {
        let front = self.front;
        let waker = self.notify_first();
        let first = self.waiters.get_mut(front);
        (waker, first.and_then(|waiter| waiter.data.take()))
    }

    /// The data of the first waiter in the list.
    pub(crate) fn first_data(&self) -> Option<&D> {
        self.waiters.get(self.front)?.data.as_ref()
    }

    /// Takes all waiters out of the list and appends their wakers, for the caller to wake.
    pub(crate) fn notify_all(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(waker) = self.notify_first() {
            wakers.push(waker);
        }
    }

    /// Frees an entry; returns what it held, to be dropped where no lock is held.
    pub(crate) fn leave(&mut self, key: &WaiterKey) -> (Option<Waker>, Option<D>) {
        let number = key.index();
        if self.is_notified(key) {
            self.is_back();
        } else {
            self.unlink(number);
        }
        let waiter = &mut self.waiters[number];
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

/// A waiter that was notified this often and found nothing has precedence: polls of others return `Pending`, each further time
/// twice as many.
const FOUND_NOTHING_MAX: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 4 };
/// 1,024 polls that do nothing last about as long as waking a thread.
const OWED_DOUBLINGS_MAX: u32 = if cfg!(loom) { 1 } else { 10 };
/// No entry has this index.
const NONE: usize = usize::MAX;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{FOUND_NOTHING_MAX, WaitList, WaiterKey};
    use crate::task::PollWaker;
    use std::task::{Context, Waker};

    fn list() -> WaitList<u32> {
        WaitList::new()
    }

    fn order(list: &mut WaitList<u32>) -> Vec<u32> {
        std::iter::from_fn(|| list.notify_first_with_data().1).collect()
    }

    #[test]
    fn the_first_to_join_is_the_first_to_be_notified() {
        let mut list = list();
        let _keys = [1, 2, 3].map(|n| list.join(Waker::noop().clone(), Some(n)));
        assert_eq!((list.waiting(), list.notified()), (3, 0));
        assert_eq!(order(&mut list), [1, 2, 3]);
        assert_eq!((list.waiting(), list.notified()), (0, 3));
    }

    #[test]
    fn a_waiter_that_leaves_is_skipped_at_any_position() {
        for left in 0..3 {
            let mut list = list();
            let keys = [0, 1, 2].map(|n| list.join(Waker::noop().clone(), Some(n)));
            assert_eq!(list.leave(&keys[left as usize]).1, Some(left));
            let rest: Vec<u32> = (0..3).filter(|n| *n != left).collect();
            assert_eq!(order(&mut list), rest);
        }
    }

    fn by_noop() -> PollWaker<'static> {
        PollWaker::of(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_notified_waiter_that_waits_again_is_first() {
        let mut list = list();
        let first = list.join(Waker::noop().clone(), Some(1));
        let _second = list.join(Waker::noop().clone(), Some(2));
        assert!(list.notify_first().is_some());
        assert!(list.wait_again(&first, &mut by_noop()).is_none());
        assert_eq!((list.waiting(), list.notified()), (2, 0));
        assert_eq!(order(&mut list), [1, 2]);
    }

    /// The waiter is notified, and finds nothing.
    fn comes_too_late(list: &mut WaitList<u32>, late: &WaiterKey) {
        assert!(list.notify_first().is_some());
        assert!(list.wait_again(late, &mut by_noop()).is_none());
    }

    #[test]
    fn newcomers_are_put_off_until_a_waiter_that_came_too_late_is_back() {
        let mut list = list();
        let late = list.join(Waker::noop().clone(), None);
        for _ in 0..FOUND_NOTHING_MAX {
            assert!(!list.would_put_off());
            comes_too_late(&mut list, &late);
        }
        assert_eq!((list.puts_off(), list.would_put_off()), (false, true));
        assert!(list.notify_first().is_some());
        assert!(list.puts_off());
        assert!(list.leave(&late).0.is_none());
        assert!(!list.would_put_off());
    }

    #[test]
    fn each_time_that_a_waiter_comes_too_late_twice_as_many_newcomers_are_put_off() {
        for (times, owed) in [(3, 0), (4, 16), (5, 32), (9, 512), (10, 1_024), (20, 1_024)] {
            let mut list = list();
            let late = list.join(Waker::noop().clone(), None);
            (0..times).for_each(|_| comes_too_late(&mut list, &late));
            assert!(list.notify_first().is_some());
            let mut is_put_off = |_| {
                let puts_off = list.puts_off();
                let waker = puts_off.then(|| list.put_off(&mut by_noop()));
                waker.is_some()
            };
            assert_eq!((0..2_000).filter(|n| is_put_off(*n)).count(), owed);
        }
    }

    #[test]
    fn entries_are_reused() {
        let mut list = list();
        for n in 0..100 {
            let key = list.join(Waker::noop().clone(), Some(n));
            assert_eq!(list.leave(&key).1, Some(n));
        }
        assert_eq!(list.waiters.len(), 1);
    }

    #[test]
    fn a_notified_waiter_may_leave() {
        let mut list = list();
        let key = list.join(Waker::noop().clone(), None);
        assert!(list.notify_first().is_some());
        assert!(list.leave(&key).0.is_none());
        assert_eq!((list.waiting(), list.notified()), (0, 0));
    }
}
