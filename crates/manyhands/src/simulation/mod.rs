//! Running tasks on a virtual clock and in a repeatable order, to test them.
//!
//! A simulation is a runtime with one thread, the caller's. It is the current runtime of
//! [`task::spawn`](crate::task::spawn), [`time`](crate::time) and everything else. A seed decides which of the ready
//! tasks runs next. When none is ready, the clock jumps to the next timer: an hour of sleep takes no time, and always
//! exactly an hour.
//!
//! A run repeats exactly if the same seed is given and the tasks depend on nothing else: no other threads, no
//! other clock than [`time::now`](crate::time::now), no other source of randomness.
//!
//! Not here: the runtime underneath (`runtime/simulator.rs`).

use crate::job::InPlace;
use crate::runtime::Signal;
use crate::runtime::simulator::{Simulator, Turn};
use crate::task::budget;
use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A way to run futures that depends on its seed only.
///
/// # Examples
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::{task, time};
/// use std::time::Duration;
///
/// for seed in 0..20 {
///     let (quick, slow) = Simulation::new(seed)
///         .run(async {
///             let slow = task::spawn(async {
///                 time::sleep(Duration::from_secs(60)).await;
///                 time::now()
///             });
///             let quick = task::spawn(async { time::now() });
///             (quick.await.unwrap(), slow.await.unwrap())
///         })
///         .unwrap();
///     assert_eq!(slow - quick, Duration::from_secs(60));
/// }
/// ```
#[doc(alias("pause", "advance"))]
#[doc(alias("start_paused", "TimeProvider", "FakeTimeProvider"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    seed: u64,
}

impl Simulation {
    /// Creates a simulation with this seed. Different seeds order what could happen at the same time differently.
    ///
    /// Example: see [`Simulation`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Runs `future` to its end on the calling thread, together with the tasks that it spawns. Tasks that have not
    /// finished then are dropped.
    ///
    /// # Errors
    /// [`Deadlock`] when nothing can run and no timer is set. A [`sleep`](crate::time::sleep()) that never ends sets none.
    ///
    /// # Panics
    /// If the future does, or if it blocks the thread, because no other thread could wake it. A panic of a task goes
    /// to its handle.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{simulation::Simulation, task};
    /// let sum = Simulation::new(7).run(async {
    ///     let (a, b) = (task::spawn(async { 1 }), task::spawn(async { 2 }));
    ///     a.await.unwrap() + b.await.unwrap()
    /// });
    /// assert_eq!(sum, Ok(3));
    /// ```
    pub fn run<F: Future>(self, future: F) -> Result<F::Output, Deadlock> {
        let mut simulator = Simulator::begin(self.seed);
        // After the simulator, so that it is dropped before it.
        let mut future = pin!(InPlace::of(future));
        // Raised when the main future must be polled.
        let signal = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&signal));
        signal.raise();
        budget::begin_simulation();
        loop {
            match simulator.turn(signal.is_raised()) {
                Turn::Other => {}
                Turn::Main => {
                    signal.lower();
                    let mut context = Context::from_waker(&waker);
                    let poll = budget::during_poll(|| future.as_mut().poll(&mut context));
                    if let Poll::Ready(value) = poll {
                        return Ok(value);
                    }
                }
                Turn::Nothing => {
                    return Err(Deadlock {
                        seed: self.seed,
                        waiting: simulator.waiting() + 1,
                    });
                }
            }
        }
    }
}

/// Wakes the main future.
impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.raise();
    }
}

/// All tasks of a simulation wait for each other: none is ready, and no timer is set.
///
/// # Examples
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::task;
/// let deadlock = Simulation::new(7).run(async {
///     let (completer, completion) = task::completion::<()>();
///     let waiting = task::spawn(completion.clone());
///     let _ = waiting.await; // for a completer that is never used
///     drop(completer);
/// });
/// let deadlock = deadlock.unwrap_err();
/// assert_eq!((deadlock.waiting(), deadlock.seed()), (2, 7));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    seed: u64,
    waiting: usize,
}

impl Deadlock {
    /// How many tasks wait, the main future included.
    ///
    /// # Examples
    /// ```
    /// use manyhands::simulation::Simulation;
    /// let deadlock = Simulation::new(7).run(std::future::pending::<()>()).unwrap_err();
    /// assert_eq!((deadlock.waiting(), deadlock.seed()), (1, 7));
    /// ```
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The seed that repeats it.
    ///
    /// Example: see [`Deadlock`].
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, waiting } = self;
        let wait = match waiting {
            1 => "task waits",
            _ => "tasks wait",
        };
        write!(f, "deadlock in the simulation with seed {seed}: ")?;
        write!(f, "{waiting} {wait}, none can run, and no timer is set")
    }
}

impl Error for Deadlock {}
