//! A server and two agents in threads, on an engine that may lose, double, delay and reorder what it is given.

use crate::{PLAN, PLAN_JOBS, PLAN_OF_ONE, experiments, results};
use manyhands_fleet::{
    FleetError, Name,
    agent::{Agent, Allowed, Setup},
    commands,
    engine::{Delivery, Engine, InProcess, Message, Queue},
    price::{Limit, Prices},
    server::{Database, Server},
    watch,
};
use manyhands_lab::{clock::Stopwatch, launcher::Launcher, run::Interrupt};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::Duration,
};

pub(crate) fn results_come_back_once_each(odds: Odds, seed: u64) {
    let fleet = Fleet::new();
    let engine = fleet.engine(odds, seed);
    commands::submit_to(&fleet.inner, PLAN, None, &experiments()).unwrap();
    fleet.run(&engine, [&engine, &engine], |database| {
        database.plans().unwrap()[0].done == PLAN_JOBS
    });
    fleet.check(PLAN_JOBS);
}

/// One agent's clock is three hours behind the engine's, the other's three hours before it.
pub(crate) fn times_are_the_engines_where_clocks_are_apart() {
    let fleet = Fleet::new();
    let engine = |skew_seconds| Faulty {
        skew_seconds,
        ..fleet.engine(Odds::NONE, 1)
    };
    let (server, one, two) = (engine(0), engine(SKEW), engine(-SKEW));
    commands::submit_to(&fleet.inner, PLAN, None, &experiments()).unwrap();
    fleet.run(&server, [&one, &two], |database| {
        database.plans().unwrap()[0].done == PLAN_JOBS
    });
    fleet.check(PLAN_JOBS);
    let database = Database::open_to_read(&fleet.database).unwrap();
    let plan = database.plans().unwrap().remove(0);
    for job in database.jobs(&plan.id).unwrap() {
        let run = job.run.unwrap();
        let head: serde_json::Value =
            serde_json::from_str(&database.lines(&run.id).unwrap()[0]).unwrap();
        let started: jiff::Timestamp = head["started"].as_str().unwrap().parse().unwrap();
        let skew = if run.agent == "one" { SKEW } else { -SKEW };
        let behind = jiff::Timestamp::now().as_second() + skew - started.as_second();
        assert!(
            (0..300).contains(&behind),
            "{}: {started}, {behind} s",
            run.agent
        );
    }
}

/// What is measured when a plan is cancelled stays, and the rest is not measured.
pub(crate) fn a_cancelled_plan_ends_and_keeps_its_results() {
    let fleet = Fleet::new();
    let engine = fleet.engine(Odds::NONE, 1);
    let long = format!("{PLAN}cpus = [2, 77]\n");
    let plan = commands::submit_to(&fleet.inner, &long, None, &experiments()).unwrap();
    // Nobody has 77 CPUs, so these jobs would wait for ever.
    fleet.run(&engine, [&engine, &engine], |database| {
        let row = database.plans().unwrap().remove(0);
        if row.done == PLAN_JOBS && row.cancelled.is_none() {
            commands::cancel_at(&fleet.inner, &plan).unwrap();
        }
        row.cancelled.is_some()
    });
    let next = commands::submit_to(&fleet.inner, PLAN, None, &experiments()).unwrap();
    commands::cancel_at(&fleet.inner, &next).unwrap();
    fleet.run(&engine, [&engine, &engine], |database| {
        let rows = database.plans().unwrap();
        rows.len() == 2
            && rows[1].cancelled.is_some()
            && fleet.inner.jobs_pending(usize::MAX).unwrap().len() as u64 == PLAN_JOBS
    });
    let database = Database::open_to_read(&fleet.database).unwrap();
    let rows = database.plans().unwrap();
    assert_eq!((rows[0].done, rows[0].jobs), (PLAN_JOBS, 2 * PLAN_JOBS));
    // An agent each may have been so quick as to end one before it heard of it.
    assert!(rows[1].done < PLAN_JOBS, "{rows:?}");
    results::check_plan(&database, &plan, &fleet.folder.path().join("out"));
}

/// Each run is billed a minute at least, so that the bill is known: after the first job there is no money for a second.
pub(crate) fn a_plan_ends_when_its_money_does() {
    let fleet = Fleet::new();
    let engine = fleet.engine(Odds::NONE, 1);
    let plan = format!("{PLAN}minutes = 1\n");
    let prices = "[[machine]]\nname = 'any'\nprovider = 'p'\nregion = 'r'\ncpus = 2\nusd_per_hour = 60.0\n\
                  seconds_min = 60\ndate = '2026-11-23'\nsource = 's'\n";
    let limit = |usd| Some(Limit::new(usd, Prices::parse(prices).unwrap()));
    let unlimited = commands::submit_to(&fleet.inner, PLAN, limit(9.0), &experiments()).unwrap();
    let id = commands::submit_to(&fleet.inner, &plan, limit(1.5), &experiments()).unwrap();
    fleet.run(&engine, [&engine, &engine], |database| {
        database
            .plans()
            .unwrap()
            .iter()
            .any(|plan| plan.ended.is_some())
    });
    let database = Database::open_to_read(&fleet.database).unwrap();
    let plans = database.plans().unwrap();
    let row = |id: &str| plans.iter().find(|plan| plan.id == *id).unwrap();
    let refused = row(&unlimited).refused.as_deref().unwrap_or_default();
    assert!(refused.contains("minutes"), "{refused:?}");
    let row = row(&id);
    assert_eq!((row.jobs, row.done, row.failed), (PLAN_JOBS, 1, 0));
    let reason = "1.00 of 1.50 USD are spent, and the next job may cost 1.00";
    assert_eq!(row.ended.as_deref(), Some(reason));
    assert!(watch::text(&database).unwrap().contains(reason));
    assert!(fleet.inner.jobs_pending(usize::MAX).unwrap().is_empty());
    results::check_plan(&database, &id, &fleet.folder.path().join("out"));
}

/// One agent lacks the command of a plan that may fail once only, and does not fail it for the other, which has it.
pub(crate) fn a_job_that_one_agent_cannot_do_is_left_to_another() {
    let fleet = Fleet::new();
    let engine = fleet.engine(Odds::NONE, 1);
    let plan = "name = 'x'\nattempts = 1\ncommands = [{ name = 'list', holes = { folder = '/' } }]";
    commands::submit_to(&fleet.inner, plan, None, &experiments()).unwrap();
    let unable = |database: &Database| {
        let plan = database.plans().unwrap().remove(0);
        let job = database.jobs(&plan.id).unwrap().remove(0);
        assert_eq!(job.failed, None);
        job.unable
    };
    let (stop, folder) = (Interrupt::default(), fleet.folder.path());
    let mut lacking = Agent::new(setup("lacking", folder), &engine, experiments()).unwrap();
    assert!(fleet.serve_until(&engine, |database| {
        lacking.step(Duration::ZERO, &stop).unwrap();
        unable(database).is_some()
    }));
    let list = "[commands.list]\nline = ['/bin/ls', '{folder}']\nholes.folder = '/[a-z]*'";
    let having = Setup {
        allowed: Allowed::parse(list).unwrap(),
        ..setup("having", folder)
    };
    let mut having = Agent::new(having, &engine, experiments()).unwrap();
    assert!(fleet.serve_until(&engine, |database| {
        having.step(Duration::ZERO, &stop).unwrap();
        database.plans().unwrap()[0].done == 1
    }));
    let database = Database::open_to_read(&fleet.database).unwrap();
    let text = watch::text(&database).unwrap();
    assert!(
        text.contains("status 0") && text.contains("by having"),
        "{text}"
    );
    assert!(text.contains("agent lacking: waits"), "{text}");
}

/// The queue has lost a job while it keeps another, which nobody can take.
pub(crate) fn a_job_that_was_lost_comes_again_beside_one_that_waits() {
    let fleet = Fleet::new();
    let engine = fleet.engine(Odds::NONE, 1);
    for plan in [
        PLAN_OF_ONE.to_owned(),
        format!("{PLAN_OF_ONE}cpus = [96]\n"),
    ] {
        commands::submit_to(&fleet.inner, &plan, None, &experiments()).unwrap();
    }
    assert!(fleet.serve_until(&engine, |database| database.plans().unwrap().len() == 2));
    let jobs = Queue::Jobs { cpus: None };
    let lost = fleet.inner.take(jobs, 1, Duration::ZERO).unwrap().remove(0);
    lost.finish().unwrap();
    assert!(fleet.serve_until(&engine, |_| {
        let pending = fleet.inner.jobs_pending(usize::MAX).unwrap();
        pending.contains(&(jobs, lost.about().to_owned()))
    }));
}

/// What a fleet in one process has.
pub(crate) struct Fleet {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) database: PathBuf,
    pub(crate) inner: InProcess,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("fleet.sqlite");
        let inner = InProcess::new(Duration::from_secs(2));
        Self {
            folder,
            database,
            inner,
        }
    }

    pub(crate) fn engine(&self, odds: Odds, seed: u64) -> Faulty {
        Faulty {
            inner: self.inner.clone(),
            odds,
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
            held: Mutex::default(),
            skew_seconds: 0,
        }
    }

    /// Server here, agents in threads, until something is so.
    fn run(&self, engine: &Faulty, agents: [&Faulty; 2], is_done: impl Fn(&Database) -> bool) {
        let stop = Interrupt::default();
        thread::scope(|scope| {
            for (name, engine) in ["one", "two"].into_iter().zip(agents) {
                let (stop, setup) = (&stop, setup(name, self.folder.path()));
                scope.spawn(move || {
                    let mut agent = Agent::new(setup, engine, experiments()).unwrap();
                    agent.run(None, stop, |_| {});
                });
            }
            let ended = self.serve_until(engine, is_done);
            stop.set();
            assert!(ended, "not done in time");
        });
    }

    pub(crate) fn serve_until(
        &self,
        engine: &dyn Engine,
        mut is_done: impl FnMut(&Database) -> bool,
    ) -> bool {
        let database = Database::open(&self.database).unwrap();
        let mut server = Server::new(engine, database, experiments());
        let reader = Database::open_to_read(&self.database).unwrap();
        let watch = Stopwatch::start();
        while watch.elapsed() < DEADLINE {
            match server.step(Duration::from_millis(100)) {
                Ok(()) | Err(FleetError::Engine { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            if !reader.plans().unwrap().is_empty() && is_done(&reader) {
                return true;
            }
        }
        false
    }

    pub(crate) fn check(&self, jobs: u64) {
        results::check(&self.database, &self.folder.path().join("out"), 1, jobs);
    }
}

pub(crate) fn setup(name: &str, folder: &Path) -> Setup {
    Setup {
        name: name.parse().unwrap(),
        spool: folder.join(name),
        host_lock: folder.join(format!("{name}.lock")),
        cpus: 2,
        machine: None,
        allowed: Allowed::default(),
        launcher: Launcher::this_program().unwrap(),
    }
}

/// How many of a hundred calls go wrong, by the way in which they do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    /// Fails, and nothing is done.
    fails: u32,
    /// Is done, and the caller does not learn of it.
    unheard: u32,
    /// Is done twice.
    twice: u32,
    /// Acknowledged, and lost: as when the power fails.
    lost: u32,
    /// Comes after others that were sent later.
    held: u32,
    /// Taken by somebody who died.
    vanishes: u32,
}

impl Odds {
    pub(crate) const NONE: Self = Self {
        fails: 0,
        unheard: 0,
        twice: 0,
        lost: 0,
        held: 0,
        vanishes: 0,
    };
    /// Some of everything.
    pub(crate) const ROUGH: Self = Self {
        fails: 3,
        unheard: 3,
        twice: 4,
        lost: 1,
        held: 10,
        vanishes: 5,
    };
    /// Every message twice, and most of them out of order.
    pub(crate) const SHUFFLED: Self = Self {
        twice: 100,
        held: 80,
        ..Self::NONE
    };
}

/// An engine in whose way things happen that a seed decides.
pub(crate) struct Faulty {
    inner: InProcess,
    odds: Odds,
    rng: Mutex<StdRng>,
    /// Messages that are late.
    held: Mutex<Vec<(Queue, Name, Message)>>,
    /// How far its clock is before that of this machine.
    skew_seconds: i64,
}

impl Faulty {
    fn happens(&self, odds: u32) -> bool {
        odds > 0 && self.rng.lock().unwrap().random_range(0..100) < odds
    }

    fn pass(&self, queue: Queue, about: &Name, message: Message) -> Result<(), FleetError> {
        if self.happens(self.odds.held) {
            let message = (queue, about.clone(), message);
            self.held.lock().unwrap().push(message);
            return Ok(());
        }
        self.inner.publish(queue, about, &[message])?;
        self.let_go()
    }

    /// One of the late messages arrives.
    fn let_go(&self) -> Result<(), FleetError> {
        let mut held = self.held.lock().unwrap();
        if held.is_empty() {
            return Ok(());
        }
        let place = self.rng.lock().unwrap().random_range(0..held.len());
        let (queue, about, message) = held.swap_remove(place);
        self.inner.publish(queue, &about, &[message])
    }
}

fn failed(operation: &'static str) -> FleetError {
    FleetError::Engine {
        operation,
        reason: "the test says so".to_owned(),
    }
}

impl Engine for Faulty {
    fn publish(&self, queue: Queue, about: &Name, messages: &[Message]) -> Result<(), FleetError> {
        for message in messages {
            if self.happens(self.odds.fails) {
                return Err(failed("send"));
            }
            if self.happens(self.odds.lost) {
                continue;
            }
            self.pass(queue, about, message.clone())?;
            if self.happens(self.odds.twice) {
                let copy = Message {
                    id: format!("{}-copy", message.id),
                    ..message.clone()
                };
                self.pass(queue, about, copy)?;
            }
            if self.happens(self.odds.unheard) {
                return Err(failed("hear of what was sent"));
            }
        }
        Ok(())
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        // So that nothing is late for ever.
        for _ in 0..8 {
            self.let_go()?;
        }
        let mut taken = self.inner.take(queue, count_max, wait)?;
        if self.happens(self.odds.vanishes) {
            return Ok(Vec::new());
        }
        if self.happens(self.odds.held) {
            taken.reverse();
        }
        Ok(taken)
    }

    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        self.inner.jobs_pending(most)
    }

    fn forget(&self, key: &str) -> Result<(), FleetError> {
        self.inner.forget(key)
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        if self.happens(3 * self.odds.fails) {
            return Err(failed("set a key"));
        }
        self.inner.put(key, value)
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        if self.happens(3 * self.odds.fails) {
            return Err(failed("read a key"));
        }
        self.inner.get(key)
    }

    fn now(&self) -> Result<Duration, FleetError> {
        let skew = Duration::from_secs(self.skew_seconds.unsigned_abs());
        let now = self.inner.now()?;
        Ok(if self.skew_seconds < 0 {
            now - skew
        } else {
            now + skew
        })
    }
}

/// Seconds; three hours.
const SKEW: i64 = 3 * 3_600;
const DEADLINE: Duration = Duration::from_secs(240);
