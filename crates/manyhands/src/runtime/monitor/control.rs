//! A runtime's side of its monitor: the switch, and the thread's handle.
//!
//! Not here: how the thread is started, and what it does (`thread.rs`).

use crate::runtime::ending::Ending;
use crate::runtime::fork_join::unshared_calls::CallWatch;
use crate::runtime::monitor::switch::{State, Switch};
use crate::sync::{Mutex, lock, thread};
use std::sync::Arc;

/// The runtime's side of its monitor.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    pub(crate) switch: Arc<Switch>,
    pub(super) thread: Mutex<Option<thread::JoinHandle<()>>>,
    /// Whether it opens calls that go on.
    pub(crate) call_watch: CallWatch,
}

impl Monitor {
    /// Owner of a call, from within `begin_watch`: makes the monitor watch the threads that run calls alone; `wake` wakes it, or
    /// starts its thread, where that is needed. Returns whether it watches: the system may refuse its thread, and a runtime that
    /// ends watches nobody.
    pub(crate) fn watches_calls(&self, ending: &Ending, wake: impl FnOnce()) -> bool {
        // In this order: a monitor that rests looks whether it is to watch after it has switched itself off.
        let begins = self.call_watch.begin();
        if self.switch.arm() || begins {
            wake();
        }
        // The end is looked at after `begin`: F6.
        matches!(self.switch.state(), State::On | State::Slow) && !ending.is_closing()
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
