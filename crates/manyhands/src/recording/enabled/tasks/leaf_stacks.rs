//! What one poll of a task leaves behind that was asked for: the stack of its thread at each place where a future of this
//! library was about to be pending.
//!
//! The poll is an ordinary one, and the futures do what they always do. The thread that polls copies its own stack wherever it
//! records a wait. One task at a time is asked for.
//!
//! # Threads
//! The thread that asks and the one that then polls the task meet in `ANSWER`, under its lock. A poll that ends late finds that its
//! ticket is another one's, and leaves nothing.
//!
//! Not here: how the task comes to be polled (`inspect/serve/poll_once.rs`).

use crate::recording::enabled::table;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::stack_copy::{self, NotCopied, StackCopy};
use crate::sync::{Condvar, Mutex, lock};
use manyhands_analysis::{Record, TaskNumber};
use std::sync::PoisonError;
use std::time::Duration;

/// Names one request; 0 none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// Where a wait begins, by its future, and the stack there.
pub(crate) type Stacks = Vec<(usize, Result<StackCopy, NotCopied>)>;

struct Answer {
    ticket: Ticket,
    stacks: Stacks,
    /// The poll has ended, with this record of its task.
    ended_with: Option<Option<Record>>,
}

/// A task is about to be polled: the ticket, if this is the poll that was asked for.
pub(crate) fn begin(number: TaskNumber) -> Option<Ticket> {
    // Relaxed: it is written before the wake that leads to this poll, which publishes it.
    if ASKED.load(Ordering::Relaxed) != number.to_bits() {
        return None;
    }
    let answer = lock(&ANSWER);
    // Relaxed, both: all changes are made under the lock.
    let is_first = ASKED.load(Ordering::Relaxed) == number.to_bits();
    ASKED.store(0, Ordering::Relaxed);
    is_first.then_some(answer.ticket)
}

/// In such a poll the future `leaf` is about to be pending, somewhere above in the calling thread's stack.
#[cold]
pub(crate) fn note(ticket: Ticket, leaf: usize) {
    let is_wanted = |answer: &Answer| {
        let is_known = || answer.stacks.iter().any(|(known, _)| *known == leaf);
        answer.ticket == ticket && (answer.stacks.len() < STACKS_MAX || is_known())
    };
    if !is_wanted(&lock(&ANSWER)) {
        return;
    }
    // Not under the lock: it may have to wait for another copy. Only this thread adds to this ticket's.
    let copy = stack_copy::copy_of_own();
    let mut answer = lock(&ANSWER);
    if is_wanted(&answer) {
        // The last one is that of the future that is there at the end.
        answer.stacks.retain(|(known, _)| *known != leaf);
        answer.stacks.push((leaf, copy));
    }
}

/// Such a poll has ended, of the task with this number, or with the task.
#[cold]
pub(crate) fn end(ticket: Ticket, number: Option<TaskNumber>) {
    let record = number.and_then(|number| table::change(number, |found| found.clone()));
    let mut answer = lock(&ANSWER);
    if answer.ticket == ticket {
        answer.ended_with = Some(record);
        drop(answer);
        ENDED.notify_all();
    }
}

/// Asks the next thread that polls this task, after it has been woken. Only one at a time may ask.
pub(crate) fn ask(number: TaskNumber) -> Ticket {
    let mut answer = lock(&ANSWER);
    answer.begin_next();
    // Relaxed: as in `begin`.
    ASKED.store(number.to_bits(), Ordering::Relaxed);
    answer.ticket
}

/// Waits until the poll has ended, at most so long; `None`: it has not. Nothing is asked any more after this. Returns the
/// task's record at the end of the poll, or none if the task has ended with that, and the stacks.
pub(crate) fn wait(ticket: Ticket, limit: Duration) -> Option<(Option<Record>, Stacks)> {
    let is_awaited = |answer: &mut Answer| answer.ticket == ticket && answer.ended_with.is_none();
    let waited = ENDED.wait_timeout_while(lock(&ANSWER), limit, is_awaited);
    let (mut answer, _) = waited.unwrap_or_else(PoisonError::into_inner);
    // Relaxed: changed under the lock.
    ASKED.store(0, Ordering::Relaxed);
    let seen = answer.begin_next();
    Some((seen.ended_with?, seen.stacks))
}

impl Answer {
    const fn to(ticket: Ticket) -> Self {
        Self {
            ticket,
            stacks: Vec::new(),
            ended_with: None,
        }
    }

    /// To the next request. Returns what there was to the one before.
    fn begin_next(&mut self) -> Self {
        let next = Self::to(Ticket(self.ticket.0 + 1));
        std::mem::replace(self, next)
    }
}

/// The number of the task that is asked for and has not been polled since, or 0. Changed under the lock of `ANSWER`.
static ASKED: AtomicU64 = AtomicU64::new(0);

static ANSWER: Mutex<Answer> = Mutex::new(Answer::to(Ticket(0)));

/// A poll that was asked for has ended.
static ENDED: Condvar = Condvar::new();

/// As many as a task's waits are kept.
const STACKS_MAX: usize = 8;
