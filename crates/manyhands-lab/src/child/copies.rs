//! Copies of a call that run at the same time, each on a thread of its own: what is left of a call's
//! speed when others do the same.
//!
//! The unit is a set of copies. Its time runs from the moment at which the first of them begins to
//! the moment at which the last has ended.

use crate::{clock::Stopwatch, experiment::Trial, experiment::Workload};
use manyhands::Runtime;
use std::{
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

/// The copies beside the one of the thread that measures.
pub(crate) struct Copies<'case> {
    case: &'case (dyn Workload + Send + Sync),
    n: usize,
    others: usize,
    /// The pool that their arms find.
    pool: Arc<Runtime>,
    /// Of the last set of calls, by copy.
    checksums: Vec<u64>,
}

impl<'case> Copies<'case> {
    /// Copies of one size of a case, `all` together with that of the thread that measures.
    pub(crate) fn new(
        case: &'case (dyn Workload + Send + Sync),
        n: usize,
        all: usize,
        pool: Arc<Runtime>,
    ) -> Self {
        Self {
            case,
            n,
            others: all.saturating_sub(1),
            pool,
            checksums: Vec::new(),
        }
    }

    /// Calls an arm `times` times in every copy, `trial` among them, which is prepared for it, and gives the time of all of it.
    pub(crate) fn call(&mut self, trial: &mut dyn Trial, arm: usize, times: u32) -> Duration {
        let begin = Barrier::new(self.others + 1);
        let watch = Stopwatch::start();
        let timed = |trial: &mut dyn Trial| {
            begin.wait();
            let from = watch.elapsed();
            trial.call(arm, times);
            (from, watch.elapsed())
        };
        let copy = || {
            let _entered = self.pool.enter();
            let mut trial = self.case.open(self.n);
            // The first call has memory to touch for the first time.
            trial.reset();
            trial.prepare(arm, 1);
            trial.call(arm, 1);
            trial.reset();
            trial.prepare(arm, times);
            let span = timed(trial.as_mut());
            (span, trial.checksum())
        };
        let (own, ended) = thread::scope(|scope| {
            let copies: Vec<_> = (0..self.others).map(|_| scope.spawn(copy)).collect();
            let own = timed(trial);
            let join = |copy: thread::ScopedJoinHandle<'_, _>| {
                copy.join()
                    .unwrap_or_else(|payload| std::panic::resume_unwind(payload))
            };
            (own, copies.into_iter().map(join).collect::<Vec<_>>())
        });
        let spans = || ended.iter().map(|(span, _)| *span).chain([own]);
        let from = spans().map(|(from, _)| from).min().unwrap_or_default();
        let to = spans().map(|(_, to)| to).max().unwrap_or_default();
        self.checksums = ended.iter().map(|(_, checksum)| *checksum).collect();
        to.saturating_sub(from)
    }

    /// The checksums of the last set of calls.
    pub(crate) fn take_checksums(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.checksums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_copy_makes_every_call_and_all_run_at_once() {
        const COPIES: usize = 3;
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        // Ends only when as many calls as there are copies are in it at the same time.
        let case = Case::returning("c").arm("meet", move |n| {
            let all = (counted.fetch_add(1, Ordering::SeqCst) + 1).next_multiple_of(COPIES);
            let watch = Stopwatch::start();
            while counted.load(Ordering::SeqCst) < all {
                assert!(watch.elapsed() < Duration::from_secs(60), "alone");
                thread::yield_now();
            }
            n
        });
        let pool = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let mut copies = Copies::new(&case, 7, COPIES, pool);
        // The thread that measures has had its first call before.
        let warm = thread::scope(|scope| {
            let warm = scope.spawn(|| {
                let mut trial = case.open(7);
                trial.call(0, 1);
                trial.checksum()
            });
            let mut trial = case.open(7);
            copies.call(trial.as_mut(), 0, 2);
            warm.join().unwrap()
        });
        assert_eq!(copies.take_checksums(), [warm; COPIES - 1]);
        assert!(copies.take_checksums().is_empty());
        assert_eq!(calls.load(Ordering::SeqCst), COPIES * 3);
    }

    #[test]
    fn a_single_copy_is_a_call() {
        let case = Case::returning("c").arm("n", |n| n);
        let pool = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let mut copies = Copies::new(&case, 7, 1, pool);
        let mut trial = case.open(7);
        copies.call(trial.as_mut(), 0, 5);
        assert!(copies.take_checksums().is_empty());
    }
}
