//! A server and two agents in threads, on an engine that may lose, double and delay what it is given.

use crate::{PLAN, PLAN_JOBS, experiments, results};
use manyhands_fleet::{
    FleetError,
    agent::{Agent, Allowed, Setup},
    commands,
    engine::{Delivery, Engine, InProcess, Queue},
    server::{Database, Server},
};
use manyhands_lab::{clock::Stopwatch, launcher::Launcher, run::Interrupt};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{path::Path, sync::Mutex, thread, time::Duration};

/// What the engine does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Faults {
    /// What it should.
    None,
    /// Things that this seed decides.
    Seeded(u64),
}

pub(crate) fn results_come_back_once_each(faults: Faults) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.sqlite");
    let inner = InProcess::new(Duration::from_secs(2));
    let rng = match faults {
        Faults::None => None,
        Faults::Seeded(seed) => Some(Mutex::new(StdRng::seed_from_u64(seed))),
    };
    let engine = Faulty { inner, rng };
    let mut server = Server::new(&engine, Database::open(&path).unwrap(), experiments());
    commands::submit_to(&engine.inner, PLAN, &experiments()).unwrap();
    let stop = Interrupt::default();
    thread::scope(|scope| {
        for name in ["one", "two"] {
            let (engine, stop, folder) = (&engine, &stop, folder.path());
            scope.spawn(move || {
                let mut agent = Agent::new(setup(name, folder), engine, experiments()).unwrap();
                agent.run(None, stop, |_| {});
            });
        }
        let ended = serve_until_done(&mut server, &path);
        stop.set();
        assert!(ended, "not done in time");
    });
    results::check(&path, &folder.path().join("out"), 1, PLAN_JOBS);
}

fn serve_until_done(server: &mut Server<'_>, path: &Path) -> bool {
    let reader = Database::open_to_read(path).unwrap();
    let watch = Stopwatch::start();
    while watch.elapsed() < DEADLINE {
        match server.step(Duration::from_millis(100)) {
            Ok(()) | Err(FleetError::Engine { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        let plans = reader.plans().unwrap();
        if plans.iter().any(|plan| plan.done == PLAN_JOBS) {
            return true;
        }
    }
    false
}

fn setup(name: &str, folder: &Path) -> Setup {
    Setup {
        name: name.to_owned(),
        spool: folder.join(name),
        host_lock: folder.join(format!("{name}.lock")),
        cpus: 2,
        allowed: Allowed::default(),
        launcher: Launcher::this_program().unwrap(),
    }
}

/// An engine that fails, loses, doubles and leaves unfinished a tenth of what it is asked each.
struct Faulty {
    inner: InProcess,
    rng: Option<Mutex<StdRng>>,
}

impl Faulty {
    fn draw(&self) -> u32 {
        let Some(rng) = &self.rng else {
            return u32::MAX;
        };
        rng.lock().unwrap().random_range(0..100)
    }
}

fn failed(operation: &'static str) -> FleetError {
    FleetError::Engine {
        operation,
        reason: "the test says so".to_owned(),
    }
}

impl Engine for Faulty {
    fn publish(&self, queue: Queue, id: &str, body: &[u8]) -> Result<(), FleetError> {
        match self.draw() {
            0..3 => Err(failed("send")),
            3..6 => {
                // It arrives, and the sender does not learn of it.
                self.inner.publish(queue, id, body)?;
                Err(failed("hear of what was sent"))
            }
            6..10 => {
                self.inner.publish(queue, id, body)?;
                self.inner.publish(queue, &format!("{id}-copy"), body)
            }
            // Acknowledged, and lost: as when the power fails.
            10 => Ok(()),
            _ => self.inner.publish(queue, id, body),
        }
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        let mut taken = self.inner.take(queue, count_max, wait)?;
        match self.draw() {
            // Taken by somebody who died.
            0..5 => Ok(Vec::new()),
            5..20 => {
                taken.reverse();
                Ok(taken)
            }
            _ => Ok(taken),
        }
    }

    fn jobs_pending(&self) -> Result<u64, FleetError> {
        self.inner.jobs_pending()
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        match self.draw() {
            0..10 => Err(failed("set a key")),
            _ => self.inner.put(key, value),
        }
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        match self.draw() {
            0..10 => Err(failed("read a key")),
            _ => self.inner.get(key),
        }
    }
}

const DEADLINE: Duration = Duration::from_secs(240);
