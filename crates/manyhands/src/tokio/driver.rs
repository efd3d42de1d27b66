//! Tokio's runtime for the process, and who waits in it for its sockets and timers.
//!
//! One for the process, for ever: sockets outlive the runtimes that opened them. Tokio lets one thread at a
//! time wait for events, inside `block_on`; here that is a worker that has nothing else to do, so that what a
//! socket wakes runs where it was woken, and nobody else has to be. A thread of its own stands in where no
//! worker comes.
//!
//! # Who watches
//! A worker that falls asleep takes the place if it is free (`is_taken`), and leaves it to run something. While
//! it runs, its runtime's monitor is on, and calls the thread (`attend`) when nobody has watched for a
//! millisecond; a worker with much to do has a look now and then, so that this is rare. A worker that will not
//! come again calls the thread itself (`leave`). So somebody watches, or a worker is awake and watched.
//! The thread stays until a worker asks for the place (`is_wanted`, which stands until the thread has left).
//!
//! What was spawned with `tokio::spawn` is for the thread: while there is any, no worker watches. A worker may
//! run a first step of it that comes just when it falls asleep.
//!
//! # No wake is lost
//! A sleeper polls its parker each time tokio polls the future it waits for, first of all when it has come: so a
//! wake before that is found, and a later one goes through the waker, which makes tokio poll again.
//! D1: who takes the place sets `is_taken`, then looks whether the thread is watching; the thread says that it
//! is, then looks at `is_taken` and `is_wanted`. All SeqCst: one of them finds the other.
//! D2: a sleeper sets `alarm`, then looks how long the thread sleeps; the thread says how long it will sleep,
//! then looks at `alarm`. All SeqCst, as above.

use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use crate::sync::{Mutex, Parker, Reactor, Sleeper, Vacancy, clock, lock, thread, thread_state};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::ptr;
use std::task::{Context, Poll, Waker};
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
/// let tokio = manyhands::tokio::handle()?;
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
    let driver: &'static Driver = Box::leak(Box::new(Driver::new()?));
    thread::Builder::new()
        .name("manyhands-tokio".to_owned())
        .spawn(move || driver.stand_by())?;
    *known = Some(driver);
    Ok(driver)
}

static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

thread_local! {
    /// The worker that watches on this thread.
    static WATCHER: Cell<Option<(&'static dyn Sleeper, &'static RuntimeMetrics)>> = const { Cell::new(None) };
}

/// Tokio's runtime, and who watches.
#[derive(Debug)]
pub(crate) struct Driver {
    tokio: Runtime,
    metrics: &'static RuntimeMetrics,
    /// A worker watches.
    is_taken: AtomicBool,
    /// The worker that watched last. Never followed.
    last: AtomicPtr<()>,
    /// When that one left, in ticks.
    left_at: AtomicU64,
    /// When the worker must be woken, in nanoseconds since the clock's first reading.
    alarm: AtomicU64,
    /// Whom the alarm wakes.
    sleeper: Mutex<Option<&'static dyn Sleeper>>,
    stand_in: StandIn,
}

/// The thread that watches where no worker does.
#[derive(Debug)]
struct StandIn {
    parker: Parker,
    /// It is to watch.
    is_called: AtomicBool,
    /// It is to leave the place to a worker.
    is_wanted: AtomicBool,
    /// Makes it look whether it is to leave; there while it watches.
    waker: Mutex<Option<Waker>>,
    is_watching: AtomicBool,
    /// How long it sleeps at most, as `alarm`.
    asleep_until: AtomicU64,
}

impl Driver {
    fn new() -> io::Result<Self> {
        let tokio = Builder::new_current_thread()
            .thread_name("manyhands-tokio-blocking")
            .enable_all()
            .on_thread_unpark(after_turn)
            .build()?;
        Ok(Self {
            metrics: Box::leak(Box::new(tokio.metrics())),
            tokio,
            is_taken: AtomicBool::new(false),
            last: AtomicPtr::new(ptr::null_mut()),
            left_at: AtomicU64::new(0),
            alarm: AtomicU64::new(NEVER),
            sleeper: Mutex::new(None),
            stand_in: StandIn {
                parker: Parker::new(),
                is_called: AtomicBool::new(true),
                is_wanted: AtomicBool::new(false),
                waker: Mutex::new(None),
                is_watching: AtomicBool::new(false),
                asleep_until: AtomicU64::new(NEVER),
            },
        })
    }

    /// Puts tokio around the calling thread.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.tokio.enter()
    }

    /// The life of the thread.
    fn stand_by(&self) {
        thread_state::wake_on_time();
        let this = &self.stand_in;
        loop {
            // SeqCst, both: a call comes after the place was given back.
            if this.is_called.swap(false, Ordering::SeqCst) && !self.is_taken.load(Ordering::SeqCst)
            {
                self.tokio
                    .block_on(poll_fn(|context| self.poll_leave(context)));
                *lock(&this.waker) = None;
                // SeqCst, both: D1.
                this.is_watching.store(false, Ordering::SeqCst);
                this.is_wanted.store(false, Ordering::SeqCst);
            }
            self.sleep_until_alarm();
        }
    }

    /// Thread, while it watches: ready when it is to leave.
    fn poll_leave(&self, context: &Context<'_>) -> Poll<()> {
        let this = &self.stand_in;
        *lock(&this.waker) = Some(context.waker().clone());
        // SeqCst, both: D1.
        this.is_watching.store(true, Ordering::SeqCst);
        let is_wanted =
            this.is_wanted.load(Ordering::SeqCst) || self.is_taken.load(Ordering::SeqCst);
        if is_wanted && !self.has_tasks() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Thread: sleeps until it is called, and wakes the worker that watches when its time has come.
    fn sleep_until_alarm(&self) {
        let this = &self.stand_in;
        // SeqCst: D2.
        let alarm = self.alarm.load(Ordering::SeqCst);
        let now = nanos_now();
        if alarm <= now {
            // SeqCst: D2. If the sleeper has set another meanwhile, it is woken in vain.
            self.alarm.store(NEVER, Ordering::SeqCst);
            if let Some(sleeper) = *lock(&self.sleeper) {
                sleeper.wake();
            }
            return;
        }
        // SeqCst, both: D2.
        this.asleep_until.store(alarm, Ordering::SeqCst);
        if self.alarm.load(Ordering::SeqCst) >= alarm {
            if alarm == NEVER {
                this.parker.park();
            } else {
                this.parker.park_timeout(Duration::from_nanos(alarm - now));
            }
        }
    }

    /// Calls the thread.
    fn call(&self) {
        // SeqCst: see `stand_by`.
        self.stand_in.is_called.store(true, Ordering::SeqCst);
        self.stand_in.parker.unpark();
    }

    /// Asks the thread to leave.
    fn ask(&self) {
        let this = &self.stand_in;
        // SeqCst: D1.
        this.is_wanted.store(true, Ordering::SeqCst);
        let waker = lock(&this.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_thread_watching(&self) -> bool {
        // SeqCst: D1.
        self.stand_in.is_watching.load(Ordering::SeqCst)
    }

    /// Whether there are tasks of tokio's own.
    fn has_tasks(&self) -> bool {
        self.metrics.num_alive_tasks() > 0
    }

    /// Worker: takes the place.
    fn take(&self) -> bool {
        // Relaxed: the exchange decides. SeqCst: D1.
        !self.is_taken.load(Ordering::Relaxed) && !self.is_taken.swap(true, Ordering::SeqCst)
    }

    /// Worker: waits for events in tokio until `future` is ready.
    fn watch(&self, sleeper: &'static dyn Sleeper, future: impl Future<Output = ()>) {
        WATCHER.set(Some((sleeper, self.metrics)));
        self.tokio.block_on(future);
        WATCHER.set(None);
        // Relaxed, both: advice.
        self.last.store(address_of(sleeper), Ordering::Relaxed);
        self.left_at.store(clock::ticks(), Ordering::Relaxed);
        // SeqCst: see `stand_by`.
        self.is_taken.store(false, Ordering::SeqCst);
        if self.has_tasks() {
            self.call();
        }
    }

    fn set_alarm(&self, sleeper: &'static dyn Sleeper, limit: Duration) {
        *lock(&self.sleeper) = Some(sleeper);
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(NEVER);
        let alarm = nanos_now().saturating_add(limit);
        // SeqCst, both: D2.
        self.alarm.store(alarm, Ordering::SeqCst);
        if alarm < self.stand_in.asleep_until.load(Ordering::SeqCst) {
            self.stand_in.parker.unpark();
        }
    }

    /// For how long nobody has watched, in ticks.
    fn ticks_left(&self) -> u64 {
        // Relaxed: advice.
        clock::ticks().abs_diff(self.left_at.load(Ordering::Relaxed))
    }
}

impl Reactor for Driver {
    fn vacancy(&self, sleeper: &'static dyn Sleeper) -> Vacancy {
        if self.has_tasks() {
            return Vacancy::None;
        }
        // Relaxed: advice.
        if self.is_taken.load(Ordering::Relaxed) {
            return Vacancy::Taken;
        }
        // Relaxed: advice.
        let is_last = self.last.load(Ordering::Relaxed) == address_of(sleeper);
        if is_last || self.ticks_left() > clock::ticks_in(RETURN_NANOS) {
            Vacancy::Free
        } else {
            Vacancy::Soon
        }
    }

    fn sleep(&self, sleeper: &'static dyn Sleeper, limit: Option<Duration>) -> bool {
        if self.has_tasks() {
            if !self.is_thread_watching() {
                self.call();
            }
            return false;
        }
        if !self.take() {
            return false;
        }
        if self.is_thread_watching() {
            self.ask();
        }
        if let Some(limit) = limit {
            self.set_alarm(sleeper, limit);
        }
        let woken = poll_fn(|context| {
            // Tokio has had a turn that it did not tell of, if it polls for another reason.
            after_turn();
            sleeper.poll_wake(context)
        });
        self.watch(sleeper, woken);
        if limit.is_some() {
            // SeqCst: D2.
            self.alarm.store(NEVER, Ordering::SeqCst);
        }
        true
    }

    fn look(&self, sleeper: &'static dyn Sleeper) {
        if self.is_thread_watching() {
            if !self.has_tasks() {
                self.ask();
            }
        } else if self.take() {
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

    fn leave(&self) {
        self.call();
    }

    fn attend(&self) {
        // SeqCst: see `stand_by`.
        let is_watched = self.is_taken.load(Ordering::SeqCst) || self.is_thread_watching();
        if !is_watched && self.ticks_left() > clock::ticks_in(ABSENCE_NANOS) {
            self.call();
        }
    }
}

/// Tokio calls this on the thread that watches after each of its turns, before it runs any of its tasks.
fn after_turn() {
    if let Some((sleeper, metrics)) = WATCHER.get()
        && (sleeper.has_work() || metrics.num_alive_tasks() > 0)
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

/// No alarm.
const NEVER: u64 = u64::MAX;
/// So long a worker that has left to run what sockets have woken keeps the place from others: two that take
/// turns would wake each other at every message.
const RETURN_NANOS: u64 = 50_000;
/// So long nobody watches before the thread is called.
const ABSENCE_NANOS: u64 = 1_000_000;
