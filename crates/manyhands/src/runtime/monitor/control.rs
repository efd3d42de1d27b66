//! A runtime's side of its monitor: the switch, and the thread's handle.
//!
//! Not here: how the thread is started, and what it does (`thread.rs`).

use crate::runtime::monitor::switch::Switch;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock, thread};
use std::sync::Arc;

/// The runtime's side of its monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    pub(super) switch: Arc<Switch>,
    pub(super) thread: Mutex<Option<thread::JoinHandle<()>>>,
    /// It sweeps so seldom that threads look at the clock in calls that they run alone.
    pub(super) sweeps_seldom: AtomicBool,
}

impl Monitor {
    /// A monitor that is off; its thread starts when it is first armed.
    pub(crate) fn new() -> Self {
        Self {
            switch: Arc::new(Switch::new()),
            thread: Mutex::new(None),
            sweeps_seldom: AtomicBool::new(false),
        }
    }

    /// A thread in a call, which has passed a fence since it entered: whether a monitor that sweeps does so often.
    pub(crate) fn sweeps_often(&self) -> bool {
        // Relaxed: F5 of `unshared_calls.rs`.
        !self.sweeps_seldom.load(Ordering::Relaxed)
    }

    /// Ends the monitor and waits for its thread.
    pub(crate) fn close(&self) {
        self.switch.close();
        // The lock is released first: the monitor's thread may want it.
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // That thread contains every panic: of the user's hook, of wakers, of a broken error stream. Held by
            // `tests/it/survival.rs::a_stall_hook_that_panics_with_anything_keeps_the_monitor`.
            let _ = thread.join();
        }
    }
}
