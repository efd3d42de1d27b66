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
//! it says it holds; so a chunk loses its lease when its message or its answer was lost, and when its worker is silent.
//! Either way it is handed out again.
//!
//! # Silent and dead
//! Only a worker whose end is seen has died, and only deaths count against the chunk that it ran. A silent one may be
//! stopped, or its messages may be slow: it loses its chunks and is given no others, until it is heard again.
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
    broadcast::Sent,
    wire::{Attempt, Failure, FromWorker, Hello, JobId, PROTOCOL, ToWorker},
};
use job::{Job, Lease, Load, Verdict};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    sync::{Arc, Weak},
    time::Duration,
};

/// A worker's connection. An engine gives each number once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerId(pub(crate) u64);

/// What has happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Message(WorkerId, FromWorker),
    /// A part of a long message of the worker's has come.
    #[cfg(feature = "nats")]
    Arriving(WorkerId),
    /// The worker has died.
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
    /// This worker's number means nothing any more: it was refused, or is silent and has given way.
    Forget(WorkerId),
}

/// The results of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    pub(crate) host: String,
    pub(crate) bytes: Vec<u8>,
}

/// How patient a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// A chunk that its worker has not said it holds for this long goes to another one.
    pub(crate) lease: Duration,
    /// The call ends when it was without any worker for this long.
    pub(crate) no_workers: Duration,
    /// A chunk that this many workers died of is not handed out again.
    pub(crate) deaths_max: u32,
    /// How often a body that has panicked is run again.
    pub(crate) retries: u32,
}

impl Patience {
    pub(crate) const DEFAULT: Self = Self {
        lease: Duration::from_secs(3),
        no_workers: Duration::from_secs(30),
        deaths_max: 4,
        retries: 0,
    };
}

/// All calls and workers of one driver.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    build: String,
    workers: BTreeMap<WorkerId, Worker>,
    /// Workers of other builds, while they are connected.
    strangers: BTreeSet<WorkerId>,
    refused: u32,
    jobs: BTreeMap<JobId, Job>,
    jobs_made: u64,
    /// The broadcast values that workers may have.
    values: BTreeMap<u64, Weak<Sent>>,
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
    /// It was not heard for so long that it is given nothing.
    is_silent: bool,
    /// What it has not answered, in the order in which it runs them.
    held: Vec<Lease>,
    /// The first chunk that it has lost since it was heard: if it has died, it was while it ran this.
    ran: Option<Attempt>,
    /// Calls whose captured values it was sent.
    captures: BTreeSet<JobId>,
    /// Broadcast values that it was sent.
    values: BTreeSet<u64>,
}

impl Driver {
    pub(crate) fn new(build: String) -> Self {
        Self {
            build,
            workers: BTreeMap::new(),
            strangers: BTreeSet::new(),
            refused: 0,
            jobs: BTreeMap::new(),
            jobs_made: 0,
            values: BTreeMap::new(),
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
        self.drop_values(&mut actions);
        let values = job.values.iter();
        self.values
            .extend(values.map(|value| (value.id, Arc::downgrade(value))));
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
            Event::Message(worker, message) => {
                self.hear(worker, message, now, &mut actions);
                // What is said by those who are not known changes nothing, and costs little.
                if !self.knows(worker) {
                    return actions;
                }
            }
            #[cfg(feature = "nats")]
            Event::Arriving(worker) => self.keep(worker, now),
            Event::Left(worker) => self.leave(worker, now, &mut actions),
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
        worker.heard(now);
        match message {
            FromWorker::Hello(_) => {}
            FromWorker::NeedsCaptures { job } => {
                worker.captures.remove(&job);
                match self.jobs.get(&job) {
                    Some(of) => {
                        for value in &of.values {
                            worker.values.remove(&value.id);
                        }
                        worker.send_captures(id, (job, of), actions);
                    }
                    None => actions.push(Action::Send(id, ToWorker::Forget { job })),
                }
            }
            FromWorker::Beat { held } => {
                let leases = worker.held.iter_mut();
                for lease in leases.filter(|lease| held.contains(&lease.attempt)) {
                    lease.until = now.saturating_add(lease.length);
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
                if !self.tries_again(id, attempt, &failure)
                    && let Some((range, host)) = self.answered(id, attempt)
                {
                    let error = ClusterError::of_failure(failure.within(&range), &host);
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
            if self.strangers.len() >= WORKERS_MAX || self.strangers.insert(id) {
                self.refused = self.refused.saturating_add(1);
            }
            refuse(id, reason, actions);
            return;
        }
        if !self.has_place(id, actions) {
            let reason = format!("the driver has {WORKERS_MAX} workers, and takes no more");
            refuse(id, reason, actions);
            return;
        }
        self.workers.entry(id).or_insert_with(|| Worker {
            host: hello.host.chars().take(HOST_CHARS_MAX).collect(),
            heard: now,
            is_silent: false,
            held: Vec::new(),
            ran: None,
            captures: BTreeSet::new(),
            values: BTreeSet::new(),
        });
        actions.push(Action::Send(id, ToWorker::Welcome));
    }

    /// Whether this worker may be one of those that are known. One that is silent and holds nothing gives way; it introduces
    /// itself again when it is heard again.
    fn has_place(&mut self, id: WorkerId, actions: &mut Vec<Action>) -> bool {
        if self.workers.len() < WORKERS_MAX || self.workers.contains_key(&id) {
            return true;
        }
        let idle = self.workers.iter();
        let idle = idle.filter(|(_, worker)| worker.is_silent && worker.held.is_empty());
        let oldest = idle.min_by_key(|(_, worker)| worker.heard);
        let Some(oldest) = oldest.map(|(id, _)| *id) else {
            return false;
        };
        self.workers.remove(&oldest);
        actions.push(Action::Forget(oldest));
        true
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

    /// Whether a chunk that has failed is run again, or the failure is of an attempt that does not count any more.
    fn tries_again(&mut self, id: WorkerId, attempt: Attempt, failure: &Failure) -> bool {
        let jobs = &mut self.jobs;
        let job = jobs.get_mut(&attempt.job);
        let job = job.filter(|job| job.patience.retries > 0);
        let (Failure::Panicked { .. }, Some(job)) = (failure, job) else {
            return false;
        };
        let held = self.workers.get_mut(&id).map(|worker| &mut worker.held);
        let at = |held: &Vec<Lease>| held.iter().position(|lease| lease.attempt == attempt);
        let Some((held, at)) = held.and_then(|held| at(held).map(|at| (held, at))) else {
            return true;
        };
        let is_again = job.panicked(attempt);
        if is_again {
            held.remove(at);
        }
        is_again
    }

    /// Workers need no values any more that nobody here has.
    fn drop_values(&mut self, actions: &mut Vec<Action>) {
        let is_unused = |_: &u64, value: &mut Weak<Sent>| value.strong_count() == 0;
        for (value, _) in self.values.extract_if(.., is_unused) {
            for (id, worker) in &mut self.workers {
                if worker.values.remove(&value) {
                    actions.push(Action::Send(*id, ToWorker::Drop { id: value }));
                }
            }
        }
    }

    /// What a worker holds stays with it: a long message of its is on the way, and its beats may be behind that.
    #[cfg(feature = "nats")]
    fn keep(&mut self, id: WorkerId, now: Duration) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.heard(now);
            for lease in &mut worker.held {
                lease.until = now.saturating_add(lease.length);
            }
        }
    }

    /// Leases, deadlines and patience that are over.
    fn expire(&mut self, now: Duration, actions: &mut Vec<Action>) {
        for worker in self.workers.values_mut() {
            if !worker.is_silent && now.saturating_sub(worker.heard) > SILENCE_MAX {
                worker.is_silent = true;
                self.alone_since = now;
            }
            for lease in worker.held.extract_if(.., |lease| lease.until < now) {
                worker.ran.get_or_insert(lease.attempt);
                if let Some(job) = self.jobs.get_mut(&lease.attempt.job) {
                    job.give_back(lease.attempt);
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
        if self.workers.values().any(|worker| !worker.is_silent) {
            return;
        }
        let waited = |job: &Job| now.saturating_sub(job.submitted.max(self.alone_since));
        let over = self.jobs.iter().map(|(id, job)| (*id, waited(job), job));
        let over: Vec<(JobId, Duration)> = over
            .filter(|(_, waited, job)| *waited > job.patience.no_workers)
            .map(|(id, waited, _)| (id, waited))
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

    /// Gives what a dead worker holds to others. It ran the first of its chunks, which may be what it died of.
    fn leave(&mut self, id: WorkerId, now: Duration, actions: &mut Vec<Action>) {
        self.strangers.remove(&id);
        let Some(worker) = self.workers.remove(&id) else {
            return;
        };
        self.alone_since = now;
        let first = worker.held.first().map(|lease| lease.attempt);
        let ran = worker.ran.or(first);
        let died = ran.and_then(|ran| Some((ran.job, self.jobs.get_mut(&ran.job)?.died(ran)?)));
        for Lease { attempt, .. } in worker.held {
            if let Some(job) = self.jobs.get_mut(&attempt.job) {
                job.give_back(attempt);
            }
        }
        if let Some((id, (range, deaths))) = died {
            self.end(id, Err(ClusterError::ChunkLost { range, deaths }), actions);
        }
    }

    /// Gives work to workers, first to those that hold least.
    fn hand_out(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let working = self.workers.values().filter(|worker| !worker.is_silent);
        let count = working.count() as u64;
        for held in 0..HELD_MAX {
            let takes = |worker: &Worker| {
                let has_suspect = worker.held.iter().any(|lease| lease.is_suspect);
                !worker.is_silent && worker.held.len() == held && !has_suspect
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
            if !worker.captures.contains(&turn) {
                worker.send_captures(id, (turn, job), actions);
            }
            let attempt = Attempt {
                job: turn,
                chunk: next.chunk,
                number: next.number,
            };
            worker.held.push(Lease {
                attempt,
                length: job.patience.lease,
                until: now.saturating_add(job.patience.lease),
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
        drop(job);
        self.drop_values(actions);
        actions.push(Action::End { job: id, outcome });
    }
}

impl Worker {
    fn heard(&mut self, now: Duration) {
        self.heard = now;
        self.is_silent = false;
        self.ran = None;
    }

    /// What a call's function has captured, and the broadcast values in it that the worker does not have.
    fn send_captures(
        &mut self,
        own: WorkerId,
        (id, job): (JobId, &Job),
        actions: &mut Vec<Action>,
    ) {
        self.captures.insert(id);
        for value in &job.values {
            if self.values.insert(value.id) {
                let (id, bytes) = (value.id, value.bytes());
                actions.push(Action::Send(own, ToWorker::Value { id, bytes }));
            }
        }
        let captures = ToWorker::Captures {
            job: id,
            function: job.function.clone(),
            bytes: job.captures.clone(),
            values: job.values.iter().map(|value| value.id).collect(),
        };
        actions.push(Action::Send(own, captures));
    }
}

fn refuse(id: WorkerId, reason: String, actions: &mut Vec<Action>) {
    actions.push(Action::Send(id, ToWorker::Refused { reason }));
    actions.push(Action::Forget(id));
}

/// The call whose turn it is after this one.
fn next_turn(jobs: &BTreeMap<JobId, Job>, after: JobId) -> Option<JobId> {
    let behind = (Bound::Excluded(after), Bound::Unbounded);
    let next = jobs.range(behind).next();
    next.or_else(|| jobs.first_key_value()).map(|(id, _)| *id)
}

/// Workers that are known. Anybody with a key to the server can make up more.
pub(crate) const WORKERS_MAX: usize = 1_024;
/// How much is kept of what a worker calls itself.
const HOST_CHARS_MAX: usize = 256;
/// One chunk runs, and the next one is there when it has run.
const HELD_MAX: usize = 2;
/// A worker that is not heard for this long is silent. It says every half second what it holds.
const SILENCE_MAX: Duration = Duration::from_secs(3);
