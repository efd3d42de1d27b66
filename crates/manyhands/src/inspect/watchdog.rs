//! A thread that looks for deadlocks and starved runtimes, and reports each once on standard error.
//!
//! Not here: what is one, and what is news (the crate `manyhands-analysis`).

use crate::inspect::take::{look_at_runtimes, tasks_that_wait_for_tasks};
use crate::recording::{opening, table};
use crate::sync::{Mutex, lock, thread};
use manyhands_analysis::{DeadlockLooks, StarvationLooks};
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
    let mut deadlock_looks = DeadlockLooks::default();
    let mut starvation_looks = StarvationLooks::default();
    loop {
        let deadlocks = deadlock_looks.news(tasks_that_wait_for_tasks(), table::has);
        let starvations = starvation_looks.news(look_at_runtimes()).into_iter();
        let starvations = starvations.map(|starved| starved.text);
        for news in deadlocks.into_iter().chain(starvations) {
            // Standard error is all there is, and it may be closed.
            let _ = writeln!(io::stderr(), "manyhands: {news}");
        }
        thread::sleep(between_looks);
    }
}

static IS_WATCHED: Mutex<bool> = Mutex::new(false);

/// If nothing else was asked for.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_MIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::{PERIOD, PERIOD_MIN, between_looks};
    use std::time::Duration;

    #[test]
    fn two_looks_fit_into_a_period() {
        let longest = between_looks(PERIOD) * 2;
        assert!(longest < PERIOD && longest > PERIOD / 2, "{longest:?}");
        assert_eq!(between_looks(Duration::ZERO), between_looks(PERIOD_MIN));
        assert!(between_looks(Duration::MAX) > between_looks(PERIOD));
    }
}
