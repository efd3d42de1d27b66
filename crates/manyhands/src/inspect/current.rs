//! With the feature: what a thread knows of the task that it runs. Same functions as in `disabled.rs`.
//!
//! Not here: what is recorded of it (`record.rs`).

use crate::inspect::leaf_stacks::Ticket;
use crate::inspect::lines::Lines;
use crate::inspect::task_number::TaskNumber;
use std::cell::Cell;

/// What a thread runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Current {
    pub(super) number: Option<TaskNumber>,
    /// The data of the waker with which it is polled.
    pub(super) waker: usize,
    /// What the thread has said for its waits.
    pub(super) lines: Lines,
    /// Which frame it is in, or 0.
    pub(super) frame: usize,
    /// Stacks are copied where it is about to wait, because somebody has asked for that.
    pub(super) asked: Option<Ticket>,
    earlier: Earlier,
}

/// Which waits of a record are of the poll before. They count only for since when the task waits for the same again, and the
/// end of this poll drops them. So one that is over need not be taken out of the record, if the thread remembers it until
/// the next wait.
#[derive(Debug, Clone, Copy)]
enum Earlier {
    All,
    /// All are, and the wait of this future is over.
    AllAndOver(usize),
    NotAll,
}

crate::sync::thread_local! {
    static CURRENT: Cell<Current> = const {
        Cell::new(Current::of(None, 0))
    };
}

impl Current {
    /// This task, polled with a waker of this data.
    pub(super) const fn of(number: Option<TaskNumber>, waker: usize) -> Self {
        Self {
            number,
            waker,
            lines: Lines::NONE,
            frame: 0,
            asked: None,
            earlier: Earlier::All,
        }
    }

    /// The future whose wait is over, which the record does not say.
    pub(super) fn over(&self) -> Option<usize> {
        match self.earlier {
            Earlier::AllAndOver(leaf) => Some(leaf),
            Earlier::All | Earlier::NotAll => None,
        }
    }
}

/// What the calling thread runs.
pub(super) fn get() -> Current {
    CURRENT.get()
}

/// The calling thread runs this from now on. Returns what it ran so far.
pub(super) fn replace(current: Current) -> Current {
    CURRENT.replace(current)
}

/// Whether the calling thread runs a task that is recorded, or is itself recorded as one: only then is a wait recorded.
///
/// The compiler compares a thread's own word in memory, so a place that asks this has two instructions; it does not do so
/// with an atomic, and a place that asks whether recording is open has three.
#[inline]
pub(crate) fn is_recorded() -> bool {
    // None where the thread is ending and has no such word any more, which can be where the system keeps it by a key.
    let is_some = CURRENT.try_with(|current| current.get().number.is_some());
    is_some.unwrap_or(false)
}

/// The calling thread goes on in this frame of the task that it runs.
pub(super) fn set_frame(frame: usize) {
    CURRENT.set(Current {
        frame,
        ..CURRENT.get()
    });
}

/// From now on the calling thread's waits have these lines.
pub(super) fn set_lines(lines: Lines) {
    CURRENT.set(Current {
        lines,
        ..CURRENT.get()
    });
}

/// What the calling thread runs is polled, by the same thread and again.
pub(super) fn poll_begins() {
    set_earlier(Earlier::All);
}

/// A wait was recorded in what the calling thread runs, and the one that was over was taken out.
pub(super) fn has_recorded_wait() {
    set_earlier(Earlier::NotAll);
}

/// Remembers that the wait of this future is over, if it is of the poll before. False: its record may have to say so.
pub(super) fn remember_over(leaf: usize) -> bool {
    match CURRENT.get().earlier {
        Earlier::All => {
            set_earlier(Earlier::AllAndOver(leaf));
            true
        }
        Earlier::AllAndOver(known) => known == leaf,
        Earlier::NotAll => false,
    }
}

fn set_earlier(earlier: Earlier) {
    CURRENT.set(Current {
        earlier,
        ..CURRENT.get()
    });
}
