//! Wakers for the many futures of one task: each wakes the task, and records which future was woken.
//!
//! Not here: the futures (`when_all.rs`).
//!
//! # Protocol
//! Futures are numbered, 64 to a ready word. A wake sets the future's bit. The wake that sets the first bit of a word
//! publishes the word and wakes the task. The task takes all published words, and then the bits of one after
//! the other. So the task sees a bit that is set between the two, and a bit that is set after that publishes
//! its word again: no wake is lost, and each costs a constant time.
//!
//! # Threads
//! Any thread uses the wakers; only the task calls the rest.
//!
//! Unsafe: a waker points into its ready word, at an offset in bytes that is its future's number there.

use crate::job::{self, BorrowedWaker};
use crate::sync::ShortLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The task's side.
pub(super) struct ReadySet {
    words: Box<[Arc<ReadyWord>]>,
    ready: Arc<ReadyLock>,
    /// Words that have been taken and whose bits have not.
    taken: VecDeque<usize>,
    /// The remaining bits of the current word.
    current: usize,
    bits: u64,
}

/// The bits of 64 futures. Its alignment leaves room for a future's number in a pointer to it.
#[repr(align(64))]
struct ReadyWord {
    bits: AtomicU64,
    number: usize,
    ready: Arc<ReadyLock>,
}

/// Where words are published.
type ReadyLock = ShortLock<ReadyList>;

#[derive(Default)]
struct ReadyList {
    words: Vec<usize>,
    waker: Option<Waker>,
}

impl ReadySet {
    /// For `count` futures, all of which are ready to be polled.
    pub(super) fn new(count: usize) -> Self {
        let ready = Arc::new(ShortLock::new(ReadyList::default()));
        let word = |number: usize| {
            let futures = count - number * FUTURES_PER_WORD;
            Arc::new(ReadyWord {
                bits: AtomicU64::new(first_bits(futures)),
                number,
                ready: Arc::clone(&ready),
            })
        };
        let words: Box<[_]> = (0..count.div_ceil(FUTURES_PER_WORD)).map(word).collect();
        Self {
            taken: (0..words.len()).collect(),
            words,
            ready,
            current: 0,
            bits: 0,
        }
    }

    /// Takes the published words, and waits for more with this waker.
    pub(super) fn listen(&mut self, waker: &Waker) {
        let mut ready_list = self.ready.lock();
        let known = ready_list.waker.as_ref();
        let mut old = None;
        if !known.is_some_and(|known| known.will_wake(waker)) {
            // Cloned without the lock, because that may run code of the user.
            drop(ready_list);
            let waker = waker.clone();
            ready_list = self.ready.lock();
            old = ready_list.waker.replace(waker);
        }
        self.taken.extend(mem::take(&mut ready_list.words));
        drop(ready_list);
        job::discard(old);
    }

    /// The next future to poll, of those that were taken.
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.current = self.taken.pop_front()?;
            // Acquire: pairs with the wakes, whose effects the following poll sees. A wake
            // after this finds no bits, and publishes the word again.
            self.bits = self.words[self.current].bits.swap(0, Ordering::Acquire);
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(self.current * FUTURES_PER_WORD + bit as usize)
    }

    /// The waker of a future. Its clones do not borrow the ready set.
    pub(super) fn waker_of(&self, future: usize) -> BorrowedWaker<'_> {
        let word = Arc::as_ptr(&self.words[future / FUTURES_PER_WORD]);
        let data = word
            .cast::<()>()
            .wrapping_byte_add(future % FUTURES_PER_WORD);
        // SAFETY: the table's functions do what a waker's must. It is never dropped, so it needs no reference of its
        // own to the word, which is borrowed meanwhile.
        BorrowedWaker::new(unsafe { Waker::new(data, &VTABLE) })
    }
}

/// The task does not listen any more.
impl Drop for ReadySet {
    fn drop(&mut self) {
        let waker = self.ready.lock().waker.take();
        job::discard(waker);
    }
}

impl ReadyWord {
    fn set_bit(&self, bit: u64) {
        // Release: publishes what the waking thread did before; pairs with the Acquire in `next`.
        if self.bits.fetch_or(bit, Ordering::Release) != 0 {
            return;
        }
        let waker = {
            let mut ready_list = self.ready.lock();
            ready_list.words.push(self.number);
            ready_list.waker.take()
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
    let (word, _) = parts(data);
    // SAFETY: made by `Arc::as_ptr`, and the waker keeps the word or borrows its owner.
    unsafe { Arc::increment_strong_count(word) };
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: by the caller's promise.
    unsafe { wake_by_ref(data) };
    // SAFETY: by the caller's promise; the waker ends with this.
    unsafe { release(data) };
}

unsafe fn wake_by_ref(data: *const ()) {
    let (word, bit) = parts(data);
    // SAFETY: the waker keeps the word.
    unsafe { &*word }.set_bit(bit);
}

unsafe fn release(data: *const ()) {
    let (word, _) = parts(data);
    // SAFETY: the waker has a reference, from `clone`, and releases it.
    unsafe { Arc::decrement_strong_count(word) };
}

/// The word of a waker, and its future's bit there.
fn parts(data: *const ()) -> (*const ReadyWord, u64) {
    let future = data.addr() % FUTURES_PER_WORD;
    (data.wrapping_byte_sub(future).cast(), 1 << future)
}

/// The bits of the first `count` futures of a word.
fn first_bits(count: usize) -> u64 {
    u64::MAX >> (FUTURES_PER_WORD - count.min(FUTURES_PER_WORD))
}

/// As many as a word has bits.
const FUTURES_PER_WORD: usize = 64;
const _: () = assert!(
    align_of::<ReadyWord>() >= FUTURES_PER_WORD && size_of::<ReadyWord>() >= FUTURES_PER_WORD
);
