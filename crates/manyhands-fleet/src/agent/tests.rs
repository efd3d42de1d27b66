//! An agent whose engine is gone, or cannot tell the time.

use super::*;
use crate::{engine::InProcess, wire::a_job};
use std::{collections::HashSet, path::Path};

/// An engine that nobody answers.
struct Gone;

fn gone<T>() -> Result<T, FleetError> {
    Err(FleetError::engine("ask")("nobody is there"))
}

impl Engine for Gone {
    fn publish(&self, _: Queue, _: &Name, _: &[Message]) -> Result<(), FleetError> {
        gone()
    }

    fn take(&self, _: Queue, _: usize, _: Duration) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        gone()
    }

    fn jobs_pending(&self, _: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        gone()
    }

    fn forget(&self, _: &str) -> Result<(), FleetError> {
        gone()
    }

    fn put(&self, _: &str, _: &[u8]) -> Result<(), FleetError> {
        gone()
    }

    fn get(&self, _: &str) -> Result<Option<Vec<u8>>, FleetError> {
        gone()
    }

    fn now(&self) -> Result<Duration, FleetError> {
        gone()
    }
}

/// An engine whose clock cannot be read yet.
struct Clockless(InProcess);

impl Engine for Clockless {
    fn publish(&self, queue: Queue, about: &Name, all: &[Message]) -> Result<(), FleetError> {
        self.0.publish(queue, about, all)
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        self.0.take(queue, count_max, wait)
    }

    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        self.0.jobs_pending(most)
    }

    fn forget(&self, key: &str) -> Result<(), FleetError> {
        self.0.forget(key)
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        self.0.put(key, value)
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        self.0.get(key)
    }

    fn now(&self) -> Result<Duration, FleetError> {
        gone()
    }
}

fn setup(folder: &Path) -> Setup {
    Setup {
        name: "one".parse().unwrap(),
        spool: folder.join("spool"),
        host_lock: folder.join("host.lock"),
        cpus: 2,
        machine: None,
        allowed: Allowed::default(),
        launcher: Launcher::this_program().unwrap(),
    }
}

/// Leaves a finished run of a job of this name, which has lines if it is good.
fn finish(agent: &Agent<'_>, name: &str) {
    let id = name.parse().unwrap();
    let entry = agent.spool.entry(&Job { id, ..a_job() }).unwrap();
    if name == "good" {
        spool::write_whole(entry.folder(), sender::HEAD, b"{}").unwrap();
        spool::write_whole(entry.folder(), manyhands_lab::store::EVENTS, b"").unwrap();
    }
    entry.finish().unwrap();
}

#[test]
fn an_agent_takes_no_job_before_it_knows_how_far_its_clock_is_off() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Clockless(InProcess::new(Duration::from_secs(60)));
    let jobs = Queue::Jobs { cpus: None };
    let message = Message {
        id: "p.0.1".to_owned(),
        body: wire::to_bytes(&a_job()).unwrap(),
    };
    engine.publish(jobs, &a_job().id, &[message]).unwrap();
    let mut agent = Agent::new(setup(folder.path()), &engine, Vec::new()).unwrap();
    let step = agent.step(Duration::ZERO, &Interrupt::default());
    assert!(matches!(step, Err(FleetError::Engine { .. })), "{step:?}");
    let taken = engine.take(jobs, 1, Duration::ZERO).unwrap();
    assert_eq!(taken[0].attempt(), 1, "nobody has taken it before");
}

#[test]
fn an_agent_whose_server_is_gone_ends_when_it_has_nothing_to_send() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(setup(folder.path()), &Gone, Vec::new()).unwrap();
    let never = Interrupt::default();
    let mut complaints = 0;
    let ended = agent.run(Some(Duration::ZERO), &never, |_| complaints += 1);
    assert_eq!((ended, complaints), (End::Idle, 1));
}

#[test]
fn an_agent_with_results_goes_on_after_its_idle_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(setup(folder.path()), &Gone, Vec::new()).unwrap();
    finish(&agent, "good");
    let stop = Interrupt::default();
    let mut complaints = 0;
    let ended = agent.run(Some(Duration::ZERO), &stop, |_| {
        complaints += 1;
        if complaints == 2 {
            stop.set();
        }
    });
    assert_eq!((ended, complaints), (End::Asked, 2));
}

#[test]
fn a_finished_run_that_cannot_be_sent_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let engine = InProcess::new(Duration::from_secs(60));
    let mut agent = Agent::new(setup(folder.path()), &engine, Vec::new()).unwrap();
    finish(&agent, "bad");
    finish(&agent, "good");
    let reported = agent
        .step(Duration::ZERO, &Interrupt::default())
        .unwrap_err();
    assert!(reported.to_string().contains("set aside"), "{reported}");
    let left = agent.spool.entries().unwrap();
    assert_eq!((left.len(), &*left[0].job().id), (1, "good"));
    let sent = engine.take(Queue::Results, 9, Duration::ZERO).unwrap();
    let done = |body: &[u8]| String::from_utf8_lossy(body).contains("\"done\"");
    assert!(sent.iter().any(|report| done(report.body())));
    agent.step(Duration::ZERO, &Interrupt::default()).unwrap();
}
