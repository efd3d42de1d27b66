//! The callbacks of one source.
//!
//! # Threads
//! Any thread registers, unregisters and cancels. Callbacks run outside the lock, one at a time, on the
//! thread that cancels.

use crate::job::{catch, resume_all};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex, lock, thread};
use std::fmt;
use std::sync::{Arc, Weak};

/// A callback's place; dropping it takes the callback back. See [`Token::register`](super::Token::register).
#[doc(alias = "CancellationTokenRegistration")]
#[derive(Debug)]
#[must_use = "dropping a registration takes the callback back"]
pub struct Registration {
    callbacks: Weak<Callbacks>,
    id: u64,
}

type Callback = Box<dyn FnOnce() + Send>;

/// The shared state of a source and its tokens.
pub(super) struct Callbacks {
    cancelled: AtomicBool,
    list: Mutex<List>,
    finished: Condvar,
}

#[derive(Default)]
struct List {
    next_id: u64,
    /// Oldest first.
    waiting: Vec<(u64, Callback)>,
    /// The callback that runs now, and where.
    running: Option<(u64, thread::ThreadId)>,
}

impl Callbacks {
    pub(super) fn new() -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            list: Mutex::new(List::default()),
            finished: Condvar::new(),
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
        while let Some(callback) = self.begin_newest() {
            panics.extend(catch(callback).err());
            lock(&self.list).running = None;
            self.finished.notify_all();
        }
        resume_all(panics);
    }

    fn begin_newest(&self) -> Option<Callback> {
        let mut list = lock(&self.list);
        let (id, callback) = list.waiting.pop()?;
        list.running = Some((id, thread::current().id()));
        Some(callback)
    }

    /// Adds a callback; gives it back when the source is already cancelled, to be run by the caller.
    fn add(&self, callback: Callback) -> Result<u64, Callback> {
        let mut list = lock(&self.list);
        // Under the lock: either the canceller takes the callback from the list, or we see its mark.
        if self.is_cancelled() {
            return Err(callback);
        }
        list.next_id += 1;
        let id = list.next_id;
        list.waiting.push((id, callback));
        Ok(id)
    }

    /// Takes a callback back; waits for it if it runs on another thread.
    fn remove(&self, id: u64) {
        let mut list = lock(&self.list);
        if let Some(index) = list.waiting.iter().position(|(other, _)| *other == id) {
            let callback = list.waiting.remove(index);
            // What the callback owns may itself unregister when dropped.
            drop(list);
            drop(callback);
            return;
        }
        let here = thread::current().id();
        while list
            .running
            .is_some_and(|(running, place)| running == id && place != here)
        {
            list = match self.finished.wait(list) {
                Ok(list) => list,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }
}

impl Registration {
    pub(super) fn new(callbacks: &Arc<Callbacks>, callback: Callback) -> Self {
        let id = callbacks.add(callback).unwrap_or_else(|callback| {
            callback();
            FINISHED
        });
        Self {
            callbacks: Arc::downgrade(callbacks),
            id,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(callbacks) = self.callbacks.upgrade() {
            callbacks.remove(self.id);
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

/// The id of a callback that ran when it was registered. No callback in the list has it.
const FINISHED: u64 = 0;
