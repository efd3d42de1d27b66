//! Atomics that note which thread writes which cache line, for the tests of `line_writers/tests.rs`.
//!
//! In unit tests they stand in place of the standard library's, and do what these do. A thread that was enrolled also
//! notes each write. What is written by other means is not seen: what a lock guards, the counts of `Arc`s, what the
//! standard library's own locks write when they are given back.
//!
//! Not built outside of unit tests.

use crate::sync::wrapped_atomic::{std_atomics, wrapped_atomic};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::AtomicBool as StdBool;
pub(crate) use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

std_atomics!();

/// Whether a weak exchange fails for no reason.
fn fails() -> bool {
    false
}

fn access<R>(_ordering: Ordering, run: impl FnOnce() -> R) -> R {
    run()
}

/// An access that takes the cache line for itself, whether it then writes or not.
#[track_caller]
fn modify<A, R>(at: &A, _ordering: Ordering, run: impl FnOnce() -> R) -> R {
    note_write(at);
    run()
}

/// The calling thread writes here.
#[track_caller]
pub(super) fn note_write<A: ?Sized>(at: &A) {
    let (line, site) = (ptr::from_ref(at).addr() / LINE_BYTES, Location::caller());
    // A thread that is ending notes nothing more.
    let _ = ENROLLED.try_with(|enrolled| {
        if let Some((notes, writer)) = &*enrolled.borrow() {
            notes.note(line, *writer, site);
        }
    });
}

thread_local! {
    /// Where this thread notes its writes, and its number there.
    static ENROLLED: RefCell<Option<(Arc<Notes>, usize)>> = const { RefCell::new(None) };
}

/// What enrolled threads have written.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    is_on: StdBool,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    threads: usize,
    lines: HashMap<usize, Line>,
}

/// What was written in one cache line.
#[derive(Debug, Default, Clone)]
pub(crate) struct Line {
    /// The threads.
    pub(crate) writers: BTreeSet<usize>,
    /// Accesses after one of another thread, for which the line has to come from that one's cache.
    pub(crate) moves: u64,
    /// The lines of code.
    pub(crate) sites: BTreeSet<(&'static str, u32)>,
    last: Option<usize>,
}

impl Notes {
    /// Notes what the calling thread writes from now on.
    pub(crate) fn enrol(self: &Arc<Self>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.threads += 1;
        let number = noted.threads;
        drop(noted);
        ENROLLED.set(Some((Arc::clone(self), number)));
    }

    /// How many threads were enrolled.
    pub(crate) fn threads(&self) -> usize {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.threads
    }

    /// Forgets what was noted, and begins anew.
    pub(crate) fn begin(&self) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.lines.clear();
        // Relaxed: what is written at the very begin may be missed.
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Notes no more. Returns what was noted.
    pub(crate) fn end(&self) -> Vec<Line> {
        // Relaxed: as above.
        self.is_on.store(false, Ordering::Relaxed);
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.lines.values().cloned().collect()
    }

    fn note(&self, line: usize, writer: usize, site: &'static Location<'static>) {
        // Relaxed: as above.
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let line = noted.lines.entry(line).or_default();
        if line.last.replace(writer) != Some(writer) {
            line.moves += 1;
            line.writers.insert(writer);
        }
        line.sites.insert((site.file(), site.line()));
    }
}

const LINE_BYTES: usize = 64;
