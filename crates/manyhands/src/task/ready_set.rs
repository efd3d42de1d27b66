//! Wakers for the many futures of one task, which tell it whose turn it is: each wakes the task, and leaves
//! its future's number behind.
//!
//! Not here: the futures (`when_all.rs`).
//!
//! # Protocol
//! Futures are numbered, 64 to a board. A wake sets the future's bit; whoever sets the first bit of a board
//! puts the board up and wakes the task. The task takes all boards that are up, and then the bits of one after
//! the other. So a bit that is set between the two is found by the task, and one that is set after that puts
//! its board up again: no wake is lost, and each costs a constant time.
//!
//! # Threads
//! Any thread uses the wakers; the task alone calls the rest.
//!
//! Unsafe: a waker points at its board, as many bytes behind its beginning as its future's number there.

use crate::job;
use crate::sync::ShortLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The task's side.
pub(super) struct ReadySet {
    boards: Box<[Arc<ReadyWord>]>,
    desk: Arc<ReadyLock>,
    /// Boards that have been taken and not looked at.
    taken: VecDeque<usize>,
    /// What is left of the one that is being looked at.
    current: usize,
    bits: u64,
}

/// Sixty-four futures. Its alignment leaves room for a future's number in a pointer to it.
#[repr(align(64))]
struct ReadyWord {
    bits: AtomicU64,
    number: usize,
    desk: Arc<ReadyLock>,
}

/// Where boards are put up.
type ReadyLock = ShortLock<ReadyList>;

struct ReadyList {
    boards: Vec<usize>,
    waker: Option<Waker>,
}

impl ReadySet {
    /// For so many futures, all of which are to be looked at.
    pub(super) fn new(count: usize) -> Self {
        let desk = Arc::new(ShortLock::new(ReadyList {
            boards: Vec::new(),
            waker: None,
        }));
        let board = |number: usize| {
            let futures = count - number * FUTURES_PER_BOARD;
            Arc::new(ReadyWord {
                bits: AtomicU64::new(first_bits(futures)),
                number,
                desk: Arc::clone(&desk),
            })
        };
        let boards: Box<[_]> = (0..count.div_ceil(FUTURES_PER_BOARD)).map(board).collect();
        Self {
            taken: (0..boards.len()).collect(),
            boards,
            desk,
            current: 0,
            bits: 0,
        }
    }

    /// Takes what is up, and waits for more with this waker.
    pub(super) fn listen(&mut self, waker: &Waker) {
        let mut rung = self.desk.lock();
        self.taken.extend(mem::take(&mut rung.boards));
        let is_known = rung.waker.as_ref().is_some_and(|old| old.will_wake(waker));
        let old = if is_known {
            None
        } else {
            rung.waker.replace(waker.clone())
        };
        drop(rung);
        drop(old);
    }

    /// The next future to be looked at, of those that were taken.
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.current = self.taken.pop_front()?;
            // Acquire: pairs with the wakes; what they did before is seen by the look that follows. A wake
            // after this finds no bits, and puts the board up again.
            self.bits = self.boards[self.current].bits.swap(0, Ordering::Acquire);
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(self.current * FUTURES_PER_BOARD + bit as usize)
    }

    /// The waker of a future.
    pub(super) fn waker_of(&self, future: usize) -> Borrowed<'_> {
        let board = Arc::as_ptr(&self.boards[future / FUTURES_PER_BOARD]);
        let data = board
            .cast::<()>()
            .wrapping_byte_add(future % FUTURES_PER_BOARD);
        // SAFETY: the table's functions do what a waker's must. It is never dropped, so it needs no part of
        // the board, which lives as long as it is borrowed.
        let waker = ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) });
        Borrowed(waker, PhantomData)
    }
}

/// Nobody listens any more.
impl Drop for ReadySet {
    fn drop(&mut self) {
        let waker = self.desk.lock().waker.take();
        drop(waker);
    }
}

/// A waker that borrows the ready set; its clones do not.
pub(super) struct Borrowed<'a>(ManuallyDrop<Waker>, PhantomData<&'a ReadySet>);

impl Deref for Borrowed<'_> {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}

impl ReadyWord {
    fn ring(&self, bit: u64) {
        // Release: publishes what the waker did before; pairs with the Acquire of the look.
        if self.bits.fetch_or(bit, Ordering::Release) != 0 {
            return;
        }
        let waker = {
            let mut rung = self.desk.lock();
            rung.boards.push(self.number);
            rung.waker.take()
        };
        if let Some(waker) = waker {
            job::wake(waker);
        }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// # Safety
/// `data` is that of a waker of this file; so for the functions below.
unsafe fn clone(data: *const ()) -> RawWaker {
    let (board, _) = parts(data);
    // SAFETY: made by `Arc::as_ptr`, and the waker keeps the board or borrows who does.
    unsafe { Arc::increment_strong_count(board) };
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as promised.
    unsafe { wake_by_ref(data) };
    // SAFETY: as promised; the waker ends with this.
    unsafe { release(data) };
}

unsafe fn wake_by_ref(data: *const ()) {
    let (board, bit) = parts(data);
    // SAFETY: the waker keeps the board.
    unsafe { &*board }.ring(bit);
}

unsafe fn release(data: *const ()) {
    let (board, _) = parts(data);
    // SAFETY: the waker holds a part, from `clone`, and lets go.
    unsafe { Arc::decrement_strong_count(board) };
}

/// The board of a waker, and its future's bit there.
fn parts(data: *const ()) -> (*const ReadyWord, u64) {
    let future = data.addr() % FUTURES_PER_BOARD;
    (data.wrapping_byte_sub(future).cast(), 1 << future)
}

/// The bits of the first `count` futures of a board.
fn first_bits(count: usize) -> u64 {
    if count < FUTURES_PER_BOARD {
        (1 << count) - 1
    } else {
        u64::MAX
    }
}

/// As many as a word has bits.
const FUTURES_PER_BOARD: usize = 64;
const _: () = assert!(
    align_of::<ReadyWord>() >= FUTURES_PER_BOARD && size_of::<ReadyWord>() >= FUTURES_PER_BOARD
);
