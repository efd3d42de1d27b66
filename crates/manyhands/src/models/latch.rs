//! The latch, with the parker its waiter sleeps on.
//!
//! Threads: a runner, a waiter, a third that wakes the waiter for no reason. Operations: start, set,
//! unpark; look, fall asleep, park.
//! Property: the waiter always wakes and sees what the runner wrote; the runner does not touch the latch once it is
//! final.

use super::{Memory, Work, beside, check, wait_asleep};
use crate::job::{ExecutionId, Latch};
use crate::sync::Parker;
use loom::sync::Arc;

struct Model {
    latch: Latch,
    /// What the latch is part of; freed by the waiter.
    frame: Memory,
    work: Work,
    parker: Parker,
}

const SLOT: u16 = 7;

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            latch: Latch::new(),
            frame: Memory::new(),
            work: Work::new(0),
            parker: Parker::default(),
        })
    }

    /// Runner, as in `runtime/fork_join/join.rs`.
    fn run(&self) {
        self.frame.touch();
        self.latch.start(ExecutionId::new(3, 0, 1));
        self.work.run();
        // SAFETY: the model frees nothing, and `frame` tells if it should not have lived.
        let sleeper = unsafe { Latch::set(&raw const self.latch) };
        self.wake(sleeper);
    }

    fn wake(&self, sleeper: Option<u16>) {
        if let Some(slot) = sleeper {
            assert_eq!(slot, SLOT);
            self.parker.unpark();
        }
    }

    /// Waiter, as in `runtime/fork_join/wait.rs`.
    fn wait(&self) {
        let fall_asleep = || self.latch.fall_asleep(SLOT);
        wait_asleep(&self.parker, || self.latch.is_final(), fall_asleep);
        assert!(self.latch.is_final());
        self.frame.free();
    }
}

#[test]
fn a_waiter_wakes_and_sees_the_work() {
    check(|| {
        let model = Model::new();
        let runner = beside(&model, |model| model.run());
        model.wait();
        assert!(model.work.is_done());
        runner.join().unwrap();
    });
}

#[test]
fn a_stray_wake_does_not_end_the_wait() {
    check(|| {
        let model = Model::new();
        let runner = beside(&model, |model| model.run());
        let stranger = beside(&model, |model| model.parker.unpark());
        model.wait();
        assert!(model.work.is_done());
        runner.join().unwrap();
        stranger.join().unwrap();
    });
}

#[test]
fn the_runner_is_named_while_it_runs() {
    check(|| {
        let model = Model::new();
        let runner = beside(&model, |model| model.run());
        let id = model.latch.runner();
        assert!(id == ExecutionId::UNKNOWN || id.slot() == Some(3));
        model.wait();
        runner.join().unwrap();
    });
}
