//! Saturation: whether slow jobs occupy every worker, as any thread can see it at one look.
//!
//! The monitor needs two looks at a job to see that it is slow, and it looks seldom. Where slow requests come and go, it
//! would miss most of the time that they occupy every worker. So a worker stores in its slot when it began a job of a slow
//! type. A push of a short task reads the slots. If slow jobs have occupied every worker for some time, the push starts
//! overcommit, and the monitor takes over at its next sweep.
//!
//! # Cost
//! A push costs two loads of one line that is seldom written. Saturation only begins
//! when such a job begins. So there is at most one look for each begin, or one for each task until the last such job has
//! lasted long enough. A look ends at the first worker that runs something else.
//!
//! # Ordering
//! All is advice, as everything about short tasks is: no task depends on it. A look that misses what a worker has just noted
//! leaves it to the monitor, whose sweeps are made whether or not anybody looks here.
//!
//! Not here: what follows from it (`monitor/overcommit.rs`).

use crate::runtime::policy::LONG_BY_KIND_NANOS;
use crate::runtime::{RuntimeInner, SlotState};
use crate::sync::clock;

/// What a look at all workers found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saturation {
    /// A worker is free, or runs something else.
    Free,
    /// Slow jobs occupy every worker, but one has just begun.
    Pending,
    /// Slow jobs have occupied every worker for some time, on this number of threads.
    Full(usize),
}

impl RuntimeInner {
    /// Push of a short task, while overcommit is off: whether it is on from now on.
    #[inline]
    pub(crate) fn sees_saturation(&self) -> bool {
        self.idle.may_be_saturated() && self.look_for_saturation()
    }

    #[cold]
    #[inline(never)]
    fn look_for_saturation(&self) -> bool {
        if self.idle.has_room() {
            return false;
        }
        self.idle.set_may_be_saturated(false);
        match self.saturation() {
            Saturation::Free => false,
            Saturation::Pending => {
                self.idle.set_may_be_saturated(true);
                false
            }
            Saturation::Full(threads) => {
                self.idle.begin_overcommit(threads);
                true
            }
        }
    }

    /// Looks at all workers.
    pub(crate) fn saturation(&self) -> Saturation {
        let (now, least) = (clock::ticks(), clock::ticks_in(LONG_BY_KIND_NANOS));
        let (mut threads, mut has_just_begun) = (0, false);
        for slot in self.worker_slots() {
            if slot.occupant() != SlotState::Running
                || slot.in_short_task.is_set()
                || slot.detected_blocked.is_set()
            {
                continue;
            }
            let Some(since) = slot.in_long_kind_since() else {
                return Saturation::Free;
            };
            threads += 1;
            has_just_begun |= now.saturating_sub(since) < least;
        }
        if threads < self.idle.running_others().max(self.idle.limit) {
            Saturation::Free
        } else if has_just_begun {
            Saturation::Pending
        } else {
            Saturation::Full(threads)
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Saturation;
    use crate::sync::wait_until;
    use crate::{Runtime, task};
    use std::hint;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Computations of one kind, until this is dropped.
    struct Computing(Arc<State>);

    #[derive(Default)]
    struct State {
        begun: AtomicUsize,
        may_end: AtomicBool,
    }

    impl State {
        fn compute(&self) {
            self.begun.fetch_add(1, Ordering::SeqCst);
            while !self.may_end.load(Ordering::SeqCst) {
                hint::spin_loop();
            }
        }
    }

    impl Drop for Computing {
        fn drop(&mut self) {
            self.0.may_end.store(true, Ordering::SeqCst);
        }
    }

    impl Computing {
        /// Begins one on each of two workers.
        fn begin() -> Self {
            let this = Self(Arc::default());
            for count in 1..=2 {
                let state = Arc::clone(&this.0);
                drop(task::run(move || state.compute()));
                wait_until("it has begun", || {
                    this.0.begun.load(Ordering::SeqCst) == count
                });
            }
            this
        }

        fn end(self, runtime: &Runtime) {
            drop(self);
            wait_until("both workers sleep", || {
                runtime.shared().idle.taking_part().0 == 0
            });
        }
    }

    #[test]
    fn a_push_of_a_short_task_sees_slow_jobs_in_all_workers() {
        let runtime = Runtime::builder().workers(2).build();
        let runtime = runtime.expect("the number is right");
        let (shared, _entered) = (runtime.shared(), runtime.enter());
        // Nothing here is seen by sweeps.
        shared.monitor.close();
        let saturation = || shared.saturation();

        let unknown = Computing::begin();
        assert_eq!(saturation(), Saturation::Free, "they may be short");
        let kind = shared.worker_slots().next().expect("it computes").kind();
        shared.long_kinds.note(kind);
        unknown.end(&runtime);
        assert_eq!(saturation(), Saturation::Free);

        let long = Computing::begin();
        let short = Arc::new(AtomicUsize::new(0));
        wait_until("a short task", || {
            let short = Arc::clone(&short);
            let body = move || short.fetch_add(1, Ordering::SeqCst);
            drop(task::run(body));
            shared.short_tasks_found.read() > 0
        });
        wait_until("the thread beyond the limit sleeps", || {
            saturation() == Saturation::Full(2)
        });
        long.end(&runtime);
        assert_eq!(saturation(), Saturation::Free, "both have ended");
    }
}
