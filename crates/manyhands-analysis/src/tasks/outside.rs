//! What a task waits for outside the library, as far as that is known: the task was pending at the end of its last poll,
//! and more of its wakers exist than it has recorded waits.
//!
//! It is not recorded but derived. A waker does not say what keeps it, nor in which frame of the task; a frame in which
//! nothing that is recorded waits must have something else in it.
//!
//! Not here: what is recorded (`recording/enabled/tasks/hooks.rs` of the library).

use crate::tasks::frames::{Frame, Frames};
use crate::tasks::record::Record;
use crate::tasks::state::TaskState;
use crate::tasks::wait_kind::WaitKind;
use crate::tasks::waits::WaitRecord;

/// Whether more wakers of the task exist than waits, or if that is not known.
pub(crate) fn may_wait_for_more(record: &Record) -> bool {
    unlisted_wakers(record).is_none_or(|unlisted| unlisted > 0)
}

/// How many wakers of the task are not those of recorded waits.
fn unlisted_wakers(record: &Record) -> Option<usize> {
    let waits = &record.waits;
    // What `when_all` or a group polls has wakers of theirs.
    let is_of_group =
        |wait: WaitRecord| wait.is_direct && (wait.kind == WaitKind::Group || wait.set.is_some());
    let (among, left_out) = if waits.current().any(is_of_group) {
        let direct = waits.current().filter(|wait| wait.is_direct);
        (direct.count(), waits.direct_left_out)
    } else {
        (waits.current().count(), waits.left_out)
    };
    let listed = among + left_out as usize;
    let wakers = waits.wakers.map(|wakers| wakers as usize);
    wakers.map(|wakers| wakers.saturating_sub(listed))
}

/// Its waits outside: one for each frame in which nothing that is recorded waits, or else one, if it has more wakers than
/// waits; no more than there are such wakers.
///
/// Of a thread there are none: its wakers are not counted, and it was spawned nowhere.
pub(crate) fn waits_outside(record: &Record) -> Vec<WaitRecord> {
    let may_wait = matches!(record.state, TaskState::Waiting | TaskState::Blocked);
    let Some(spawned_at) = record.spawned_at().filter(|_| may_wait) else {
        return Vec::new();
    };
    // If nobody counts them, a wait that is recorded may be the only one.
    let is_uncounted = || usize::from(record.waits.current().next().is_none());
    let unlisted = unlisted_wakers(record).unwrap_or_else(is_uncounted);
    if unlisted == 0 {
        return Vec::new();
    }
    let wait = |at, frame| WaitRecord {
        // The poll has ended then, or the thread was blocked.
        since: record.since,
        frame,
        ..WaitRecord::new(0, WaitKind::Outside, 0, at)
    };
    let frames = record.waits.frames.as_deref().into_iter();
    let all = &record.waits;
    let waits = |frame: &Frame| all.current().any(|wait| wait.frame == frame.address);
    // Those with no other inside, in which nothing that is recorded waits.
    let innermost = frames.flat_map(Frames::innermost);
    let empty: Vec<&Frame> = innermost.filter(|frame| !waits(frame)).collect();
    if empty.is_empty() {
        return vec![wait(spawned_at, 0)];
    }
    // Those that were polled last.
    let skipped = empty.len().saturating_sub(unlisted);
    let empty = empty[skipped..].iter();
    empty.map(|frame| wait(frame.at, frame.address)).collect()
}
