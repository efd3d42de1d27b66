//! The task queue: any thread pushes at the back, one taker at a time takes a run from the front.
//!
//! First in, first out; unbounded; no allocation, because a task has its own link. Used for work
//! from outside, for each worker's own spawned tasks, and for a scope's jobs.
//!
//! Not a channel: no thread waits here, and the thread that takes a task frees it.
//!
//! After Dmitry Vyukov's intrusive multi-producer queue
//! (<https://www.1024cores.net/home/lock-free-algorithms/queues/intrusive-mpsc-node-based-queue>), with a
//! try-lock in front of its single consumer.
//!
//! # Threads
//! Any thread calls `push`, `is_empty` and `take`; `take` gives up when another taker is at work.
//!
//! # States
//! `back` is the newest task, or null when the queue is empty and its taker has seen that. Behind `front`
//! (touched only under `taking`) each task's link leads to the next. A null link on a task that is not
//! `back` means that its pusher is between its two steps; the taker stops there.
//!
//! # Ordering
//! The exchange of `back` is SeqCst so that it takes part in the idle protocol (see `runtime/sleep/idle.rs`):
//! if a pusher then sees no thread to wake, every thread that announces sleep later sees the push.
//!
//! Unsafe: links live in tasks reached by pointer.

use super::Unqueued;
use crate::probe::SharedCounter;
use crate::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use crate::sync::{Backoff, Padded, prefetch_for_reading, spin_loop};
use std::ptr;

/// A task that can be in a [`TaskQueue`].
///
/// # Safety
/// `link` must return the same cell for the same task every time, and nothing else may use it while the
/// task is queued.
pub(crate) unsafe trait Linked: Sized {
    /// The task's link.
    ///
    /// # Safety
    /// `task` must be valid.
    unsafe fn link<'a>(task: *mut Self) -> &'a AtomicPtr<Self>;
}

/// Tasks taken together: each one's link leads to the next.
#[must_use]
pub(crate) struct Run<T> {
    /// The oldest.
    first: *mut T,
    last: *mut T,
    /// How many.
    pub(crate) len: usize,
}

impl<T: Linked> Run<T> {
    /// A task alone. Whoever makes a run has taken each of its tasks from a queue, and gives none of them back but with the run.
    #[inline]
    fn of(task: *mut T) -> Self {
        Self {
            first: task,
            last: task,
            len: 1,
        }
    }

    /// Adds another task, the newest.
    #[inline]
    fn push(&mut self, task: *mut T) {
        // SAFETY: every task of a run is valid, and only this thread has it.
        let link = unsafe { T::link(self.last) };
        // Relaxed: the push into a queue publishes it. The link of one that was just taken is mostly set already; not if the queue
        // was empty in between.
        link.store(task, Ordering::Relaxed);
        self.last = task;
        self.len += 1;
    }

    /// The oldest task, and the others.
    #[inline]
    pub(crate) fn split_first(self) -> (Unqueued<T>, Option<Self>) {
        // SAFETY: 1. and 2.: taken from a queue, and not given back.
        let first = unsafe { Unqueued::new(self.first) };
        let rest = (self.len > 1).then(|| {
            // SAFETY: every task of a run is valid.
            let link = unsafe { T::link(self.first) };
            Self {
                // Relaxed: `take` has read this very value with Acquire.
                first: link.load(Ordering::Relaxed),
                last: self.last,
                len: self.len - 1,
            }
        });
        (first, rest)
    }

    /// The tasks for which `is_second` does not hold and those for which it does. Both keep their order.
    pub(crate) fn partition(self, is_second: impl Fn(&T) -> bool) -> [Option<Self>; 2] {
        let mut parts: [Option<Self>; 2] = [None, None];
        let mut task = self.first;
        for _ in 0..self.len {
            // SAFETY: every task of a run is valid, and only this thread has it.
            let part = &mut parts[usize::from(is_second(unsafe { &*task }))];
            // SAFETY: as above.
            let link = unsafe { T::link(task) };
            // Relaxed: `take` has read this very value with Acquire, except the last one, which is not followed.
            let next = link.load(Ordering::Relaxed);
            match part {
                Some(run) => run.push(task),
                None => *part = Some(Self::of(task)),
            }
            task = next;
        }
        parts
    }
}

/// A queue of tasks.
#[derive(Debug)]
pub(crate) struct TaskQueue<T> {
    back: Padded<AtomicPtr<T>>,
    /// First task, or null when the first is the one whose push found `back` null.
    front: Padded<AtomicPtr<T>>,
    taking: AtomicBool,
    /// Times that a taker gave up because another was at work.
    contended: SharedCounter,
}

impl<T> Default for TaskQueue<T> {
    fn default() -> Self {
        Self {
            back: Padded::default(),
            front: Padded::default(),
            taking: AtomicBool::default(),
            contended: SharedCounter::default(),
        }
    }
}

impl<T: Linked> TaskQueue<T> {
    /// Adds a task at the back.
    #[inline]
    pub(crate) fn push(&self, task: Unqueued<T>) {
        let task = task.into_raw();
        self.push_chain(task, task);
    }

    /// Whether every pushed task has been taken. Exact in the order of `back`'s exchanges.
    pub(crate) fn is_empty(&self) -> bool {
        // SeqCst: the other half of the idle protocol.
        self.back.load(Ordering::SeqCst).is_null()
    }

    /// The address of the oldest task, or 0; for a later comparison.
    pub(crate) fn oldest(&self) -> usize {
        // Relaxed: a hint.
        self.front.load(Ordering::Relaxed).addr()
    }

    /// How many tasks are queued, counted up to `max`; 0 while another thread takes. Meanwhile [`take`](Self::take) gives
    /// up, so a push does not ask, nor does a model.
    pub(crate) fn count(&self, max: usize) -> usize {
        if self.is_empty() || !self.try_lock() {
            return 0;
        }
        // Acquire: pairs with the pusher that found the queue empty.
        let mut task = self.front.load(Ordering::Acquire);
        let mut count = 0;
        while !task.is_null() && count < max {
            count += 1;
            // SAFETY: a queued task is valid until it is taken, and no thread takes while this one holds the lock.
            let link = unsafe { T::link(task) };
            // Acquire: pairs with the pusher of the next task.
            task = link.load(Ordering::Acquire);
        }
        // Release: pairs with the Acquire in `try_lock`.
        self.taking.store(false, Ordering::Release);
        count
    }

    /// How often a taker gave up because another was at work.
    pub(crate) fn contentions(&self) -> u64 {
        self.contended.read()
    }

    /// Resets the count of contentions.
    pub(crate) fn forget_contentions(&self) {
        self.contended.reset();
    }

    /// Takes up to `max` tasks from the front.
    ///
    /// Returns nothing when the queue is empty, when another taker is at work, or when the first pusher
    /// is between its two steps.
    pub(crate) fn take(&self, max: usize) -> Option<Run<T>> {
        // Relaxed: a hint, which leaves the pushers' line alone; read again under the lock.
        if self.front.load(Ordering::Relaxed).is_null() || !self.try_lock() {
            return None;
        }
        let run = self.take_front().map(|first| {
            let mut run = Run::of(first);
            while run.len < max {
                let Some(task) = self.take_front() else { break };
                run.push(task);
            }
            run
        });
        // Release: publishes `front`; pairs with the Acquire in `try_lock`.
        self.taking.store(false, Ordering::Release);
        run
    }

    /// Takes the first task; while another taker is at work, waits a moment for its end. For the queue's owner,
    /// which would otherwise fetch a task from a more distant queue.
    pub(crate) fn take_own(&self) -> Option<Unqueued<T>> {
        for _ in 0..OWN_ATTEMPTS {
            if let Some(run) = self.take(1) {
                return Some(run.split_first().0);
            }
            if self.is_empty() {
                break;
            }
            spin_loop();
        }
        None
    }

    /// Adds a whole run at the back, in its order, for the price of one task.
    #[expect(clippy::needless_pass_by_value, reason = "a run is appended once")]
    pub(crate) fn append(&self, run: Run<T>) {
        let Run { first, last, .. } = run;
        self.push_chain(first, last);
    }

    fn push_chain(&self, first: *mut T, last: *mut T) {
        // SAFETY: valid until it is performed, and in the caller's hands until it is behind `back`.
        let link = unsafe { T::link(last) };
        // Relaxed: published by the exchange.
        link.store(ptr::null_mut(), Ordering::Relaxed);
        // SeqCst: publishes the task (Release) and takes part in the idle protocol.
        let before = self.back.swap(last, Ordering::SeqCst);
        if before.is_null() {
            // Release: publishes the task to the taker's Acquire in `take_front`.
            self.front.store(first, Ordering::Release);
        } else {
            // SAFETY: a task that was `back` stays valid until its link is set: the taker waits for it.
            let link = unsafe { T::link(before) };
            // Release: publishes the task to the taker's Acquire in `take_front`.
            link.store(first, Ordering::Release);
        }
    }

    /// Takes the first task. `None`: there was none at some moment of the call. Where [`take`](Self::take) gives up, this one
    /// waits for some instructions of another thread: one that takes, counts, or has begun to push.
    pub(crate) fn take_first(&self) -> Option<Unqueued<T>> {
        let mut backoff = Backoff::default();
        while !self.is_empty() {
            if let Some(run) = self.take(1) {
                return Some(run.split_first().0);
            }
            backoff.wait();
        }
        None
    }

    fn try_lock(&self) -> bool {
        // Relaxed, both: the exchange decides, and where it fails nothing is read.
        // Acquire: pairs with the Release in `take`.
        let locked = !self.taking.load(Ordering::Relaxed)
            && self
                .taking
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !locked {
            self.contended.bump();
        }
        locked
    }

    /// Takes the first task. The take lock is held.
    fn take_front(&self) -> Option<*mut T> {
        // Acquire: pairs with the pusher that found the queue empty.
        let first = self.front.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: a queued task is valid until it is taken.
        let link = unsafe { T::link(first) };
        // Acquire: pairs with the pusher of the next task.
        let mut next = link.load(Ordering::Acquire);
        if next.is_null() {
            // `first` seems to be the last one. Order matters: `front` must be null before `back` is,
            // because the next pusher writes `front` as soon as it finds `back` null.
            // Relaxed: the exchange below publishes it.
            self.front.store(ptr::null_mut(), Ordering::Relaxed);
            // SeqCst: Release orders the store of `front` before it, and emptiness takes part in the idle
            // protocol. Relaxed on failure: the pusher's link is read with Acquire below.
            let emptied = self.back.compare_exchange(
                first,
                ptr::null_mut(),
                Ordering::SeqCst,
                Ordering::Relaxed,
            );
            if emptied.is_ok() {
                return Some(first);
            }
            // A pusher has replaced `back` and is about to set our link.
            // Acquire: pairs with that pusher.
            next = link.load(Ordering::Acquire);
            if next.is_null() {
                // Relaxed: still under the lock.
                self.front.store(first, Ordering::Relaxed);
                return None;
            }
        }
        // The next taker reads the line of this task, which another thread wrote.
        prefetch_for_reading(next);
        // Relaxed: still under the lock.
        self.front.store(next, Ordering::Relaxed);
        Some(first)
    }
}

/// Longer than another taker needs for a run, unless it has lost its processor.
const OWN_ATTEMPTS: u32 = if cfg!(loom) { 1 } else { 128 };

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Linked, TaskQueue, Unqueued};
    use crate::sync::atomic::{AtomicPtr, Ordering};
    use std::ptr;

    struct Node {
        link: AtomicPtr<Self>,
        value: usize,
    }

    // SAFETY: `link` is always the node's own field, used by nothing else.
    unsafe impl Linked for Node {
        unsafe fn link<'a>(task: *mut Self) -> &'a AtomicPtr<Self> {
            // SAFETY: the caller promises a valid node.
            unsafe { &(*task).link }
        }
    }

    fn push(queue: &TaskQueue<Node>, value: usize) {
        let node = Box::new(Node {
            link: AtomicPtr::new(ptr::null_mut()),
            value,
        });
        // SAFETY: 1. leaked until taken; 2. new.
        queue.push(unsafe { Unqueued::new(Box::into_raw(node)) });
    }

    fn take(queue: &TaskQueue<Node>) -> Option<usize> {
        let run = queue.take(1)?;
        assert_eq!(run.len, 1);
        let node = run.split_first().0.into_raw();
        // SAFETY: taken, so only this thread has it, and it came from `Box::into_raw`.
        Some(unsafe { Box::from_raw(node) }.value)
    }

    #[test]
    fn tasks_come_out_in_the_order_they_went_in() {
        let queue = TaskQueue::default();
        assert!(queue.is_empty());
        for round in 0..3 {
            (0..5).for_each(|value| push(&queue, round * 5 + value));
            (0..5).for_each(|value| assert_eq!(take(&queue), Some(round * 5 + value)));
            assert_eq!(take(&queue), None);
            assert!(queue.is_empty());
        }
    }

    #[test]
    fn what_is_queued_can_be_counted() {
        let queue = TaskQueue::default();
        assert_eq!(queue.count(10), 0);
        (0..5).for_each(|value| push(&queue, value));
        assert_eq!((queue.count(10), queue.count(3)), (5, 3));
        assert_eq!(take(&queue), Some(0));
        assert_eq!(queue.count(10), 4);
        while take(&queue).is_some() {}
    }

    #[test]
    fn a_run_moves_to_another_queue_in_order() {
        let (from, to) = (TaskQueue::default(), TaskQueue::default());
        (0..5).for_each(|value| push(&from, value));
        push(&to, 100);
        let run = from.take(3).unwrap();
        assert_eq!(run.len, 3);
        to.append(run);
        assert_eq!(
            (0..4).map(|_| take(&to).unwrap()).collect::<Vec<_>>(),
            [100, 0, 1, 2]
        );
        assert!(to.is_empty());
        assert_eq!(
            (take(&from), take(&from), take(&from)),
            (Some(3), Some(4), None)
        );
    }

    #[test]
    fn a_run_is_divided_and_both_parts_keep_their_order() {
        const COUNT: usize = 5;
        for chosen in 0..1_usize << COUNT {
            let goes_last = |value: usize| chosen >> value & 1 != 0;
            let (from, to) = (TaskQueue::default(), TaskQueue::default());
            // The last task of the run has a link to the tasks that stay behind.
            (0..=COUNT).for_each(|value| push(&from, value));
            let run = from.take(COUNT).unwrap();
            let parts = run.partition(|node| goes_last(node.value));
            let parts = parts.into_iter().flatten();
            let lens = parts.map(|part| {
                let len = part.len;
                to.append(part);
                len
            });
            assert_eq!(lens.sum::<usize>(), COUNT);
            let mut expected: Vec<usize> = (0..COUNT).collect();
            expected.sort_by_key(|&value| goes_last(value));
            let taken: Vec<usize> = std::iter::from_fn(|| take(&to)).collect();
            assert_eq!(taken, expected);
            assert_eq!((take(&from), take(&from)), (Some(COUNT), None));
        }
    }

    #[test]
    fn a_taker_that_finds_another_at_work_gives_up_and_is_counted() {
        let queue = TaskQueue::default();
        push(&queue, 7);
        assert!(queue.try_lock());
        assert_eq!((take(&queue), take(&queue)), (None, None));
        assert_eq!(queue.contentions(), 2);
        queue.taking.store(false, Ordering::Relaxed);
        assert_eq!(take(&queue), Some(7));
        assert_eq!(queue.contentions(), 2);
    }

    #[test]
    fn who_takes_the_first_waits_for_a_thread_that_counts() {
        let queue = TaskQueue::default();
        assert!(queue.take_first().is_none());
        push(&queue, 7);
        assert!(queue.try_lock());
        let taken = std::thread::scope(|scope| {
            let taken = scope.spawn(|| queue.take_first().map(|task| task.into_raw().addr()));
            while queue.contentions() == 0 {
                std::thread::yield_now();
            }
            assert!(!taken.is_finished());
            let node = queue.front.load(Ordering::Relaxed);
            queue.taking.store(false, Ordering::Release);
            assert_eq!(taken.join().unwrap(), Some(node.addr()));
            node
        });
        // SAFETY: taken, so only this thread has it, and it came from `Box::into_raw`.
        assert_eq!(unsafe { Box::from_raw(taken) }.value, 7);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_owner_waits_for_another_taker_while_there_is_something() {
        let queue = TaskQueue::default();
        assert!(queue.take_own().is_none());
        push(&queue, 7);
        assert!(queue.try_lock());
        std::thread::scope(|scope| {
            let given_up = scope.spawn(|| queue.take_own().is_none());
            assert!(given_up.join().unwrap(), "it does not wait for ever");
        });
        queue.taking.store(false, Ordering::Relaxed);
        let task = queue.take_own().unwrap();
        // SAFETY: taken, so only this thread has it, and it came from `Box::into_raw`.
        assert_eq!(unsafe { Box::from_raw(task.into_raw()) }.value, 7);
    }

    #[test]
    fn every_task_of_many_pushers_is_taken_once_and_in_its_pushers_order() {
        const PUSHERS: usize = 3;
        const EACH: usize = if cfg!(miri) { 100 } else { 20_000 };
        let queue = TaskQueue::default();
        let mut last = [None; PUSHERS];
        std::thread::scope(|scope| {
            for pusher in 0..PUSHERS {
                let queue = &queue;
                scope.spawn(move || (0..EACH).for_each(|i| push(queue, i * PUSHERS + pusher)));
            }
            let mut taken = 0;
            while taken < PUSHERS * EACH {
                if let Some(value) = take(&queue) {
                    let (number, pusher) = (value / PUSHERS, value % PUSHERS);
                    assert!(last[pusher].is_none_or(|before| before + 1 == number));
                    last[pusher] = Some(number);
                    taken += 1;
                }
            }
        });
        assert!(queue.is_empty());
    }

    #[test]
    fn takers_that_compete_and_move_runs_lose_nothing() {
        const EACH: usize = if cfg!(miri) { 100 } else { 50_000 };
        let (from, to) = (TaskQueue::default(), TaskQueue::default());
        let taken = std::sync::atomic::AtomicUsize::new(0);
        let relaxed = Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| (0..EACH).for_each(|i| push(&from, i)));
            for _ in 0..2 {
                scope.spawn(|| {
                    while taken.load(relaxed) < EACH {
                        if let Some(run) = from.take(4) {
                            to.append(run);
                        }
                        if take(&to).is_some() {
                            taken.fetch_add(1, relaxed);
                        }
                    }
                });
            }
        });
        assert!(from.is_empty() && to.is_empty());
    }
}
