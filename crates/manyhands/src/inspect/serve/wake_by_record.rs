//! How a caller that holds no part of a task's cell wakes the task, by its record.
//!
//! A record is taken out of the table before its task's cell is freed. So a caller that has found it there has the cell
//! too, as long as the shard of the table stays locked. That is long enough to get the right to queue the task, which
//! is itself a part of the cell.
//!
//! Not here: where the cell is (`recording/enabled/tasks/recorded_cell.rs`), the table (`recording/enabled/tasks/table.rs`), what such a task runs (`recording/enabled/tasks/work_type.rs`), and the
//! steps of a wake (`task/steps.rs`).
//!
//! Unsafe: the cell is reached by pointer.

use crate::recording::table;
use manyhands_analysis::{Refused, TaskNumber, TaskState};

/// Wakes a task that waits, as one of its wakers would.
pub(super) fn wake_waiting(number: TaskNumber) -> Result<(), Refused> {
    let found = table::with_cell(number, |record, cell| {
        let waiting = cell.filter(|_| record.state == TaskState::Waiting);
        match waiting.and_then(|cell| Some((cell.at, cell.waking?))) {
            Some((cell, waking)) => {
                // SAFETY: the record is in the table, whose shard is locked, so the cell is there. Held by
                // `tests/inspect/polls.rs::tasks_that_end_while_they_are_asked_for_are_polled_or_gone`.
                let must_queue = unsafe { (waking.request)(cell) };
                Ok(must_queue.then_some((cell, waking)))
            }
            None => Err(Refused::NOT_WAITING),
        }
    });
    if let Some((cell, waking)) = found.unwrap_or(Err(Refused::NO_SUCH_TASK))? {
        // SAFETY: the first step has asked for this one, which is done here and now. The lock is let go: the task's record
        // is changed when it is queued.
        unsafe { (waking.queue)(cell) };
    }
    Ok(())
}
