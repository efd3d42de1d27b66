//! One poll of a waiting task because somebody asks for it.
//!
//! The task is woken as by a waker of its own, and polled in its turn by a worker. For its future that is a wake without a
//! reason, which every future has to expect. It is asked for only where the program has allowed it (`server.rs`).
//!
//! Not here: what the poll leaves (`recording/enabled/tasks/leaf_stacks.rs`), and the wake (`wake_by_record.rs`).

use crate::inspect::serve::stacks::no_copies;
use crate::inspect::serve::wake_by_record;
use crate::inspect::take::{find_owners, seen};
use crate::recording::enabled::tasks::leaf_stacks::Stacks;
use crate::recording::leaf_stacks;
use crate::sync::{Mutex, clock, lock, stack_copy};
use manyhands_analysis::{Record, Refused, SeenTask, TaskNumber};
use std::time::Duration;

/// What was seen of a task that was polled: the task at the end of the poll, or none if it has ended with that; and the stacks
/// at its waits, each with the place of that wait in the task's list.
pub(super) type Polled = (Option<SeenTask>, Stacks);

/// Has a task polled that waits. Takes at most [`LIMIT`].
pub(super) fn poll_once(number: TaskNumber) -> Result<Polled, Refused> {
    stack_copy::prepare().map_err(no_copies)?;
    clock::calibrate();
    let _one_at_a_time = lock(&ASKING);
    let ticket = leaf_stacks::ask(number);
    let woken = wake_by_record::wake_waiting(number);
    let left = leaf_stacks::wait(ticket, woken.map_or(Duration::ZERO, |()| LIMIT));
    woken?;
    let polled = left.map(|(record, stacks)| polled(number, record.as_ref(), stacks));
    polled.ok_or(Refused::LATE)
}

fn polled(number: TaskNumber, record: Option<&Record>, stacks: Stacks) -> Polled {
    let waits = record.into_iter().flat_map(|record| record.waits.current());
    let leaves: Vec<usize> = waits.map(|wait| wait.leaf).collect();
    let place_of = |leaf| leaves.iter().position(|known| *known == leaf);
    // A future that was dropped in the same poll does not wait.
    let mut stacks: Vec<_> = stacks
        .into_iter()
        .filter_map(|(leaf, stack)| Some((place_of(leaf)?, stack)))
        .collect();
    stacks.sort_unstable_by_key(|(place, _)| *place);
    let mut task = record.map(|record| seen(number, record));
    find_owners(task.as_mut_slice());
    (task, stacks)
}

/// Held by the thread that asks.
static ASKING: Mutex<()> = Mutex::new(());

/// A task that is woken is polled after all that was queued before it.
const LIMIT: Duration = Duration::from_secs(2);
