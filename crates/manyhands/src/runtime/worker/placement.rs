//! Where a woken worker wakes up.
//!
//! A kernel may wake a thread on the processor it last ran on even when the waker is busy there and another
//! processor idles: seen in virtual machines, where it then takes milliseconds until the two are apart. So
//! a worker notes where it falls asleep; a waker that runs just there keeps that processor from it for the
//! moment of waking, and the worker, once awake, may run everywhere again.
//!
//! Some kernels also fetch a thread from an idle processor to that of its waker, when the two share no cache, as
//! processors of virtual machines often do not. A worker that wakes there after it has slept elsewhere notes that, and
//! from then on each waker keeps its processor from it.
//!
//! A waker that polls sockets keeps no processor from anybody (see `unpark` in `pool.rs`).
//!
//! Where the system does not say on which processor a thread runs, all of this does nothing. A worker's own mask is read once,
//! after its start hook has run; a change made later from outside may be undone.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{CpuSet, Mutex, current_cpu, lock, try_lock};

/// Where a worker sleeps and may wake.
#[derive(Default)]
pub(crate) struct Placement {
    /// The worker's thread and the processors it may use. A waker that holds the lock keeps the thread
    /// from ending, so that its number is not another's.
    own: Mutex<Option<(i32, CpuSet)>>,
    /// One past the processor it fell asleep on; 0 while it is awake.
    asleep_on: AtomicUsize,
    /// One past the processor of its last waker that looked; 0: none has since it fell asleep.
    woken_from: AtomicUsize,
    /// A waker has kept a processor from it.
    narrowed: AtomicBool,
    /// The kernel has once fetched it to its waker's processor.
    is_fetched: AtomicBool,
}

impl Placement {
    /// Worker: reads its mask, once it is as the user wants it.
    pub(crate) fn begin(&self, thread: i32) {
        *lock(&self.own) = CpuSet::of_thread(0).map(|mask| (thread, mask));
    }

    /// Worker: its thread ends.
    pub(crate) fn end(&self) {
        *lock(&self.own) = None;
    }

    /// Worker: is about to sleep.
    pub(crate) fn fall_asleep(&self) {
        // A system says it always or never, so what begins here ends in `wake_up`.
        let Some(here) = current_cpu() else {
            return;
        };
        // Relaxed, both: hints.
        self.woken_from.store(0, Ordering::Relaxed);
        self.asleep_on.store(here + 1, Ordering::Relaxed);
    }

    /// Waker: keeps the worker off the processor that the waker needs itself, if others are free while `busy`
    /// threads run. Where none is, the worker would wait there for longer than the waker goes on here.
    pub(crate) fn steer_away(&self, busy: usize) {
        let Some(here) = current_cpu() else {
            return;
        };
        // Relaxed, all: hints.
        self.woken_from.store(here + 1, Ordering::Relaxed);
        let asleep_on = self.asleep_on.load(Ordering::Relaxed);
        let is_fetched = self.is_fetched.load(Ordering::Relaxed);
        if asleep_on == 0 || asleep_on != here + 1 && !is_fetched {
            return;
        }
        let Some(own) = try_lock(&self.own) else {
            return;
        };
        let Some((thread, mask)) = *own else {
            return;
        };
        let others = mask.without(here);
        if others.count() >= busy && others.count() > 0 && others.assign_to_thread(thread) {
            // SeqCst, also below: one of both sees what the other has written. If the worker has woken by itself
            // meanwhile, then either it waits for this lock and restores its mask, or that is done here.
            self.narrowed.store(true, Ordering::SeqCst);
            if self.asleep_on.load(Ordering::SeqCst) == 0 {
                mask.assign_to_thread(thread);
            }
        }
    }

    /// Worker: is awake. Notes whether the kernel has fetched it to its waker's processor, and may run everywhere again.
    pub(crate) fn wake_up(&self) {
        let Some(here) = current_cpu() else {
            return;
        };
        // Relaxed, all: hints.
        let woken_from = self.woken_from.load(Ordering::Relaxed);
        let asleep_on = self.asleep_on.load(Ordering::Relaxed);
        if here + 1 == woken_from && woken_from != asleep_on {
            self.is_fetched.store(true, Ordering::Relaxed);
        }
        // SeqCst, both: see `steer_away`.
        self.asleep_on.store(0, Ordering::SeqCst);
        if self.narrowed.load(Ordering::SeqCst)
            && let Some((_, mask)) = *lock(&self.own)
        {
            // Relaxed: the waker has done its part, and the lock is held.
            self.narrowed.store(false, Ordering::Relaxed);
            mask.assign_to_thread(0);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, shuttle))))]
mod tests {
    use super::Placement;
    use crate::sync::{CpuSet, current_cpu, thread_state};

    fn processors_allowed() -> Vec<usize> {
        let all = CpuSet::of_thread(0).expect("Linux has masks");
        let holds = |&cpu: &usize| all.without(cpu).count() < all.count();
        (0..CPUS_MAX).filter(holds).collect()
    }

    /// Runs on this processor from now on.
    fn go_to(cpu: usize) {
        let all = CpuSet::of_thread(0).expect("Linux has masks");
        let beside = |cpus: CpuSet, other| {
            if other == cpu {
                cpus
            } else {
                cpus.without(other)
            }
        };
        // Each mask is a part of the one before, so the thread was let everywhere first.
        let only = (0..CPUS_MAX).fold(all, beside);
        assert!(only.assign_to_thread(0));
        assert_eq!(current_cpu(), Some(cpu));
    }

    /// Sleeps on one processor, is woken from another, and wakes there; returns its mask before it wakes.
    fn wake(placement: &Placement, everywhere: CpuSet, from: usize, to: usize) -> CpuSet {
        assert!(everywhere.assign_to_thread(0));
        go_to(from);
        placement.fall_asleep();
        assert!(everywhere.assign_to_thread(0));
        go_to(to);
        placement.steer_away(1);
        let woken_with = CpuSet::of_thread(0).expect("Linux has masks");
        placement.wake_up();
        woken_with
    }

    /// One thread is both, worker and waker, on two processors in turn.
    #[test]
    fn a_worker_that_was_fetched_to_its_waker_once_is_kept_off_that_processor_from_then_on() {
        let [here, there, ..] = processors_allowed()[..] else {
            return;
        };
        let everywhere = CpuSet::of_thread(0).expect("Linux has masks");
        let thread = thread_state::number(thread_state::current_thread());
        let placement = Placement::default();
        placement.begin(thread);
        let before = wake(&placement, everywhere, there, here);
        assert_eq!(before.without(here).count(), 0, "the waker has kept it off");
        let after = wake(&placement, everywhere, there, here);
        assert_eq!(after.count(), everywhere.count() - 1);
        assert_eq!(after.without(here).count(), after.count(), "not kept off");
        let awake = CpuSet::of_thread(0).expect("Linux has masks");
        assert_eq!(
            awake.count(),
            everywhere.count(),
            "it may run everywhere again"
        );
    }

    const CPUS_MAX: usize = 1_024;
}
