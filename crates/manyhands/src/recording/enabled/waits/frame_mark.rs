//! With the feature: a future's mark as an annotated frame, by which a task knows where it is polled and where it waits.
//! Same functions as in `recording/disabled.rs`.
//!
//! A frame is known by the address of its mark, which lies in a pinned future. It is recorded where that future is polled,
//! forgotten when it is ready or dropped, and with all others when its task is next polled. So a task shows the frames
//! that it went through in its last poll.
//!
//! Not here: the future that has a mark (`task/framed.rs`), and the frames of a task (`Frames` of `manyhands-analysis`).

use crate::recording::enabled::{current, table};
use manyhands_analysis::Frame;
use std::panic::Location;
use std::task::Poll;
use std::{mem, ptr};

/// What a future needs to be a frame.
pub(crate) struct FrameMark {
    name: &'static str,
    at: &'static Location<'static>,
    /// It may be in a task's list.
    is_listed: bool,
}

/// One poll of a frame's future.
#[must_use]
pub(crate) struct InFrame<'mark> {
    mark: &'mark mut FrameMark,
    /// The frame around it, if it is recorded.
    outer: Option<usize>,
}

impl FrameMark {
    /// Named so, and on the caller's line.
    #[track_caller]
    pub(crate) const fn named(name: &'static str) -> Self {
        Self {
            name,
            at: Location::caller(),
            is_listed: false,
        }
    }

    /// The future is about to be polled, in a task that is recorded.
    pub(crate) fn enter(&mut self) -> InFrame<'_> {
        let current = current::get();
        let outer = current.frame;
        let frame = Frame {
            address: self.address(),
            outer,
            name: self.name,
            at: self.at,
        };
        let keep = |number| {
            table::change(number, |record| {
                record.waits.frames.get_or_insert_default().enter(frame)
            })
        };
        let is_kept = current.number.and_then(keep) == Some(true);
        if is_kept {
            self.is_listed = true;
            current::change(|current| current.frame = frame.address);
        }
        InFrame {
            mark: self,
            outer: is_kept.then_some(outer),
        }
    }

    fn forget(&mut self) {
        if !mem::take(&mut self.is_listed) {
            return;
        }
        let address = self.address();
        if let Some(number) = current::get().number {
            table::change(number, |record| {
                if let Some(frames) = &mut record.waits.frames {
                    frames.remove(address);
                }
            });
        }
    }

    /// Of no other frame, as long as this one is pinned: a mark is not empty.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

impl Drop for FrameMark {
    fn drop(&mut self) {
        self.forget();
    }
}

impl InFrame<'_> {
    /// The poll has ended with this.
    pub(crate) fn leave<R>(self, polled: &Poll<R>) {
        if polled.is_ready() {
            self.mark.forget();
        }
    }
}

impl Drop for InFrame<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.outer {
            current::change(|current| current.frame = outer);
        }
    }
}
