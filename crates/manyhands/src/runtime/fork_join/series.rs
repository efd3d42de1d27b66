//! Series of calls: each is too short to wake a worker for, but they are so close together that a worker woken for
//! one finds the next. Their caller then wakes a worker once, for all of them.
//!
//! Not here: the other reasons for a wake (`policy.rs`).

use crate::runtime::RuntimeInner;
use crate::runtime::policy::{self, Offer, SERIES_GAP_NANOS};
use crate::sync::clock;
use std::cell::Cell;

crate::sync::thread_local! {
    static SERIES: Cell<Series> = const { Cell::new(Series { last_end: 0, saved: 0 }) };
}

/// What a thread knows of its latest calls.
#[derive(Debug, Clone, Copy)]
struct Series {
    /// When the last one ended that was long enough to be shared.
    last_end: u64,
    /// How many ticks sharing the last ones would have saved.
    saved: u64,
}

/// A call of this thread has ended that was long enough to be shared.
pub(crate) fn note_end(now: u64) {
    SERIES.set(Series {
        last_end: now,
        ..SERIES.get()
    });
}

/// How many ticks ago such a call last ended.
pub(crate) fn since_last_end() -> u64 {
    clock::ticks().saturating_sub(SERIES.get().last_end)
}

/// How the call that begins now, and takes `left` ticks, or nobody knows how many, offers a part of that; `None`: not at all,
/// because it belongs to no series for which a wake pays.
pub(crate) fn offer(runtime: &RuntimeInner, left: Option<u64>) -> Option<Offer> {
    let offer = policy::offer(left, runtime.seen());
    let (Offer::InSeries, Some(ticks)) = (offer, left) else {
        return Some(offer);
    };
    let mut series = SERIES.get();
    let longest_gap = clock::ticks_in(SERIES_GAP_NANOS) + ticks;
    series.saved = if since_last_end() < longest_gap {
        series.saved + ticks / 2
    } else {
        0
    };
    let pays = policy::pays(series.saved, runtime.wake_latency());
    if pays {
        series.saved = 0;
    }
    SERIES.set(series);
    pays.then_some(Offer::Wake)
}
