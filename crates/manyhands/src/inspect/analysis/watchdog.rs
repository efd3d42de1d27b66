//! A thread that looks for deadlocks and starved runtimes, and reports each once on standard error.

use crate::inspect::analysis::deadlock::{Ring, deadlocks};
use crate::inspect::tasks::snapshot::SeenTasks;
use crate::inspect::tasks::take::{look_at_runtimes, tasks_that_wait_for_tasks};
use crate::recording::{TaskNumber, opening, table};
use crate::sync::{Mutex, lock, thread};
use manyhands_analysis::StarvationLooks;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

/// Opens the recording, and reports each deadlock once on standard error, with its tasks and lines, at most `period` after
/// it has come about; also each runtime that is [starved](crate::inspect::Snapshot::starvations) for 0.4 s or longer, once
/// until it goes on. A second call does nothing, unless the first one failed.
///
/// # Cost
/// A thread that looks twice in each `period`, which is at least 20 ms, at what is recorded of all tasks, and copies that of
/// those that wait for tasks; and at all workers. Does not block.
///
/// # Errors
/// When the system starts no thread.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")]
/// manyhands::diagnostics::start_watchdog(std::time::Duration::from_secs(1))?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn start_watchdog(period: Duration) -> io::Result<()> {
    opening::open();
    let mut is_watched = lock(&IS_WATCHED);
    if *is_watched {
        return Ok(());
    }
    let builder = thread::Builder::new().name("manyhands-watchdog".to_owned());
    builder.spawn(move || look_for_ever(between_looks(period)))?;
    *is_watched = true;
    Ok(())
}

/// The time between two looks. A deadlock is found by the second look after it has come about, and both fit into a period,
/// with some time for looking.
fn between_looks(period: Duration) -> Duration {
    // In this order: a period may be as long as there are any.
    period.max(PERIOD_MIN) / 20 * 9
}

#[expect(
    clippy::disallowed_methods,
    reason = "between two looks; waits that both see are the same however long it is"
)]
fn look_for_ever(between_looks: Duration) {
    let mut watchdog = Watchdog::default();
    let mut looks = StarvationLooks::default();
    loop {
        let deadlocks = watchdog.look(tasks_that_wait_for_tasks(), table::has);
        let starvations = looks.news(look_at_runtimes()).into_iter();
        let starvations = starvations.map(|starved| starved.text);
        for news in deadlocks.into_iter().chain(starvations) {
            // Standard error is all there is, and it may be closed.
            let _ = writeln!(io::stderr(), "manyhands: {news}");
        }
        thread::sleep(between_looks);
    }
}

/// What was seen before.
#[derive(Default)]
struct Watchdog {
    earlier: SeenTasks,
    reported: BTreeSet<Vec<TaskNumber>>,
}

impl Watchdog {
    /// The deadlocks that have not been returned before, in sentences. One that was, but is not found this time, as when
    /// something that is not recorded has polled one of its tasks, is remembered as long as all its tasks are there.
    fn look(&mut self, now: SeenTasks, is_there: impl Fn(TaskNumber) -> bool) -> Vec<String> {
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

static IS_WATCHED: Mutex<bool> = Mutex::new(false);

/// If nothing else was asked for.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_MIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::{PERIOD, PERIOD_MIN, Watchdog, between_looks};
    use crate::inspect::analysis::deadlock::tests::{look_at, task};
    use crate::inspect::tasks::snapshot::SeenTask;
    use std::time::Duration;

    /// How many rings of these tasks are news.
    fn news(watchdog: &mut Watchdog, tasks: &[SeenTask]) -> usize {
        watchdog.look(look_at(tasks.to_vec()), |_| true).len()
    }

    #[test]
    fn a_ring_is_news_once_and_a_later_one_is_news_again() {
        let ring = [task(1, &[2]), task(2, &[3]), task(3, &[1])];
        let mut watchdog = Watchdog::default();
        let looks: Vec<usize> = (0..4).map(|_| news(&mut watchdog, &ring)).collect();
        assert_eq!(looks, [0, 1, 0, 0], "four looks at the same ring");
        let two = [&ring[..], &[task(4, &[5]), task(5, &[4])]].concat();
        let looks: Vec<usize> = (0..3).map(|_| news(&mut watchdog, &two)).collect();
        assert_eq!(
            looks,
            [0, 1, 0],
            "of the second ring, which begins with the first of these looks"
        );
    }

    #[test]
    fn a_ring_is_no_news_after_a_look_that_has_missed_it_unless_a_task_of_it_has_ended() {
        let ring = [task(1, &[2]), task(2, &[1])];
        let mut watchdog = Watchdog::default();
        let looks = [&ring; 2].map(|ring| news(&mut watchdog, ring));
        assert_eq!(looks, [0, 1]);
        let polled = [&ring[..1], &[task(2, &[])]].concat();
        for tasks in [&polled[..], &ring, &ring] {
            assert_eq!(news(&mut watchdog, tasks), 0);
        }
        let ended = watchdog.look(look_at(Vec::new()), |_| false);
        assert!(ended.is_empty() && watchdog.reported.is_empty());
    }

    #[test]
    fn two_looks_fit_into_a_period() {
        let longest = between_looks(PERIOD) * 2;
        assert!(longest < PERIOD && longest > PERIOD / 2, "{longest:?}");
        assert_eq!(between_looks(Duration::ZERO), between_looks(PERIOD_MIN));
        assert!(between_looks(Duration::MAX) > between_looks(PERIOD));
    }
}
