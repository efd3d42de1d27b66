//! The settings of a runtime, checked: its numbers, names and hooks.
//!
//! Not here: how a user chooses them (`builder.rs`).

use crate::integrations::tracing_events;
use crate::job::contain;
use crate::runtime::{Stall, TokioContext};
use std::io::Write;
use std::time::Duration;
use std::{fmt, io};

/// A checked configuration.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) threads_max: usize,
    pub(crate) thread_keep_alive: Duration,
    pub(crate) hill_climbing: bool,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: String,
    /// What the user's function has given; the other threads have the usual names.
    pub(super) thread_names: Vec<String>,
    pub(crate) on_start: Option<ThreadHook>,
    pub(crate) on_stop: Option<ThreadHook>,
    pub(super) on_stall: Option<StallHook>,
    pub(crate) tokio_context: TokioContext,
}

/// A runtime that starts no threads, because the calling thread is its worker.
impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 1,
            threads_max: 1,
            // Longer than the pauses of most bursts, short enough that the pool is back at its size ten seconds after.
            thread_keep_alive: Duration::from_secs(5),
            hill_climbing: false,
            stack_size: None,
            name: NAME_DEFAULT.to_owned(),
            thread_names: Vec::new(),
            on_start: None,
            on_stop: None,
            on_stall: None,
            tokio_context: TokioContext::Nothing,
        }
    }
}

impl Settings {
    /// What a runtime of this many workers has where nothing else is asked for.
    pub(crate) fn for_workers(workers: usize) -> Self {
        Self {
            workers,
            // The others may run in place of blocked ones.
            threads_max: workers.saturating_add(256),
            ..Self::default()
        }
    }

    /// The name of worker `index`.
    pub(crate) fn name_of(&self, index: usize) -> String {
        let own = self.thread_names.get(index).cloned();
        let usual = |name: &str| format!("{name}-{index}");
        let names = own.into_iter().chain([usual(&self.name)]);
        // A name with a null byte cannot be given to a thread.
        let mut given = names.filter(|name| !name.contains('\0'));
        given.next().unwrap_or_else(|| usual(NAME_DEFAULT))
    }

    /// Runs a hook and contains its panic.
    pub(crate) fn run_hook(hook: Option<&ThreadHook>, index: usize) {
        if let Some(hook) = hook {
            contain(|| hook.0(index));
        }
    }

    /// Reports a stall to the user.
    pub(crate) fn report_stall(&self, stall: &Stall) {
        tracing_events::stall(&self.name, stall);
        match &self.on_stall {
            Some(hook) => contain(|| hook.0(stall)),
            None => {
                // So that a program does not hang silently. A closed stream or a broken pipe is ignored.
                let line = format!("manyhands: {stall}\n");
                let _ = io::stderr().write_all(line.as_bytes());
            }
        }
    }
}

/// A function of the user's.
pub(crate) struct Hook<F: ?Sized>(pub(super) Box<F>);

/// Is called with the index of a thread.
type ThreadHook = Hook<dyn Fn(usize) + Send + Sync>;
/// Is called when the runtime stalls.
type StallHook = Hook<dyn Fn(&Stall) + Send + Sync>;

impl<F: ?Sized> fmt::Debug for Hook<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

const NAME_DEFAULT: &str = "manyhands";
