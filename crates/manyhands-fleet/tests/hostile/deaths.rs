//! A server or an agent that dies at any of the calls that it makes of the queue. The next one gets again, at once or later,
//! what it had not finished. What is done is not lost, and nothing is done or counted twice.

use crate::{ANY, AT_ONCE, Fleet, experiments, head, note, outcome, sha256};
use manyhands_fleet::{
    FleetError, Name,
    agent::{Agent, Allowed, Setup},
    commands,
    engine::{Delivery, Engine, InProcess, Message, Queue},
    server::{Database, Server},
};
use manyhands_lab::{clock::Stopwatch, launcher::Launcher, run::Interrupt};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashSet},
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

#[test]
fn a_server_that_dies_at_any_call_loses_nothing_and_has_nothing_done_twice() {
    let dies_everywhere = |comes, effect| {
        let mut at = 0;
        while is_dead_in(Death { at, effect }, comes) {
            at += 1;
        }
        assert!(at > 20, "a server makes more calls than {at}");
    };
    // They wait for the disk most of the time.
    thread::scope(|scope| {
        for comes in [Comes::AtOnce, Comes::Later] {
            for effect in [Effect::None, Effect::Done] {
                scope.spawn(move || dies_everywhere(comes, effect));
            }
        }
    });
}

/// Has a plan of two jobs carried out, and one of them anew. Whether the server came to the call at which it dies.
fn is_dead_in(death: Death, comes: Comes) -> bool {
    let fleet = Fleet::before_its_first_step();
    let life = Arc::new(Life::until(death));
    let what = format!("{death:?}, {comes:?}");
    let serve = || {
        let serve = || {
            let database = Database::open(&fleet.path()).unwrap();
            let engine = Mortal(&fleet.engine, &life);
            Server::new(&engine, database, experiments()).step(AT_ONCE)
        };
        if serve().is_err() {
            life.begins_anew();
            if comes == Comes::AtOnce {
                life.give_back();
            }
            serve().unwrap();
        }
    };
    let mut agent = Runs::default();
    let anew: Name = format!("{}.0", fleet.plan).parse().unwrap();
    for round in 0..ROUNDS {
        serve();
        agent.carries_out(&fleet);
        serve();
        life.give_back();
        if round == 1 {
            assert_eq!((fleet.done(), agent.0.len()), (2, 2), "{what}");
            commands::redo_at(&fleet.engine, &anew).unwrap();
        }
    }
    assert_eq!((fleet.done(), agent.0.len()), (2, 3), "{what}");
    life.calls.load(Ordering::SeqCst) > death.at
}

#[cfg(unix)]
#[test]
fn an_agent_that_dies_at_any_call_loses_nothing_and_has_nothing_done_twice() {
    let dies_at_each_of = |first, effect| {
        let mut at = first;
        while agent_is_dead_in(Death { at, effect }) {
            at += SIDE_BY_SIDE;
        }
        assert!(at > 20, "an agent makes more calls than {at}");
    };
    // They wait for answers most of the time.
    thread::scope(|scope| {
        for first in 0..SIDE_BY_SIDE {
            for effect in [Effect::None, Effect::Done] {
                scope.spawn(move || dies_at_each_of(first, effect));
            }
        }
    });
}

/// Has an agent carry out a plan of two jobs beside a server. Whether the agent came to the call at which it dies.
#[cfg(unix)]
fn agent_is_dead_in(death: Death) -> bool {
    let fleet = Fleet::before_its_first_step();
    let life = Arc::new(Life::until(death));
    let stop = Interrupt::default();
    let database = Database::open(&fleet.path()).unwrap();
    let spool = fleet.folder.path().join("agent");
    // Each command adds a line to this file.
    let carried_out = fleet.folder.path().join("carried-out");
    let line = format!(
        "['/bin/sh', '-c', 'echo done >> {}']",
        carried_out.display()
    );
    let lines = format!("[commands.a]\nline = {line}\n[commands.b]\nline = {line}");
    let setup = || Setup {
        name: "good".parse().unwrap(),
        spool: spool.clone(),
        host_lock: spool.with_extension("lock"),
        cpus: 2,
        machine: None,
        allowed: Allowed::parse(&lines).unwrap(),
        launcher: Launcher::new("/does/not/exist", [""; 0]),
    };
    let runs = spool.join("runs");
    let mut server = Server::new(&fleet.engine, database, experiments());
    server.step(AT_ONCE).unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(&stop, |_| Ok(())));
        let ends = Ends(&stop);
        let watch = Stopwatch::start();
        while fleet.done() < 2 || fs::read_dir(&runs).unwrap().next().is_some() {
            assert!(watch.elapsed() < crate::DEADLINE, "{death:?}");
            let engine = Mortal(&fleet.engine, &life);
            let mut agent = Agent::new(setup(), &engine, experiments()).unwrap();
            let end = life.is_dead.lock().unwrap().clone();
            let stepped = agent.step(AT_ONCE, &end);
            let is_dead = life.begins_anew();
            assert!(is_dead || stepped.is_ok(), "{death:?}: {stepped:?}");
            drop(agent);
            if is_dead {
                life.give_back();
            }
        }
        drop(ends);
        serving.join().unwrap().unwrap();
    });
    let plan = fleet.database().plans().unwrap().remove(0);
    let times = fs::read_to_string(carried_out).unwrap().lines().count();
    let all = (plan.done, plan.failed, times, fleet.rejected());
    assert_eq!(all, (2, 0, 2, 0), "{death:?}");
    assert!(!runs.with_file_name("aside").exists(), "{death:?}");
    life.calls.load(Ordering::SeqCst) > death.at
}

/// Has the server end, also when the test fails.
#[cfg(unix)]
struct Ends<'stop>(&'stop Interrupt);

#[cfg(unix)]
impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The runs of an agent, by the tickets of their jobs: it does nothing twice that it has on its disk.
#[derive(Default)]
struct Runs(BTreeMap<String, String>);

impl Runs {
    fn carries_out(&mut self, fleet: &Fleet) {
        for taken in fleet.engine.take(ANY, 10, AT_ONCE).unwrap() {
            let key = format!("job.{}", taken.about());
            if fleet.engine.get(&key).unwrap().is_none() {
                let job: Value = serde_json::from_slice(taken.body()).unwrap();
                let next = format!("r-{}", self.0.len());
                let run = self.0.entry(job["ticket"].to_string()).or_insert(next);
                let texts = [head(&[]), outcome()];
                let lines = json!({ "kind": "lines", "first": 0, "texts": texts });
                fleet.report("good", &note("good", &job, run, &lines));
                let digest = sha256(&texts.each_ref().map(String::as_str));
                let done = json!({
                    "kind": "done", "lines": 2, "sha256": digest, "sending": "s", "machine": null
                });
                fleet.report("good", &note("good", &job, run, &done));
            }
            taken.finish().unwrap();
        }
    }
}

/// The call at which a server dies.
#[derive(Debug, Clone, Copy)]
struct Death {
    at: usize,
    effect: Effect,
}

/// Whether that call is still carried out.
#[derive(Debug, Clone, Copy)]
enum Effect {
    None,
    Done,
}

/// When that comes again which a dead server had taken and did not finish.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Comes {
    AtOnce,
    /// When the next server and the agent have done what they could.
    Later,
}

/// An engine as servers see it of which one dies.
struct Mortal<'engine>(&'engine InProcess, &'engine Arc<Life>);

struct Life {
    death: Death,
    calls: AtomicUsize,
    /// Set when it has died, until the next one begins: what is dead waits for nothing.
    is_dead: Mutex<Interrupt>,
    taken: Mutex<Vec<Arc<dyn Delivery>>>,
}

impl Life {
    fn until(death: Death) -> Self {
        Self {
            death,
            calls: AtomicUsize::new(0),
            is_dead: Mutex::default(),
            taken: Mutex::default(),
        }
    }

    fn call<T>(&self, call: impl FnOnce() -> Result<T, FleetError>) -> Result<T, FleetError> {
        let is_dead = self.is_dead.lock().unwrap().clone();
        if !is_dead.is_set() {
            if self.calls.fetch_add(1, Ordering::SeqCst) != self.death.at {
                return call();
            }
            is_dead.set();
            if matches!(self.death.effect, Effect::Done) {
                call()?;
            }
        }
        Err(FleetError::Engine {
            operation: "do anything",
            reason: "the server is dead".to_owned(),
        })
    }

    /// Whether there was one before that is dead.
    fn begins_anew(&self) -> bool {
        std::mem::take(&mut *self.is_dead.lock().unwrap()).is_set()
    }

    /// What is finished does not come again.
    fn give_back(&self) {
        for taken in self.taken.lock().unwrap().drain(..) {
            taken.release(AT_ONCE).unwrap();
        }
    }
}

impl Engine for Mortal<'_> {
    fn publish(&self, queue: Queue, about: &Name, messages: &[Message]) -> Result<(), FleetError> {
        self.1.call(|| self.0.publish(queue, about, messages))
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        self.1.call(|| {
            let taken = self.0.take(queue, count_max, wait)?.into_iter();
            let taken = taken.map(|one| {
                let one: Arc<dyn Delivery> = one.into();
                self.1.taken.lock().unwrap().push(Arc::clone(&one));
                Box::new(Taken(one, Arc::clone(self.1))) as Box<dyn Delivery>
            });
            Ok(taken.collect())
        })
    }

    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        self.1.call(|| self.0.jobs_pending(most))
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        self.1.call(|| self.0.put(key, value))
    }

    fn forget(&self, key: &str) -> Result<(), FleetError> {
        self.1.call(|| self.0.forget(key))
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        self.1.call(|| self.0.get(key))
    }

    fn now(&self) -> Result<Duration, FleetError> {
        self.1.call(|| self.0.now())
    }
}

struct Taken(Arc<dyn Delivery>, Arc<Life>);

impl Delivery for Taken {
    fn body(&self) -> &[u8] {
        self.0.body()
    }

    fn about(&self) -> &str {
        self.0.about()
    }

    fn sent(&self) -> Duration {
        self.0.sent()
    }

    fn attempt(&self) -> u64 {
        self.0.attempt()
    }

    fn lease(&self) -> Duration {
        self.0.lease()
    }

    fn extend(&self) -> Result<(), FleetError> {
        self.1.call(|| self.0.extend())
    }

    fn finish(&self) -> Result<(), FleetError> {
        self.1.call(|| self.0.finish())
    }

    fn release(&self, delay: Duration) -> Result<(), FleetError> {
        self.1.call(|| self.0.release(delay))
    }
}

#[cfg(unix)]
const SIDE_BY_SIDE: usize = 4;
/// A job takes one, and another one if the server dies.
const ROUNDS: usize = 4;
