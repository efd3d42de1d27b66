//! Tokio's runtime for the process, and who waits in it for its sockets and timers.
//!
//! One for the process, for ever: sockets outlive the runtimes that opened them. Tokio lets one thread at a
//! time wait for events, inside `block_on`; here that is a worker that has nothing else to do, so that what a
//! socket wakes runs where it was woken, and nobody else has to be. A thread of its own stands in where no
//! worker comes.
//!
//! # Who watches
//! A worker that falls asleep takes the place if it is free, and leaves it to run something. While it runs, its
//! runtime's monitor is on, and calls the thread (`attend`) when nobody has watched for a millisecond; a worker
//! with much to do has a look now and then, so that this is rare. A worker that will not come again calls the
//! thread itself (`leave`). So somebody watches, or a worker is awake and watched.
//! The thread stays until a worker asks for the place, and wakes that worker when it has left. The steps of this are
//! in `sync/poller.rs`, with whose alarm is kept by whom.
//!
//! What was spawned with `tokio::spawn` is for the thread: while there is any, no worker watches. A worker may
//! run a first step of it that comes just when it falls asleep.
//!
//! # No wake is lost
//! A sleeper polls its parker each time tokio polls the future it waits for, first of all when it has come: so a
//! wake before that is found, and a later one goes through the waker, which makes tokio poll again. It never waits
//! for the thread inside of tokio, because it comes in only where nobody is.

use crate::job::AbortOnUnwind;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::poller::{NEVER, Poller, PollerSleep};
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
/// What the system says when it refuses the thread, or what it takes to wait for sockets. A later call tries
/// again.
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

/// What [`handle`] is the handle of.
pub(crate) fn driver() -> io::Result<&'static Driver> {
    let mut known = lock(&DRIVER);
    if let Some(driver) = *known {
        return Ok(driver);
    }
    // The thread first: nothing else has to be given back if the system refuses it. It ends if what follows fails.
    let (sender, receiver) = mpsc::channel::<&'static Driver>();
    thread::Builder::new()
        .name("manyhands-tokio".to_owned())
        .spawn(move || receiver.recv().map(Driver::stand_by))?;
    let driver: &'static Driver = Box::leak(Box::new(Driver::new()?));
    // The thread waits for it.
    let _ = sender.send(driver);
    *known = Some(driver);
    Ok(driver)
}

static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

crate::sync::thread_local! {
    /// The worker that watches on this thread.
    static WATCHER: Cell<Option<(&'static dyn Sleeper, &'static Driver)>> = const { Cell::new(None) };
}

/// Tokio's runtime, and who watches.
#[derive(Debug)]
pub(crate) struct Driver {
    tokio: Runtime,
    metrics: RuntimeMetrics,
    place: Poller,
    /// Wakes the thread that stands in, where it is not in the place.
    thread: Parker,
    /// The worker that watched last. Never followed.
    last: AtomicPtr<()>,
    /// When that one left, in ticks.
    left_at: AtomicU64,
}

impl Driver {
    fn new() -> io::Result<Self> {
        let tokio = Builder::new_current_thread()
            .thread_name("manyhands-tokio-blocking")
            .enable_all()
            .on_thread_unpark(after_turn)
            .build()?;
        Ok(Self {
            metrics: tokio.metrics(),
            tokio,
            place: Poller::new(),
            thread: Parker::new(),
            last: AtomicPtr::new(ptr::null_mut()),
            left_at: AtomicU64::new(0),
        })
    }

    /// Puts tokio around the calling thread.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.tokio.enter()
    }

    /// The life of the thread.
    fn stand_by(&self) {
        thread_state::wake_on_time();
        loop {
            if self.place.answer() {
                self.turn(poll_fn(|context| {
                    self.place.poll_leave(context, || self.has_tasks())
                }));
                self.place.thread_leaves();
            }
            let now = nanos_now();
            match self.place.nap(now) {
                PollerSleep::No => {}
                PollerSleep::Until(alarm) => {
                    self.thread.park_timeout(Duration::from_nanos(alarm - now));
                }
                PollerSleep::ForEver => self.thread.park(),
            }
        }
    }

    /// Waits for events in tokio until `future` is ready.
    ///
    /// Tokio wakes whoever waits for an event from in there. Most wakers are tasks', which do not panic; but anybody
    /// may poll a socket with one of his own. Tokio takes its driver out while it waits, and a panic drops that:
    /// no socket of this process would ever be ready again, so the process ends.
    fn turn(&self, future: impl Future<Output = ()>) {
        let waiting = AbortOnUnwind::new(
            "a waker has panicked where tokio waits for events, and tokio cannot wait any more",
        );
        self.tokio.block_on(future);
        waiting.disarm();
    }

    /// Calls the thread.
    fn call(&self) {
        self.place.call();
        self.thread.unpark();
    }

    /// Whether there are tasks of tokio's own.
    fn has_tasks(&self) -> bool {
        self.metrics.num_alive_tasks() > 0
    }

    /// Worker in the place: waits for events in tokio until `future` is ready, and leaves.
    fn watch(&'static self, sleeper: &'static dyn Sleeper, future: impl Future<Output = ()>) {
        WATCHER.set(Some((sleeper, self)));
        self.turn(future);
        WATCHER.set(None);
        // Relaxed, both: advice.
        self.last.store(address_of(sleeper), Ordering::Relaxed);
        self.left_at.store(clock::ticks(), Ordering::Relaxed);
        self.place.leave();
        if self.has_tasks() {
            self.call();
        }
    }

    /// For how long nobody has watched, in ticks.
    fn ticks_left(&self) -> u64 {
        // Relaxed: advice.
        clock::ticks().saturating_sub(self.left_at.load(Ordering::Relaxed))
    }
}

impl Reactor for Driver {
    fn vacancy(&'static self, sleeper: &'static dyn Sleeper) -> PollerState {
        if self.has_tasks() {
            return PollerState::None;
        }
        if self.place.is_workers() {
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
        if self.has_tasks() {
            if self.place.is_vacant() {
                self.call();
            }
            return false;
        }
        if !self.place.come(sleeper) {
            return false;
        }
        if let Some(limit) = limit {
            let limit = u64::try_from(limit.as_nanos()).unwrap_or(NEVER);
            let alarm = nanos_now().saturating_add(limit);
            self.place
                .set_alarm(sleeper, alarm, || self.thread.unpark());
        }
        let woken = poll_fn(|context| {
            // Tokio has had a turn that it did not tell of, if it polls for another reason.
            after_turn();
            sleeper.poll_wake(context)
        });
        self.watch(sleeper, woken);
        true
    }

    fn look(&'static self, sleeper: &'static dyn Sleeper) {
        if self.place.is_threads() {
            if !self.has_tasks() {
                self.place.ask(sleeper);
            }
        } else if self.place.come(sleeper) {
            let mut is_first = true;
            let once = poll_fn(|context: &mut Context<'_>| {
                if !is_first {
                    return Poll::Ready(());
                }
                is_first = false;
                // Tokio asks the system once, without waiting, before it polls again.
                context.waker().wake_by_ref();
                Poll::Pending
            });
            self.watch(sleeper, once);
        }
    }

    fn leave(&'static self) {
        self.call();
    }

    fn attend(&'static self) {
        if self.place.is_vacant() && self.ticks_left() > clock::ticks_in(ABSENCE_NANOS) {
            self.call();
        }
    }
}

/// Tokio calls this on the thread that watches after each of its turns, before it runs any of its tasks.
fn after_turn() {
    if let Some((sleeper, driver)) = WATCHER.get()
        && (sleeper.has_work() || driver.has_tasks())
    {
        sleeper.wake();
    }
}

fn address_of(sleeper: &'static dyn Sleeper) -> *mut () {
    ptr::from_ref(sleeper).cast::<()>().cast_mut()
}

fn nanos_now() -> u64 {
    let passed = clock::now().saturating_duration_since(clock::first());
    u64::try_from(passed.as_nanos()).unwrap_or(NEVER)
}

/// So long a worker that has left to run what sockets have woken keeps the place from others: two that take
/// turns would wake each other at every message.
const RETURN_NANOS: u64 = 50_000;
/// So long nobody watches before the thread is called.
const ABSENCE_NANOS: u64 = 1_000_000;
