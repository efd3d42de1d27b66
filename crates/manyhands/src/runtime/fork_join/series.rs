//! Series of calls: each is too short to wake a worker for, but they are so close together that a worker woken for
//! one finds the next. Their caller then wakes a worker once, for all of them.
//!
//! Not here: the other reasons for a wake (`policy.rs`).

use crate::runtime::RuntimeInner;
use crate::runtime::policy::{self, Offer, SERIES_GAP_NANOS};
use crate::sync::clock;
use std::cell::Cell;

crate::sync::thread_local! {
    /// When the last call of this thread ended that was long enough to be shared.
    static LAST_END: Cell<u64> = const { Cell::new(0) };
    /// How many ticks sharing the last ones would have saved.
    static SAVED: Cell<u64> = const { Cell::new(0) };
}

/// A call of this thread has ended that was long enough to be shared.
pub(crate) fn note_end(now: u64) {
    LAST_END.set(now);
}

/// How many ticks ago such a call last ended.
pub(crate) fn since_last_end() -> u64 {
    clock::ticks().saturating_sub(LAST_END.get())
}

/// How the call that begins now, and takes `left` ticks, or nobody knows how many, offers a part of that; `None`: not at all,
/// because it belongs to no series for which a wake pays.
pub(crate) fn offer(runtime: &RuntimeInner, left: Option<u64>) -> Option<Offer> {
    let offer = policy::offer(left, runtime.seen());
    let (Offer::InSeries, Some(ticks)) = (offer, left) else {
        return Some(offer);
    };
    let longest_gap = clock::ticks_in(SERIES_GAP_NANOS) + ticks;
    let saved = if since_last_end() < longest_gap {
        SAVED.get() + ticks / 2
    } else {
        0
    };
    let pays = policy::pays(saved, runtime.wake_latency());
    SAVED.set(if pays { 0 } else { saved });
    pays.then_some(Offer::Wake)
}
