//! Freezing and thawing tasks, for one connection: what it has frozen is thawed when it ends.
//!
//! A program whose task stays frozen may hang, and the client that froze it may be gone: a terminal was closed, a
//! client was killed. The system closes the connections of a process that ends, however it ends, so a task is frozen no
//! longer than the connection lasts that asked for it last.
//!
//! Not here: what being frozen does (`recording/enabled/tasks/frozen.rs`), and whether the program allows it at all (`server.rs`).

use crate::inspect::serve::refused::Refused;
use crate::recording::enabled::tasks::frozen::TakenOut;
use crate::recording::{TaskNumber, TaskState, frozen, table};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Freezes tasks, and thaws them when it is dropped; with its number.
pub(super) struct Freezer(u64);

impl Default for Freezer {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a count.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Freezer {
    /// Freezes a task. One that another freezer has frozen is this one's from now on. True: it is being polled, and is not
    /// polled again after that.
    pub(super) fn freeze(&self, number: TaskNumber) -> Result<bool, Refused> {
        let frozen = table::change(number, |record| {
            let waking = record.origin.and_then(|origin| origin.work.waking);
            if waking.is_none() {
                return Err(Refused::NotFreezable);
            }
            frozen::mark(number, self.0);
            Ok(matches!(
                record.state,
                TaskState::Running | TaskState::Blocked
            ))
        });
        frozen.unwrap_or(Err(Refused::NoSuchTask))
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        for number in frozen::all_of(self.0) {
            let taken_out = table::change(number, |_| {
                // Another one may have frozen it meanwhile.
                let is_own = frozen::is_frozen_by(number, self.0);
                if is_own { frozen::take(number) } else { None }
            });
            taken_out.flatten().into_iter().for_each(TakenOut::wake);
        }
    }
}

/// Thaws a task, also one that another connection has frozen.
pub(super) fn thaw(number: TaskNumber) -> Result<(), Refused> {
    let thawed = table::change(number, |_| frozen::take(number).ok_or(Refused::NotFrozen));
    thawed.unwrap_or(Err(Refused::NoSuchTask))?.wake();
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Freezer, thaw};
    use crate::inspect::serve::refused::Refused;
    use crate::priority::Priority;
    use crate::recording::enabled::tasks::frozen;
    use crate::recording::enabled::tasks::record::{Origin, Record};
    use crate::recording::enabled::tasks::table;
    use crate::recording::enabled::tasks::task_number::TaskNumber;
    use crate::recording::enabled::tasks::task_state::TaskState;
    use crate::recording::enabled::tasks::work_type::WorkType;
    use std::panic::Location;
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    /// How often a task was woken.
    #[derive(Debug, Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            // Relaxed: a count.
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            // Relaxed: as above.
            self.0.load(Ordering::Relaxed)
        }
    }

    /// A record of a future, or of a closure, whose task is nowhere else.
    fn record_of(work: &'static WorkType, state: TaskState) -> TaskNumber {
        let origin = Origin {
            work,
            spawned_at: Location::caller(),
            priority: Priority::Normal,
        };
        let record = Record {
            origin: Some(origin),
            state,
            ..Record::new(0)
        };
        table::insert(0, record).unwrap()
    }

    pub(in crate::inspect) fn future(state: TaskState) -> TaskNumber {
        fn is_waiting(_cell: NonNull<()>) -> bool {
            false
        }
        fn queue(_cell: NonNull<()>) {}
        static FUTURE: WorkType = WorkType::future::<()>(is_waiting, queue);
        record_of(&FUTURE, state)
    }

    /// What the worker asks that takes the task from a queue.
    fn is_held(number: TaskNumber, woken: &Arc<Woken>) -> bool {
        let mut is_held = false;
        table::change(number, |_| {
            is_held = frozen::hold(number, None, || Some(Waker::from(Arc::clone(woken))));
        });
        is_held
    }

    #[test]
    fn a_task_is_held_from_its_freeze_to_its_thaw_and_woken_once_if_a_poll_was_held_back() {
        let (freezer, woken) = (Freezer::default(), Arc::default());
        let number = future(TaskState::Queued);
        assert!(!is_held(number, &woken));
        assert_eq!(thaw(number), Err(Refused::NotFrozen));
        for held in [0, 1, 3] {
            assert_eq!(freezer.freeze(number), Ok(false));
            assert!(frozen::is_frozen(number));
            for _ in 0..held {
                assert!(is_held(number, &woken));
            }
            let before = woken.count();
            assert_eq!(thaw(number), Ok(()));
            assert_eq!(woken.count() - before, held.min(1));
            assert!(!frozen::is_frozen(number));
            assert!(!is_held(number, &woken));
        }
        assert_eq!(Arc::strong_count(&woken), 1, "no waker is left");
        table::remove(number);
    }

    #[test]
    fn who_has_frozen_a_task_last_thaws_it_at_its_end_and_nobody_thaws_one_that_has_ended() {
        let (first, second) = (Freezer::default(), Freezer::default());
        let woken = Arc::default();
        let [one, other, ended] = [TaskState::Waiting; 3].map(future);
        for number in [one, other, ended] {
            assert_eq!(first.freeze(number), Ok(false));
            assert!(is_held(number, &woken));
        }
        assert_eq!(second.freeze(other), Ok(false));
        table::remove(ended);
        frozen::forget(ended);
        assert_eq!(thaw(ended), Err(Refused::NoSuchTask));
        drop(first);
        assert!(woken.count() == 1 && !frozen::is_frozen(one) && frozen::is_frozen(other));
        drop(second);
        assert!(woken.count() == 2 && !frozen::is_frozen(other));
        assert_eq!(Arc::strong_count(&woken), 1);
        [one, other].into_iter().for_each(table::remove);
    }

    #[test]
    fn a_task_that_is_polled_is_frozen_after_that_and_a_closure_is_not() {
        static CLOSURE: WorkType = WorkType::closure::<()>();
        let freezer = Freezer::default();
        let polled = [TaskState::Running, TaskState::Blocked].map(future);
        for number in polled {
            assert_eq!(freezer.freeze(number), Ok(true));
        }
        let closure = record_of(&CLOSURE, TaskState::Queued);
        assert_eq!(freezer.freeze(closure), Err(Refused::NotFreezable));
        assert!(!frozen::is_frozen(closure));
        for number in polled.into_iter().chain([closure]) {
            table::remove(number);
            assert_eq!(freezer.freeze(number), Err(Refused::NoSuchTask));
        }
    }
}
