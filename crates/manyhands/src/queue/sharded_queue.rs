//! Task queues that are used as one: pushes are spread over them, and each taker has one that it looks at first.
//!
//! First in, first out for what one thread pushes; between threads only where there is one shard. That is so for up to
//! [`TAKERS_EACH`] takers. With more, one queue's two ends would be written by all of them, and by all pushers.
//!
//! Not here: which thread begins where (`runtime/enqueue.rs` for pushers, `runtime/worker/search.rs` for takers).
//!
//! # Ordering
//! A task is in one shard, and a taker that looks whether there is anything looks at each shard. So the idle protocol's
//! argument (I1 in `runtime/sleep/idle.rs`) holds for each shard as for a single queue: if the sleeper's look at the
//! shard comes before the push, the pusher sees that the sleeper has announced itself.

use crate::queue::{Linked, Run, TaskQueue};
use crate::sync::Padded;
use std::iter;

/// Queues of tasks, one or more.
pub(crate) struct ShardedQueue<T> {
    /// In place, so that where it is the only one it is found without another step.
    first: Padded<TaskQueue<T>>,
    others: Box<[Padded<TaskQueue<T>>]>,
}

impl<T: Linked> ShardedQueue<T> {
    /// An empty one, for this number of takers.
    pub(crate) fn new(takers: usize) -> Self {
        let shards = takers.div_ceil(TAKERS_EACH).clamp(1, SHARDS_MAX);
        Self {
            first: Padded(TaskQueue::default()),
            others: (1..shards).map(|_| Padded(TaskQueue::default())).collect(),
        }
    }

    /// The only queue, for what anybody pushes; `None` if there are several.
    #[inline]
    pub(crate) fn only(&self) -> Option<&TaskQueue<T>> {
        self.others.is_empty().then_some(&*self.first)
    }

    /// The queue with this number, counted round and round. A thread that pushes has the same number each time.
    pub(crate) fn shard(&self, number: usize) -> &TaskQueue<T> {
        match number % (self.others.len() + 1) {
            0 => &self.first,
            number => &self.others[number - 1],
        }
    }

    /// Which shard this taker looks at first, unless it is another one's turn.
    pub(crate) fn home_of(taker: usize) -> usize {
        taker / TAKERS_EACH
    }

    /// Whether there is nothing in any of them. Exact for each in the order of its `back`'s exchanges.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty() && (self.others.is_empty() || self.are_others_empty())
    }

    #[inline(never)]
    fn are_others_empty(&self) -> bool {
        self.others.iter().all(|shard| shard.is_empty())
    }

    /// Takes up to `max` tasks from the front of one shard, of the first that has some and no other taker, beginning at
    /// shard `begin`, which is asked for only if it decides anything.
    #[inline]
    pub(crate) fn take(&self, begin: impl FnOnce() -> usize, max: usize) -> Option<Run<T>> {
        if let Some(only) = self.only() {
            return only.take(max);
        }
        let begin = begin();
        (0..=self.others.len()).find_map(|step| self.shard(begin.wrapping_add(step)).take(max))
    }

    /// The queues.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &TaskQueue<T>> {
        let others = self.others.iter().map(|shard| &**shard);
        iter::once(&*self.first).chain(others)
    }
}

/// Takers that look at the same shard first. Few in models and explorations, which have no more than five.
const TAKERS_EACH: usize = if cfg!(loom) {
    1
} else if cfg!(shuttle) {
    2
} else {
    16
};
/// A taker without work looks at all of them.
const SHARDS_MAX: usize = 16;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{SHARDS_MAX, ShardedQueue};
    use crate::queue::{Linked, Unqueued};
    use crate::sync::atomic::AtomicPtr;
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

    fn push(queue: &ShardedQueue<Node>, pusher: usize, value: usize) {
        let link = AtomicPtr::new(ptr::null_mut());
        let node = Box::into_raw(Box::new(Node { link, value }));
        // SAFETY: 1. leaked until taken; 2. new.
        queue.shard(pusher).push(unsafe { Unqueued::new(node) });
    }

    fn take(queue: &ShardedQueue<Node>, first: usize) -> Option<usize> {
        let run = queue.take(|| first, 1)?;
        let node = run.split_first().0.into_raw();
        // SAFETY: taken, so only this thread has it, and it came from `Box::into_raw`.
        Some(unsafe { Box::from_raw(node) }.value)
    }

    #[test]
    fn up_to_16_takers_have_one_queue_and_more_have_one_for_each_16() {
        let shards = |takers| ShardedQueue::<Node>::new(takers).shards().count();
        let takers = [0, 1, 2, 16, 17, 32, 64, 192, 200, 1_000];
        let expected = [1, 1, 1, 1, 2, 2, 4, 12, 13, SHARDS_MAX];
        assert_eq!(takers.map(shards), expected);
        assert_eq!(
            [0, 15, 16, 191].map(ShardedQueue::<Node>::home_of),
            [0, 0, 1, 11]
        );
    }

    #[test]
    fn a_single_queue_keeps_the_order_of_all() {
        let queue = ShardedQueue::<Node>::new(16);
        assert!(queue.only().is_some());
        (0..9).for_each(|value| push(&queue, value % 3, value));
        let taken: Vec<_> = (0..9).filter_map(|first| take(&queue, first)).collect();
        assert!(taken.into_iter().eq(0..9));
    }

    #[test]
    fn what_one_thread_pushes_comes_out_in_order_and_every_taker_finds_everything() {
        for first in 0..30 {
            let queue = ShardedQueue::<Node>::new(192);
            assert!(queue.only().is_none());
            (0..40).for_each(|value| push(&queue, value % 20, value));
            assert_eq!(
                queue.shards().map(|shard| shard.count(100)).sum::<usize>(),
                40
            );
            let taken: Vec<_> = std::iter::from_fn(|| take(&queue, first)).collect();
            assert!(queue.is_empty());
            assert_eq!(taken.len(), 40);
            assert_eq!(taken[0] % 12, first % 12, "it began elsewhere");
            for pusher in 0..20 {
                let of: Vec<_> = taken.iter().filter(|&value| value % 20 == pusher).collect();
                assert_eq!(of, [&pusher, &(pusher + 20)]);
            }
        }
    }
}
