//! The driver as a pure function: messages, time and losses go in, messages and results come out. No thread, socket or
//! clock is here, so every order of events can be tried.
//!
//! # Once
//! The caller gets the results of each item once. A call's range is cut into chunks that are adjacent and never change, and
//! each chunk has one place for an answer. An answer is taken if its call has not ended, its chunk was handed out with the
//! number of that attempt, and the chunk's place is empty; taking it fills the place, and only that passes results on. The
//! call ends when the range is cut and all places are full. A number of a call is given once, so an answer to an earlier
//! call finds none. Which attempt is first does not matter, because a body may run more than once and all its runs count as
//! equal.
//!
//! # Always
//! A chunk without an answer is leased to a worker or waits to be handed out. A worker extends the leases of the chunks that
//! it says it holds; so a chunk whose message or whose answer was lost loses its lease while its worker is heard, and one
//! whose worker is lost loses it with the worker. Either way it is handed out again.
//!
//! Held by `driver/model.rs`, which tries all orders of a small call, and `engine/loopback.rs`, which draws those of large
//! ones from a seed.

mod job;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub(crate) use job::Spec;

use crate::{
    ClusterError,
    wire::{Attempt, FromWorker, Hello, JobId, PROTOCOL, ToWorker},
};
use job::{Blame, Job, Lease, Load, Verdict};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    time::Duration,
};

/// A worker's connection. An engine gives each number once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerId(pub(crate) u64);

/// What has happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Message(WorkerId, FromWorker),
    /// The connection has ended.
    Left(WorkerId),
    Cancel(JobId),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Send(WorkerId, ToWorker),
    /// Results for the caller, once for each item.
    Results {
        job: JobId,
        part: Part,
    },
    /// Nothing more comes of this call.
    End {
        job: JobId,
        outcome: Result<(), ClusterError>,
    },
}

/// The results of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    pub(crate) host: String,
    pub(crate) bytes: Vec<u8>,
}

/// How patient a driver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// A worker that is not heard for this long is lost, and a chunk that it does not hold any more.
    pub(crate) lease: Duration,
    /// A call without any worker ends after this long.
    pub(crate) no_workers: Duration,
    /// A chunk that this many workers died of is not handed out again.
    pub(crate) deaths_max: u32,
}

/// All calls and workers of one driver.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    build: String,
    patience: Patience,
    workers: BTreeMap<WorkerId, Worker>,
    /// Workers of other builds, while they are connected.
    strangers: BTreeSet<WorkerId>,
    refused: u32,
    jobs: BTreeMap<JobId, Job>,
    jobs_made: u64,
    /// The calls that may not take for ever.
    deadlines: BTreeSet<(Duration, JobId)>,
    /// The call that got a worker last; the next one has its turn.
    served: JobId,
    /// When the last worker was lost.
    alone_since: Duration,
}

#[derive(Debug, Clone)]
struct Worker {
    host: String,
    heard: Duration,
    /// It was not heard for so long that its chunks went to others.
    is_lost: bool,
    /// What it has not answered, in the order in which it runs them.
    held: Vec<Lease>,
    /// Calls whose captured values it was sent.
    captures: BTreeSet<JobId>,
}

impl Driver {
    pub(crate) fn new(build: String, patience: Patience) -> Self {
        Self {
            build,
            patience,
            workers: BTreeMap::new(),
            strangers: BTreeSet::new(),
            refused: 0,
            jobs: BTreeMap::new(),
            jobs_made: 0,
            deadlines: BTreeSet::new(),
            served: JobId(0),
            alone_since: Duration::ZERO,
        }
    }

    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether the worker has introduced itself and may have work.
    pub(crate) fn knows(&self, worker: WorkerId) -> bool {
        self.workers.contains_key(&worker)
    }

    /// Begins a call.
    pub(crate) fn submit(&mut self, spec: Spec, now: Duration) -> (JobId, Vec<Action>) {
        self.jobs_made += 1;
        let id = JobId(self.jobs_made);
        let mut actions = Vec::new();
        let job = Job::new(spec, now);
        self.deadlines.extend(job.deadline.map(|at| (at, id)));
        self.jobs.insert(id, job);
        self.end_if_done(id, &mut actions);
        self.hand_out(now, &mut actions);
        (id, actions)
    }

    /// Takes an event; `now` never goes back.
    pub(crate) fn handle(&mut self, event: Event, now: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Message(worker, message) => self.hear(worker, message, now, &mut actions),
            Event::Left(worker) => {
                self.strangers.remove(&worker);
                self.lose(worker, now, &mut actions);
                self.workers.remove(&worker);
            }
            Event::Cancel(job) => self.end(job, Err(ClusterError::Cancelled), &mut actions),
            Event::Tick => {}
        }
        self.expire(now, &mut actions);
        self.hand_out(now, &mut actions);
        actions
    }

    fn hear(
        &mut self,
        id: WorkerId,
        message: FromWorker,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        if let FromWorker::Hello(hello) = &message {
            self.greet(id, hello, now, actions);
        }
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.heard = now;
        worker.is_lost = false;
        match message {
            FromWorker::Hello(_) => {}
            FromWorker::NeedsCaptures { job } => {
                worker.captures.remove(&job);
                let message = match self.jobs.get(&job) {
                    Some(of) => {
                        worker.captures.insert(job);
                        captures_of(job, of)
                    }
                    None => ToWorker::Forget { job },
                };
                actions.push(Action::Send(id, message));
            }
            FromWorker::Beat { held } => {
                let until = now + self.patience.lease;
                let leases = worker.held.iter_mut();
                for lease in leases.filter(|lease| held.contains(&lease.attempt)) {
                    lease.until = until;
                }
                let over = held.iter().map(|attempt| attempt.job);
                let over: BTreeSet<JobId> =
                    over.filter(|job| !self.jobs.contains_key(job)).collect();
                let forget = |job| Action::Send(id, ToWorker::Forget { job });
                actions.extend(over.into_iter().map(forget));
            }
            FromWorker::Done {
                attempt,
                took_nanos,
                bytes,
            } => {
                if let Some((range, host)) = self.answered(id, attempt) {
                    let took = Duration::from_nanos(took_nanos);
                    if let Some(job) = self.jobs.get_mut(&attempt.job) {
                        job.learn(&range, took, bytes.len());
                    }
                    let part = Part { range, host, bytes };
                    let job = attempt.job;
                    actions.push(Action::Results { job, part });
                    self.end_if_done(job, actions);
                }
            }
            FromWorker::Failed { attempt, failure } => {
                if let Some((_, host)) = self.answered(id, attempt) {
                    let error = ClusterError::of_failure(failure, &host);
                    self.end(attempt.job, Err(error), actions);
                }
            }
        }
    }

    /// The first message of a worker, perhaps again.
    fn greet(&mut self, id: WorkerId, hello: &Hello, now: Duration, actions: &mut Vec<Action>) {
        let reason = if hello.protocol != PROTOCOL {
            Some(format!(
                "the driver speaks version {PROTOCOL} of the protocol"
            ))
        } else if hello.build != self.build {
            Some(format!("the driver is of build {}", self.build))
        } else {
            None
        };
        if let Some(reason) = reason {
            if self.strangers.insert(id) {
                self.refused += 1;
            }
            actions.push(Action::Send(id, ToWorker::Refused { reason }));
            return;
        }
        self.workers.entry(id).or_insert_with(|| Worker {
            host: hello.host.clone(),
            heard: now,
            is_lost: false,
            held: Vec::new(),
            captures: BTreeSet::new(),
        });
        actions.push(Action::Send(id, ToWorker::Welcome));
    }

    /// An answer to an attempt: what it is for, if it is the chunk's first.
    fn answered(&mut self, id: WorkerId, attempt: Attempt) -> Option<(Range<u64>, String)> {
        let worker = self.workers.get_mut(&id)?;
        let host = worker.host.clone();
        let held = worker
            .held
            .iter()
            .position(|lease| lease.attempt == attempt);
        let job = self.jobs.get_mut(&attempt.job)?;
        if let Some(at) = held {
            worker.held.remove(at);
            job.release(attempt);
        }
        match job.answer(attempt) {
            Verdict::Accepted(range) => Some((range, host)),
            Verdict::Dropped => None,
        }
    }

    /// Leases, deadlines and patience that are over.
    fn expire(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let lease = self.patience.lease;
        let silent = |worker: &Worker| !worker.is_lost && now.saturating_sub(worker.heard) > lease;
        let lost: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| silent(worker))
            .map(|(id, _)| *id)
            .collect();
        for id in lost {
            self.lose(id, now, actions);
        }
        for worker in self.workers.values_mut() {
            let over = worker.held.extract_if(.., |lease| lease.until < now);
            for lease in over {
                if let Some(job) = self.jobs.get_mut(&lease.attempt.job) {
                    job.give_back(lease.attempt, Blame::Nobody);
                }
            }
        }
        let late = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        let late: Vec<JobId> = late.map(|(_, id)| *id).collect();
        for id in late {
            self.end(id, Err(ClusterError::DeadlinePassed), actions);
        }
        self.give_up(now, actions);
    }

    /// Ends the calls that have waited for any worker for too long.
    fn give_up(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if self.workers.values().any(|worker| !worker.is_lost) {
            return;
        }
        let waited = |job: &Job| now.saturating_sub(job.submitted.max(self.alone_since));
        let over = self.jobs.iter().map(|(id, job)| (*id, waited(job)));
        let over: Vec<(JobId, Duration)> = over
            .filter(|(_, waited)| *waited > self.patience.no_workers)
            .collect();
        for (id, waited) in over {
            let error = ClusterError::NoWorkers {
                build: self.build.clone(),
                waited,
                refused: self.refused,
            };
            self.end(id, Err(error), actions);
        }
    }

    /// Gives what a worker holds to others. It ran the first of its chunks, which may be why it was lost.
    fn lose(&mut self, id: WorkerId, now: Duration, actions: &mut Vec<Action>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.is_lost = true;
        self.alone_since = now;
        let held = std::mem::take(&mut worker.held);
        let blames = std::iter::once(Blame::Chunk).chain(std::iter::repeat(Blame::Nobody));
        for (lease, blame) in held.into_iter().zip(blames) {
            let id = lease.attempt.job;
            let Some(job) = self.jobs.get_mut(&id) else {
                continue;
            };
            let returned = job.give_back(lease.attempt, blame);
            let deadly = returned.filter(|(_, deaths)| *deaths >= self.patience.deaths_max);
            if let Some((range, deaths)) = deadly {
                self.end(id, Err(ClusterError::ChunkLost { range, deaths }), actions);
            }
        }
    }

    /// Gives work to workers, first to those that hold least.
    fn hand_out(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let working = self.workers.values().filter(|worker| !worker.is_lost);
        let count = working.count() as u64;
        for held in 0..HELD_MAX {
            let takes = |worker: &Worker| {
                let has_suspect = worker.held.iter().any(|lease| lease.is_suspect);
                !worker.is_lost && worker.held.len() == held && !has_suspect
            };
            let takers = self.workers.iter().filter(|(_, worker)| takes(worker));
            let takers: Vec<WorkerId> = takers.map(|(id, _)| *id).collect();
            for id in takers {
                self.give(id, count, now, actions);
            }
        }
    }

    /// Gives a worker a chunk of the next call that has one for it.
    fn give(&mut self, id: WorkerId, workers: u64, now: Duration, actions: &mut Vec<Action>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        let load = if worker.held.is_empty() {
            Load::Nothing
        } else {
            Load::Something
        };
        let first = next_turn(&self.jobs, self.served);
        let mut turns = first;
        while let Some(turn) = turns {
            turns = next_turn(&self.jobs, turn).filter(|next| Some(*next) != first);
            let Some(job) = self.jobs.get_mut(&turn) else {
                continue;
            };
            let Some(next) = job.next(now, load, workers) else {
                continue;
            };
            self.served = turn;
            if worker.captures.insert(turn) {
                actions.push(Action::Send(id, captures_of(turn, job)));
            }
            let attempt = Attempt {
                job: turn,
                chunk: next.chunk,
                number: next.number,
            };
            worker.held.push(Lease {
                attempt,
                until: now + self.patience.lease,
                is_suspect: next.is_suspect,
            });
            let range = next.range;
            actions.push(Action::Send(id, ToWorker::Run { attempt, range }));
            return;
        }
    }

    fn end_if_done(&mut self, id: JobId, actions: &mut Vec<Action>) {
        if self.jobs.get(&id).is_some_and(Job::is_done) {
            self.end(id, Ok(()), actions);
        }
    }

    /// Ends a call, if it has not ended: what workers hold of it is of no use any more.
    fn end(&mut self, id: JobId, outcome: Result<(), ClusterError>, actions: &mut Vec<Action>) {
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        if let Some(at) = job.deadline {
            self.deadlines.remove(&(at, id));
        }
        for (worker_id, worker) in &mut self.workers {
            worker.held.retain(|lease| !lease.is_of(id));
            if worker.captures.remove(&id) {
                let forget = ToWorker::Forget { job: id };
                actions.push(Action::Send(*worker_id, forget));
            }
        }
        actions.push(Action::End { job: id, outcome });
    }
}

/// The call whose turn it is after this one.
fn next_turn(jobs: &BTreeMap<JobId, Job>, after: JobId) -> Option<JobId> {
    let behind = (Bound::Excluded(after), Bound::Unbounded);
    let next = jobs.range(behind).next();
    next.or_else(|| jobs.first_key_value()).map(|(id, _)| *id)
}

fn captures_of(job: JobId, of: &Job) -> ToWorker {
    ToWorker::Captures {
        job,
        function: of.function.to_owned(),
        bytes: of.captures.clone(),
    }
}

/// One chunk runs, and the next one is there when it has run.
const HELD_MAX: usize = 2;
