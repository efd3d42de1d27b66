//! What models have in place of `src/sync.rs`.

pub(crate) use crossbeam_deque::Steal;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use loom::sync::{Mutex, MutexGuard};

use std::collections::VecDeque;
use std::sync::{Arc, Mutex as Plain, MutexGuard as PlainGuard, PoisonError};

/// Looks of a waiter before it sleeps.
pub(crate) const LOOKS: u32 = 0;
/// Looks of a free thread before it sleeps.
pub(crate) const SEARCHES: u32 = 1;

/// A queue of jobs. Others see what was added as late as the counter shows it, and what was taken at once.
struct Queue<T> {
    entries: Plain<Entries<T>>,
    /// How many were ever added.
    added: AtomicUsize,
}

/// No thread makes a step of the model while it has them.
struct Entries<T> {
    /// With their numbers, the oldest first.
    all: VecDeque<(usize, T)>,
    next: usize,
}

impl<T> Queue<T> {
    fn new() -> Self {
        let (all, next) = (VecDeque::new(), 0);
        Self {
            entries: Plain::new(Entries { all, next }),
            added: AtomicUsize::new(0),
        }
    }

    fn entries(&self) -> PlainGuard<'_, Entries<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry. Returns how many there are with that. The caller says so to others.
    fn add(&self, entry: T) -> usize {
        let entries = &mut *self.entries();
        entries.all.push_back((entries.next, entry));
        entries.next += 1;
        entries.next
    }

    /// Takes the oldest entry if it is one of the first `added`.
    fn take_oldest(&self, added: usize) -> Steal<T> {
        let all = &mut self.entries().all;
        let is_seen = all.front().is_some_and(|(number, _)| *number < added);
        match is_seen.then(|| all.pop_front()).flatten() {
            Some((_, entry)) => Steal::Success(entry),
            None => Steal::Empty,
        }
    }

    /// Whether none is left of the first `added`.
    fn is_empty(&self, added: usize) -> bool {
        let all = &self.entries().all;
        all.front().is_none_or(|(number, _)| *number >= added)
    }
}

/// As crossbeam's `Worker`.
pub(crate) struct Deque<T> {
    queue: Arc<Queue<T>>,
    is_fifo: bool,
}

impl<T> Deque<T> {
    pub(crate) fn new_lifo() -> Self {
        Self {
            queue: Arc::new(Queue::new()),
            is_fifo: false,
        }
    }

    pub(crate) fn new_fifo() -> Self {
        Self {
            is_fifo: true,
            ..Self::new_lifo()
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.queue))
    }

    pub(crate) fn push(&self, entry: T) {
        let added = self.queue.add(entry);
        // Release: as crossbeam's, and no more than that.
        self.queue.added.store(added, Ordering::Release);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SeqCst: as crossbeam's.
        fence(Ordering::SeqCst);
        let all = &mut self.queue.entries().all;
        let taken = match self.is_fifo {
            true => all.pop_front(),
            false => all.pop_back(),
        };
        taken.map(|(_, entry)| entry)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty(usize::MAX)
    }
}

/// As crossbeam's `Stealer`.
pub(crate) struct Stealer<T>(Arc<Queue<T>>);

impl<T> Stealer<T> {
    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.take_oldest(self.added())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty(self.added())
    }

    fn added(&self) -> usize {
        // SeqCst: as crossbeam's.
        fence(Ordering::SeqCst);
        // Acquire: as crossbeam's; pairs with the Release in `push`.
        self.0.added.load(Ordering::Acquire)
    }
}

/// As crossbeam's.
pub(crate) struct Injector<T>(Queue<T>);

impl<T> Injector<T> {
    pub(crate) fn new() -> Self {
        Self(Queue::new())
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.add(entry);
        // SeqCst: as crossbeam's; to loom it is a Release.
        self.0.added.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.take_oldest(self.added())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty(self.added())
    }

    fn added(&self) -> usize {
        // SeqCst: as crossbeam's; to loom it is an Acquire load.
        fence(Ordering::SeqCst);
        self.0.added.load(Ordering::SeqCst)
    }
}
