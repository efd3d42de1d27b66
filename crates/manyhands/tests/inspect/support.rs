//! Looking until something is there, and what else several tests share.

use manyhands::diagnostics;
use manyhands::inspect::{self, Snapshot, Task};
use manyhands::task::{self, JoinHandle};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// Looks again and again until there is a result.
#[expect(
    clippy::disallowed_methods,
    reason = "a deadline for a test that hangs"
)]
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    diagnostics::open();
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not seen in time");
        thread::yield_now();
    }
}

/// Calls `look` again and again while `goes_on`.
pub(crate) fn while_true(mut goes_on: impl FnMut() -> bool, mut look: impl FnMut()) {
    until(|| {
        look();
        (!goes_on()).then_some(())
    });
}

/// The task of this name.
pub(crate) fn named<'snapshot>(
    snapshot: &'snapshot Snapshot,
    name: &str,
) -> Option<&'snapshot Task> {
    let mut tasks = snapshot.tasks.iter();
    tasks.find(|task| task.name.as_deref() == Some(name))
}

/// The task of this name, as soon as it waits without a thread.
pub(crate) fn waiting(name: &str) -> Task {
    in_state(name, "waiting")
}

/// The task of this name, as soon as it is in this state.
pub(crate) fn in_state(name: &str, state: &str) -> Task {
    until(|| {
        let task = named(&inspect::snapshot(), name)?.clone();
        (task.state == state).then_some(task)
    })
}

/// A task with a name.
pub(crate) fn spawn<F>(name: &str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    task::Builder::new().name(name).spawn(future)
}

/// A test's file, and what is in it.
pub(crate) type Source = (&'static str, &'static str);

/// Fails unless the task waits on these lines of the file, each given by a part of it.
pub(crate) fn assert_waits_at(task: &Task, (file, text): Source, parts: &[&str]) {
    assert_eq!(task.waits.len(), parts.len(), "{task:?}");
    for (wait, part) in task.waits.iter().zip(parts) {
        let line = line_at((file, text), &wait.at);
        assert!(line.contains(part), "{line}: {task:?}");
    }
}

/// The file and the line of a place.
pub(crate) fn file_and_line(at: &str) -> (&str, u32) {
    let (file_and_line, _column) = at.rsplit_once(':').unwrap();
    let (file, line) = file_and_line.rsplit_once(':').unwrap();
    (file, line.parse().unwrap())
}

/// The line at a place, which must be in this file.
pub(crate) fn line_at((file, text): Source, at: &str) -> &'static str {
    let (of, line) = file_and_line(at);
    assert_eq!(of, file);
    text.lines().nth(line as usize - 1).unwrap()
}

/// Numbers that look random, the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}
