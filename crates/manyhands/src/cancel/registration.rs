//! The callbacks of one source, and the wakers of the futures that wait for it.
//!
//! # Threads
//! Any thread registers, unregisters and cancels. Callbacks run outside the lock, one at a time, on the
//! thread that cancels, and so do wakes.
//!
//! # Cost
//! Entries are in a slab and linked in the order of their registration, so that each comes and goes in
//! constant time however many there are.

use crate::job::{catch, resume_all, wake};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex, lock, thread};
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;

/// A callback's place; dropping it takes the callback back. See [`Token::register`](super::Token::register).
#[doc(alias = "CancellationTokenRegistration")]
#[derive(Debug)]
#[must_use = "dropping a registration takes the callback back"]
pub struct Registration {
    callbacks: Weak<Callbacks>,
    key: Option<Key>,
}

type Callback = Box<dyn FnOnce() + Send>;

/// The shared state of a source and its tokens.
pub(super) struct Callbacks {
    cancelled: AtomicBool,
    list: Mutex<List>,
    finished: Condvar,
    /// Dropped with this: what is of no use without.
    kept: Mutex<Option<Box<dyn Send>>>,
}

/// What is done when the source is cancelled.
enum Reaction {
    Call(Callback),
    Wake(Waker),
}

/// Names an entry. Never given twice, because a place that is used again has another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    index: usize,
    generation: u64,
}

#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    first_free: Option<usize>,
    newest: Option<usize>,
    generation: u64,
    /// The callback that runs now, and where.
    running: Option<(Key, thread::ThreadId)>,
}

struct Entry {
    generation: u64,
    /// `None` in a place that is free.
    reaction: Option<Reaction>,
    /// Also the next free place.
    older: Option<usize>,
    newer: Option<usize>,
}

impl Callbacks {
    pub(super) fn new() -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            list: Mutex::new(List::default()),
            finished: Condvar::new(),
            kept: Mutex::new(None),
        }
    }

    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        // Acquire: what the canceller did before is visible to who sees it. A plain load on x86-64.
        self.cancelled.load(Ordering::Acquire)
    }

    /// Cancels and runs every callback, the newest first; the panics of callbacks go on at the end.
    pub(super) fn cancel(&self) {
        // AcqRel: Release pairs with `is_cancelled`; the first caller alone goes on.
        if self.cancelled.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut panics = Vec::new();
        while let Some(reaction) = self.begin_newest() {
            match reaction {
                Reaction::Call(callback) => panics.extend(catch(callback).err()),
                Reaction::Wake(waker) => wake(waker),
            }
            lock(&self.list).running = None;
            self.finished.notify_all();
        }
        resume_all(panics);
    }

    /// Keeps `guard` in place of what was kept before.
    pub(super) fn keep(&self, guard: Box<dyn Send>) {
        let before = lock(&self.kept).replace(guard);
        drop(before);
    }

    fn begin_newest(&self) -> Option<Reaction> {
        let mut list = lock(&self.list);
        let index = list.newest?;
        let key = Key {
            index,
            generation: list.entries[index].generation,
        };
        let reaction = list.take(key);
        if matches!(reaction, Some(Reaction::Call(_))) {
            list.running = Some((key, thread::current().id()));
        }
        reaction
    }

    /// Adds a reaction; gives it back when the source is already cancelled, to be done by the caller.
    fn add(&self, reaction: Reaction) -> Result<Key, Reaction> {
        let mut list = lock(&self.list);
        // Under the lock: either the canceller takes it from the list, or we see its mark.
        if self.is_cancelled() {
            return Err(reaction);
        }
        Ok(list.add(reaction))
    }

    /// Registers a waker, in the place of an earlier one of the same waiter; `None` when the source is
    /// cancelled.
    pub(super) fn add_waker(&self, waker: &Waker, earlier: Option<Key>) -> Option<Key> {
        let waker = Reaction::Wake(waker.clone());
        match earlier {
            None => self.add(waker).ok(),
            Some(key) => {
                let earlier = lock(&self.list).replace(key, waker);
                // An earlier waker that is not there any more was woken.
                earlier.is_some().then_some(key)
            }
        }
    }

    /// Takes a waker back; one that is being woken just now does no harm.
    pub(super) fn remove_waker(&self, key: Key) {
        let waker = lock(&self.list).take(key);
        drop(waker);
    }

    /// Takes a callback back; waits for it if it runs on another thread.
    fn remove(&self, key: Key) {
        let mut list = lock(&self.list);
        if let Some(callback) = list.take(key) {
            // What the callback owns may itself unregister when dropped.
            drop(list);
            drop(callback);
            return;
        }
        let here = thread::current().id();
        while list
            .running
            .is_some_and(|(running, place)| running == key && place != here)
        {
            list = match self.finished.wait(list) {
                Ok(list) => list,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }
}

impl List {
    fn add(&mut self, reaction: Reaction) -> Key {
        self.generation += 1;
        let entry = Entry {
            generation: self.generation,
            reaction: Some(reaction),
            older: self.newest,
            newer: None,
        };
        let index = if let Some(free) = self.first_free {
            self.first_free = self.entries[free].older;
            self.entries[free] = entry;
            free
        } else {
            self.entries.push(entry);
            self.entries.len() - 1
        };
        if let Some(older) = self.newest {
            self.entries[older].newer = Some(index);
        }
        self.newest = Some(index);
        Key {
            index,
            generation: self.generation,
        }
    }

    fn entry(&mut self, key: Key) -> Option<&mut Entry> {
        let entry = &mut self.entries[key.index];
        (entry.generation == key.generation && entry.reaction.is_some()).then_some(entry)
    }

    /// Puts another reaction into the place of one that is still there, and returns that.
    fn replace(&mut self, key: Key, reaction: Reaction) -> Option<Reaction> {
        self.entry(key)?.reaction.replace(reaction)
    }

    fn take(&mut self, key: Key) -> Option<Reaction> {
        let entry = self.entry(key)?;
        let reaction = entry.reaction.take();
        let (older, newer) = (entry.older, entry.newer);
        if let Some(older) = older {
            self.entries[older].newer = newer;
        }
        match newer {
            Some(newer) => self.entries[newer].older = older,
            None => self.newest = older,
        }
        self.entries[key.index].older = self.first_free;
        self.first_free = Some(key.index);
        reaction
    }
}

impl Registration {
    pub(super) fn new(callbacks: &Arc<Callbacks>, callback: Callback) -> Self {
        let key = match callbacks.add(Reaction::Call(callback)) {
            Ok(key) => Some(key),
            Err(Reaction::Call(callback)) => {
                callback();
                None
            }
            Err(Reaction::Wake(_)) => unreachable!("what was given comes back"),
        };
        Self {
            callbacks: Arc::downgrade(callbacks),
            key,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let (Some(key), Some(callbacks)) = (self.key, self.callbacks.upgrade()) {
            callbacks.remove(key);
        }
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
