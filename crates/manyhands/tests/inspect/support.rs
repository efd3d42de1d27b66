//! Looking until something is there, and what else several tests share.

use manyhands::diagnostics;
use manyhands::inspect::{self, Snapshot, TaskSnapshot, TaskState};
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
) -> Option<&'snapshot TaskSnapshot> {
    let mut tasks = snapshot.tasks.iter();
    tasks.find(|task| task.name.as_deref() == Some(name))
}

/// The task of this name, as soon as it waits without a thread.
pub(crate) fn waiting(name: &str) -> TaskSnapshot {
    in_state(name, TaskState::Waiting)
}

/// The task of this name, as soon as it is in this state.
pub(crate) fn in_state(name: &str, state: TaskState) -> TaskSnapshot {
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
pub(crate) fn assert_waits_at(task: &TaskSnapshot, (file, text): Source, parts: &[&str]) {
    assert_eq!(task.waits.len(), parts.len(), "{task:?}");
    for (wait, part) in task.waits.iter().zip(parts) {
        assert_eq!(wait.at.file(), file);
        let line = text.lines().nth(wait.at.line() as usize - 1).unwrap();
        assert!(line.contains(part), "{line}: {task:?}");
    }
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
