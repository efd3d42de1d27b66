//! The engine for tests: driver and workers in this thread, by a virtual clock, with faults that a seed repeats.
//!
//! Everything is written as bytes and read again, as between processes. Bodies are really run; how long they take, and
//! what becomes of each message, is drawn from the seed. One seed is one course of events, whatever the machine does, as long
//! as calls are made one after the other.
//!
//! Bodies run and results are taken outside of the lock, so whoever takes results may make calls. A body that does so is refused:
//! it would wait for a worker while it keeps one.

use super::Update;
use crate::{
    ClusterError,
    driver::{Action, Driver, Event, Part, Spec, WORKERS_MAX, WorkerId},
    run::{self, Stop},
    wire::{self, Attempt, FromWorker, Hello, JobId, PROTOCOL, ToWorker},
    worker::{Chunk, Step, Worker},
};
use fastrand::Rng;
use manyhands::cancel::Token;
use serde::Serialize;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How workers in this thread behave. The default: two workers, no faults.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, Faults, Loopback, remote};
///
/// for seed in 0..20 {
///     let rough = Loopback { workers: 3, faults: Faults::ROUGH, ..Loopback::new(seed) };
///     let squares = Cluster::loopback(rough).map(0..100, remote!([] |i| -> u64 { i * i }))?;
///     assert!(squares.into_iter().eq((0..100).map(|i| i * i)), "{seed}");
/// }
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loopback {
    /// What everything that happens is drawn from.
    pub seed: u64,
    /// How many workers there are, at least one, and no more than a driver knows.
    pub workers: usize,
    /// What goes wrong.
    pub faults: Faults,
    /// How long an item takes, on the average, by the virtual clock.
    pub item: Duration,
}

/// What goes wrong in a [`Loopback`].
///
/// Example: see [`Loopback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Faults {
    /// How many messages of a hundred are lost.
    pub drop_percent: u8,
    /// How many come twice.
    pub duplicate_percent: u8,
    /// How many take up to a hundred times as long, so that others come first.
    pub delay_percent: u8,
    /// How many workers, but not all, stop for ever at a moment of the first second, and nobody is notified.
    pub vanish: usize,
    /// How many stop for up to ten seconds and then go on.
    pub pause: usize,
    /// How many, but not all, come later: at a moment of the first second.
    pub late: usize,
}

impl Loopback {
    /// Two workers without faults.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            workers: 2,
            faults: Faults::NONE,
            item: Duration::from_millis(1),
        }
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        drop_percent: 0,
        duplicate_percent: 0,
        delay_percent: 0,
        vanish: 0,
        pause: 0,
        late: 0,
    };

    /// A bit of everything.
    pub const ROUGH: Self = Self {
        drop_percent: 10,
        duplicate_percent: 10,
        delay_percent: 20,
        vanish: 1,
        pause: 1,
        late: 1,
    };
}

/// A driver, its workers, and what is on the way.
#[derive(Debug)]
pub(crate) struct Simulation {
    setup: Loopback,
    random: Rng,
    now: Duration,
    driver: Driver,
    nodes: Vec<Node>,
    /// By time, then in the order in which they were put here.
    agenda: BTreeMap<(Duration, u64), Occasion>,
    put: u64,
    is_ticking: bool,
    /// What calls that have not ended have not heard yet.
    updates: BTreeMap<JobId, VecDeque<Update>>,
}

/// What is next for a caller.
enum Turn {
    Hear(Update),
    Run(Due),
    /// Something has happened elsewhere.
    Again,
}

/// A chunk whose time has come.
struct Due {
    place: usize,
    attempt: Attempt,
    took: Duration,
    chunk: Chunk,
    token: Token,
}

#[derive(Debug)]
struct Node {
    state: Worker,
    /// What runs, and whether it is wanted.
    running: Option<(Chunk, Token)>,
    stopped: Stopped,
    /// What came while it was paused.
    kept: VecDeque<Occasion>,
    /// Items take this many percent of their time here.
    pace_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    No,
    /// It goes on later.
    Paused,
    ForEver,
}

#[derive(Debug, Clone)]
enum Occasion {
    AtDriver(usize, Vec<u8>),
    AtWorker(usize, Vec<u8>),
    Ran(usize, Attempt, Duration),
    Beat(usize),
    Stop(usize, Stopped),
    GoOn(usize),
    Tick,
}

impl Simulation {
    pub(crate) fn new(setup: Loopback) -> Self {
        let setup = Loopback {
            workers: setup.workers.clamp(1, WORKERS_MAX),
            ..setup
        };
        let mut simulation = Self {
            setup,
            random: Rng::with_seed(setup.seed),
            now: Duration::ZERO,
            driver: Driver::new(BUILD.to_owned()),
            nodes: Vec::new(),
            agenda: BTreeMap::new(),
            put: 0,
            is_ticking: false,
            updates: BTreeMap::new(),
        };
        let faults = setup.faults;
        for place in 0..setup.workers {
            let hello = Hello {
                protocol: PROTOCOL,
                build: BUILD.to_owned(),
                host: format!("loopback/{place}"),
                replaces: None,
            };
            simulation.nodes.push(Node {
                state: Worker::new(hello),
                running: None,
                stopped: Stopped::No,
                kept: VecDeque::new(),
                pace_percent: simulation.random.u32(50..=200),
            });
            // The first one comes at once and stays, so that there is always one.
            let begins = if (1..=faults.late).contains(&place) {
                simulation.moment()
            } else {
                Duration::ZERO
            };
            simulation.put_at(begins, Occasion::Beat(place));
        }
        // The last ones vanish, and those before them pause.
        let vanish = faults.vanish.min(setup.workers - 1);
        let pause = faults.pause.min(setup.workers - vanish);
        for back in 1..=vanish + pause {
            let kind = if back <= vanish {
                Stopped::ForEver
            } else {
                Stopped::Paused
            };
            let at = simulation.moment();
            simulation.put_at(at, Occasion::Stop(setup.workers - back, kind));
        }
        simulation
    }

    /// Begins a call.
    fn submit(&mut self, spec: Spec) -> JobId {
        let (job, actions) = self.driver.submit(spec, self.now);
        self.updates.insert(job, VecDeque::new());
        self.perform(actions);
        if !self.is_ticking {
            self.is_ticking = true;
            self.put_in(TICK, Occasion::Tick);
        }
        job
    }

    /// What is next for the caller of this call.
    fn turn(&mut self, job: JobId, token: &Token) -> Turn {
        let updates = self.updates.get_mut(&job);
        if let Some(update) = updates.and_then(VecDeque::pop_front) {
            if matches!(update, Update::End(_)) {
                self.updates.remove(&job);
            }
            return Turn::Hear(update);
        }
        if token.is_cancelled() {
            self.handle(Event::Cancel(job));
            return Turn::Again;
        }
        // The ticks go on for ever, so there is always something.
        let Some(((at, _), occasion)) = self.agenda.pop_first() else {
            return Turn::Hear(Update::End(Err(ClusterError::Ended)));
        };
        self.now = at;
        self.happen(occasion).map_or(Turn::Again, Turn::Run)
    }

    /// Ends a call whose caller wants no more of it.
    fn give_up(&mut self, job: JobId) {
        self.updates.remove(&job);
        self.handle(Event::Cancel(job));
    }

    fn handle(&mut self, event: Event) {
        let actions = self.driver.handle(event, self.now);
        self.perform(actions);
    }

    /// Does what the driver wants.
    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            let (job, update) = match action {
                Action::Send(worker, message) => {
                    let place = usize::try_from(worker.0).unwrap_or(usize::MAX);
                    self.send(&message, |bytes| Occasion::AtWorker(place, bytes));
                    continue;
                }
                Action::Results { job, part } => (job, Update::Part(part)),
                Action::End { job, outcome } => (job, Update::End(outcome)),
                Action::Forget(_) => continue,
            };
            if let Some(updates) = self.updates.get_mut(&job) {
                updates.push_back(update);
            }
        }
    }

    fn happen(&mut self, occasion: Occasion) -> Option<Due> {
        match occasion {
            Occasion::Tick => {
                self.put_in(TICK, Occasion::Tick);
                self.handle(Event::Tick);
            }
            Occasion::AtDriver(place, bytes) => {
                // What was written here is read here.
                if let Ok(Some(message)) = wire::read::<FromWorker>(&mut bytes.as_slice()) {
                    self.handle(Event::Message(WorkerId(place as u64), message));
                }
            }
            Occasion::Stop(place, kind) => {
                self.nodes[place].stopped = kind;
                if kind == Stopped::Paused {
                    let pause = Duration::from_millis(self.random.u64(1..10_000));
                    self.put_in(pause, Occasion::GoOn(place));
                }
            }
            Occasion::GoOn(place) => {
                self.nodes[place].stopped = Stopped::No;
                for kept in std::mem::take(&mut self.nodes[place].kept) {
                    self.put_in(Duration::ZERO, kept);
                }
            }
            Occasion::AtWorker(place, _) | Occasion::Ran(place, ..) | Occasion::Beat(place) => {
                match self.nodes[place].stopped {
                    Stopped::No => return self.at_worker(place, occasion),
                    Stopped::Paused => self.nodes[place].kept.push_back(occasion),
                    Stopped::ForEver => {}
                }
            }
        }
        None
    }

    /// What happens at a worker that goes on.
    fn at_worker(&mut self, place: usize, occasion: Occasion) -> Option<Due> {
        let node = &mut self.nodes[place];
        match occasion {
            Occasion::AtWorker(_, bytes) => {
                if let Ok(Some(message)) = wire::read::<ToWorker>(&mut bytes.as_slice()) {
                    let steps = node.state.hear(message);
                    self.steps(place, steps);
                }
            }
            Occasion::Ran(_, attempt, took) => {
                let (chunk, token) = node.running.take()?;
                return Some(Due {
                    place,
                    attempt,
                    took,
                    chunk,
                    token,
                });
            }
            Occasion::Beat(_) => {
                let beats = node.state.beat();
                self.put_in(BEAT, Occasion::Beat(place));
                self.steps(place, beats.into_iter().map(Step::Say).collect());
            }
            _ => {}
        }
        None
    }

    /// A worker's chunk has been run. Calls of its bodies may have passed the time in which the worker has vanished.
    fn ran(&mut self, due: &Due, outcome: Result<Vec<u8>, Stop>) {
        let node = &mut self.nodes[due.place];
        if node.stopped != Stopped::ForEver {
            let steps = node.state.ran(due.attempt, outcome, due.took);
            self.steps(due.place, steps);
        }
    }

    fn steps(&mut self, place: usize, steps: Vec<Step>) {
        for step in steps {
            self.step(place, step);
        }
    }

    fn step(&mut self, place: usize, step: Step) {
        match step {
            Step::Say(message) => self.send(&message, |bytes| Occasion::AtDriver(place, bytes)),
            Step::Run(chunk) => {
                let (attempt, len) = (chunk.attempt, chunk.range.end - chunk.range.start);
                let items = u32::try_from(len).unwrap_or(u32::MAX);
                let percent = self.nodes[place].pace_percent * self.random.u32(50..=150) / 100;
                let took = self
                    .setup
                    .item
                    .saturating_mul(items)
                    .saturating_mul(percent)
                    / 100;
                self.nodes[place].running = Some((chunk, Token::never()));
                self.put_in(took, Occasion::Ran(place, attempt, took));
            }
            Step::Stop => {
                let source = manyhands::cancel::TokenSource::new();
                source.cancel();
                if let Some((_, token)) = &mut self.nodes[place].running {
                    *token = source.token();
                }
            }
            Step::Drop(_) | Step::Leave { .. } => {}
        }
    }

    /// Puts a message on its way, or not, or twice.
    fn send<M: Serialize>(&mut self, message: &M, arrive: impl Fn(Vec<u8>) -> Occasion) {
        // A message that is too long is an error where there are processes; here the room for it is there.
        let Ok(bytes) = wire::frame(message) else {
            return;
        };
        let faults = self.setup.faults;
        if self.happens(faults.drop_percent) {
            return;
        }
        let copies = if self.happens(faults.duplicate_percent) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let way = if self.happens(faults.delay_percent) {
                WAY * self.random.u32(1..100)
            } else {
                WAY
            };
            self.put_in(way, arrive(bytes.clone()));
        }
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    /// A moment of the first second.
    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.random.u64(0..1_000_000))
    }

    fn put_in(&mut self, time: Duration, occasion: Occasion) {
        self.put_at(self.now.saturating_add(time), occasion);
    }

    fn put_at(&mut self, at: Duration, occasion: Occasion) {
        self.put += 1;
        self.agenda.insert((at, self.put), occasion);
    }
}

impl Due {
    fn run(&self) -> Result<Vec<u8>, Stop> {
        let function = self.chunk.function.prepared().map_err(Stop::Failed)?;
        function.run(self.chunk.range.clone(), &self.token)
    }
}

/// Runs a call to its end. Results come to `take`, each item's once; the call ends early when that fails.
pub(crate) fn run(
    simulation: &Mutex<Simulation>,
    spec: Spec,
    token: &Token,
    take: &mut dyn FnMut(Part) -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    let address = std::ptr::from_ref(simulation).addr();
    if run::is_alone(address) {
        let reason = "a body on loopback cannot call the cluster that it runs for".to_owned();
        return Err(ClusterError::Configuration { reason });
    }
    // Nothing panics under the lock.
    let lock = || simulation.lock().unwrap_or_else(PoisonError::into_inner);
    let job = lock().submit(spec);
    loop {
        let turn = lock().turn(job, token);
        match turn {
            Turn::Hear(Update::Part(part)) => {
                if let Err(error) = take(part) {
                    lock().give_up(job);
                    return Err(error);
                }
            }
            Turn::Hear(Update::End(outcome)) => return outcome,
            Turn::Run(due) => {
                let outcome = run::alone(address, || due.run());
                lock().ran(&due, outcome);
            }
            Turn::Again => {}
        }
    }
}

const BUILD: &str = "loopback";
/// A message's way without faults.
const WAY: Duration = Duration::from_micros(200);
const BEAT: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests;
