//! A timer: a node of a wheel, and the waker of its task.
//!
//! It is a part of the future that waits for it, which is pinned; so it needs no memory of its own.
//!
//! # States
//! - `IDLE`: in no wheel, no waker.
//! - `LINKED(timers)`: in their wheel, with a waker.
//! - `FIRED`: final until reset; it was due, and its waker was taken.
//!
//! # Which thread may touch what
//! The *owner* is the thread that has the entry by `Pin<&mut _>`: one thread at a time. In `IDLE` and `FIRED` only the
//! owner touches the entry. In `LINKED(timers)` node and waker belong to the holder of the lock of those timers. That
//! may be the owner, which then checks whether the entry is still linked, or the thread that advances the wheel. Only the
//! owner sets the deadline, and only in `IDLE`, so the owner may always read it.
//!
//! # Ordering
//! Only the owner leaves `IDLE` and `FIRED`. `LINKED` is left under the lock. The last access of the advancing thread
//! to an entry is the Release store that ends `LINKED`. An owner that reads the new state with Acquire has exclusive
//! access and may free the entry, with or without the lock. An owner that still reads `LINKED` takes the lock and reads
//! again: then the other thread has done either nothing or everything.
//!
//! Wakers are user code: they are cloned, woken and dropped outside the lock.
//!
//! Unsafe: wheels and timers are reached by pointer, and pointers are shared by the rules above.

use crate::job::discard;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::UnsafeCell;
use crate::sync::{MutexGuard, lock_or_end};
use crate::timer::Moment;
use crate::timer::timers::{Slots, Timers};
use crate::timer::wheel::Node;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::Waker;

/// A timer.
#[repr(C)]
pub(crate) struct Entry {
    /// First, so that a pointer to the node is a pointer to the entry.
    node: std::cell::UnsafeCell<Node>,
    waker: UnsafeCell<Option<Waker>>,
    state: AtomicPtr<Timers>,
    /// A wheel may point here.
    pinned: PhantomPinned,
}

// SAFETY: the node's pointers and the cells forbid it; see the rules above. A waker may be sent.
unsafe impl Send for Entry {}
// SAFETY: as above; a shared reference only reads atomics and the deadline.
unsafe impl Sync for Entry {}

/// The state of an entry, as its owner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// Is in no wheel.
    Idle,
    /// Will wake the waker that it was given last.
    Waiting,
    /// Was due.
    Fired,
}

impl Entry {
    /// An idle entry.
    pub(crate) fn new(deadline: Moment) -> Self {
        Self {
            node: std::cell::UnsafeCell::new(Node::new(deadline)),
            waker: UnsafeCell::new(None),
            state: AtomicPtr::new(IDLE),
            pinned: PhantomPinned,
        }
    }

    /// When it is due.
    pub(crate) fn deadline(&self) -> Moment {
        // SAFETY: valid; a deadline is set only through `Pin<&mut Self>`.
        unsafe { Node::deadline(self.node()) }
    }

    /// Whether it has fired.
    pub(crate) fn is_fired(&self) -> bool {
        // Acquire: pairs with the Release in `fire`.
        self.state.load(Ordering::Acquire) == FIRED
    }

    /// The entry's state; if it waits, it will wake `waker`.
    pub(crate) fn poll(self: Pin<&mut Self>, waker: &Waker) -> EntryState {
        let entry = self.into_ref().get_ref();
        let is_current = entry.with_linked(|_| {
            let own = entry.waker.get_mut();
            // SAFETY: 1. linked, and the lock is held.
            let own = unsafe { own.deref() }.as_ref();
            own.is_some_and(|own| own.will_wake(waker))
        });
        if is_current == Some(false) {
            // To be dropped outside the lock: the old one, or the new one if the entry has fired meanwhile.
            let mut other = Some(waker.clone());
            entry.with_linked(|_| {
                // SAFETY: 1. linked, and the lock is held.
                unsafe { std::mem::swap(entry.waker.get_mut().deref(), &mut other) };
            });
            discard(other);
        }
        // Acquire: as in `is_fired`.
        match entry.state.load(Ordering::Acquire) {
            IDLE => EntryState::Idle,
            FIRED => EntryState::Fired,
            _ => EntryState::Waiting,
        }
    }

    /// Links an idle entry into the wheel of `timers`, whose current tick is `now`. Returns whether it is the
    /// earliest there.
    ///
    /// # Errors
    /// The waker, if these timers are closed.
    pub(crate) fn link(
        self: Pin<&mut Self>,
        timers: &'static Timers,
        now: u64,
        waker: Waker,
    ) -> Result<bool, Waker> {
        let entry = self.into_ref().get_ref();
        assert!(entry.is_idle(), "a timer waits in one wheel");
        let mut slots = lock_or_end(&timers.slots);
        let Some(wheel) = slots.open_at(now) else {
            drop(slots);
            return Err(waker);
        };
        // SAFETY: 1. idle, so only the owner reaches it.
        unsafe { *entry.waker.get_mut().deref() = Some(waker) };
        // SAFETY: idle, so in no wheel; it is pinned, and unlinked when it is dropped.
        unsafe { wheel.insert(now, entry.node()) };
        let linked = ptr::from_ref(timers).cast_mut();
        // Release: for an owner on another thread that reads the state before it takes the lock.
        entry.state.store(linked, Ordering::Release);
        Ok(timers.note_inserted(&slots, entry.deadline().tick_due()))
    }

    /// Makes it idle. Returns the waker that it would have woken.
    pub(crate) fn cancel(self: Pin<&mut Self>) -> Option<Waker> {
        let entry = self.into_ref().get_ref();
        let waker = entry.with_linked(|slots| {
            // SAFETY: valid, and linked in this very wheel.
            unsafe { slots.remove(entry.node()) };
            // SAFETY: 1. unlinked, so only the owner reaches it.
            unsafe { entry.waker.get_mut().deref().take() }
        });
        // Relaxed: not linked, so only the owner reads it.
        entry.state.store(IDLE, Ordering::Relaxed);
        waker.flatten()
    }

    /// Sets the deadline of an idle entry.
    pub(crate) fn set_deadline(self: Pin<&mut Self>, deadline: Moment) {
        let entry = self.into_ref().get_ref();
        assert!(entry.is_idle(), "a timer that waits has its deadline");
        // SAFETY: idle, so only the owner reaches it.
        unsafe { Node::set_deadline(entry.node(), deadline) };
    }

    /// Marks an idle entry as fired: its deadline has passed.
    pub(crate) fn set_fired(self: Pin<&mut Self>) {
        // Relaxed: idle, so only the owner reads it.
        self.state.store(FIRED, Ordering::Relaxed);
    }

    /// Advancing thread: ends the wait of a node that it has just taken out of the wheel, and returns the waker to
    /// wake.
    /// `is_due` is false when the wheel is closed.
    ///
    /// # Safety
    /// The lock of the entry's timers is held, and `node` was taken out under it.
    pub(super) unsafe fn fire(node: NonNull<Node>, is_due: bool) -> Option<Waker> {
        // SAFETY: every node in a wheel is the first field of an entry, which is valid while it is linked. Held by
        // `models/timer.rs`.
        let entry = unsafe { node.cast::<Self>().as_ref() };
        // SAFETY: 1. linked, and the lock is held.
        let waker = unsafe { entry.waker.get_mut().deref().take() };
        let state = if is_due { FIRED } else { IDLE };
        // Release: the owner may free the entry as soon as it reads this.
        entry.state.store(state, Ordering::Release);
        waker
    }

    /// Owner: calls `f` under the lock of the timers where it is linked, if it is.
    fn with_linked<R>(&self, f: impl FnOnce(&mut MutexGuard<'_, Slots>) -> R) -> Option<R> {
        // Acquire: as in `is_fired`.
        let linked = self.state.load(Ordering::Acquire);
        if linked == IDLE || linked == FIRED {
            return None;
        }
        // SAFETY: stored by `link`, from a `'static` reference.
        let timers: &'static Timers = unsafe { &*linked };
        let mut slots = lock_or_end(&timers.slots);
        // Relaxed: the lock orders it.
        let is_linked = self.state.load(Ordering::Relaxed) == linked;
        is_linked.then(|| f(&mut slots))
    }

    /// Owner: whether it is in no wheel and has not fired.
    fn is_idle(&self) -> bool {
        // Relaxed: only the owner leaves this state.
        self.state.load(Ordering::Relaxed) == IDLE
    }

    fn node(&self) -> NonNull<Node> {
        // With the whole entry's provenance: `fire` casts back.
        NonNull::from(self).cast()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: it is not moved any more.
        let waker = unsafe { Pin::new_unchecked(&mut *self) }.cancel();
        discard(waker);
        debug_assert!(
            // SAFETY: 1. idle, so only the owner reaches it.
            unsafe { self.waker.get_mut().deref().is_none() },
            "an idle timer has nobody to wake"
        );
    }
}

const IDLE: *mut Timers = ptr::null_mut();
/// An address that no timers have, because of their alignment.
const FIRED: *mut Timers = ptr::without_provenance_mut(1);

const _: () = assert!(
    align_of::<Timers>() > 1,
    "no timers are at the address of `FIRED`"
);
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(
    size_of::<Entry>() <= 48,
    "a sleeping task's memory is part of its contract"
);
