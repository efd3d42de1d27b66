//! What a pool is built from.

use crate::ThreadPoolBuildError;
use crate::handlers::Handlers;
use crate::worker::WorkerThread;
use manyhands::{Handle, Runtime};
use std::env;
use std::thread;

/// What the builder has collected, but for how threads are started.
#[derive(Default)]
pub(crate) struct Settings {
    /// 0: as many as the environment or the machine says.
    pub(crate) num_threads: usize,
    pub(crate) uses_current_thread: bool,
    pub(crate) thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) handlers: Handlers,
    pub(crate) is_breadth_first: bool,
}

impl Settings {
    /// Whether the pool takes the calling thread in, for life; an error if that is in one. A worker of manyhands' default runtime
    /// is taken into none: it has other tasks later, which would be in the pool with it.
    pub(crate) fn takes_current_thread(&self) -> Result<bool, ThreadPoolBuildError> {
        if !self.uses_current_thread {
            return Ok(false);
        }
        if WorkerThread::current().is_some() {
            return Err(ThreadPoolBuildError::already_in_pool());
        }
        let is_worker = || Runtime::default_runtime().worker_index().is_some();
        // A thread without a runtime is no worker, and makes none by this.
        Ok(!(Handle::try_current().is_some() && is_worker()))
    }

    /// The number of threads that was asked for, here or in the environment.
    pub(crate) fn chosen_threads(&self) -> Option<usize> {
        let number_in = |name| env::var(name).ok()?.parse::<usize>().ok();
        let chosen = match self.num_threads {
            // The later name is the deprecated one; a zero in the first means the default.
            0 => number_in("RAYON_NUM_THREADS").or_else(|| number_in("RAYON_RS_NUM_CPUS"))?,
            asked => asked,
        };
        (chosen > 0).then(|| chosen.min(max_num_threads()))
    }

    /// The number of threads of a pool of its own.
    pub(crate) fn count_threads(&self) -> usize {
        let default = || thread::available_parallelism().map_or(1, usize::from);
        self.chosen_threads().unwrap_or_else(default)
    }

    /// The name of the thread with this index.
    pub(crate) fn name_of(&mut self, index: usize) -> Option<String> {
        self.thread_name.as_mut().map(|name| name(index))
    }

    /// The default runtime of manyhands, made as configured here. `None` if it exists already, and its threads cannot
    /// be given what is asked for.
    pub(crate) fn default_runtime(&mut self) -> Option<&'static Runtime> {
        let mut settings = Runtime::builder();
        if let Some(count) = self.chosen_threads() {
            settings = settings.workers(count);
        }
        if let Some(bytes) = self.stack_size {
            settings = settings.stack_size(bytes);
        }
        if self.thread_name.is_some() {
            let names: Vec<Option<String>> = (0..self.count_threads())
                .map(|index| self.name_of(index))
                .collect();
            // Threads beyond, in place of blocked ones, are not the original's.
            let name = move |index: usize| match names.get(index) {
                Some(Some(name)) => name.clone(),
                _ => format!("manyhands-{index}"),
            };
            settings = settings.thread_name(name);
        }
        let is_particular = self.stack_size.is_some() || self.thread_name.is_some();
        match settings.build_default() {
            Ok(runtime) => Some(runtime),
            Err(_) if is_particular => None,
            Err(_) => Some(Runtime::default_runtime()),
        }
    }
}

/// The most threads that one pool may have. A builder that is given more makes a pool of this many.
pub fn max_num_threads() -> usize {
    (1 << 16) - 1
}
