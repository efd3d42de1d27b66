//! The driver's thread: it owns the driver's state, and everything that happens comes to it through one channel.
//!
//! # Threads
//! Callers submit and cancel from any thread; readers of connections report what they hear. The hub never waits for a
//! connection: each worker's messages go through a channel to a thread that writes them.

use super::{Carrier, Update};
use crate::{
    ClusterError,
    clock::Stopwatch,
    driver::{Action, Driver, Event, Patience, Spec, WorkerId},
    wire::{FRAME_BYTES_MAX, FromWorker, JobId},
};
use manyhands::{cancel::Token, task};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Who hears of a call.
pub(crate) type Sink = Box<dyn FnMut(Update) + Send>;

/// What comes to the hub.
pub(crate) enum Input {
    Submit {
        ticket: u64,
        spec: Spec,
        sink: Sink,
    },
    Cancel {
        ticket: u64,
    },
    Heard(WorkerId, FromWorker),
    Left(WorkerId),
    /// The cluster has no user any more.
    Close,
}

/// A running driver. Dropping it ends its workers.
pub(crate) struct Hub {
    to: Sender<Input>,
    tickets: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Hub {
    /// Starts a driver, with what carries its messages.
    pub(crate) fn start<C: Carrier>(
        build: String,
        carrier: impl FnOnce(Sender<Input>) -> Result<C, ClusterError>,
    ) -> Result<Self, ClusterError> {
        let (to, from) = mpsc::channel();
        let carrier = carrier(to.clone())?;
        let state = State {
            driver: Driver::new(build, PATIENCE),
            carrier,
            clock: Stopwatch::start(),
            sinks: HashMap::new(),
            jobs: HashMap::new(),
        };
        let name = "manyhands-cluster driver".to_owned();
        let thread = thread::Builder::new().name(name);
        let thread = thread.spawn(move || state.serve(&from));
        let thread = thread.map_err(|error| ClusterError::Start {
            reason: error.to_string(),
        })?;
        Ok(Self {
            to,
            tickets: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Begins a call; its sink hears everything. The returned number is for [`cancel`](Self::cancel).
    pub(crate) fn submit(&self, spec: Spec, sink: Sink) -> Result<u64, ClusterError> {
        let bytes = spec.captures.len() as u64;
        if bytes > CAPTURES_BYTES_MAX {
            return Err(ClusterError::TooLarge { bytes });
        }
        // Relaxed: the number is only to be another one each time.
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let submit = Input::Submit { ticket, spec, sink };
        self.to.send(submit).map_err(|_| ClusterError::Ended)?;
        Ok(ticket)
    }

    /// What cancels a call, whether it has ended or not.
    pub(crate) fn canceller(&self, ticket: u64) -> impl FnOnce() + Send + use<> {
        let to = self.to.clone();
        // Without a hub there is no call either.
        move || drop(to.send(Input::Cancel { ticket }))
    }

    /// Runs a call to its end; see [`Simulation::run`](super::loopback::Simulation::run).
    pub(crate) fn run(
        &self,
        spec: Spec,
        token: &Token,
        take: &mut dyn FnMut(crate::driver::Part) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let (updates, from) = mpsc::channel();
        // A caller that is gone has cancelled.
        let sink = Box::new(move |update| drop(updates.send(update)));
        let ticket = self.submit(spec, sink)?;
        let registration = token.register(self.canceller(ticket));
        let outcome = loop {
            match task::blocking(|| from.recv()) {
                Ok(Update::Part(part)) => {
                    if let Err(error) = take(part) {
                        self.canceller(ticket)();
                        break Err(error);
                    }
                }
                Ok(Update::End(outcome)) => break outcome,
                Err(_) => break Err(ClusterError::Ended),
            }
        };
        drop(registration);
        outcome
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // If the hub is gone, so are its workers.
        let _ = self.to.send(Input::Close);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = task::blocking(|| thread.join());
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// What the hub's thread owns.
struct State<C> {
    driver: Driver,
    carrier: C,
    clock: Stopwatch,
    sinks: HashMap<JobId, (u64, Sink)>,
    jobs: HashMap<u64, JobId>,
}

impl<C: Carrier> State<C> {
    fn serve(mut self, from: &Receiver<Input>) {
        loop {
            let input = if self.driver.has_jobs() {
                match from.recv_timeout(TICK) {
                    Ok(input) => Some(input),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match from.recv() {
                    Ok(input) => Some(input),
                    Err(_) => break,
                }
            };
            let Some(input) = input else {
                self.handle(Event::Tick);
                continue;
            };
            match input {
                Input::Submit { ticket, spec, sink } => {
                    let (job, actions) = self.driver.submit(spec, self.clock.elapsed());
                    self.sinks.insert(job, (ticket, sink));
                    self.jobs.insert(ticket, job);
                    self.perform(actions);
                }
                Input::Cancel { ticket } => {
                    if let Some(job) = self.jobs.get(&ticket).copied() {
                        self.handle(Event::Cancel(job));
                    }
                }
                Input::Heard(worker, message) => self.handle(Event::Message(worker, message)),
                Input::Left(worker) => {
                    let was_known = self.driver.knows(worker);
                    self.handle(Event::Left(worker));
                    self.carrier.left(worker, was_known);
                }
                Input::Close => break,
            }
        }
        self.carrier.end();
    }

    fn handle(&mut self, event: Event) {
        let actions = self.driver.handle(event, self.clock.elapsed());
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(worker, message) => self.carrier.send(worker, message),
                Action::Results { job, part } => {
                    if let Some((_, sink)) = self.sinks.get_mut(&job) {
                        sink(Update::Part(part));
                    }
                }
                Action::End { job, outcome } => {
                    if let Some((ticket, mut sink)) = self.sinks.remove(&job) {
                        self.jobs.remove(&ticket);
                        sink(Update::End(outcome));
                    }
                }
            }
        }
    }
}

/// Room is left for what stands around the captured values.
const CAPTURES_BYTES_MAX: u64 = FRAME_BYTES_MAX as u64 - 4096;
/// How often leases and deadlines are looked at while there are calls.
const TICK: Duration = Duration::from_millis(25);
const PATIENCE: Patience = Patience {
    lease: Duration::from_secs(3),
    no_workers: Duration::from_secs(30),
    deaths_max: 4,
};
