//! Looking at a program for a while, to make a timeline of it.

use crate::error::Error;
use crate::looker::Looker;
use crate::timeline::Timeline;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Looks at the program that listens at `socket` for so long, again `every` so long, and returns what it did as the JSON
/// of a trace, for Perfetto or Chrome's tracing page; see [`Timeline`]. At most `tasks_max` tasks and channels are seen at
/// a time. If the program ends meanwhile, the trace ends there.
///
/// # Errors
/// When nobody listens at the socket, or the first look fails.
#[expect(
    clippy::disallowed_methods,
    reason = "the times are those of the picture, and nothing depends on how long a sleep takes"
)]
pub fn record_timeline(
    socket: PathBuf,
    tasks_max: usize,
    length: Duration,
    every: Duration,
) -> Result<String, Error> {
    let mut looker = Looker::connect(socket, tasks_max, every)?;
    let mut timeline = Timeline::new(looker.process());
    let begun = Instant::now();
    timeline.add(Duration::ZERO, &looker.look()?);
    while begun.elapsed() < length {
        thread::sleep(every);
        let Ok(view) = looker.look() else { break };
        timeline.add(begun.elapsed(), &view);
    }
    Ok(timeline.finish())
}
