//! The server: makes jobs of plans, stores what agents report, and answers them.
//!
//! The database is the truth, and the queues only carry: a message is finished after what it says is committed, and
//! jobs that are open while the queue is empty are handed out again.
//!
//! # Threads
//! One thread does everything here. Readers open the database for themselves.

mod database;
mod keys;
mod rows;
mod schema;

pub use database::Database;
use database::Judgement;
pub(crate) use rows::SpentRow;
pub use rows::{AgentRow, JobRow, PlanRow, RunRow};

use crate::{
    FleetError,
    engine::{Delivery, Engine, Queue},
    enrol,
    plan::Plan,
    price::Next,
    time::pause,
    wire::{self, Answer, Job, News, Note, Receipt, Request, Submission},
};
use manyhands_lab::{Experiment, clock::Stopwatch, run::Interrupt};
use std::time::Duration;

/// Carries plans, jobs and results between an engine and a database.
///
/// # Examples
/// ```
/// use manyhands_fleet::engine::InProcess;
/// use manyhands_fleet::server::{Database, Server};
/// use std::time::Duration;
///
/// let folder = tempfile::tempdir()?;
/// let database = Database::open(&folder.path().join("fleet.sqlite"))?;
/// let engine = InProcess::new(Duration::from_secs(60));
/// let mut server = Server::new(&engine, database, Vec::new());
/// server.step(Duration::ZERO)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server<'engine> {
    engine: &'engine dyn Engine,
    database: Database,
    experiments: Vec<Experiment>,
    /// Time since the last report of an agent.
    silence: Stopwatch,
}

impl std::fmt::Debug for Server<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Server");
        shown
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl<'engine> Server<'engine> {
    /// A server that makes jobs of these experiments.
    #[must_use]
    pub fn new(
        engine: &'engine dyn Engine,
        database: Database,
        experiments: Vec<Experiment>,
    ) -> Self {
        Self {
            engine,
            database,
            experiments,
            silence: Stopwatch::start(),
        }
    }

    /// Works until it is asked to end. Engines that do not answer are asked again; `heard` is called after each step,
    /// with what went wrong.
    ///
    /// # Errors
    /// Those of the database and of `heard`.
    pub fn run(
        &mut self,
        stop: &Interrupt,
        mut heard: impl FnMut(Option<&FleetError>) -> Result<(), FleetError>,
    ) -> Result<(), FleetError> {
        while !stop.is_set() {
            match self.step(WAIT) {
                Ok(()) => heard(None)?,
                Err(error @ FleetError::Engine { .. }) => {
                    heard(Some(&error))?;
                    pause(RETRY, stop);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what there is and carries it out; waits for the first report so long.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine does not answer: what is not finished comes again. Those of the database.
    pub fn step(&mut self, wait: Duration) -> Result<(), FleetError> {
        let plans = self.engine.take(Queue::Plans, PLANS_MAX, Duration::ZERO)?;
        for delivery in &plans {
            self.plan(delivery.as_ref())?;
        }
        for delivery in self
            .engine
            .take(Queue::Enrolments, PLANS_MAX, Duration::ZERO)?
        {
            // What nobody signed, and what has no token any more, gets no answer: its key opens nothing.
            if let Ok(request) = wire::from_bytes::<enrol::Request>(delivery.body())
                && request.is_signed()
            {
                self.database.enrol(&request.token, &request.key)?;
            }
            delivery.finish()?;
        }
        let reports = self.engine.take(Queue::Results, REPORTS_MAX, wait)?;
        if !reports.is_empty() {
            self.silence = Stopwatch::start();
            self.collect(&reports)?;
        }
        let is_silent = self.silence.elapsed() > SILENCE;
        if is_silent || !plans.is_empty() || !reports.is_empty() {
            self.keep_limits()?;
        }
        if is_silent {
            self.silence = Stopwatch::start();
            self.hand_out_again()?;
        }
        Ok(())
    }

    /// Hands out what there is money for, and ends plans that have none left for their next job.
    fn keep_limits(&mut self) -> Result<(), FleetError> {
        for (plan, limit) in self.database.limited_plans()? {
            let (out, mut waiting) = self.database.out_and_waiting(&plan)?;
            match limit.next(&self.database.spent(&plan)?, &out, &waiting)? {
                Next::HandOut(count) => {
                    waiting.truncate(count);
                    // Those that do not reach the queue now are handed out again later.
                    self.database.hand_out(&waiting)?;
                    for job in &waiting {
                        self.hand_out(job, FIRST)?;
                    }
                }
                Next::End { reason } => {
                    // Agents that are at a job end it. A server that dies before it has noted this comes here again.
                    for job in out.iter().chain(&waiting) {
                        self.engine.put(&wire::job_key(&job.id), b"ended")?;
                    }
                    self.database.end_plan(&plan, &reason)?;
                }
            }
        }
        Ok(())
    }

    fn plan(&mut self, delivery: &dyn Delivery) -> Result<(), FleetError> {
        match wire::from_bytes::<Request>(delivery.body()) {
            Ok(Request::Submit(submission)) => self.submit(&submission)?,
            // It may have overtaken its plan.
            Ok(Request::Cancel { plan }) => {
                if !self.cancel(&plan)? && delivery.attempt() < CANCEL_ATTEMPTS {
                    return delivery.release(EARLY);
                }
            }
            // Nothing of ours wrote it, and it will not get better.
            Err(_) => {}
        }
        delivery.finish()
    }

    /// Ends what is open of a plan; `false` if there is no such plan.
    fn cancel(&mut self, plan: &str) -> Result<bool, FleetError> {
        let Some(open) = self.database.cancel_plan(plan)? else {
            return Ok(false);
        };
        for job in open {
            self.engine.put(&wire::job_key(&job), b"cancelled")?;
        }
        Ok(true)
    }

    fn submit(&mut self, submission: &Submission) -> Result<(), FleetError> {
        let id = submission.plan.as_str();
        let jobs = Plan::parse(&submission.toml).and_then(|plan| {
            let jobs = plan.jobs(id, &self.experiments)?;
            if let Some(limit) = &submission.limit {
                // What nobody knows the price of cannot be limited.
                limit.next(&[], &[], &jobs)?;
            }
            Ok((jobs, plan.name))
        });
        match jobs {
            Ok((jobs, name)) => {
                self.database.add_plan(submission, &name, &jobs)?;
                if submission.limit.is_none() {
                    for job in &jobs {
                        self.hand_out(job, FIRST)?;
                    }
                }
            }
            Err(error) => self.database.refuse_plan(submission, &error.to_string())?,
        }
        Ok(())
    }

    fn hand_out(&self, job: &Job, time: u64) -> Result<(), FleetError> {
        let id = format!("{}.{time}", job.id);
        self.engine
            .publish(Queue::Jobs { cpus: job.cpus }, &id, &wire::to_bytes(job)?)
    }

    /// Jobs that are open and in no queue were lost by the engine.
    fn hand_out_again(&mut self) -> Result<(), FleetError> {
        if self.engine.jobs_pending()? > 0 {
            return Ok(());
        }
        for (job, time) in self.database.hand_out_again()? {
            self.hand_out(&job, time)?;
        }
        Ok(())
    }

    /// Commits all lines at once, then answers the runs that are complete.
    fn collect(&mut self, reports: &[Box<dyn Delivery>]) -> Result<(), FleetError> {
        let read = reports
            .iter()
            .map(|delivery| wire::from_bytes(delivery.body()).ok());
        let notes: Vec<Option<Note>> = read.collect();
        self.database.store(notes.iter().flatten())?;
        for (delivery, note) in reports.iter().zip(&notes) {
            let is_early = match note {
                Some(note) => !self.conclude(note, delivery.as_ref())?,
                None => false,
            };
            if is_early {
                delivery.release(EARLY)?;
            } else {
                delivery.finish()?;
            }
        }
        Ok(())
    }

    /// Answers what needs an answer; `false` if it is too early for one.
    fn conclude(&mut self, note: &Note, delivery: &dyn Delivery) -> Result<bool, FleetError> {
        let attempt = delivery.attempt();
        let attempts_max = delivery.lease().as_secs() / EARLY.as_secs() + 3;
        match &note.news {
            News::Line { .. } | News::Beat { .. } => {}
            News::Failed { reason } => {
                self.database.fail(note, reason)?;
                self.engine.put(&wire::job_key(&note.job), b"failed")?;
            }
            News::Done {
                lines,
                sha256,
                sending,
                ..
            } => {
                let receipt = match self.database.judge(note, *lines, sha256)? {
                    // Lines that the queue delivered to a server that died come again, after their lease.
                    Judgement::Missing if attempt < attempts_max => return Ok(false),
                    Judgement::Missing => Receipt::Resend,
                    Judgement::Differs => {
                        self.database.forget_lines(&note.run)?;
                        Receipt::Resend
                    }
                    Judgement::Counts => Receipt::Accepted,
                    Judgement::Superseded => Receipt::Superseded,
                };
                if receipt == Receipt::Accepted {
                    self.engine
                        .put(&wire::job_key(&note.job), note.run.as_bytes())?;
                }
                let sending = sending.clone();
                let answer = wire::to_bytes(&Answer { receipt, sending })?;
                self.engine.put(&wire::run_key(&note.run), &answer)?;
            }
        }
        Ok(true)
    }
}

/// The number of the first time that a job is handed out.
const FIRST: u64 = 1;
const PLANS_MAX: usize = 16;
const REPORTS_MAX: usize = 256;
const WAIT: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_millis(500);
/// Agents that are at work report more often; with nobody reporting and nothing queued, jobs were lost.
const SILENCE: Duration = Duration::from_secs(5);
/// A plan that does not come within this number of seconds never does.
const CANCEL_ATTEMPTS: u64 = 60;
/// How long a run's last note is put off, each time, while lines before it are missing.
const EARLY: Duration = Duration::from_secs(1);
