//! Deadlines, watched runtimes, drop ledgers and panics for the tests.
#![expect(
    clippy::disallowed_methods,
    reason = "deadlines and busy bodies need the clock; nothing here sleeps"
)]

use manyhands::{AggregatePanic, Runtime, parallel};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Every wait ends within this; a sanitizer makes everything some ten times slower.
pub(crate) const LIMIT_SECS: u64 = if cfg!(sanitized) { 120 } else { 30 };

/// The numbers of workers that tests run with.
pub(crate) const WORKERS: [usize; 4] = [1, 2, 3, 8];

/// Runs `work` on a thread of its own, and fails if it has not ended after `seconds`.
pub(crate) fn within<T: Send + 'static>(
    seconds: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    watched(seconds, String::new, work)
}

/// Runs `work` with a new runtime, then drops the runtime; fails if either takes too long.
pub(crate) fn on_runtime<T: Send + 'static>(
    workers: usize,
    work: impl FnOnce(&Runtime) -> T + Send + 'static,
) -> T {
    let runtime = Runtime::builder().workers(workers).build();
    on(runtime.expect("the numbers are right"), work)
}

/// A runtime of this many threads, and no other thread in place of one that is blocked.
pub(crate) fn of_threads(threads: usize) -> Runtime {
    let builder = Runtime::builder().workers(threads).max_threads(threads);
    builder.build().expect("the numbers are right")
}

/// A loop that goes on until `stop` says so, and never yields by itself.
pub(crate) fn loop_until(stop: &AtomicBool, body: impl Fn() + Sync) {
    parallel::Options::new().for_each_with_control(0..u64::MAX, |_, control| {
        body();
        if stop.load(Ordering::SeqCst) && !control.should_exit() {
            control.stop();
        }
    });
}

/// As [`on_runtime`], with this one.
pub(crate) fn on<T: Send + 'static>(
    runtime: Runtime,
    work: impl FnOnce(&Runtime) -> T + Send + 'static,
) -> T {
    let runtime = Arc::new(runtime);
    let theirs = Arc::clone(&runtime);
    let dump = || format!("{runtime:?}");
    let result = watched(LIMIT_SECS, dump, move || work(&theirs));
    within(LIMIT_SECS, move || drop(runtime));
    result
}

/// Runs `work` on runtimes of several sizes.
pub(crate) fn on_each_runtime(work: impl Fn(&Runtime) + Send + Sync + 'static) {
    let work = Arc::new(work);
    for workers in WORKERS {
        let work = Arc::clone(&work);
        on_runtime(workers, move |runtime| work(runtime));
    }
}

fn watched<T: Send + 'static>(
    seconds: u64,
    dump: impl Fn() -> String,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let is_too_short = cfg!(sanitized) && seconds < LIMIT_SECS;
    let seconds = if is_too_short { LIMIT_SECS } else { seconds };
    let (ended, end) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        work()
    });
    if end.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
        panic!("not ended after {seconds} s\n{}", dump());
    }
    thread
        .join()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

/// A moment after which waiting is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// The time since it was started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Waits until `condition` holds; fails after the time limit.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let holds = holds_within(Duration::from_secs(LIMIT_SECS - 5), condition);
    assert!(holds, "waited in vain: {what}");
}

/// Waits until `condition` holds; false if it does not within `time`.
pub(crate) fn holds_within(time: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Deadline::after(time);
    while !condition() {
        if deadline.has_passed() {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Repeats `attempt` until it says that it saw what it was looking for; fails after the time limit.
pub(crate) fn attempt_until(what: &str, attempt: impl Fn() -> bool) {
    let deadline = Deadline::after(Duration::from_secs(LIMIT_SECS - 5));
    while !attempt() {
        assert!(!deadline.has_passed(), "never seen: {what}");
    }
}

/// Receives within the time limit.
pub(crate) fn receive<T>(receiver: &mpsc::Receiver<T>) -> T {
    receiver
        .recv_timeout(Duration::from_secs(LIMIT_SECS - 5))
        .expect("somebody sends in time")
}

/// Numbered things that happen once, to be waited for. Waiting blocks, as threads do that wait for one
/// another; spinning would look like work.
#[derive(Debug)]
pub(crate) struct Board {
    happened: Mutex<Vec<bool>>,
    changed: Condvar,
}

impl Board {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            happened: Mutex::new(vec![false; count]),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn happens(&self, index: usize) {
        self.happened.lock().expect("not poisoned")[index] = true;
        self.changed.notify_all();
    }

    /// Waits for one; fails after a while.
    pub(crate) fn wait_for(&self, index: usize) {
        self.wait_while(|happened| !happened[index]);
    }

    /// Waits for all; fails after a while.
    pub(crate) fn wait_for_all(&self) {
        self.wait_while(|happened| happened.contains(&false));
    }

    fn wait_while(&self, condition: impl Fn(&[bool]) -> bool) {
        let happened = self.happened.lock().expect("not poisoned");
        let limit = Duration::from_secs(LIMIT_SECS / 2);
        let waiting = |happened: &mut Vec<bool>| condition(happened);
        let waited = self.changed.wait_timeout_while(happened, limit, waiting);
        let (happened, timeout) = waited.expect("not poisoned");
        let state = format!("{happened:?}");
        // Before the panic, so that the lock is not poisoned for the others.
        drop(happened);
        assert!(!timeout.timed_out(), "waited in vain: {state}");
    }
}

/// Burns processor time.
pub(crate) fn busy_micros(micros: u64) {
    let until = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Panics without a message on the terminal.
pub(crate) fn blow(payload: impl Any + Send) -> ! {
    resume_unwind(Box::new(payload))
}

/// What a panic carried.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `work` and returns what its panics carried, one entry for each; empty if there was none.
pub(crate) fn panics_of<T>(work: impl FnOnce() -> T) -> Vec<Payload> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(_) => Vec::new(),
        Err(payload) => match payload.downcast::<AggregatePanic>() {
            Ok(aggregate) => aggregate.into_payloads(),
            Err(single) => vec![single],
        },
    }
}

/// The message of a panic.
pub(crate) fn message_of(payload: &Payload) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

/// Counts how often things were made and dropped, by number.
#[derive(Debug)]
pub(crate) struct Ledger {
    made: Vec<AtomicUsize>,
    dropped: Vec<AtomicUsize>,
}

/// A thing of a [`Ledger`].
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) id: usize,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let zeroes = || (0..count).map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Self {
            made: zeroes(),
            dropped: zeroes(),
        })
    }

    pub(crate) fn make(self: &Arc<Self>, id: usize) -> Counted {
        self.made[id].fetch_add(1, Ordering::SeqCst);
        Counted {
            id,
            ledger: Arc::clone(self),
        }
    }

    /// A thing of each number.
    pub(crate) fn make_all(self: &Arc<Self>) -> Vec<Counted> {
        (0..self.made.len()).map(|id| self.make(id)).collect()
    }

    pub(crate) fn count_dropped(&self) -> usize {
        let counts = self.dropped.iter();
        counts.map(|count| count.load(Ordering::SeqCst)).sum()
    }

    /// Everything that was made was dropped, once.
    #[track_caller]
    pub(crate) fn assert_settled(&self) {
        for (id, (made, dropped)) in self.made.iter().zip(&self.dropped).enumerate() {
            let (made, dropped) = (made.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst));
            assert_eq!(made, dropped, "number {id} was made and dropped");
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.dropped[self.id].fetch_add(1, Ordering::SeqCst);
    }
}

/// How many are inside something at once.
#[derive(Debug, Default)]
pub(crate) struct HighWater {
    now: AtomicUsize,
    highest: AtomicUsize,
}

impl HighWater {
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.highest.fetch_max(now, Ordering::SeqCst);
        let result = work();
        self.now.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// As [`during`](Self::during), until the pass is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Pass {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.highest.fetch_max(now, Ordering::SeqCst);
        Pass(Arc::clone(self))
    }

    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn highest(&self) -> usize {
        self.highest.load(Ordering::SeqCst)
    }
}

/// A thread is inside, until this is dropped.
pub(crate) struct Pass(Arc<HighWater>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counters at zero, one for each index.
pub(crate) fn counters(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

/// The counters' values.
pub(crate) fn values(counters: &[AtomicUsize]) -> Vec<usize> {
    let values = counters.iter();
    values.map(|count| count.load(Ordering::SeqCst)).collect()
}

/// A reproducible pseudo-random number below `limit`; splitmix64 of the seed.
pub(crate) fn random_below(seed: u64, limit: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % limit
}
