//! What the server knows, in one SQLite file, and how it changes. Every method is one transaction; runs
//! are in `runs.rs`, what readers see is in `rows.rs`.

use super::{runs::REDONE, schema};
use crate::{
    FleetError, Name,
    engine::Queue,
    plan::Plan,
    price::Limit,
    time::utc,
    wire::{Anew, Cpus, Job, Submission, Text},
};
use rusqlite::{Connection, OptionalExtension, Params, Transaction, params};
use std::{collections::HashSet, path::Path};

/// Plans, jobs, runs and their lines.
///
/// # Examples
/// ```
/// use manyhands_fleet::server::Database;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("fleet.sqlite");
/// let _writer = Database::open(&path)?;
/// assert!(Database::open_to_read(&path)?.plans()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Database(pub(super) Connection);

impl Database {
    /// Opens the file to write it, and makes it if it is not there.
    ///
    /// # Errors
    /// [`FleetError::Database`], or [`FleetError::Format`] if another version wrote it.
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        schema::open(path).map(Self)
    }

    /// Opens the file to read it, also while the server writes it.
    ///
    /// # Errors
    /// [`FleetError::Database`] if there is none.
    pub fn open_to_read(path: &Path) -> Result<Self, FleetError> {
        schema::open_to_read(path).map(Self)
    }

    /// Adds a plan with its jobs, unless it is there.
    pub(super) fn add_plan(
        &mut self,
        submission: &Submission,
        plan: &Plan,
        jobs: &[Job],
    ) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        let is_new = insert_plan(&transaction, submission, &Text::of(&plan.name), None)?;
        // With a limit a job is handed out when it is known that there is money for it.
        let handed_out = i64::from(submission.limit.is_none());
        for (number, job) in jobs.iter().enumerate().filter(|_| is_new) {
            let message = serde_json::to_string(job).map_err(FleetError::format("a job"))?;
            transaction.execute(
                "INSERT INTO job (id, plan, number, title, message, ticket, attempts, handed_out) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    &*job.id,
                    &*submission.plan,
                    number as i64,
                    job.work.title(),
                    message,
                    &*job.ticket,
                    integer(plan.attempts.get()),
                    handed_out
                ],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Notes that a plan cannot be carried out.
    pub(super) fn refuse_plan(
        &mut self,
        submission: &Submission,
        reason: &Text,
    ) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        insert_plan(&transaction, submission, "", Some(reason))?;
        Ok(transaction.commit()?)
    }

    /// Parks a message that nobody can judge, to be shown, in place of the oldest if there are many.
    pub(super) fn reject(&self, about: &str, reason: &str, body: &[u8]) -> Result<(), FleetError> {
        let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN_MAX)]);
        self.0.execute(
            "INSERT INTO rejected (received, about, reason, body) VALUES (?, ?, ?, ?)",
            params![
                utc(),
                &*Text::of(about),
                &*Text::of(reason),
                &*Text::of(&shown)
            ],
        )?;
        let sql = "DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?";
        self.0.execute(sql, [REJECTED_MAX])?;
        Ok(())
    }

    /// Has a job done anew: what was found of it counts no more. The answer is the job and the number of times that it is
    /// handed out, 0 if it is not handed out now: it waits until it is known that there is money for it, or the request has
    /// come before. `None` if there is no such job, or its plan has ended.
    pub(super) fn redo(&mut self, anew: &Anew) -> Result<Option<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let sql = "SELECT message FROM job JOIN plan ON plan.id = job.plan \
                   WHERE job.id = ? AND coalesce(cancelled, ended) IS NULL";
        let message: Option<String> = transaction
            .query_row(sql, [&*anew.job], |row| row.get(0))
            .optional()?;
        let Some(message) = message else {
            return Ok(None);
        };
        let job = read_job(&message)?;
        if job.ticket == anew.ticket {
            // What was found since counts. If the server died before it handed the job out, it is handed out again.
            return Ok(Some((job, 0)));
        }
        let job = Job {
            // Who was given the job before has nothing to say about it any more.
            ticket: anew.ticket.clone(),
            ..job
        };
        let message = serde_json::to_string(&job).map_err(FleetError::format("a job"))?;
        let sql = "UPDATE run SET state = ? WHERE job = ?";
        transaction.execute(sql, [REDONE, &*job.id])?;
        let times: i64 = transaction.query_row(
            "UPDATE job SET failed = NULL, unable = NULL, message = ?, ticket = ?, handed_out = iif(EXISTS \
             (SELECT 1 FROM plan WHERE plan.id = job.plan AND usd_limit IS NOT NULL), -abs(handed_out), handed_out + 1) \
             WHERE id = ? RETURNING handed_out",
            [&message, &*job.ticket, &*job.id],
            |row| row.get(0),
        )?;
        transaction.commit()?;
        Ok(Some((job, natural(times))))
    }

    /// Notes that a plan is cancelled. The answer is its jobs that are open; `None` if there is no such plan.
    pub(super) fn cancel_plan(&mut self, plan: &Name) -> Result<Option<Vec<Name>>, FleetError> {
        let transaction = self.0.transaction()?;
        let known = transaction.execute(
            "UPDATE plan SET cancelled = coalesce(cancelled, ?) WHERE id = ?",
            [&utc(), &**plan],
        )?;
        let open = open_jobs(&transaction, plan)?;
        transaction.commit()?;
        let open = open.into_iter().map(|(job, _)| job.id).collect();
        Ok((known > 0).then_some(open))
    }

    /// Plans with a limit that go on.
    pub(super) fn limited_plans(&self) -> Result<Vec<(String, Limit)>, FleetError> {
        let sql = format!(
            "SELECT id, usd_limit FROM plan WHERE usd_limit IS NOT NULL AND cancelled IS NULL AND ended IS NULL \
             AND EXISTS (SELECT 1 FROM job WHERE plan = plan.id AND {UNDONE})"
        );
        let mut statement = self.0.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut plans = Vec::new();
        while let Some(row) = rows.next()? {
            let limit: String = row.get(1)?;
            let limit = serde_json::from_str(&limit).map_err(FleetError::format("a limit"))?;
            plans.push((row.get(0)?, limit));
        }
        Ok(plans)
    }

    /// The open jobs of a plan, in order: those that are handed out, and those that wait for it.
    pub(super) fn out_and_waiting(
        &mut self,
        plan: &str,
    ) -> Result<(Vec<Job>, Vec<Job>), FleetError> {
        let transaction = self.0.transaction()?;
        let open = open_jobs(&transaction, plan)?;
        transaction.commit()?;
        let (out, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, times)| *times > 0);
        let jobs = |jobs: Vec<(Job, u64)>| jobs.into_iter().map(|(job, _)| job).collect();
        Ok((jobs(out), jobs(waiting)))
    }

    /// Notes that these jobs, which have waited, are handed out; for which time each of them.
    pub(super) fn hand_out(&mut self, jobs: &[Job]) -> Result<Vec<u64>, FleetError> {
        let transaction = self.0.transaction()?;
        // While it waits, what stands there is how often it was handed out before, below zero.
        let sql =
            "UPDATE job SET handed_out = 1 + abs(handed_out) WHERE id = ? RETURNING handed_out";
        let hand_out = |job: &Job| transaction.query_row(sql, [&*job.id], |row| row.get(0));
        let times: Vec<i64> = jobs.iter().map(hand_out).collect::<Result<_, _>>()?;
        transaction.commit()?;
        Ok(times.into_iter().map(natural).collect())
    }

    /// Notes that a plan has come to its end before all its jobs have.
    pub(super) fn end_plan(&mut self, plan: &str, reason: &str) -> Result<(), FleetError> {
        let sql = "UPDATE plan SET ended = coalesce(ended, ?) WHERE id = ?";
        self.0.execute(sql, [reason, plan])?;
        Ok(())
    }

    /// How many jobs are open and were handed out.
    pub(super) fn jobs_out(&self) -> Result<usize, FleetError> {
        let sql = format!("SELECT count(*) FROM job WHERE {UNDONE} AND handed_out > 0");
        let count: i64 = self.0.query_row(&sql, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Open jobs that were handed out and are not among those that the engine has, each with the number of the time that
    /// it is handed out now.
    pub(super) fn hand_out_again(
        &mut self,
        pending: &HashSet<(Queue, String)>,
    ) -> Result<Vec<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let sql = format!(
            "SELECT id, message, handed_out + 1 FROM job WHERE {UNDONE} AND handed_out > 0 AND NOT EXISTS \
             (SELECT 1 FROM plan WHERE plan.id = job.plan AND coalesce(cancelled, ended) IS NOT NULL) \
             ORDER BY plan, number"
        );
        let mut jobs = jobs_of(&transaction, &sql, [])?;
        jobs.retain(|(job, _)| {
            let cpus = job.cpus.map(Cpus::size);
            !pending.contains(&(Queue::Jobs { cpus }, job.id.to_string()))
        });
        for (job, times) in &jobs {
            let sql = "UPDATE job SET handed_out = ? WHERE id = ?";
            transaction.execute(sql, params![integer(*times), &*job.id])?;
        }
        transaction.commit()?;
        Ok(jobs)
    }
}

/// Whether it was not there.
fn insert_plan(
    transaction: &Transaction<'_>,
    submission: &Submission,
    name: &str,
    refused: Option<&str>,
) -> Result<bool, FleetError> {
    let limit = submission.limit.as_ref().map(serde_json::to_string);
    let limit = limit.transpose().map_err(FleetError::format("a limit"))?;
    let inserted = transaction.execute(
        "INSERT OR IGNORE INTO plan (id, name, toml, submitted, refused, usd_limit) VALUES (?, ?, ?, ?, ?, ?)",
        params![&*submission.plan, name, submission.toml, utc(), refused, limit],
    )?;
    Ok(inserted > 0)
}

/// The open jobs of a plan, in order, each with the number of times that it was handed out.
fn open_jobs(transaction: &Transaction<'_>, plan: &str) -> Result<Vec<(Job, u64)>, FleetError> {
    let sql = format!(
        "SELECT id, message, handed_out FROM job WHERE plan = ? AND {UNDONE} ORDER BY number"
    );
    jobs_of(transaction, &sql, [plan])
}

/// The jobs that a statement finds. One that another version has left and that cannot be read has failed.
fn jobs_of(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: impl Params,
) -> Result<Vec<(Job, u64)>, FleetError> {
    let mut statement = transaction.prepare(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, message): (String, String) = (row.get(0)?, row.get(1)?);
        match read_job(&message) {
            Ok(job) => jobs.push((job, natural(row.get(2)?))),
            Err(error) => {
                let reason = Text::of(&error.to_string());
                let sql = "UPDATE job SET failed = ? WHERE id = ?";
                transaction.execute(sql, [&*reason, &id])?;
            }
        }
    }
    Ok(jobs)
}

pub(super) fn read_job(message: &str) -> Result<Job, FleetError> {
    serde_json::from_str(message).map_err(FleetError::format("a job"))
}

/// SQLite's integers have a sign; counts are far from their end.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn natural(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Holds of a job that neither counts as failed nor has a run that counts.
const UNDONE: &str = "failed IS NULL AND NOT EXISTS \
                      (SELECT 1 FROM run WHERE run.job = job.id AND state = 'accepted')";
/// Messages that were rejected are kept up to this number, so that nobody fills the disk with them.
const REJECTED_MAX: i64 = 1_000;
/// Bytes of them.
const SHOWN_MAX: usize = 400;

#[cfg(test)]
mod tests;
