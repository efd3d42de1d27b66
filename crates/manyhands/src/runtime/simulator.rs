//! A runtime whose one worker is the calling thread, with a virtual clock and an order drawn from a seed.
//!
//! It is a runtime like any other, so tasks, timers, loops and shutdown are the real ones. The simulator replaces only
//! what makes a run depend on the machine: threads, the monitor, the clock, and the order of the tasks.
//!
//! Not here: the main future and the public interface (`simulation`).
//!
//! Unsafe: tasks are taken from queues by pointer.

use crate::job::{Action, Job, RunPermit};
use crate::queue::Unqueued;
use crate::runtime::current::WorkerGuard;
use crate::runtime::{Clock, Ends, FoundWork, RuntimeInner, Settings, ending, run_loop};

use crate::sync::atomic::AtomicU64;
use crate::timer::Moment;
use std::sync::Arc;

/// A simulated runtime, current on the calling thread.
pub(crate) struct Simulator {
    /// The calling thread. Its end, which is before that of `shared`, drops the tasks that are bound to it and were never polled:
    /// they are in no registry.
    worker: WorkerGuard,
    shared: Arc<RuntimeInner>,
    /// Tasks that could run now; only the simulator has them.
    runnable: Vec<Unqueued<Job>>,
    random: u64,
}

/// What a turn was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A task was run, or the clock set.
    Other,
    /// It is the main future's turn.
    Main,
    /// Nothing can run, now or later.
    Nothing,
}

impl Simulator {
    /// Makes one, with the clock at its first moment.
    pub(crate) fn begin(seed: u64) -> Self {
        let clock = Clock::Virtual(AtomicU64::new(Moment::FIRST_READING.to_nanos()));
        let shared = RuntimeInner::with_clock(Settings::default(), clock);
        let slot = shared.slot_simulator();
        // SAFETY: the only thread of a new runtime; its slot is left when the simulator is dropped.
        let worker = unsafe { WorkerGuard::begin(Arc::clone(&shared), slot) };
        Self {
            shared,
            worker,
            runnable: Vec::new(),
            random: seed,
        }
    }

    /// Runs one of the tasks that can run, or leaves the turn to the main future. If none can run, sets the clock to
    /// the next timer.
    pub(crate) fn turn(&mut self, can_main_run: bool) -> Turn {
        self.collect();
        let candidates = self.runnable.len() + usize::from(can_main_run);
        if candidates == 0 {
            return self.go_to_next_timer();
        }
        let chosen = self.next_random() % candidates as u64;
        let chosen = usize::try_from(chosen).expect("it is below a number of that type");
        if chosen == self.runnable.len() {
            return Turn::Main;
        }
        let job = self.runnable.swap_remove(chosen);
        run_loop::perform(self.worker.slot, FoundWork::Job(job), RunPermit::new());
        Turn::Other
    }

    fn go_to_next_timer(&self) -> Turn {
        let due = self.worker.slot.timers.next_due();
        // The last moment never comes.
        if due >= Moment::LAST.tick_due() {
            return Turn::Nothing;
        }
        let now = self.shared.clock.now();
        self.shared.clock.set(now.max(Moment::at_tick(due)));
        self.worker.slot.timers.fire(due);
        Turn::Other
    }

    /// How many tasks wait for something.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.registry.registered()
    }

    /// Takes the queued tasks, the oldest first. All of them, also while another thread counts them: a queue that looks empty
    /// is a deadlock.
    fn collect(&mut self) {
        let own = [&self.worker.slot.tasks, &self.worker.slot.local];
        let queues = own.into_iter().chain(self.shared.queues_outside());
        queues.for_each(|queue| {
            while let Some(job) = queue.take_first() {
                self.runnable.push(job);
            }
        });
    }

    /// After S. Vigna's splitmix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Drop for Simulator {
    /// Drops what has not finished, as the end of any runtime does.
    fn drop(&mut self) {
        for job in std::mem::take(&mut self.runnable) {
            Job::perform(job, Action::Drop(self.shared.registry), RunPermit::new());
        }
        ending::begin_to_close(&*self.shared);
        while self.shared.registry.registered() > 0 {
            self.shared
                .discard(&self.worker.slot.local, RunPermit::new());
            self.shared.discard_queued(RunPermit::new());
        }
        self.shared.close(None);
    }
}
