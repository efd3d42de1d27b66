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
mod tests {
    use super::*;
    use crate::{Cluster, driver::Patience, remote};
    use std::sync::OnceLock;

    /// FNV-1a of all results in order.
    fn digest(results: &[String]) -> u64 {
        let bytes = results.iter().flat_map(|text| text.bytes().chain([0]));
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Three calls one after the other on one cluster, so that messages of an ended call meet the next.
    fn run(cluster: &Cluster, len: u64) -> (u64, Option<u64>, Vec<u64>) {
        // A day by the virtual clock: what does not end fails.
        let cluster = cluster.options().deadline(Duration::from_secs(86_400));
        let salt = "salt".to_owned();
        let salt = crate::Broadcast::new(salt);
        let texts = || remote!([&salt: crate::Broadcast<String>] |i| -> String { format!("{}{}", **salt, i * i) });
        let texts = [texts(), texts()].map(|texts| cluster.map(0..len, texts).unwrap());
        let texts = texts.concat();
        let sum = remote!([] |i| -> u64 { i ^ 5 }, |a, b| { a + b });
        let sum = cluster.map_reduce(3..len, sum).unwrap();
        let odd = remote!([] |part: std::ops::Range<u64>| -> Vec<u64> { part.filter(|i| i % 3 == 1).collect() });
        (digest(&texts), sum, cluster.query(0..len, odd).unwrap())
    }

    fn with_seed(seed: u64) -> Loopback {
        let mut random = Rng::with_seed(!seed);
        Loopback {
            workers: random.usize(1..6),
            faults: Faults {
                drop_percent: random.u8(0..30),
                duplicate_percent: random.u8(0..30),
                delay_percent: random.u8(0..50),
                vanish: random.usize(0..3),
                pause: random.usize(0..3),
                late: random.usize(0..3),
            },
            item: Duration::from_micros(random.u64(1..20_000)),
            ..Loopback::new(seed)
        }
    }

    #[test]
    fn whatever_goes_wrong_the_results_are_those_of_the_local_run() {
        // Ten thousand: MANYHANDS_CLUSTER_SEEDS=10000 cargo test -p manyhands-cluster --release --lib loopback
        let wanted = std::env::var("MANYHANDS_CLUSTER_SEEDS").ok();
        let wanted = wanted.map(|count| count.parse().unwrap());
        let seeds: u64 = wanted.unwrap_or(if cfg!(miri) { 2 } else { 150 });
        let local = run(&Cluster::local(), 400);
        for seed in 0..seeds {
            let cluster = Cluster::loopback(with_seed(seed));
            assert_eq!(run(&cluster, 400), local, "seed {seed}");
        }
    }

    #[test]
    fn a_seed_repeats_its_course_of_events() {
        let course = |seed| {
            let simulation = Mutex::new(Simulation::new(with_seed(seed)));
            let function = remote!([] |i| -> u64 { i });
            let spec = Spec {
                function: function.into_parts().0,
                captures: wire::Bytes::default(),
                values: Vec::new(),
                range: 0..300,
                limit: Some(Duration::from_secs(86_400)),
                patience: Patience::DEFAULT,
            };
            let mut parts = Vec::new();
            let mut take = |part: Part| {
                parts.push((part.range, part.host));
                Ok(())
            };
            super::run(&simulation, spec, &Token::never(), &mut take).unwrap();
            let simulation = simulation.into_inner().unwrap();
            (parts, simulation.now, simulation.put)
        };
        assert_eq!(course(7), course(7));
        assert_ne!(course(7), course(8));
    }

    #[test]
    fn workers_that_come_late_get_work() {
        let setup = Loopback {
            workers: 4,
            faults: Faults {
                late: 3,
                ..Faults::NONE
            },
            item: Duration::from_millis(10),
            ..Loopback::new(1)
        };
        let simulation = Mutex::new(Simulation::new(setup));
        let function = remote!([] |i| -> u64 { i });
        let spec = Spec {
            function: function.into_parts().0,
            captures: wire::Bytes::default(),
            values: Vec::new(),
            range: 0..2_000,
            limit: None,
            patience: Patience::DEFAULT,
        };
        let mut hosts = std::collections::BTreeSet::new();
        let mut take = |part: Part| {
            hosts.insert(part.host);
            Ok(())
        };
        super::run(&simulation, spec, &Token::never(), &mut take).unwrap();
        assert_eq!(hosts.len(), 4);
    }

    #[test]
    fn a_deadline_and_a_cancellation_end_a_call_and_the_next_one_runs() {
        let cluster = Cluster::loopback(Loopback::new(3));
        let slow = || remote!([] |i| -> u64 { i });
        let hasty = cluster.options().deadline(Duration::from_millis(50));
        assert_eq!(
            hasty.map(0..100_000, slow()),
            Err(ClusterError::DeadlinePassed)
        );
        let source = manyhands::cancel::TokenSource::new();
        source.cancel();
        let token = source.token();
        let cancelled = cluster.options().cancellation(&token).map(0..9, slow());
        assert_eq!(cancelled, Err(ClusterError::Cancelled));
        assert_eq!(cluster.map(0..3, slow()), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn items_that_take_longer_than_any_clock_end_by_the_deadline() {
        let for_ever = Loopback {
            item: Duration::MAX,
            ..Loopback::new(3)
        };
        let cluster = Cluster::loopback(for_ever);
        let hasty = cluster.options().deadline(Duration::from_secs(1));
        let late = hasty.map(0..2, remote!([] |i| -> u64 { i }));
        assert_eq!(late, Err(ClusterError::DeadlinePassed));
    }

    #[test]
    fn who_takes_results_may_make_calls_and_a_body_that_does_is_refused() {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(|| Cluster::loopback(Loopback::new(3)));
        let hasty = cluster.options().deadline(Duration::from_secs(3_600));
        let mut taken = Vec::new();
        let take = |i, result| {
            let inner = cluster.call(remote!([] || -> u64 { 7 }));
            taken.push((i, result, inner));
        };
        let body = remote!([] |i| -> u64 { i });
        hasty.map_unordered(0..9, body, take).unwrap();
        taken.sort_unstable_by_key(|(i, ..)| *i);
        assert!(taken.into_iter().eq((0..9).map(|i| (i, i, Ok(7)))));
        let calls = remote!([] |_| -> String {
            let inner = CLUSTER.get().unwrap().call(remote!([] || -> u64 { 7 }));
            inner.unwrap_err().to_string()
        });
        let refused = hasty.map(0..99, calls).unwrap();
        assert!(
            refused
                .iter()
                .all(|text| text.contains("a body on loopback"))
        );
    }

    #[test]
    fn there_are_no_more_workers_than_a_driver_knows() {
        let crowd = Loopback {
            workers: usize::MAX,
            faults: Faults {
                vanish: usize::MAX,
                pause: usize::MAX,
                late: usize::MAX,
                ..Faults::NONE
            },
            ..Loopback::new(3)
        };
        let all = Cluster::loopback(crowd).map(0..9, remote!([] |i| -> u64 { i }));
        assert!(all.unwrap().into_iter().eq(0..9));
    }

    #[test]
    fn a_panic_comes_with_its_index_and_its_host() {
        let cluster = Cluster::loopback(Loopback::new(3));
        let body = remote!([] |i| -> u64 { if i == 30 { panic!("thirty") } else { i } });
        let failed = cluster.map(0..100, body).unwrap_err();
        let ClusterError::BodyPanicked {
            range,
            message,
            host,
        } = failed
        else {
            panic!("{failed}");
        };
        assert_eq!((range, message.as_str()), (30..31, "thirty"));
        assert!(host.starts_with("loopback/"), "{host}");
    }
}
