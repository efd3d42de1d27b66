//! A thread that looks for deadlocks and reports each once on standard error.

use crate::inspect::deadlock::Deadlock;
use crate::inspect::record;
use crate::inspect::snapshot::Snapshot;
use crate::inspect::table::TaskNumber;
use crate::inspect::take::snapshot;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{global, thread};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

/// Opens the recording, and reports each deadlock once on standard error, with its tasks and lines. A second call does
/// nothing.
///
/// # Cost
/// A thread that takes a snapshot every `period`, which is at least 10 ms. Does not block.
///
/// # Errors
/// When the system starts no thread.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect")]
/// manyhands::inspect::watch(std::time::Duration::from_secs(1))?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn watch(period: Duration) -> io::Result<()> {
    record::open();
    // Relaxed: only one call finds it unset.
    if IS_WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let period = period.max(PERIOD_MIN);
    let builder = thread::Builder::new().name("manyhands-watchdog".to_owned());
    builder.spawn(move || look_for_ever(period)).map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "between two looks; waits that both see are the same however long it is"
)]
fn look_for_ever(period: Duration) {
    let mut watchdog = Watchdog::new(snapshot());
    loop {
        thread::sleep(period);
        for deadlock in watchdog.look(snapshot()) {
            // Standard error is all there is, and it may be closed.
            let _ = writeln!(io::stderr(), "manyhands: {deadlock}");
        }
    }
}

/// What was seen before.
struct Watchdog {
    earlier: Snapshot,
    reported: BTreeSet<Vec<TaskNumber>>,
}

impl Watchdog {
    fn new(earlier: Snapshot) -> Self {
        Self {
            earlier,
            reported: BTreeSet::new(),
        }
    }

    /// The deadlocks that have not been returned before.
    fn look(&mut self, now: Snapshot) -> Vec<Deadlock> {
        let found = now.deadlocks(&self.earlier);
        self.earlier = now;
        let numbers = |ring: &Deadlock| ring.tasks.iter().map(|task| task.number).collect();
        let current: BTreeSet<_> = found.iter().map(numbers).collect();
        let news = found
            .into_iter()
            .filter(|ring| !self.reported.contains(&numbers(ring)));
        let news = news.collect();
        self.reported = current;
        news
    }
}

global! {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
}

/// If nothing else was asked for.
pub(super) const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_MIN: Duration = Duration::from_millis(10);
