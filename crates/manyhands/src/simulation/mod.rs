//! Running tasks by a virtual clock and in a repeatable order, to test what they do.
//!
//! A simulation is a runtime with one thread, the caller's. [`task::spawn`](crate::task::spawn),
//! [`time`](crate::time) and everything else that looks for the current runtime finds it. Which of the tasks
//! that can run comes next is drawn from a seed. When none can, the clock jumps to the next timer: an hour
//! of sleep takes no time, and always exactly an hour.
//!
//! A run repeats exactly if the same seed is given and the tasks depend on nothing else: no other threads, no
//! other clock than [`time::now`](crate::time::now), no other source of randomness.
//!
//! Not here: the runtime underneath (`runtime/simulator.rs`).

use crate::runtime::simulator::{Simulator, Turn};
use crate::runtime::worker::signal::Signal;
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
#[doc(alias = "start_paused")]
#[doc(alias = "TimeProvider")]
#[doc(alias = "FakeTimeProvider")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    seed: u64,
}

impl Simulation {
    /// One with this seed. Different seeds give different orders of what could happen at the same time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Runs `future` to its end on the calling thread, together with the tasks that it spawns. What has not
    /// finished then is dropped.
    ///
    /// # Errors
    /// [`Deadlock`] when nothing can run and no timer is set.
    ///
    /// # Panics
    /// If the future does, or blocks the thread, which nobody could end. A panic of a task goes to its handle.
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
        let mut future = pin!(future);
        let main = Arc::new(Main {
            signal: Signal::new(),
        });
        let waker = Waker::from(Arc::clone(&main));
        main.signal.raise();
        loop {
            match simulator.turn(main.signal.is_raised()) {
                Turn::Other => {}
                Turn::Main => {
                    main.signal.lower();
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

/// The future that the simulation is about.
#[derive(Debug)]
struct Main {
    /// Raised when it is to be polled.
    signal: Signal,
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        self.signal.raise();
    }
}

/// A simulation came to a point where all wait for each other: nothing can run, and no timer is set.
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

    /// The seed with which it can be seen again.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, waiting } = self;
        let who = if *waiting == 1 {
            "1 task waits".to_owned()
        } else {
            format!("{waiting} tasks wait")
        };
        write!(
            f,
            "deadlock in the simulation with seed {seed}: {who}, none can run, and no timer is set"
        )
    }
}

impl Error for Deadlock {}
