//! The server: makes jobs of plans, stores what agents report, and answers them.
//!
//! The database is the truth, and the queues only carry: a message is finished after what it says is committed, and
//! jobs that are open and in no queue are handed out again. Everybody who can reach the engine may send anything: a message is
//! believed by what `wire` lets it say, by whose it is, and by the ticket of its job, and else is parked.
//!
//! # Threads
//! One thread does everything here. Readers open the database for themselves.

mod database;
mod keys;
mod rows;
mod runs;
mod schema;

pub use database::Database;
pub(crate) use keys::KeyRow;
pub(crate) use rows::SpentRow;
pub use rows::{AgentRow, JobRow, PlanRow, RejectedRow, RunRow};
use runs::{Judgement, Standing};

use crate::{
    FleetError, Name,
    engine::{Delivery, Engine, Message, Queue},
    enrol,
    plan::Plan,
    price::Next,
    time::pause,
    wire::{self, Answer, Cpus, Job, News, Note, Over, Receipt, Report, Request, Submission, Text},
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
    /// Public half of the key that is the server's own, which nobody else may have.
    own_key: Option<String>,
    /// Time since the jobs were last looked for; `None` before the first time.
    looked: Option<Stopwatch>,
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
            own_key: None,
            looked: None,
        }
    }

    /// The same, with this key (its public half) as its own: no agent gets it.
    #[must_use]
    pub fn with_key(self, public: Option<String>) -> Self {
        Self {
            own_key: public,
            ..self
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

    /// Takes what there is and carries it out; waits for the first report so long. What cannot be judged is parked.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine does not answer: what is not finished comes again. Those of the database.
    pub fn step(&mut self, wait: Duration) -> Result<(), FleetError> {
        let plans = self.engine.take(Queue::Plans, PLANS_MAX, Duration::ZERO)?;
        for delivery in &plans {
            self.plan(delivery.as_ref())?;
        }
        let enrolments = self
            .engine
            .take(Queue::Enrolments, PLANS_MAX, Duration::ZERO)?;
        for delivery in &enrolments {
            self.enrol(delivery.as_ref())?;
        }
        // There may be more of both, which would wait as long.
        let wait = match plans.is_empty() && enrolments.is_empty() {
            true => wait,
            false => Duration::ZERO,
        };
        let reports = self.engine.take(Queue::Results, REPORTS_MAX, wait)?;
        if !reports.is_empty() {
            self.collect(&reports)?;
        }
        let is_due = self
            .looked
            .is_none_or(|looked| looked.elapsed() > LOOK_AGAIN);
        if is_due || !plans.is_empty() || !reports.is_empty() {
            self.keep_limits()?;
        }
        if is_due {
            self.hand_out_again()?;
            self.looked = Some(Stopwatch::start());
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
                    let times = self.database.hand_out(&waiting)?;
                    for (job, time) in waiting.iter().zip(times) {
                        self.hand_out(job, time)?;
                    }
                }
                Next::End { reason } => {
                    // Agents that are at a job end it. A server that dies before it has noted this comes here again.
                    for job in out.iter().chain(&waiting) {
                        self.tell_over(&job.id, None)?;
                    }
                    self.database.end_plan(&plan, &reason)?;
                }
            }
        }
        Ok(())
    }

    fn plan(&mut self, delivery: &dyn Delivery) -> Result<(), FleetError> {
        let request = wire::from_bytes::<Request>(delivery.body());
        match request.and_then(|request| self.carry_out(&request, delivery)) {
            Ok(true) => delivery.finish(),
            Ok(false) => delivery.release(EARLY),
            // It, or what an earlier version has left of what it is about.
            Err(error @ FleetError::Format { .. }) => {
                self.park(delivery, &error.to_string())?;
                delivery.finish()
            }
            Err(error) => Err(error),
        }
    }

    /// `false` if it is too early for it.
    fn carry_out(
        &mut self,
        request: &Request,
        delivery: &dyn Delivery,
    ) -> Result<bool, FleetError> {
        match request {
            Request::Submit(submission) => self.submit(submission)?,
            // It may have overtaken its plan.
            Request::Cancel(plan) => {
                return Ok(self.cancel(plan)? || delivery.attempt() >= CANCEL_ATTEMPTS);
            }
            Request::Redo(anew) => match self.database.redo(anew)? {
                Some((job, time)) if time > 0 => self.hand_out(&job, time)?,
                Some(_) => {}
                None => {
                    let reason = "there is no such job, or its plan has ended";
                    self.park(delivery, reason)?;
                }
            },
        }
        Ok(true)
    }

    fn enrol(&mut self, delivery: &dyn Delivery) -> Result<(), FleetError> {
        // Nobody is answered whose key opens nothing.
        let reason = match wire::from_bytes::<enrol::Request>(delivery.body()) {
            Err(error) => error.to_string(),
            Ok(request) if !request.is_signed() => {
                "the token and the key have not both signed it".to_owned()
            }
            Ok(request) if Some(&request.key) == self.own_key.as_ref() => {
                "the key is this server's own".to_owned()
            }
            Ok(request) if self.database.enrol(&request.token, &request.key)? => {
                return delivery.finish();
            }
            Ok(_) => "the token is used or over, or the key has another name".to_owned(),
        };
        self.park(delivery, &reason)?;
        delivery.finish()
    }

    /// Keeps a message that cannot be judged for people to look at, and goes on without it.
    fn park(&self, delivery: &dyn Delivery, reason: &str) -> Result<(), FleetError> {
        self.database
            .reject(delivery.about(), reason, delivery.body())
    }

    /// Ends what is open of a plan; `false` if there is no such plan.
    fn cancel(&mut self, plan: &Name) -> Result<bool, FleetError> {
        let Some(open) = self.database.cancel_plan(plan)? else {
            return Ok(false);
        };
        for job in open {
            self.tell_over(&job, None)?;
        }
        Ok(true)
    }

    fn submit(&mut self, submission: &Submission) -> Result<(), FleetError> {
        let jobs = Plan::parse(&submission.toml).and_then(|plan| {
            let jobs = plan.jobs(&submission.plan, &self.experiments)?;
            if let Some(limit) = &submission.limit {
                // What nobody knows the price of cannot be limited.
                limit.next(&[], &[], &jobs)?;
            }
            Ok((jobs, plan))
        });
        match jobs {
            Ok((jobs, plan)) => {
                self.database.add_plan(submission, &plan, &jobs)?;
                // Those in the database: the plan may have come before.
                let (out, _) = self.database.out_and_waiting(&submission.plan)?;
                for job in &out {
                    self.hand_out(job, FIRST)?;
                }
            }
            Err(error) => {
                let reason = Text::of(&error.to_string());
                self.database.refuse_plan(submission, &reason)?;
            }
        }
        Ok(())
    }

    fn hand_out(&self, job: &Job, time: u64) -> Result<(), FleetError> {
        if time > FIRST {
            // It was over if it is done anew. A server that died may have left that.
            Over::forget(self.engine, &job.id)?;
        }
        let cpus = job.cpus.map(Cpus::size);
        let message = Message {
            id: format!("{}.{time}", job.id),
            body: wire::to_bytes(job)?,
        };
        self.engine
            .publish(Queue::Jobs { cpus }, &job.id, &[message])
    }

    /// Jobs that are open and in no queue were lost by the engine.
    fn hand_out_again(&mut self) -> Result<(), FleetError> {
        let most = 2 * self.database.jobs_out()? + STRANGE_MAX;
        let pending = self.engine.jobs_pending(most)?;
        for (job, time) in self.database.hand_out_again(&pending)? {
            self.hand_out(&job, time)?;
        }
        Ok(())
    }

    /// Commits all lines at once, then answers the runs that are complete.
    fn collect(&mut self, deliveries: &[Box<dyn Delivery>]) -> Result<(), FleetError> {
        let mut reports = Vec::new();
        for delivery in deliveries {
            let reason = match wire::from_bytes::<Report>(delivery.body()) {
                Ok(report) if **report.agent() == *delivery.about() => {
                    reports.push((delivery.as_ref(), report));
                    continue;
                }
                Ok(_) => "it is in the name of another agent".to_owned(),
                Err(error) => error.to_string(),
            };
            self.park(delivery.as_ref(), &reason)?;
            delivery.finish()?;
        }
        let dated = reports
            .iter()
            .map(|(delivery, report)| (report, delivery.sent()));
        let all: Vec<(&Report, Duration)> = dated.collect();
        let standings = self.database.store(&all)?;
        for ((delivery, report), standing) in reports.iter().zip(standings) {
            let is_early = match report {
                Report::Waits(_) => false,
                Report::Job(note) => !self.answer(note, standing, *delivery)?,
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
    fn answer(
        &mut self,
        note: &Note,
        standing: Standing,
        delivery: &dyn Delivery,
    ) -> Result<bool, FleetError> {
        let reason = match standing {
            Standing::Right => return self.conclude(note, delivery),
            Standing::OfAnother => "its run is another agent's, or of another job",
            Standing::TooMany => "its agent has begun the job too often",
            Standing::NotGiven => "its job was not given to this agent, or is given anew",
        };
        self.park(delivery, reason)?;
        if standing == Standing::NotGiven {
            self.send_receipt(note, Receipt::Refused, &note.run)?;
        }
        Ok(true)
    }

    fn conclude(&mut self, note: &Note, delivery: &dyn Delivery) -> Result<bool, FleetError> {
        let attempts_max = delivery.lease().as_secs() / EARLY.as_secs() + 3;
        match &note.news {
            News::Lines { .. } | News::Beat { .. } | News::Unable { .. } => {}
            News::Failed { reason } => {
                if self.database.fail(note, reason)? {
                    self.tell_over(&note.job, None)?;
                }
            }
            News::Done {
                lines,
                sha256,
                sending,
                ..
            } => {
                let (lines, experiments) = (lines.get(), &self.experiments);
                let receipt = match self.database.judge(note, lines, sha256, experiments)? {
                    // Lines that the queue delivered to a server that died come again, after their lease.
                    Judgement::Missing if delivery.attempt() < attempts_max => return Ok(false),
                    Judgement::Missing => Receipt::Resend,
                    Judgement::Differs => {
                        self.database.forget_lines(&note.run)?;
                        Receipt::Resend
                    }
                    Judgement::Counts => Receipt::Accepted,
                    Judgement::Superseded => Receipt::Superseded,
                    Judgement::Refused => Receipt::Refused,
                };
                if receipt == Receipt::Accepted {
                    self.tell_over(&note.job, Some(&note.run))?;
                }
                self.send_receipt(note, receipt, sending)?;
            }
        }
        Ok(true)
    }

    /// Says that a job needs nobody any more.
    fn tell_over(&self, job: &Name, run: Option<&Name>) -> Result<(), FleetError> {
        let (job, run) = (job.clone(), run.cloned());
        Over { job, run }.tell(self.engine)
    }

    fn send_receipt(
        &self,
        note: &Note,
        receipt: Receipt,
        sending: &Name,
    ) -> Result<(), FleetError> {
        let (run, sending) = (note.run.clone(), sending.clone());
        let answer = Answer {
            run,
            receipt,
            sending,
        };
        answer.tell(self.engine)
    }
}

/// The number of the first time that a job is handed out.
const FIRST: u64 = 1;
const PLANS_MAX: usize = 16;
const REPORTS_MAX: usize = 256;
const WAIT: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_millis(500);
/// Messages that are no jobs and may be among them; a job is in its queue once, or twice for a moment.
const STRANGE_MAX: usize = 256;
/// How often it is looked whether the queue has lost jobs, and what plans with a limit have cost.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// A plan that does not come within this number of seconds never does.
const CANCEL_ATTEMPTS: u64 = 60;
/// How long a run's last note is put off, each time, while lines before it are missing.
const EARLY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::InProcess;
    use nkeys::KeyPair;

    #[test]
    fn who_wants_a_key_does_not_wait_for_reports_that_do_not_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.sqlite");
        let engine = InProcess::new(Duration::from_secs(60));
        let mut server = Server::new(&engine, Database::open(&path).unwrap(), Vec::new());
        for _ in 0..2 * PLANS_MAX {
            let (token, key) = (KeyPair::new_user(), KeyPair::new_user());
            let name = token.public_key();
            server.database.add_token(&name, &name, 60, None).unwrap();
            let request = enrol::Request::new(&token, &key).unwrap();
            request.send(&engine).unwrap();
        }
        let (watch, long) = (Stopwatch::start(), Duration::from_secs(60));
        for _ in 0..2 {
            server.step(long).unwrap();
        }
        assert!(watch.elapsed() < long, "it has waited");
        let keys = server.database.valid_keys().unwrap();
        assert!(keys.len() == 2 * PLANS_MAX && keys.iter().all(|key| !key.is_token));
    }

    #[test]
    fn nobody_is_let_in_by_the_server_s_own_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.sqlite");
        let database = Database::open(&path).unwrap();
        let [own, other] = [KeyPair::new_user(), KeyPair::new_user()];
        let engine = InProcess::new(Duration::from_secs(60));
        for key in [&own, &other] {
            let token = KeyPair::new_user();
            let public = token.public_key();
            database.add_token(&public, "one", 60, None).unwrap();
            let request = enrol::Request::new(&token, key).unwrap();
            request.send(&engine).unwrap();
        }
        let server = Server::new(&engine, database, Vec::new());
        let mut server = server.with_key(Some(own.public_key()));
        server.step(Duration::ZERO).unwrap();
        let database = Database::open_to_read(&path).unwrap();
        let keys = database.valid_keys().unwrap().into_iter();
        let keys: Vec<String> = keys
            .filter(|key| !key.is_token)
            .map(|key| key.public)
            .collect();
        assert_eq!(keys, [other.public_key()]);
        assert_eq!(database.rejected().unwrap().len(), 1);
    }
}
