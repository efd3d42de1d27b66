//! All courses of a small call: two workers, two items, and every order in which messages arrive, are lost, come twice or
//! before others, workers die, and time passes.
//!
//! What may go wrong in one course is bounded; beyond the bound everything works. Two properties: results come once for
//! each item, in every course; and from every state that is reached the call ends well when nothing more goes wrong.

use super::{Action, Driver, Event, Patience, Spec, WorkerId};
use crate::{
    remote,
    wire::{Attempt, Bytes, FromWorker, Hello, JobId, PROTOCOL, ToWorker},
    worker::{Chunk, Step, Worker},
};
use manyhands::cancel::Token;
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

#[derive(Clone)]
struct World {
    now: Duration,
    driver: Driver,
    workers: Vec<Option<(Worker, Option<Chunk>)>>,
    /// On the way: to a worker, or from it.
    to_worker: Vec<(usize, ToWorker)>,
    to_driver: Vec<(usize, FromWorker)>,
    results: Vec<u64>,
    is_ended: bool,
    left: Faults,
}

/// What may still go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Faults {
    losses: u8,
    copies: u8,
    /// Messages that come before the one that was sent to the same place, or by the same, before them.
    reorders: u8,
    deaths: u8,
    naps: u8,
}

impl Faults {
    const NONE: Self = Self {
        losses: 0,
        copies: 0,
        reorders: 0,
        deaths: 0,
        naps: 0,
    };
}

#[derive(Debug, Clone, Copy)]
enum Move {
    ToWorker(usize),
    ToDriver(usize),
    Lose(usize),
    LoseAnswer(usize),
    Copy(usize),
    CopyAnswer(usize),
    Finish(usize),
    Die(usize),
    /// A lease passes, and all workers say what they hold.
    Nap,
}

impl World {
    fn new(left: Faults) -> Self {
        let mut world = Self {
            now: Duration::ZERO,
            driver: Driver::new(String::new()),
            workers: Vec::new(),
            to_worker: Vec::new(),
            to_driver: Vec::new(),
            results: vec![0; LEN],
            is_ended: false,
            left,
        };
        for place in 0..2 {
            let hello = Hello {
                protocol: PROTOCOL,
                build: String::new(),
                host: String::new(),
                replaces: None,
            };
            let mut worker = Worker::new(hello.clone());
            worker.hear(ToWorker::Welcome);
            world.workers.push(Some((worker, None)));
            let hello = Event::Message(WorkerId(place), FromWorker::Hello(hello));
            world.driver.handle(hello, world.now);
        }
        let function = remote!([] |i| -> u64 { i });
        let spec = Spec {
            function: function.into_parts().0,
            captures: Bytes::default(),
            values: Vec::new(),
            range: 0..LEN as u64,
            limit: None,
            patience: PATIENCE,
        };
        let (_, actions) = world.driver.submit(spec, world.now);
        world.perform(actions);
        world
    }

    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for at in 0..self.to_worker.len() {
            let earlier = self.to_worker[..at].iter();
            let earlier = earlier.filter(|(place, _)| *place == self.to_worker[at].0);
            let is_next = earlier.count() <= usize::from(self.left.reorders.min(1));
            moves.extend(is_next.then_some(Move::ToWorker(at)));
            moves.extend((self.left.losses > 0).then_some(Move::Lose(at)));
            moves.extend((self.left.copies > 0).then_some(Move::Copy(at)));
        }
        for at in 0..self.to_driver.len() {
            let earlier = self.to_driver[..at].iter();
            let earlier = earlier.filter(|(place, _)| *place == self.to_driver[at].0);
            let is_next = earlier.count() <= usize::from(self.left.reorders.min(1));
            moves.extend(is_next.then_some(Move::ToDriver(at)));
            moves.extend((self.left.losses > 0).then_some(Move::LoseAnswer(at)));
            moves.extend((self.left.copies > 0).then_some(Move::CopyAnswer(at)));
        }
        let alive = self.workers.iter().flatten().count();
        for (place, worker) in self.workers.iter().enumerate() {
            let Some((_, running)) = worker else {
                continue;
            };
            if running.is_some() {
                moves.push(Move::Finish(place));
            }
            if self.left.deaths > 0 && alive > 1 {
                moves.push(Move::Die(place));
            }
        }
        if self.left.naps > 0 {
            moves.push(Move::Nap);
        }
        moves
    }

    fn make(&mut self, which: Move) {
        match which {
            Move::ToWorker(at) => {
                let (place, message) = self.to_worker.remove(at);
                if self.to_worker[..at]
                    .iter()
                    .any(|(other, _)| *other == place)
                {
                    self.left.reorders -= 1;
                }
                if let Some((worker, _)) = &mut self.workers[place] {
                    let steps = worker.hear(message);
                    self.take(place, steps);
                }
            }
            Move::ToDriver(at) => {
                let (place, message) = self.to_driver.remove(at);
                if self.to_driver[..at]
                    .iter()
                    .any(|(other, _)| *other == place)
                {
                    self.left.reorders -= 1;
                }
                self.reports(Event::Message(WorkerId(place as u64), message));
            }
            Move::Lose(at) => {
                self.left.losses -= 1;
                self.to_worker.remove(at);
            }
            Move::LoseAnswer(at) => {
                self.left.losses -= 1;
                self.to_driver.remove(at);
            }
            Move::Copy(at) => {
                self.left.copies -= 1;
                self.to_worker.push(self.to_worker[at].clone());
            }
            Move::CopyAnswer(at) => {
                self.left.copies -= 1;
                self.to_driver.push(self.to_driver[at].clone());
            }
            Move::Finish(place) => {
                let Some((worker, running)) = &mut self.workers[place] else {
                    return;
                };
                let Some(chunk) = running.take() else {
                    return;
                };
                let function = chunk.function.prepared().unwrap();
                let outcome = function.run(chunk.range, &Token::never());
                let steps = worker.ran(chunk.attempt, outcome, Duration::from_millis(1));
                self.take(place, steps);
            }
            Move::Die(place) => {
                // What it has said may still arrive, or not, before the driver sees the end of the connection.
                self.left.deaths -= 1;
                self.workers[place] = None;
                self.reports(Event::Left(WorkerId(place as u64)));
            }
            Move::Nap => {
                self.left.naps -= 1;
                self.nap();
            }
        }
    }

    fn nap(&mut self) {
        self.now += LEASE / 2;
        self.beat();
        self.now += LEASE / 2 + Duration::from_millis(1);
        self.beat();
    }

    fn beat(&mut self) {
        for place in 0..self.workers.len() {
            if let Some((worker, _)) = &self.workers[place] {
                for message in worker.beat() {
                    self.reports(Event::Message(WorkerId(place as u64), message));
                }
            }
        }
        self.reports(Event::Tick);
    }

    fn reports(&mut self, event: Event) {
        let actions = self.driver.handle(event, self.now);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(worker, message) => {
                    let place = usize::try_from(worker.0).unwrap();
                    self.to_worker.push((place, message));
                }
                Action::Results { part, .. } => {
                    assert!(!self.is_ended, "results after the end");
                    for item in part.range {
                        self.results[usize::try_from(item).unwrap()] += 1;
                    }
                    assert!(self.results.iter().all(|count| *count <= 1), "twice");
                }
                Action::Forget(_) => {}
                Action::End { outcome, .. } => {
                    assert_eq!(outcome, Ok(()));
                    assert!(!self.is_ended, "ended twice");
                    assert_eq!(self.results, [1; LEN]);
                    self.is_ended = true;
                }
            }
        }
    }

    fn take(&mut self, place: usize, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Say(message) => self.to_driver.push((place, message)),
                Step::Run(chunk) => {
                    if let Some((_, running)) = &mut self.workers[place] {
                        assert!(running.is_none(), "two chunks at once");
                        *running = Some(chunk);
                    }
                }
                Step::Stop | Step::Drop(_) | Step::Leave { .. } => {}
            }
        }
    }

    /// Everything works from now on: the call ends.
    fn finish(mut self) {
        for _ in 0..100 {
            if self.is_ended {
                return;
            }
            if !self.to_worker.is_empty() {
                self.make(Move::ToWorker(0));
            } else if !self.to_driver.is_empty() {
                self.make(Move::ToDriver(0));
            } else if let Some(place) = self.running_place() {
                self.make(Move::Finish(place));
            } else {
                self.nap();
            }
        }
        panic!("the call does not end: {:?}", self.driver);
    }

    fn running_place(&self) -> Option<usize> {
        let is_running = |worker: &Option<(Worker, Option<Chunk>)>| {
            worker
                .as_ref()
                .is_some_and(|(_, running)| running.is_some())
        };
        self.workers.iter().position(is_running)
    }

    /// Equal states have equal courses.
    fn digest(&self) -> u64 {
        let running = |worker: &Option<(Worker, Option<Chunk>)>| {
            let running = worker.as_ref().and_then(|(_, chunk)| chunk.as_ref());
            running.map(|chunk| chunk.attempt)
        };
        let running: Vec<Option<Attempt>> = self.workers.iter().map(running).collect();
        let states: Vec<Option<&Worker>> = self
            .workers
            .iter()
            .map(|worker| worker.as_ref().map(|(state, _)| state))
            .collect();
        let mut hasher = DefaultHasher::new();
        let left = (self.left, self.is_ended);
        format!(
            "{:?} {:?} {states:?} {running:?} {left:?}",
            self.driver, self.now
        )
        .hash(&mut hasher);
        // Messages of different workers are in no order.
        for place in 0..self.workers.len() {
            let is_of = |of: &usize| *of == place;
            for (_, message) in self.to_worker.iter().filter(|(of, _)| is_of(of)) {
                message.hash(&mut hasher);
            }
            for (_, message) in self.to_driver.iter().filter(|(of, _)| is_of(of)) {
                message.hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Tries everything; returns how many states there are.
fn explore(faults: Faults) -> usize {
    let mut seen = HashSet::new();
    let mut open = vec![World::new(faults)];
    while let Some(world) = open.pop() {
        if !seen.insert(world.digest()) {
            continue;
        }
        world.clone().finish();
        for which in world.moves() {
            let mut next = world.clone();
            next.make(which);
            open.push(next);
        }
    }
    seen.len()
}

const LEN: usize = 2;
const LEASE: Duration = Duration::from_secs(1);
const PATIENCE: Patience = Patience {
    lease: LEASE,
    no_workers: Duration::from_secs(1000),
    deaths_max: 10,
    retries: 0,
};

#[test]
fn a_small_call_ends_with_each_result_once_in_every_course() {
    let none = Faults::NONE;
    let bounds = [
        Faults { naps: 2, ..none },
        Faults {
            reorders: 1,
            naps: 1,
            ..none
        },
        Faults {
            losses: 1,
            naps: 1,
            ..none
        },
        Faults {
            copies: 1,
            naps: 1,
            ..none
        },
        Faults {
            deaths: 1,
            naps: 1,
            ..none
        },
        Faults {
            losses: 1,
            copies: 1,
            reorders: 1,
            ..none
        },
        Faults {
            losses: 1,
            deaths: 1,
            copies: 1,
            ..none
        },
    ];
    for faults in bounds {
        let states = explore(faults);
        assert!(states > 10, "{states} states of {faults:?}");
    }
}

#[test]
fn a_job_has_a_number_of_its_own() {
    let mut world = World::new(Faults::NONE);
    let spec = Spec {
        function: "f".to_owned(),
        captures: Bytes::default(),
        values: Vec::new(),
        range: 0..1,
        limit: None,
        patience: PATIENCE,
    };
    let (second, _) = world.driver.submit(spec, world.now);
    assert_eq!(second, JobId(2));
}
