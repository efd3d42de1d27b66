//! Where a woken worker wakes up.
//!
//! A kernel may wake a thread on the processor it last ran on even when the waker is busy there and another
//! processor idles: seen in virtual machines, where it then takes milliseconds until the two are apart. So
//! a worker notes where it falls asleep; a waker that runs just there keeps that processor from it for the
//! moment of waking, and the worker, once awake, may run everywhere again.
//!
//! Not for whom sockets have woken (see `RuntimeInner::unpark_claimed`).
//!
//! Only on Linux; elsewhere this does nothing. A worker's own mask is read once, after its start hook has
//! run; who changes it later from outside may see it restored.

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::Placement;

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) use elsewhere::Placement;

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use crate::sync::{CpuSet, Mutex, current_cpu, lock, try_lock};

    /// Where a worker sleeps and may wake.
    #[derive(Default)]
    pub(crate) struct Placement {
        /// The worker's thread and the processors it may use. A waker that holds the lock keeps the thread
        /// from ending, so that its number is not another's.
        own: Mutex<Option<(libc::pid_t, CpuSet)>>,
        /// One past the processor it fell asleep on; 0 while it is awake.
        asleep_on: AtomicUsize,
        /// A waker has kept a processor from it.
        narrowed: AtomicBool,
    }

    impl Placement {
        /// Worker: reads its mask, once it is as the user wants it.
        pub(crate) fn begin(&self, thread: libc::pid_t) {
            *lock(&self.own) = CpuSet::of_thread(0).map(|mask| (thread, mask));
        }

        /// Worker: its thread ends.
        pub(crate) fn end(&self) {
            *lock(&self.own) = None;
        }

        /// Worker: is about to sleep.
        pub(crate) fn fall_asleep(&self) {
            // Relaxed: a hint.
            self.asleep_on
                .store(current_cpu().map_or(0, |cpu| cpu + 1), Ordering::Relaxed);
        }

        /// Waker: keeps the worker off the processor that the waker needs itself, if others are free while `busy`
        /// threads run. Where none is, the worker would wait there for longer than the waker goes on here.
        pub(crate) fn steer_away(&self, busy: usize) {
            // Relaxed: a hint.
            let asleep_on = self.asleep_on.load(Ordering::Relaxed);
            let Some(here) = current_cpu().filter(|cpu| cpu + 1 == asleep_on) else {
                return;
            };
            let Some(own) = try_lock(&self.own) else {
                return;
            };
            let Some((thread, mask)) = *own else {
                return;
            };
            let others = mask.without(here);
            if others.len() >= busy && others.len() > 0 && others.assign_to_thread(thread) {
                // SeqCst, also below: one of both sees what the other has written. If the worker has woken by itself
                // meanwhile, then either it waits for this lock and restores its mask, or that is done here.
                self.narrowed.store(true, Ordering::SeqCst);
                if self.asleep_on.load(Ordering::SeqCst) == 0 {
                    mask.assign_to_thread(thread);
                }
            }
        }

        /// Worker: is awake.
        pub(crate) fn wake_up(&self) {
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
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod elsewhere {
    /// Nothing to be done.
    #[derive(Default)]
    pub(crate) struct Placement;

    impl Placement {
        pub(crate) fn begin(&self, _thread: i32) {}

        pub(crate) fn end(&self) {}

        pub(crate) fn fall_asleep(&self) {}

        pub(crate) fn steer_away(&self, _busy: usize) {}

        pub(crate) fn wake_up(&self) {}
    }
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement").finish_non_exhaustive()
    }
}
