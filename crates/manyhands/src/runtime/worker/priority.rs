//! Tasks that are more or less urgent than others, and whose turn it is.
//!
//! Usual tasks stay in the workers' queues. Interactive and background ones have a queue each for the whole
//! runtime, in shards where there are more than 16 workers; while nobody has ever spawned one, a worker reads one flag
//! more, and nothing else.
//!
//! A worker that could run all three kinds runs them 8 : 4 : 1. A kind that it has not come to for 10 ms
//! and four tasks goes first, so nothing starves. Loops and joins of others count as usual work.
//!
//! Not here: the priorities (`priority.rs` of the library), and where a task keeps its own (`task/cell.rs`).

use crate::job::Job;
use crate::priority::Priority;
use crate::queue::{ShardedQueue, TaskQueue};
use crate::runtime::policy::{OVERDUE_NANOS, OVERDUE_TURNS};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock;

/// The queues of what is not usual.
pub(crate) struct PriorityQueues {
    is_used: AtomicBool,
    pub(crate) interactive: ShardedQueue<Job>,
    pub(crate) background: ShardedQueue<Job>,
}

impl PriorityQueues {
    /// Unused ones, for this number of workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            is_used: AtomicBool::new(false),
            interactive: ShardedQueue::new(workers),
            background: ShardedQueue::new(workers),
        }
    }

    /// Whether anything was ever queued here.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        // Relaxed: set before the first push, and a worker looks at the queues themselves before it sleeps.
        self.is_used.load(Ordering::Relaxed)
    }

    /// The lane of `priority`, which is going to be used; `None` for usual tasks.
    pub(crate) fn lane(&self, priority: Priority) -> Option<&ShardedQueue<Job>> {
        let lane = match priority {
            Priority::Interactive => &self.interactive,
            Priority::Normal => return None,
            Priority::Background => &self.background,
        };
        if !self.is_used() {
            // Relaxed: see `is_used`; the push that follows is SeqCst.
            self.is_used.store(true, Ordering::Relaxed);
        }
        Some(lane)
    }

    /// Whether nothing is queued here.
    pub(crate) fn is_empty(&self) -> bool {
        self.interactive.is_empty() && self.background.is_empty()
    }

    /// The queues.
    pub(crate) fn all(&self) -> impl Iterator<Item = &TaskQueue<Job>> {
        self.interactive.shards().chain(self.background.shards())
    }
}

/// Whose turn it is, on one worker.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PriorityTurns {
    turn: usize,
    /// When each last had its turn, or had nothing to run: in ticks, and at which turn.
    came_to: [(u64, usize); 3],
}

impl PriorityTurns {
    /// In which order to look now.
    pub(crate) fn next(&mut self, now: u64) -> [Priority; 3] {
        self.turn = self.turn.wrapping_add(1);
        let came_to = |priority: Priority| self.came_to[priority as usize];
        let all = Priority::ALL.into_iter();
        let longest = all.min_by_key(|&priority| came_to(priority).0);
        let overdue = longest.filter(|&priority| {
            // A few long tasks of others are no reason: those would take turns with it one by one.
            self.is_overdue(priority, now)
                && self.turn.wrapping_sub(came_to(priority).1) > OVERDUE_TURNS
        });
        let first = overdue.unwrap_or(PATTERN[self.turn % PATTERN.len()]);
        let mut order = Priority::ALL;
        // The others keep their order behind it.
        order[..=first as usize].rotate_right(1);
        order
    }

    /// `priority` had its turn, or nothing to run.
    pub(crate) fn come_to(&mut self, priority: Priority, now: u64) {
        self.came_to[priority as usize] = (now, self.turn);
    }

    /// Whether `priority`, if it has something to run, has waited too long.
    pub(crate) fn is_overdue(&self, priority: Priority, now: u64) -> bool {
        let (ticks, _) = self.came_to[priority as usize];
        // A counter that has jumped back reads as a long time.
        now.abs_diff(ticks) > clock::ticks_in(OVERDUE_NANOS)
    }
}

use Priority::{Background as B, Interactive as I, Normal as N};
/// Eight, four, one.
const PATTERN: [Priority; 13] = [I, I, N, I, I, N, I, I, N, I, B, N, I];

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{OVERDUE_NANOS, OVERDUE_TURNS, Priority, PriorityTurns};
    use crate::sync::clock;

    /// The first of this many turns, each a tick after the other.
    fn firsts(turns: &mut PriorityTurns, from: u64, count: u64) -> Vec<Priority> {
        let turn = |now| {
            let first = turns.next(now)[0];
            turns.come_to(first, now);
            first
        };
        (from..from + count).map(turn).collect()
    }

    #[test]
    fn thirteen_turns_are_shared_out_eight_to_four_to_one() {
        let turns = firsts(&mut PriorityTurns::default(), 0, 13);
        let count = |priority| turns.iter().filter(|&&first| first == priority).count();
        assert_eq!(Priority::ALL.map(count), [8, 4, 1]);
    }

    #[test]
    fn every_order_has_all_three() {
        let mut turns = PriorityTurns::default();
        for now in 0..26 {
            let order = turns.next(now);
            assert!(
                Priority::ALL
                    .iter()
                    .all(|priority| order.contains(priority))
            );
        }
    }

    #[test]
    fn what_nobody_has_come_to_for_long_goes_first() {
        let mut turns = PriorityTurns::default();
        let late = clock::ticks_in(OVERDUE_NANOS) + 100;
        for _ in 0..OVERDUE_TURNS {
            assert_ne!(turns.next(late)[0], Priority::Background);
            turns.come_to(Priority::Interactive, late);
            turns.come_to(Priority::Normal, late);
        }
        assert_eq!(turns.next(late)[0], Priority::Background);
        turns.come_to(Priority::Background, late);
        assert!(
            !Priority::ALL
                .iter()
                .any(|&priority| turns.is_overdue(priority, late))
        );
    }
}
