//! With the feature: what a thread knows of the task that it runs. Same functions as in `recording/disabled.rs`.
//!
//! Not here: what is recorded of it (`hooks.rs`).

use crate::recording::enabled::Lines;
use crate::recording::enabled::tasks::leaf_stacks::Ticket;
use manyhands_analysis::TaskNumber;
use std::cell::Cell;

/// What a thread runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Current {
    pub(crate) number: Option<TaskNumber>,
    /// The data of the waker with which it is polled.
    pub(crate) waker: usize,
    /// What the thread has said for its waits.
    pub(crate) lines: Lines,
    /// Which frame it is in, or 0.
    pub(crate) frame: usize,
    /// Stacks are copied where it is about to wait, because somebody has asked for that.
    pub(crate) asked: Option<Ticket>,
    /// A wait was recorded since this poll has begun. Until then all those of the record are of the poll before: they count only
    /// for since when the task waits for the same again, and the end of this poll drops them.
    has_waited: bool,
    /// The future whose wait of the poll before is over. It need not be taken out of the record before the next wait.
    pub(crate) over: Option<usize>,
}

crate::sync::thread_local! {
    static CURRENT: Cell<Current> = const {
        Cell::new(Current::of(None, 0))
    };
}

impl Current {
    /// This task, polled with a waker of this data.
    pub(crate) const fn of(number: Option<TaskNumber>, waker: usize) -> Self {
        Self {
            number,
            waker,
            lines: Lines::NONE,
            frame: 0,
            asked: None,
            has_waited: false,
            over: None,
        }
    }
}

/// What the calling thread runs.
pub(crate) fn get() -> Current {
    CURRENT.get()
}

/// The calling thread runs this from now on. Returns what it ran so far.
pub(crate) fn replace(current: Current) -> Current {
    CURRENT.replace(current)
}

/// Whether the calling thread runs a task that is recorded, or is itself recorded as one: only then is a wait recorded.
///
/// The compiler compares a thread's own word in memory, so a place that asks this has two instructions; it does not do so
/// with an atomic, and a place that asks whether recording is open has three.
#[inline]
pub(crate) fn is_recorded() -> bool {
    // None where the thread is ending and has no such word any more, which can be where the system keeps it by a key.
    let is_some = CURRENT.try_with(|current| current.get().number.is_some());
    is_some.unwrap_or(false)
}

/// Changes what the calling thread knows of what it runs.
pub(crate) fn change(change: impl FnOnce(&mut Current)) {
    let mut current = CURRENT.get();
    change(&mut current);
    CURRENT.set(current);
}

/// What the calling thread runs has recorded a wait, and the one that was over was taken out; or is polled again, and has not.
pub(crate) fn set_waited(has_waited: bool) {
    change(|current| (current.has_waited, current.over) = (has_waited, None));
}

/// Remembers that the wait of this future is over, if it is of the poll before. False: its record may have to say so.
pub(crate) fn remember_over(leaf: usize) -> bool {
    let Current {
        has_waited, over, ..
    } = CURRENT.get();
    let is_known = !has_waited && over.is_none_or(|known| known == leaf);
    if is_known {
        change(|current| current.over = Some(leaf));
    }
    is_known
}

#[cfg(test)]
mod tests {
    use super::get;
    use crate::priority::Priority;
    use crate::recording::enabled::opening;
    use crate::recording::enabled::tasks::hooks::{TaskRecord, waits};
    use crate::recording::enabled::tasks::table;
    use crate::recording::enabled::tasks::thread_waits::thread_polls;
    use crate::recording::enabled::tasks::work_type::WorkType;
    use crate::recording::enabled::waits::forget::forget;
    use crate::recording::{Awaited, WaitKind};
    use crate::sync::clock;
    use manyhands_analysis::TaskNumber;
    use std::collections::BTreeMap;
    use std::mem;
    use std::panic::Location;
    use std::ptr::{self, NonNull};
    use std::task::{Poll, Waker};

    /// By where its future is: what a wait is for, and since when; `None`: it begins at the end of this poll.
    type Waits<Since> = BTreeMap<usize, (usize, Since)>;

    /// What a task waits for, or a call in it that blocks, if each end of a wait is recorded at once.
    #[derive(Default)]
    struct Expected {
        earlier: Waits<Option<u64>>,
        current: Waits<Option<u64>>,
    }

    impl Expected {
        fn begin_poll(&mut self) {
            self.earlier = mem::take(&mut self.current);
        }

        fn wait(&mut self, leaf: usize, resource: usize) {
            let current = self.current.remove(&leaf);
            let known = current.or_else(|| self.earlier.remove(&leaf));
            let since = known.and_then(|(before, since)| since.filter(|_| before == resource));
            self.current.insert(leaf, (resource, since));
        }

        fn forget(&mut self, leaf: usize) {
            if self.current.remove(&leaf).is_none() {
                self.earlier.remove(&leaf);
            }
        }

        fn assert_recorded(&self, number: TaskNumber) {
            let expected = self.current.iter();
            let expected = expected.map(|(leaf, (resource, _))| (*leaf, *resource));
            let recorded = recorded(number).into_iter();
            let recorded = recorded.map(|(leaf, (resource, _))| (leaf, resource));
            assert!(expected.eq(recorded));
        }

        /// The poll has ended, not before `end`.
        fn end_poll(&mut self, number: TaskNumber, end: u64) {
            self.assert_recorded(number);
            self.earlier.clear();
            for (leaf, (_, recorded)) in recorded(number) {
                let (_, since) = self.current.get_mut(&leaf).unwrap();
                match *since {
                    Some(since) => assert_eq!(since, recorded, "it goes on"),
                    None => assert!(recorded >= end, "it begins anew"),
                }
                since.get_or_insert(recorded);
            }
        }
    }

    fn recorded(number: TaskNumber) -> Waits<u64> {
        let mut waits = Waits::new();
        table::change(number, |record| {
            for wait in record.waits.current() {
                let before = waits.insert(wait.leaf, (wait.resource, wait.since));
                assert_eq!(before, None, "a future has one wait");
            }
        });
        waits
    }

    fn let_time_pass() {
        let start = clock::ticks();
        while clock::ticks() == start {}
    }

    /// What one thread runs, at random.
    struct Run {
        random: u64,
        leaves: [u64; 6],
        depth: usize,
    }

    impl Run {
        fn below(&mut self, limit: usize) -> usize {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            usize::try_from(self.random >> 33).unwrap() % limit
        }

        fn poll(&mut self, expected: &mut Expected) {
            let number = get().number.unwrap();
            for _ in 0..self.below(7) {
                let (place, resource) = (self.below(6), self.below(2));
                let leaf = ptr::from_ref(&self.leaves[place]).addr();
                match self.below(11) {
                    0..5 => {
                        let future = &self.leaves[place];
                        waits(future, Waker::noop(), || {
                            Awaited::Thing(WaitKind::Receive, resource)
                        });
                        expected.wait(leaf, resource);
                    }
                    5..10 => {
                        forget(&self.leaves[place]);
                        expected.forget(leaf);
                    }
                    _ => self.run_inside(),
                }
                expected.assert_recorded(number);
            }
        }

        fn run_inside(&mut self) {
            if self.depth == DEPTH_MAX {
                return;
            }
            self.depth += 1;
            if self.below(2) == 0 {
                self.run_call_that_blocks();
            } else {
                self.run_task();
            }
            self.depth -= 1;
        }

        fn run_call_that_blocks(&mut self) {
            let blocks = thread_polls(Waker::noop(), None);
            let number = get().number.unwrap();
            let mut expected = Expected::default();
            for _ in 0..self.below(6) {
                let_time_pass();
                expected.begin_poll();
                let mut end = 0;
                let _pending = blocks.poll(|| {
                    self.poll(&mut expected);
                    end = clock::ticks();
                    Poll::<()>::Pending
                });
                expected.end_poll(number, end);
            }
        }

        fn run_task(&mut self) {
            static WORK: WorkType = WorkType::closure::<()>();
            let (task, mut cell) = (TaskRecord::default(), 0_u64);
            let of_task = (None, Priority::Normal);
            let at = Location::caller();
            task.spawned(NonNull::from(&mut cell).cast(), of_task, &WORK, at);
            let number = task.number().unwrap();
            let mut expected = Expected::default();
            for polls_left in (0..self.below(6)).rev() {
                let_time_pass();
                expected.begin_poll();
                let running = task.run(Waker::noop().data().addr(), None);
                self.poll(&mut expected);
                let end = clock::ticks();
                running.end(polls_left == 0, || None);
                if polls_left > 0 {
                    expected.end_poll(number, end);
                }
            }
            task.ended();
        }
    }

    const DEPTH_MAX: usize = 3;

    #[test]
    fn a_wait_that_is_over_is_shown_as_if_its_record_had_said_so_at_once() {
        opening::open();
        let runs = if cfg!(miri) { 20 } else { 5_000 };
        let mut run = Run {
            random: 0x9E37_79B9_7F4A_7C15,
            leaves: [0; 6],
            depth: 0,
        };
        (0..runs).for_each(|_| run.run_inside());
    }
}
