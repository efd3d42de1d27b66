//! The callbacks of one source, and the wakers of the futures that wait for it.
//!
//! # Threads
//! Any thread registers, unregisters and cancels. The cancelling thread runs callbacks and wakes, one at a time and
//! outside the lock.
//!
//! # Links
//! A linked source has an entry in the list of each parent, which does not keep it alive, and keeps its parents alive, so
//! that a cancellation reaches it through sources of which nothing else is left. Chains of links may be long: they are
//! gone through by loops, both to cancel and to drop.
//!
//! # Cost
//! Reactions are in a tree, by the number of their registration. Adding and removing one takes time that grows with the
//! logarithm of how many there are.

use crate::job::{catch, contain, resume_all, wake};
use crate::runtime::sleep::blocking_on_others;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex, lock, thread};
use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, PoisonError, Weak};
use std::task::Waker;

/// A registered callback; dropping it unregisters the callback. See [`Token::register`](super::Token::register).
///
/// Example: see [`Token::register`](super::Token::register).
#[doc(alias = "CancellationTokenRegistration")]
#[derive(Debug)]
#[must_use = "dropping a registration takes the callback back"]
pub struct Registration {
    callbacks: Weak<Callbacks>,
    key: Option<Key>,
}

type Callback = Box<dyn FnOnce() + Send>;

/// The shared state of a source and its tokens.
#[derive(Default)]
pub(super) struct Callbacks {
    cancelled: AtomicBool,
    list: Mutex<List>,
    finished: Condvar,
}

/// What happens when the source is cancelled.
enum Reaction {
    Call(Callback),
    Wake(Waker),
    /// Cancels a linked source.
    Cancel(Weak<Callbacks>),
}

/// Names a reaction: no two registrations have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

#[derive(Default)]
struct List {
    reactions: BTreeMap<Key, Reaction>,
    /// How many were ever registered.
    registered: u64,
    /// The callback that runs now, and its thread.
    running: Option<(Key, thread::ThreadId)>,
    /// A guard that is dropped with this.
    kept: Option<Box<dyn Send>>,
    /// The parents of a linked source, each with its place in that one's list, which is given back when this source and its
    /// tokens are dropped.
    links: Vec<(Arc<Callbacks>, Key)>,
}

impl Callbacks {
    /// Is cancelled with `parent` from now on.
    pub(super) fn link(self: &Arc<Self>, parent: &Arc<Self>) {
        match parent.add(Reaction::Cancel(Arc::downgrade(self))) {
            Ok(key) => lock(&self.list).links.push((Arc::clone(parent), key)),
            Err(_) => self.cancel(),
        }
    }

    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        // Acquire: a thread that sees the mark also sees what the canceller did before. A plain load on x86-64.
        self.cancelled.load(Ordering::Acquire)
    }

    /// Sets the mark. False if it was set before.
    fn mark(&self) -> bool {
        // AcqRel: Release pairs with `is_cancelled`; only the first caller continues.
        !self.cancelled.swap(true, Ordering::AcqRel)
    }

    /// Cancels and runs every callback, the newest first, and those of a linked source in the place of its link; resumes
    /// the callbacks' panics at the end.
    pub(super) fn cancel(self: &Arc<Self>) {
        if !self.mark() {
            return;
        }
        let mut panics = Vec::new();
        let mut begun = vec![Arc::clone(self)];
        while let Some(current) = begun.last() {
            let gone = match current.begin_newest() {
                Some(Reaction::Call(callback)) => {
                    panics.extend(catch(callback).err());
                    lock(&current.list).running = None;
                    current.finished.notify_all();
                    continue;
                }
                Some(Reaction::Wake(waker)) => {
                    wake(waker);
                    continue;
                }
                Some(Reaction::Cancel(linked)) => match linked.upgrade() {
                    Some(linked) if linked.mark() => {
                        begun.push(linked);
                        continue;
                    }
                    known => known,
                },
                None => begun.pop(),
            };
            // Perhaps the last owner, also of what callbacks of parents own.
            panics.extend(catch(|| drop(gone)).err());
        }
        resume_all(panics);
    }

    /// Keeps `guard` instead of the previous one.
    pub(super) fn keep(&self, guard: Box<dyn Send>) {
        let before = lock(&self.list).kept.replace(guard);
        drop(before);
    }

    fn begin_newest(&self) -> Option<Reaction> {
        let mut list = lock(&self.list);
        let (key, reaction) = list.reactions.pop_last()?;
        if matches!(reaction, Reaction::Call(_)) {
            list.running = Some((key, thread::current().id()));
        }
        Some(reaction)
    }

    /// Adds a reaction; returns it if the source is already cancelled, for the caller to run.
    fn add(&self, reaction: Reaction) -> Result<Key, Reaction> {
        let mut list = lock(&self.list);
        // Under the lock: either the canceller takes it from the list, or we see its mark.
        if self.is_cancelled() {
            return Err(reaction);
        }
        list.registered += 1;
        let key = Key(list.registered);
        list.reactions.insert(key, reaction);
        Ok(key)
    }

    /// Registers a waker, in the entry of an earlier one of the same waiter; `None` when the source is
    /// cancelled.
    pub(super) fn add_waker(&self, waker: &Waker, earlier: Option<Key>) -> Option<Key> {
        let mut waker = Reaction::Wake(waker.clone());
        // One that is not needed is dropped after the lock, and its panic concerns nobody here.
        let discard = |unused: Reaction| contain(|| drop(unused));
        let Some(key) = earlier else {
            return self.add(waker).map_err(discard).ok();
        };
        let mut list = lock(&self.list);
        // The canceller has taken an earlier waker that is missing, and wakes it.
        let place = list.reactions.get_mut(&key);
        let key = place.map(|place| {
            mem::swap(place, &mut waker);
            key
        });
        drop(list);
        discard(waker);
        key
    }

    /// Removes a waker, unless the canceller has taken it; an extra wake does no harm.
    pub(super) fn remove_waker(&self, key: Key) {
        let waker = lock(&self.list).reactions.remove(&key);
        contain(|| drop(waker));
    }

    /// Removes a callback; waits for it if it runs on another thread.
    fn remove(&self, key: Key) {
        let mut list = lock(&self.list);
        if let Some(callback) = list.reactions.remove(&key) {
            // Dropping what the callback owns may unregister other callbacks.
            drop(list);
            drop(callback);
            return;
        }
        let here = thread::current().id();
        let runs_elsewhere = |list: &List| {
            list.running
                .is_some_and(|(running, place)| running == key && place != here)
        };
        if !runs_elsewhere(&list) {
            return;
        }
        // Without the lock: to declare a wait may run code of the user.
        drop(list);
        blocking_on_others(|| {
            let mut list = lock(&self.list);
            while runs_elsewhere(&list) {
                let again = self.finished.wait(list);
                list = again.unwrap_or_else(PoisonError::into_inner);
            }
        });
    }
}

impl Registration {
    pub(super) fn new(callbacks: &Arc<Callbacks>, callback: Callback) -> Self {
        let added = callbacks.add(Reaction::Call(callback));
        let key = added.map_err(|refused| {
            if let Reaction::Call(callback) = refused {
                callback();
            }
        });
        Self {
            callbacks: Arc::downgrade(callbacks),
            key: key.ok(),
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

impl Drop for Callbacks {
    fn drop(&mut self) {
        let mut links = mem::take(&mut lock(&self.list).links);
        while let Some((parent, key)) = links.pop() {
            let entry = lock(&parent.list).reactions.remove(&key);
            drop(entry);
            if let Some(parent) = Arc::into_inner(parent) {
                links.append(&mut lock(&parent.list).links);
            }
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
