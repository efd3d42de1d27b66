//! Aborts the process, and prints the state of every worker, when nothing has progressed for a while.

use manyhands::Runtime;
use std::io::{Write, stderr};
use std::process::abort;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Watches one test.
#[derive(Debug)]
pub(crate) struct Watchdog {
    watched: Arc<Watched>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Watched {
    beats: AtomicU64,
    what: Mutex<(String, Weak<Runtime>)>,
}

impl Watchdog {
    pub(crate) fn new() -> Self {
        let watched = Arc::new(Watched::default());
        let (end, is_over) = mpsc::channel::<()>();
        let thread = thread::spawn({
            let watched = Arc::clone(&watched);
            move || {
                let (mut last, mut ticks) = (0, 0);
                while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    let beats = watched.beats.load(Ordering::Relaxed);
                    ticks = if beats == last { ticks + 1 } else { 0 };
                    last = beats;
                    if ticks == TICKS_MAX {
                        watched.bark();
                    }
                }
            }
        });
        Self {
            watched,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// A round begins, on this runtime.
    pub(crate) fn begin(&self, round: String, runtime: &Arc<Runtime>) {
        let mut what = self.watched.what.lock().expect("no panic under the lock");
        *what = (round, Arc::downgrade(runtime));
        self.beat();
    }

    /// Something was finished.
    pub(crate) fn beat(&self) {
        self.watched.beats.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a watchdog only aborts");
        }
    }
}

impl Watched {
    /// Goes to standard error directly, because a test's own output is lost when it aborts.
    fn bark(&self) -> ! {
        let what = self.what.lock().unwrap_or_else(PoisonError::into_inner);
        let (round, runtime) = &*what;
        let seconds = (TICK * TICKS_MAX).as_secs();
        let state = runtime.upgrade().map_or_else(
            || String::from("the runtime is being dropped"),
            |runtime| format!("{runtime:?}"),
        );
        let text = format!("\nno round has ended for {seconds} s\n{round}\n{state}\n");
        let _ = stderr().write_all(text.as_bytes());
        if std::env::var_os("MANYHANDS_STRESS_HANG").is_some() {
            // For a debugger to be attached.
            loop {
                thread::park();
            }
        }
        abort()
    }
}

const TICK: Duration = Duration::from_secs(1);
const TICKS_MAX: u32 = 30;
