//! Aborts the process, and prints the state of every thread, when no operation has ended for a minute.

use crate::threads;
use manyhands::Runtime;
use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::process::abort;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Watches programs, one after the other.
#[derive(Debug)]
pub(crate) struct Watchdog {
    watched: Arc<Watched>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The operation that a caller of a program runs.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    begun: AtomicU64,
    does: Mutex<Option<String>>,
}

impl Caller {
    /// An operation of that name begins.
    pub(crate) fn begin(&self, name: String) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *lock(&self.does) = Some(name);
    }

    /// There are no more.
    pub(crate) fn end(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *lock(&self.does) = None;
    }
}

#[derive(Debug, Default)]
struct Watched {
    /// Programs begun and ended, and their phases.
    beats: AtomicU64,
    program: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    what: String,
    phase: &'static str,
    runtimes: [Weak<Runtime>; 2],
    callers: Arc<[Caller]>,
}

impl Watchdog {
    pub(crate) fn begin_watching() -> Self {
        let watched = Arc::new(Watched::default());
        let (end, is_over) = mpsc::channel::<()>();
        let builder = thread::Builder::new().name("watchdog".to_owned());
        let thread = builder.spawn({
            let watched = Arc::clone(&watched);
            move || {
                let (mut last, mut ticks) = (0, 0);
                while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    let beats = watched.beats();
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
            thread: Some(thread.expect("a thread can be started")),
        }
    }

    /// A program begins.
    pub(crate) fn begin(
        &self,
        what: String,
        runtimes: [&Arc<Runtime>; 2],
        callers: &Arc<[Caller]>,
    ) {
        *lock(&self.watched.program) = Some(Running {
            what,
            phase: "running",
            runtimes: runtimes.map(Arc::downgrade),
            callers: Arc::clone(callers),
        });
        self.watched.beat();
    }

    pub(crate) fn enter_phase(&self, phase: &'static str) {
        if let Some(running) = &mut *lock(&self.watched.program) {
            running.phase = phase;
        }
        self.watched.beat();
    }

    /// The program has ended.
    pub(crate) fn end(&self) {
        *lock(&self.watched.program) = None;
        self.watched.beat();
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
    fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes whenever something has ended.
    fn beats(&self) -> u64 {
        let program = lock(&self.program);
        let callers = program.iter().flat_map(|running| running.callers.iter());
        let begun: u64 = callers
            .map(|caller| caller.begun.load(Ordering::Relaxed))
            .sum();
        begun.wrapping_add(self.beats.load(Ordering::Relaxed) << 32)
    }

    /// Goes to standard error directly, because a test's own output is lost when it aborts.
    fn bark(&self) -> ! {
        let seconds = (TICK * TICKS_MAX).as_secs();
        let mut text = format!("\nHANG: nothing has ended for {seconds} s\n");
        if let Some(running) = &*lock(&self.program) {
            let _ = writeln!(text, "{}\nphase: {}", running.what, running.phase);
            for (index, caller) in running.callers.iter().enumerate() {
                let begun = caller.begun.load(Ordering::Relaxed);
                let does = lock(&caller.does).clone();
                let does = does.as_deref().unwrap_or("has ended");
                let _ = writeln!(text, "caller {index}, step {begun}: {does}");
            }
            for runtime in &running.runtimes {
                let state = runtime.upgrade().map(|runtime| {
                    // Never dropped here: the drop would hang, too.
                    let text = format!("{runtime:#?}");
                    drop(thread::Builder::new().spawn(move || drop(runtime)));
                    text
                });
                let state = state.unwrap_or_else(|| "a runtime is being dropped".to_owned());
                let _ = writeln!(text, "{state}");
            }
        }
        let _ = stderr().write_all(text.as_bytes());
        threads::print_all();
        if std::env::var_os("MANYHANDS_SOAK_HANG").is_some() {
            // For a debugger to be attached.
            loop {
                thread::park();
            }
        }
        abort()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const TICK: Duration = Duration::from_secs(1);
const TICKS_MAX: u32 = 60;
