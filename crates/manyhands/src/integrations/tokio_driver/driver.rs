//! Tokio's runtime for the process, and the thread or worker that polls its I/O driver.
//!
//! There is one for the process, and it never ends: sockets outlive the runtimes that opened them. Tokio lets one
//! thread at a time wait for events, inside `block_on`. Here that poller is an idle worker, so the tasks that a socket
//! wakes run where they are woken, and no other thread has to wake up. A thread of its own polls while no worker does.
//!
//! # Who polls
//! A worker that falls asleep becomes the poller if there is none, and stops polling to run a task. While it runs, its
//! runtime's monitor is active, and calls the thread (`ensure_poller`) when there was no poller for a millisecond; a
//! busy worker polls once in a while, so that this is rare. While long jobs hold every place it calls the thread instead
//! (`call_poller`), because it would be back only after the next of them, and so does a worker that will not poll again. So there is a poller, or a worker is awake and the monitor watches it.
//! The thread polls until a worker asks to take over, and wakes that worker when it has stopped. The transitions are in
//! `sync/poller.rs`, which also says which thread keeps the poller's alarm.
//!
//! Tasks of `tokio::spawn` run on the thread: while there are any, no worker polls. One that arrives just when a worker
//! falls asleep may run there until it first waits: tokio calls the worker's hook only where it parks.
//!
//! # No wake is lost
//! A sleeping worker polls its parker each time tokio polls the future it waits for, and first of all when it enters
//! tokio. That sees each earlier wake; a later one goes through the waker, which makes tokio poll again. A worker never
//! waits for the thread inside tokio, because it enters only while there is no poller.

use crate::job::{OnDrop, abort};
use crate::recording;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::poller::{self, IoDriver, NEVER, Poller};
use crate::sync::{
    Mutex, Parker, PollerState, Reactor, Sleeper, clock, lock, mpsc, thread, thread_state,
};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::ptr;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};

/// Tokio's runtime for this process; the first call starts its thread.
///
/// # Errors
/// The system's error if it refuses the thread or the resources to wait for sockets. A later call tries again.
///
/// # Examples
/// ```
/// let tokio = manyhands::integrations::tokio_driver::handle()?;
/// let entered = tokio.enter();                       // for this thread, while the guard lives
/// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// socket.set_nonblocking(true)?;
/// assert!(tokio::net::UdpSocket::from_std(socket).is_ok());
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn handle() -> io::Result<Handle> {
    Ok(driver()?.tokio.handle().clone())
}

/// Enters the context of `tokio`, unless the calling thread is ending and has destroyed what tokio keeps in it.
pub(crate) fn enter(tokio: &Handle) -> Option<EnterGuard<'_>> {
    let is_gone = Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed());
    (!is_gone).then(|| tokio.enter())
}

/// The runtime behind [`handle`].
pub(crate) fn driver() -> io::Result<&'static Driver> {
    let mut known = lock(&DRIVER);
    if let Some(driver) = *known {
        return Ok(driver);
    }
    // The thread first: if the system refuses it, there is nothing to free. It ends if a later step fails.
    let (sender, receiver) = mpsc::channel::<&'static Driver>();
    thread::Builder::new()
        .name("manyhands-tokio".to_owned())
        .spawn(move || receiver.recv().map(Driver::run_thread))?;
    let driver: &'static Driver = Box::leak(Box::new(Driver::new()?));
    // The thread waits for it.
    let _ = sender.send(driver);
    *known = Some(driver);
    Ok(driver)
}

static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

crate::sync::thread_local! {
    /// The worker that polls on this thread.
    static POLLING_WORKER: Cell<Option<(&'static dyn Sleeper, &'static Driver)>> = const { Cell::new(None) };
}

/// Tokio's runtime, and the state of its poller.
#[derive(Debug)]
pub(crate) struct Driver {
    tokio: Runtime,
    metrics: RuntimeMetrics,
    poller: Poller,
    /// Wakes the thread while it is not the poller.
    thread: Parker,
    /// The address of the worker that polled last. Never dereferenced.
    last: AtomicPtr<()>,
    /// When that worker stopped polling, in ticks.
    left_at: AtomicU64,
}

impl Driver {
    fn new() -> io::Result<Self> {
        let tokio = Builder::new_current_thread()
            .thread_name("manyhands-tokio-blocking")
            .enable_all()
            .on_thread_unpark(after_tokio_turn)
            .build()?;
        Ok(Self {
            metrics: tokio.metrics(),
            tokio,
            poller: Poller::new(),
            thread: Parker::default(),
            last: AtomicPtr::new(ptr::null_mut()),
            left_at: AtomicU64::new(0),
        })
    }

    /// As [`enter`], with this runtime.
    pub(crate) fn enter(&self) -> Option<EnterGuard<'_>> {
        enter(self.tokio.handle())
    }

    /// The main loop of the thread.
    fn run_thread(&'static self) {
        thread_state::wake_on_time();
        loop {
            match poller::stand_by(self, nanos_now) {
                None => {}
                Some(NEVER) => self.thread.park(),
                Some(alarm) => {
                    let limit = alarm.saturating_sub(nanos_now());
                    self.thread.park_timeout(Duration::from_nanos(limit));
                }
            }
        }
    }

    /// For how long there has been no poller, in ticks.
    fn ticks_left(&self) -> u64 {
        // Relaxed: advice.
        clock::ticks().saturating_sub(self.left_at.load(Ordering::Relaxed))
    }
}

impl IoDriver for &'static Driver {
    fn poller(&self) -> &Poller {
        &self.poller
    }

    fn unpark_thread(self) {
        self.thread.unpark();
    }

    fn has_tasks(self) -> bool {
        self.metrics.num_alive_tasks() > 0
    }

    /// Waits for events in tokio until `poll` is ready.
    ///
    /// Tokio calls wakers from there. Most wakers are tasks', which do not panic, but any code may poll a socket with a
    /// waker of its own. Tokio takes its driver out while it waits, and a panic drops the driver: no socket of this
    /// process would ever be ready again. So a panic ends the process.
    fn block_on(self, poll: impl FnMut(&mut Context<'_>) -> Poll<()>) {
        let waiting = OnDrop(|| {
            abort(
                "a waker has panicked where tokio waits for events, and tokio cannot wait any more",
            )
        });
        recording::in_tokio(|| self.tokio.block_on(poll_fn(poll)));
        waiting.disarm();
    }

    fn block_on_worker(
        self,
        sleeper: &'static dyn Sleeper,
        poll: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) {
        POLLING_WORKER.set(Some((sleeper, self)));
        self.block_on(poll);
        POLLING_WORKER.set(None);
        // Relaxed, both: advice.
        self.last.store(address_of(sleeper), Ordering::Relaxed);
        self.left_at.store(clock::ticks(), Ordering::Relaxed);
    }
}

impl Reactor for Driver {
    fn poller_state(&'static self, sleeper: &'static dyn Sleeper) -> PollerState {
        if self.has_tasks() {
            return PollerState::None;
        }
        if self.poller.is_held_by_worker() {
            return PollerState::Taken;
        }
        // Relaxed: advice.
        let is_last = self.last.load(Ordering::Relaxed) == address_of(sleeper);
        if is_last || self.ticks_left() > clock::ticks_in(RETURN_NANOS) {
            PollerState::Free
        } else {
            PollerState::Soon
        }
    }

    fn sleep(&'static self, sleeper: &'static dyn Sleeper, limit: Option<Duration>) -> bool {
        poller::sleep(self, sleeper, || {
            let limit = u64::try_from(limit?.as_nanos()).unwrap_or(NEVER);
            Some(nanos_now().saturating_add(limit))
        })
    }

    fn poll_once(&'static self, sleeper: &'static dyn Sleeper) {
        poller::poll_once(self, sleeper);
    }

    fn ensure_poller(&'static self) {
        if self.poller.is_vacant() && self.ticks_left() > clock::ticks_in(ABSENCE_NANOS) {
            poller::call(self);
        }
    }

    fn call_poller(&'static self) {
        poller::stand_down(self);
    }
}

/// Tokio calls this on the polling thread after each of its turns, before it runs any of its tasks.
fn after_tokio_turn() {
    if let Some((sleeper, driver)) = POLLING_WORKER.get() {
        poller::after_turn(driver, sleeper);
    }
}

fn address_of(sleeper: &'static dyn Sleeper) -> *mut () {
    ptr::from_ref(sleeper).cast::<()>().cast_mut()
}

fn nanos_now() -> u64 {
    let passed = clock::now().saturating_duration_since(clock::first());
    u64::try_from(passed.as_nanos()).unwrap_or(NEVER)
}

/// For this time, a worker that stopped polling to run woken tasks is preferred over other workers: two that
/// alternate would wake each other at every message.
const RETURN_NANOS: u64 = 50_000;
/// How long there may be no poller before the thread is called.
const ABSENCE_NANOS: u64 = 1_000_000;
