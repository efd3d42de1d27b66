//! A slot in which the owner of a call leaves it open for helpers, and closes it again.
//!
//! What is opened lives on the owner's stack; the slot lives for ever. A helper *pins* the slot before it
//! touches the call, and the owner does not leave its frame before the last pin is gone.
//!
//! # States
//! `OPEN` helpers may come · `WORK` and it is worth it · `ASLEEP` the owner parks until the pins are gone
//! or it is called back · `RECALLED` a helper has something for the owner · the low bits count the pins.
//! `OPEN` is set only by `open` and `reopen` and cleared only by `close`, all the owner's. After `close` the
//! count only falls.
//!
//! # Threads
//! The owner calls `open`, `close`, `reopen`, `is_drained`, `is_released`, `fall_asleep`; helpers that hold a
//! pin call `recall`. Any thread calls the rest.
//!
//! Unsafe: the opened call is reached by pointer; the pin is what keeps it valid.

use crate::job::ExecutionId;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::ptr;

/// The head of a call that helpers can join. Comes first in the call's frame.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SharedCall {
    help: unsafe fn(*const Self),
}

impl SharedCall {
    /// A call that is helped by `help`, which is given the pointer with which the call was opened and must not
    /// unwind.
    pub(crate) const fn new(help: unsafe fn(*const Self)) -> Self {
        Self { help }
    }
}

/// The slot.
#[derive(Debug)]
pub(crate) struct HelperSlot {
    state: AtomicU32,
    shared: AtomicPtr<SharedCall>,
    /// Executions of some of the helpers, for the owner to help them in turn; 0 is none.
    helpers: [AtomicU64; HELPERS_RECORDED],
}

/// The right to touch what the slot holds.
#[derive(Debug)]
#[must_use]
pub(crate) struct HelperGuard<'slot> {
    slot: &'slot HelperSlot,
    shared: *const SharedCall,
}

impl HelperSlot {
    /// A closed slot.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            shared: AtomicPtr::new(ptr::null_mut()),
            helpers: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Owner: lets helpers in. The slot must be closed and drained.
    ///
    /// # Safety
    /// `shared` is made of a pointer to the whole call, and stays valid until `is_drained` has returned true
    /// after a `close`.
    pub(crate) unsafe fn open(&self, shared: *const SharedCall) {
        // Relaxed: published by the store below.
        self.shared.store(shared.cast_mut(), Ordering::Relaxed);
        // Release: publishes the call; pairs with the Acquire in `try_enter`.
        self.state.store(OPEN | WORK, Ordering::Release);
    }

    /// Whether a helper would be of use. A hint.
    #[inline]
    pub(crate) fn is_inviting(&self) -> bool {
        // Relaxed: a hint; `try_enter` decides.
        self.state.load(Ordering::Relaxed) & (OPEN | WORK) == OPEN | WORK
    }

    /// Pins the call that the slot holds, if it is open and wants help.
    pub(crate) fn try_enter(&self) -> Option<HelperGuard<'_>> {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & (OPEN | WORK) != OPEN | WORK {
                return None;
            }
            // Acquire: pairs with the Release in `open`. Relaxed on failure: tried again.
            let pinned = self.state.compare_exchange_weak(
                state,
                state + PIN,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match pinned {
                // Relaxed: written before `open`'s store, and not again while a pin is held.
                Ok(_) => {
                    let shared = self.shared.load(Ordering::Relaxed).cast_const();
                    return Some(HelperGuard { slot: self, shared });
                }
                Err(now) => state = now,
            }
        }
    }

    /// No more work here: helpers need not come. Called by anyone who found the call exhausted, who looks
    /// once more after it if work may come back.
    pub(crate) fn dismiss(&self) {
        // SeqCst, and so Acquire, which pairs with the Release in `recall`: one word, so either the recall comes later
        // and stands, or what was left before it is visible to the caller's next look. With `invite` it is O1: who
        // pushes looks at this word after the push, who dismisses looks at the queue after this exchange, and all
        // four are SeqCst; so who pushes sees the dismissal, or who dismisses sees what was pushed.
        self.state.fetch_and(!WORK, Ordering::SeqCst);
    }

    /// There is work again.
    pub(crate) fn invite(&self) {
        // SeqCst: O1, in `dismiss`.
        if self.state.load(Ordering::SeqCst) & WORK == 0 {
            // Relaxed: a hint; who comes finds the work by its own protocol.
            self.state.fetch_or(WORK, Ordering::Relaxed);
        }
    }

    /// Helper: there is work again, also for the owner. Returns true when the owner sleeps and must be woken.
    pub(crate) fn recall(&self) -> bool {
        // Release: publishes where the work is; pairs with the Acquire in `dismiss` and `is_released`.
        let before = self.state.fetch_or(WORK | RECALLED, Ordering::Release);
        before & (ASLEEP | RECALLED) == ASLEEP
    }

    /// Owner, of a call that it has closed: lets helpers in again. Whoever calls it back from now on does so
    /// anew.
    pub(crate) fn reopen(&self) {
        // Acquire: what those had for it who called it back until now is visible.
        self.state
            .fetch_and(!(ASLEEP | RECALLED), Ordering::Acquire);
        // Release: as in `open`, for what the owner has changed since.
        self.state.fetch_or(OPEN | WORK, Ordering::Release);
    }

    /// Owner: lets no more helpers in. Those inside go on.
    pub(crate) fn close(&self) {
        // Relaxed: `is_drained` does the acquiring.
        self.state.fetch_and(!(OPEN | WORK), Ordering::Relaxed);
    }

    /// Owner: whether no helper is inside; if so, all they did is visible.
    pub(crate) fn is_drained(&self) -> bool {
        // Acquire: pairs with the Release in `unpin`; later changes of the word keep its release sequence.
        self.state.load(Ordering::Acquire) & PIN_MASK == 0
    }

    /// Owner: whether it need not wait any longer: no helper is inside, or one has called it back.
    pub(crate) fn is_released(&self) -> bool {
        // Acquire: as in `is_drained`, and pairs with the Release in `recall`.
        is_released(self.state.load(Ordering::Acquire))
    }

    /// Owner: announces that it is about to park; `false` means that it need not wait any longer.
    pub(crate) fn fall_asleep(&self) -> bool {
        // AcqRel: Acquire as in `is_released`. One word, so either who unpins last or calls the owner back
        // sees ASLEEP, or we see what it did.
        !is_released(self.state.fetch_or(ASLEEP, Ordering::AcqRel))
    }

    /// Executions of helpers that may be inside.
    pub(crate) fn helpers(&self) -> impl Iterator<Item = ExecutionId> {
        // Acquire: who reads an id finds the record it names.
        self.helpers
            .iter()
            .map(|helper| ExecutionId::from_bits(helper.load(Ordering::Acquire)))
    }
}

impl HelperGuard<'_> {
    /// Helps the call until it has nothing more to give, as execution `execution`.
    pub(crate) fn help(&self, execution: ExecutionId) {
        let place =
            &self.slot.helpers[usize::from(execution.slot().unwrap_or(0)) % HELPERS_RECORDED];
        // Release: pairs with the Acquire in `helpers`. Two helpers may share a place; the later one shows.
        place.store(execution.to_bits(), Ordering::Release);
        // SAFETY: the pin keeps the call valid.
        let help = unsafe { (*self.shared).help };
        // SAFETY: `help` was stored for this very call.
        unsafe { help(self.shared) };
        // Relaxed: forgetting a helper early or late only changes who is helped.
        place.store(0, Ordering::Relaxed);
    }

    /// Leaves. Returns true when the owner sleeps and must be woken by the caller.
    pub(crate) fn unpin(self) -> bool {
        // Release: publishes all this helper did; pairs with the Acquire in `is_drained`.
        // Acquire is not needed: this thread reads nothing of the others.
        let before = self.slot.state.fetch_sub(PIN, Ordering::Release);
        before & PIN_MASK == PIN && before & ASLEEP != 0
    }
}

fn is_released(state: u32) -> bool {
    state & PIN_MASK == 0 || state & RECALLED != 0
}

const HELPERS_RECORDED: usize = 4;

const PIN: u32 = 1;
const PIN_MASK: u32 = 0xFFFF;
const OPEN: u32 = 1 << 16;
const WORK: u32 = 1 << 17;
const ASLEEP: u32 = 1 << 18;
const RECALLED: u32 = 1 << 19;
