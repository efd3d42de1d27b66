//! A slot in which the owner of a call opens it to helpers, and closes it again.
//!
//! The call is on the owner's stack; the slot is never freed. A helper *enters* the slot before it touches the call, and
//! the owner does not leave its frame before the last helper has left.
//!
//! # States
//! `OPEN`: helpers may enter. `WORK`: the call has work for them. `ASLEEP`: the owner parks until the pins are gone or
//! a helper recalls it. `RECALLED`: a helper has work for the owner. The low bits count the pins.
//! The owner alone sets `OPEN`, in `open_during` and `reopen`, and clears it, in `close`. After `close` the count only falls.
//!
//! # Threads
//! The owner calls `open_during`, and in it `reopen`, `is_drained`, `is_released`, `fall_asleep`; helpers that hold a
//! pin call `recall`. Any thread calls the rest.
//!
//! Unsafe: the opened call is reached by pointer; the pin is what keeps it valid.

use crate::job::ExecutionId;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The head of a call that helpers can join. Comes first in the call's frame.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CallHeader {
    /// What helpers run. It gets the pointer with which the call was opened, and must not unwind.
    pub(crate) help: unsafe fn(*const Self),
}

/// The slot.
#[derive(Debug, Default)]
pub(crate) struct HelperSlot {
    state: AtomicU32,
    shared: AtomicPtr<CallHeader>,
    /// Executions of a few of the helpers, so that the owner can help them in turn; 0 is none.
    helpers: [AtomicU64; 4],
}

/// A helper's right to touch the call in the slot.
#[must_use]
pub(crate) struct HelperGuard<'slot> {
    slot: &'slot HelperSlot,
    shared: *const CallHeader,
}

impl HelperSlot {
    /// Owner, of a slot that is closed and drained: lets helpers in while `work` runs, which may close and reopen it, and calls
    /// `wait`, which is to return when it [`is_released`](Self::is_released). No helper may recall the owner after `work`.
    ///
    /// # Safety
    /// `shared` is made of a pointer to the whole call, and stays valid until this returns; no panic leaves this
    /// function.
    pub(crate) unsafe fn open_during<R>(
        &self,
        shared: *const CallHeader,
        work: impl FnOnce() -> R,
        wait: impl FnOnce(),
    ) -> R {
        // Relaxed: published by the store below.
        self.shared.store(shared.cast_mut(), Ordering::Relaxed);
        // Release: publishes the call; pairs with the Acquire in `try_enter`.
        self.state.store(OPEN | WORK, Ordering::Release);
        let value = work();
        self.close();
        wait();
        assert!(
            self.is_drained(),
            "an owner that may be recalled is recalled before this"
        );
        value
    }

    /// Whether a helper would be of use. A hint.
    #[inline]
    pub(crate) fn is_inviting(&self) -> bool {
        // Relaxed: a hint; `try_enter` decides.
        self.state.load(Ordering::Relaxed) & (OPEN | WORK) == OPEN | WORK
    }

    /// Pins the call that the slot holds, if it is open and wants help.
    pub(crate) fn try_enter(&self) -> Option<HelperGuard<'_>> {
        let pinned = |state: u32| (state & (OPEN | WORK) == OPEN | WORK).then(|| state + 1);
        // Acquire: pairs with the Release in `open_during`. Relaxed on failure: tried again.
        let state = &self.state;
        let entered = state.fetch_update(Ordering::Acquire, Ordering::Relaxed, pinned);
        entered.ok()?;
        // Relaxed: written before `open_during`'s store, and not again while a pin is held.
        let shared = self.shared.load(Ordering::Relaxed).cast_const();
        Some(HelperGuard { slot: self, shared })
    }

    /// The call has no more work, so helpers need not enter. A thread that finds the call exhausted calls this. If
    /// work may come back, it looks once more afterwards.
    pub(crate) fn dismiss(&self) {
        // SeqCst, and so Acquire, which pairs with the Release in `recall`: one word, so either the recall comes later
        // and its bits stay, or the caller's next look sees the work left before the recall. With `invite` it is O1: a
        // pusher reads this word after the push, a dismisser reads the queue after this exchange, and all four are
        // SeqCst. So the pusher sees the dismissal, or the dismisser sees what was pushed.
        //
        // The same holds for a look that finds the bit gone, and all but the first runner that ends only look. What it read
        // is older than the recall or the invitation, whose bit then stays, or newer, and then it has acquired.
        if self.state.load(Ordering::SeqCst) & WORK != 0 {
            // SeqCst: as above.
            self.state.fetch_and(!WORK, Ordering::SeqCst);
        }
    }

    /// There is work again.
    pub(crate) fn invite(&self) {
        // SeqCst: O1, in `dismiss`.
        if self.state.load(Ordering::SeqCst) & WORK == 0 {
            // Relaxed: a hint; a helper that enters finds the work by its own protocol.
            self.state.fetch_or(WORK, Ordering::Relaxed);
        }
    }

    /// Helper: there is work again, also for the owner. Returns true when the owner sleeps and must be woken.
    pub(crate) fn recall(&self) -> bool {
        // Release: publishes where the work is; pairs with the Acquire in `dismiss` and `is_released`.
        let before = self.state.fetch_or(WORK | RECALLED, Ordering::Release);
        before & (ASLEEP | RECALLED) == ASLEEP
    }

    /// Owner, of a call that it has closed: opens it to helpers again. Helpers may recall it once more.
    pub(crate) fn reopen(&self) {
        // Acquire: the work of the helpers that have recalled it until now is visible.
        self.state
            .fetch_and(!(ASLEEP | RECALLED), Ordering::Acquire);
        // Release: as in `open_during`, for what the owner has changed since.
        self.state.fetch_or(OPEN | WORK, Ordering::Release);
    }

    /// Owner: closes the slot to more helpers. Those inside go on.
    pub(crate) fn close(&self) {
        // Relaxed: `is_drained` does the acquiring.
        self.state.fetch_and(!(OPEN | WORK), Ordering::Relaxed);
    }

    /// Owner: whether no helper is inside; if so, all their writes are visible.
    pub(crate) fn is_drained(&self) -> bool {
        // Acquire: pairs with the Release in `leave`; later changes of the word keep its release sequence.
        pins(self.state.load(Ordering::Acquire)) == 0
    }

    /// Owner: whether its wait is over: no helper is inside, or one has recalled it.
    pub(crate) fn is_released(&self) -> bool {
        // Acquire: as in `is_drained`, and pairs with the Release in `recall`.
        is_released(self.state.load(Ordering::Acquire))
    }

    /// Owner: announces that it is about to park; `false` means that its wait is over.
    pub(crate) fn fall_asleep(&self) -> bool {
        // AcqRel: Acquire as in `is_released`. One word, so either the helper that leaves last or recalls the owner
        // sees ASLEEP, or the owner sees what that helper did.
        !is_released(self.state.fetch_or(ASLEEP, Ordering::AcqRel))
    }

    /// Executions of helpers that may be inside.
    pub(crate) fn helpers(&self) -> impl Iterator<Item = ExecutionId> {
        // Acquire: a thread that reads an id sees the record that it names.
        self.helpers
            .iter()
            .map(|helper| ExecutionId::from_bits(helper.load(Ordering::Acquire)))
    }
}

impl HelperGuard<'_> {
    /// Helps the call until it has no more work, as `execution`, calls `helped`, and leaves. Calls `wake` when the owner
    /// sleeps and must be woken.
    #[inline]
    pub(crate) fn take_part(
        self,
        execution: ExecutionId,
        helped: impl FnOnce(),
        wake: impl FnOnce(),
    ) {
        let helpers = &self.slot.helpers;
        let helper = &helpers[usize::from(execution.slot().unwrap_or(0)) % helpers.len()];
        // Release: pairs with the Acquire in `helpers`. Two helpers may share an entry; the later one is visible.
        helper.store(execution.to_bits(), Ordering::Release);
        // SAFETY: the guard keeps the call valid.
        let help = unsafe { (*self.shared).help };
        // SAFETY: `help` was stored for this very call.
        unsafe { help(self.shared) };
        // Relaxed: clearing the entry early or late only changes which helper the owner helps.
        helper.store(0, Ordering::Relaxed);
        helped();
        if self.leave() {
            wake();
        }
    }

    /// Leaves. Returns true when the owner sleeps and must be woken by the caller.
    pub(crate) fn leave(self) -> bool {
        // Release: publishes all writes of this helper; pairs with the Acquire in `is_drained`.
        // Acquire is not needed: this thread reads nothing of the other helpers.
        let before = self.slot.state.fetch_sub(1, Ordering::Release);
        pins(before) == 1 && before & ASLEEP != 0
    }
}

fn is_released(state: u32) -> bool {
    pins(state) == 0 || state & RECALLED != 0
}

/// How many helpers are inside.
fn pins(state: u32) -> u32 {
    state % OPEN
}

const OPEN: u32 = 1 << 16;
const WORK: u32 = 1 << 17;
const ASLEEP: u32 = 1 << 18;
const RECALLED: u32 = 1 << 19;
