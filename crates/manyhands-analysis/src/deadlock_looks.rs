//! Looking for deadlocks again and again: which of them are news.
//!
//! Not here: which tasks are in one (`deadlock.rs`, `stuck.rs`).

use crate::deadlock::{Ring, deadlocks};
use crate::tasks::number::TaskNumber;
use crate::tasks::seen::SeenTasks;
use std::collections::BTreeSet;

/// Who looks, and what was seen before.
#[derive(Debug, Default)]
pub struct DeadlockLooks {
    earlier: SeenTasks,
    reported: BTreeSet<Vec<TaskNumber>>,
}

impl DeadlockLooks {
    /// The deadlocks that have not been returned before, in sentences. One that was, but is not found this time, as when
    /// something that is not recorded has polled one of its tasks, is remembered as long as all its tasks are there.
    pub fn news(&mut self, now: SeenTasks, is_there: impl Fn(TaskNumber) -> bool) -> Vec<String> {
        self.reported
            .retain(|ring| ring.iter().all(|&task| is_there(task)));
        let is_news = |ring: &&Ring<'_>| {
            let numbers = ring.tasks.iter().map(|task| task.number);
            self.reported.insert(numbers.collect())
        };
        let found = deadlocks(&now, &self.earlier);
        let news = found.iter().filter(is_news).map(Ring::to_string).collect();
        self.earlier = now;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::DeadlockLooks;
    use crate::deadlock::tests::{look_at, task};
    use crate::tasks::seen::SeenTask;

    /// How many rings of these tasks are news.
    fn news(looker: &mut DeadlockLooks, tasks: &[SeenTask]) -> usize {
        looker.news(look_at(tasks.to_vec()), |_| true).len()
    }

    #[test]
    fn a_ring_is_news_once_and_a_later_one_is_news_again() {
        let ring = [task(1, &[2]), task(2, &[3]), task(3, &[1])];
        let mut looker = DeadlockLooks::default();
        let looks: Vec<usize> = (0..4).map(|_| news(&mut looker, &ring)).collect();
        assert_eq!(looks, [0, 1, 0, 0], "four looks at the same ring");
        let two = [&ring[..], &[task(4, &[5]), task(5, &[4])]].concat();
        let looks: Vec<usize> = (0..3).map(|_| news(&mut looker, &two)).collect();
        assert_eq!(
            looks,
            [0, 1, 0],
            "of the second ring, which begins with the first of these looks"
        );
    }

    #[test]
    fn a_ring_is_no_news_after_a_look_that_has_missed_it_unless_a_task_of_it_has_ended() {
        let ring = [task(1, &[2]), task(2, &[1])];
        let mut looker = DeadlockLooks::default();
        let looks = [&ring; 2].map(|ring| news(&mut looker, ring));
        assert_eq!(looks, [0, 1]);
        let polled = [&ring[..1], &[task(2, &[])]].concat();
        for tasks in [&polled[..], &ring, &ring] {
            assert_eq!(news(&mut looker, tasks), 0);
        }
        let ended = looker.news(look_at(Vec::new()), |_| false);
        assert!(ended.is_empty() && looker.reported.is_empty());
    }
}
