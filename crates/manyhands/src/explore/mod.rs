//! Explorations: small real programs run on the whole library (pool, monitor, channels, timers) under a scheduler that
//! chooses at random which thread runs at each access to an atomic and at each lock, thousands of times with thousands
//! of seeds.
//!
//! The scheduler is the crate `manyhands-explore`, which says when a program fails, what a schedule is, and how time passes
//! in it. Not covered: weak memory orders (loom's models), data races (the sanitizers), sockets, and the system's calls.

mod channels;
mod counts;
mod life;
mod loops;
mod refusals;
mod scopes;
mod tasks;

use crate::Runtime;
use crate::sync::{Condvar, Mutex, lock, thread};
use manyhands_explore::Terms;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Whether a program needs the monitor's sweeps.
#[derive(Clone, Copy)]
enum Monitor {
    Needed,
    NotNeeded,
}

fn explore(name: &'static str, monitor: Monitor, program: fn()) {
    let dispensable = match monitor {
        Monitor::Needed => None,
        Monitor::NotNeeded => Some("manyhands-monitor"),
    };
    let terms = Terms {
        name,
        dispensable,
        jumps_max: JUMPS_MAX,
    };
    manyhands_explore::explore(terms, program);
}

/// Declares programs as tests with their names.
macro_rules! programs {
    ($($(#[doc = $doc:literal])* $name:ident($monitor:ident) $body:block)*) => {$(
        $(#[doc = $doc])*
        #[test]
        fn $name() {
            fn program() $body
            let monitor = $crate::explore::Monitor::$monitor;
            $crate::explore::explore(stringify!($name), monitor, program);
        }
    )*};
}
use programs;

/// A pool with this number of workers and this limit of threads.
fn pool(workers: usize, threads_max: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .max_threads(threads_max)
        .build()
        .expect("threads can be started")
}

/// An external thread.
fn outside<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new()
        .name("outside".to_owned())
        .spawn(f)
        .expect("threads can be started")
}

/// How often each of several bodies has run.
struct Counts(Vec<AtomicUsize>);

impl Counts {
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| AtomicUsize::new(0)).collect())
    }

    fn add(&self, index: usize) {
        // Relaxed: all run on one thread of the system.
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    fn to_vec(&self) -> Vec<usize> {
        // Relaxed: as above.
        self.0
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect()
    }

    #[track_caller]
    fn assert_each_once(&self) {
        assert_eq!(
            self.to_vec(),
            vec![1; self.0.len()],
            "how often each has run"
        );
    }
}

/// A gate that opens once.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut is_open = lock(&self.0.0);
        while !*is_open {
            is_open = self.0.1.wait(is_open).expect("never poisoned");
        }
    }
}

/// A few programs wait on purpose, for some milliseconds.
const JUMPS_MAX: Duration = Duration::from_secs(5);
