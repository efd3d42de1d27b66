//! A timer: a node of a wheel, and who is to be woken.
//!
//! It lives where it is waited for, inside a pinned future, and so needs no memory of its own.
//!
//! # States
//! `IDLE` in no wheel, wakes nobody · `LINKED(timers)` in their wheel, holds a waker · `FIRED` final until
//! reset: it was due, and its waker was taken.
//!
//! # Who may touch what
//! The *owner* is whoever has the entry by `Pin<&mut _>`: one thread at a time. In `IDLE` and `FIRED` the
//! entry is the owner's alone. In `LINKED(timers)` node and waker belong to whoever holds the lock of those
//! timers; that may be the owner, who then finds out whether the entry is still linked, or the thread that
//! turns the wheel. The deadline is set only in `IDLE`, by the owner, so the owner may always read it.
//!
//! # Ordering
//! Only the owner leaves `IDLE` and `FIRED`. `LINKED` is left under the lock. The turner's last access to
//! an entry is the Release store that ends `LINKED`; an owner that finds the new state with Acquire has it
//! for itself and may free it, with or without the lock. An owner that still finds `LINKED` takes the lock
//! and looks again: then either nothing has happened, or all.
//!
//! Wakers are the user's code: they are cloned, woken and dropped outside the lock.
//!
//! Unsafe: wheels and timers are reached by pointer, and pointers are shared by the rules above.

use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::UnsafeCell;
use crate::timer::Moment;
use crate::timer::timers::{Closed, Earlier, Slots, Timers};
use crate::timer::wheel::Node;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::Waker;

/// A timer.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Entry {
    /// First, so that a pointer to it is one to the entry.
    node: std::cell::UnsafeCell<Node>,
    waker: UnsafeCell<Option<Waker>>,
    state: AtomicPtr<Timers>,
    /// A wheel may point here.
    pinned: PhantomPinned,
}

// SAFETY: the node's pointers and the cells forbid it; see the rules above. A waker may be sent.
unsafe impl Send for Entry {}
// SAFETY: as above; through a shared reference one can only ask.
unsafe impl Sync for Entry {}

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Is in no wheel.
    Idle,
    /// Will wake the waker it was given last.
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
        // SAFETY: alive; a deadline is set only through `Pin<&mut Self>`.
        unsafe { Node::deadline(self.node()) }
    }

    /// Whether it has fired.
    pub(crate) fn is_fired(&self) -> bool {
        // Acquire: pairs with the Release in `fire`.
        self.state.load(Ordering::Acquire) == FIRED
    }

    /// What it does; if it waits, it will wake `waker`.
    pub(crate) fn poll(self: Pin<&mut Self>, waker: &Waker) -> Standing {
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
        }
        // Acquire: as in `is_fired`.
        match entry.state.load(Ordering::Acquire) {
            IDLE => Standing::Idle,
            FIRED => Standing::Fired,
            _ => Standing::Waiting,
        }
    }

    /// Makes an idle entry wait in the wheel of `timers`, where it is tick `now`. Tells whether it is the
    /// earliest there.
    ///
    /// # Errors
    /// The waker, if these timers are closed.
    pub(crate) fn link(
        self: Pin<&mut Self>,
        timers: &'static Timers,
        now: u64,
        waker: Waker,
    ) -> Result<Earlier, (Closed, Waker)> {
        let entry = self.into_ref().get_ref();
        // Relaxed: only the owner leaves this state.
        assert_eq!(
            entry.state.load(Ordering::Relaxed),
            IDLE,
            "a timer waits in one wheel"
        );
        let mut slots = timers.lock();
        let Some(wheel) = slots.open_at(now) else {
            drop(slots);
            return Err((Closed, waker));
        };
        // SAFETY: 1. idle, so the owner's alone.
        unsafe { *entry.waker.get_mut().deref() = Some(waker) };
        // SAFETY: idle, so in no wheel; it is pinned, and unlinked when it is dropped.
        unsafe { wheel.insert(now, entry.node()) };
        let linked = ptr::from_ref(timers).cast_mut();
        // Release: for an owner elsewhere that looks before it takes the lock.
        entry.state.store(linked, Ordering::Release);
        Ok(timers.note_inserted(&slots, entry.deadline().tick_due()))
    }

    /// Makes it idle. Returns the waker that it would have woken.
    pub(crate) fn cancel(self: Pin<&mut Self>) -> Option<Waker> {
        let entry = self.into_ref().get_ref();
        let waker = entry.with_linked(|slots| {
            // SAFETY: alive, and linked in this very wheel.
            unsafe { slots.remove(entry.node()) };
            // SAFETY: 1. unlinked, so the owner's alone.
            unsafe { entry.waker.get_mut().deref().take() }
        });
        // Relaxed: linked nowhere, so the owner's alone.
        entry.state.store(IDLE, Ordering::Relaxed);
        waker.flatten()
    }

    /// Sets the deadline of an idle entry.
    pub(crate) fn set_deadline(self: Pin<&mut Self>, deadline: Moment) {
        let entry = self.into_ref().get_ref();
        // Relaxed: only the owner leaves this state.
        assert_eq!(
            entry.state.load(Ordering::Relaxed),
            IDLE,
            "a timer that waits has its deadline"
        );
        // SAFETY: idle, so the owner's alone.
        unsafe { Node::set_deadline(entry.node(), deadline) };
    }

    /// Says that the deadline of an idle entry has passed.
    pub(crate) fn set_fired(self: Pin<&mut Self>) {
        // Relaxed: idle, so the owner's alone.
        self.state.store(FIRED, Ordering::Relaxed);
    }

    /// Turner: ends the wait of a node that it has just taken out of the wheel, and returns whom to wake.
    /// `is_due` is false where the wheel is given up.
    ///
    /// # Safety
    /// The lock of the entry's timers is held, and `node` was taken out under it.
    pub(super) unsafe fn fire(node: NonNull<Node>, is_due: bool) -> Option<Waker> {
        // SAFETY: every node in a wheel is the first field of an entry, which is alive while it is linked. Held by
        // `models/timer.rs`.
        let entry = unsafe { node.cast::<Self>().as_ref() };
        // SAFETY: 1. linked, and the lock is held.
        let waker = unsafe { entry.waker.get_mut().deref().take() };
        let state = if is_due { FIRED } else { IDLE };
        // Release: the owner may free the entry as soon as it finds this.
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
        // SAFETY: stored by `link`, from a reference that is valid for ever.
        let timers: &'static Timers = unsafe { &*linked };
        let mut slots = timers.lock();
        // Relaxed: the lock orders it.
        let is_linked = self.state.load(Ordering::Relaxed) == linked;
        is_linked.then(|| f(&mut slots))
    }

    fn node(&self) -> NonNull<Node> {
        // With the whole entry's provenance: `fire` goes the way back.
        NonNull::from(self).cast()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: it is not moved any more.
        let waker = unsafe { Pin::new_unchecked(&mut *self) }.cancel();
        drop(waker);
        debug_assert!(
            // SAFETY: 1. idle, so the owner's alone.
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
    size_of::<Entry>() <= 56,
    "a sleeping task's memory is part of its contract"
);
