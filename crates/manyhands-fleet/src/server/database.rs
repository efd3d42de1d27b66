//! What the server knows, in one SQLite file, and how it changes. Every method is one transaction; what readers see is in
//! `rows.rs`.

use super::schema;
use crate::{
    FleetError,
    price::Limit,
    time::{unix_seconds, utc},
    wire::{Job, LinesDigest, News, Note, Submission},
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::path::Path;

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

/// What the rows of a run say, beside its last note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It is the run of its job that counts.
    Counts,
    /// Another run of the job counts.
    Superseded,
    /// Lines are missing.
    Missing,
    /// All lines are there, and one or more of them are not as the agent has them.
    Differs,
}

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
        name: &str,
        jobs: &[Job],
    ) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        insert_plan(&transaction, submission, name, None)?;
        for (number, job) in jobs.iter().enumerate() {
            let message = serde_json::to_string(job).map_err(FleetError::format("a job"))?;
            // With a limit a job is handed out when it is known that there is money for it.
            let handed_out = i64::from(submission.limit.is_none());
            transaction.execute(
                "INSERT OR IGNORE INTO job (id, plan, number, title, message, handed_out) VALUES (?, ?, ?, ?, ?, ?)",
                params![job.id, job.plan, number as i64, job.work.title(), message, handed_out],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Notes that a plan cannot be carried out.
    pub(super) fn refuse_plan(
        &mut self,
        submission: &Submission,
        reason: &str,
    ) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        insert_plan(&transaction, submission, "", Some(reason))?;
        Ok(transaction.commit()?)
    }

    /// Stores lines and signs of life; what is there already stays as it is.
    pub(super) fn store<'note>(
        &mut self,
        notes: impl Iterator<Item = &'note Note>,
    ) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        for note in notes {
            transaction.execute(
                "INSERT OR IGNORE INTO run (id, job, agent, begun) VALUES (?, ?, ?, ?)",
                params![note.run, note.job, note.agent, utc()],
            )?;
            match &note.news {
                News::Line { number, text } => {
                    transaction.execute(
                        "INSERT OR IGNORE INTO line (run, number, text) VALUES (?, ?, ?)",
                        params![note.run, integer(*number), text],
                    )?;
                }
                News::Beat {
                    events,
                    left_seconds,
                    machine,
                } => {
                    note_machine(&transaction, &note.run, machine.as_deref())?;
                    transaction.execute(
                        "INSERT OR REPLACE INTO agent (name, seen, job, events, left_seconds) \
                             VALUES (?, ?, ?, ?, ?)",
                        params![
                            note.agent,
                            unix_seconds(),
                            note.job,
                            integer(*events),
                            integer(*left_seconds)
                        ],
                    )?;
                }
                News::Done { machine, .. } => {
                    note_machine(&transaction, &note.run, machine.as_deref())?;
                }
                News::Failed { .. } => {}
            }
        }
        Ok(transaction.commit()?)
    }

    /// Compares a run's lines with what its agent says of them. The first run of a job that agrees counts.
    pub(super) fn judge(
        &mut self,
        note: &Note,
        lines: u64,
        sha256: &str,
    ) -> Result<Judgement, FleetError> {
        let transaction = self.0.transaction()?;
        let state: String =
            transaction.query_row("SELECT state FROM run WHERE id = ?", [&note.run], |row| {
                row.get(0)
            })?;
        match state.as_str() {
            "accepted" => return Ok(Judgement::Counts),
            "superseded" => return Ok(Judgement::Superseded),
            _ => {}
        }
        let (count, found) = digest(&transaction, &note.run)?;
        if count < lines {
            return Ok(Judgement::Missing);
        }
        if count > lines || found != sha256 {
            return Ok(Judgement::Differs);
        }
        let other: Option<String> = transaction
            .query_row(
                "SELECT id FROM run WHERE job = ? AND state = 'accepted'",
                [&note.job],
                |row| row.get(0),
            )
            .optional()?;
        let (state, judgement) = match other {
            None => ("accepted", Judgement::Counts),
            Some(_) => ("superseded", Judgement::Superseded),
        };
        transaction.execute(
            "UPDATE run SET state = ?, lines = ?, sha256 = ? WHERE id = ?",
            params![state, integer(lines), sha256, note.run],
        )?;
        transaction.commit()?;
        Ok(judgement)
    }

    /// Drops a run's lines, before its agent sends them again.
    pub(super) fn forget_lines(&mut self, run: &str) -> Result<(), FleetError> {
        self.0.execute("DELETE FROM line WHERE run = ?", [run])?;
        Ok(())
    }

    /// Notes that nobody should try a job again, unless one of its runs counts.
    pub(super) fn fail(&mut self, note: &Note, reason: &str) -> Result<(), FleetError> {
        let sql = format!("UPDATE job SET failed = ? WHERE id = ? AND {UNDONE}");
        self.0.execute(&sql, [reason, &note.job])?;
        Ok(())
    }

    /// Notes that a plan is cancelled. The answer is its jobs that are open; `None` if there is no such plan.
    pub(super) fn cancel_plan(&mut self, plan: &str) -> Result<Option<Vec<String>>, FleetError> {
        let transaction = self.0.transaction()?;
        let known = transaction.execute(
            "UPDATE plan SET cancelled = coalesce(cancelled, ?) WHERE id = ?",
            [&utc(), plan],
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
        let (out, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, times)| *times > 0);
        let jobs = |jobs: Vec<(Job, u64)>| jobs.into_iter().map(|(job, _)| job).collect();
        Ok((jobs(out), jobs(waiting)))
    }

    /// Notes that these jobs are handed out for the first time.
    pub(super) fn hand_out(&mut self, jobs: &[Job]) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        for job in jobs {
            transaction.execute("UPDATE job SET handed_out = 1 WHERE id = ?", [&job.id])?;
        }
        Ok(transaction.commit()?)
    }

    /// Notes that a plan has come to its end before all its jobs have.
    pub(super) fn end_plan(&mut self, plan: &str, reason: &str) -> Result<(), FleetError> {
        let sql = "UPDATE plan SET ended = coalesce(ended, ?) WHERE id = ?";
        self.0.execute(sql, [reason, plan])?;
        Ok(())
    }

    /// All open jobs that were handed out, each with the number of the time that it is handed out now.
    pub(super) fn hand_out_again(&mut self) -> Result<Vec<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let open = format!(
            "{UNDONE} AND handed_out > 0 AND NOT EXISTS \
             (SELECT 1 FROM plan WHERE plan.id = job.plan AND coalesce(cancelled, ended) IS NOT NULL)"
        );
        transaction.execute(
            &format!("UPDATE job SET handed_out = handed_out + 1 WHERE {open}"),
            [],
        )?;
        let mut jobs = Vec::new();
        {
            let sql =
                format!("SELECT message, handed_out FROM job WHERE {open} ORDER BY plan, number");
            let mut statement = transaction.prepare(&sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let message: String = row.get(0)?;
                let job = serde_json::from_str(&message).map_err(FleetError::format("a job"))?;
                jobs.push((job, natural(row.get(1)?)));
            }
        }
        transaction.commit()?;
        Ok(jobs)
    }
}

fn insert_plan(
    transaction: &Transaction<'_>,
    submission: &Submission,
    name: &str,
    refused: Option<&str>,
) -> Result<(), FleetError> {
    let limit = submission.limit.as_ref().map(serde_json::to_string);
    let limit = limit.transpose().map_err(FleetError::format("a limit"))?;
    transaction.execute(
        "INSERT OR IGNORE INTO plan (id, name, toml, submitted, refused, usd_limit) VALUES (?, ?, ?, ?, ?, ?)",
        params![submission.plan, name, submission.toml, utc(), refused, limit],
    )?;
    Ok(())
}

/// The open jobs of a plan, in order, each with the number of times that it was handed out.
fn open_jobs(transaction: &Transaction<'_>, plan: &str) -> Result<Vec<(Job, u64)>, FleetError> {
    let sql =
        format!("SELECT message, handed_out FROM job WHERE plan = ? AND {UNDONE} ORDER BY number");
    let mut statement = transaction.prepare(&sql)?;
    let mut rows = statement.query([plan])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        let job = serde_json::from_str(&message).map_err(FleetError::format("a job"))?;
        jobs.push((job, natural(row.get(1)?)));
    }
    Ok(jobs)
}

/// Notes on which kind of machine a run is.
fn note_machine(
    transaction: &Transaction<'_>,
    run: &str,
    machine: Option<&str>,
) -> Result<(), FleetError> {
    transaction.execute(
        "UPDATE run SET machine = ? WHERE id = ? AND machine IS NOT ?",
        params![machine, run, machine],
    )?;
    Ok(())
}

/// Number and digest of the lines that are there.
fn digest(transaction: &Transaction<'_>, run: &str) -> Result<(u64, String), FleetError> {
    let mut statement =
        transaction.prepare("SELECT text FROM line WHERE run = ? ORDER BY number")?;
    let mut rows = statement.query([run])?;
    let (mut count, mut digest) = (0, LinesDigest::default());
    while let Some(row) = rows.next()? {
        let text = row
            .get_ref(0)?
            .as_str()
            .map_err(FleetError::format("a line"))?;
        digest.add(text);
        count += 1;
    }
    Ok((count, digest.hex()))
}

/// SQLite's integers have a sign; counts are far from their end.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn natural(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Holds of a job that neither counts as failed nor has a run that counts.
const UNDONE: &str = "failed IS NULL AND NOT EXISTS \
                      (SELECT 1 FROM run WHERE run.job = job.id AND state = 'accepted')";

#[cfg(test)]
mod tests {
    use super::*;

    fn note(run: &str, news: News) -> Note {
        Note {
            agent: "agent".to_owned(),
            job: "p.0".to_owned(),
            run: run.to_owned(),
            news,
        }
    }

    fn line(run: &str, number: u64, text: &str) -> Note {
        let text = text.to_owned();
        note(run, News::Line { number, text })
    }

    fn done(run: &str) -> Note {
        let news = News::Done {
            lines: 2,
            sha256: String::new(),
            sending: String::new(),
            machine: Some("large".to_owned()),
        };
        note(run, news)
    }

    fn sha256() -> String {
        let mut digest = LinesDigest::default();
        digest.add("head");
        digest.add("event");
        digest.hex()
    }

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("x")).unwrap();
        (folder, database)
    }

    #[test]
    fn a_run_counts_when_all_its_lines_are_there_whatever_their_order_and_number_of_copies() {
        let (_folder, mut database) = database();
        database
            .store([line("r", 1, "event"), done("r")].iter())
            .unwrap();
        let judged = database.judge(&done("r"), 2, &sha256()).unwrap();
        assert_eq!(judged, Judgement::Missing);
        let late = [
            line("r", 0, "head"),
            line("r", 1, "event"),
            line("r", 1, "event"),
        ];
        database.store(late.iter()).unwrap();
        for _ in 0..2 {
            let judged = database.judge(&done("r"), 2, &sha256()).unwrap();
            assert_eq!(judged, Judgement::Counts);
        }
        assert_eq!(database.lines("r").unwrap(), ["head", "event"]);
    }

    #[test]
    fn a_line_that_differs_is_wanted_again() {
        let (_folder, mut database) = database();
        let lines = [line("r", 0, "head"), line("r", 1, "other")];
        database.store(lines.iter()).unwrap();
        let judged = |database: &mut Database| database.judge(&done("r"), 2, &sha256()).unwrap();
        assert_eq!(judged(&mut database), Judgement::Differs);
        database.forget_lines("r").unwrap();
        database
            .store([line("r", 0, "head"), line("r", 1, "event")].iter())
            .unwrap();
        assert_eq!(judged(&mut database), Judgement::Counts);
    }

    #[test]
    fn of_two_runs_of_a_job_the_first_counts() {
        let (_folder, mut database) = database();
        for run in ["first", "second"] {
            let lines = [line(run, 0, "head"), line(run, 1, "event")];
            database.store(lines.iter()).unwrap();
        }
        let mut judged = |run| database.judge(&done(run), 2, &sha256()).unwrap();
        assert_eq!(judged("first"), Judgement::Counts);
        assert_eq!(judged("second"), Judgement::Superseded);
        assert_eq!(judged("first"), Judgement::Counts);
    }

    fn plan(database: &mut Database, jobs: &[&str]) {
        plan_within(database, jobs, None);
    }

    fn plan_within(database: &mut Database, jobs: &[&str], limit: Option<Limit>) {
        let submission = Submission {
            plan: "p".to_owned(),
            toml: String::new(),
            limit,
        };
        let job = |id: &&str| Job {
            id: (*id).to_owned(),
            plan: "p".to_owned(),
            work: crate::wire::Work::Command {
                name: "x".to_owned(),
                arguments: Vec::new(),
                seconds_max: None,
            },
            attempts: 1,
            cpus: None,
        };
        let jobs: Vec<Job> = jobs.iter().map(job).collect();
        database.add_plan(&submission, "plan", &jobs).unwrap();
    }

    #[test]
    fn a_cancelled_plan_keeps_its_results_and_its_other_jobs_are_not_handed_out_again() {
        let (_folder, mut database) = database();
        plan(&mut database, &["p.0", "p.1", "p.2"]);
        let lines = [line("r", 0, "head"), line("r", 1, "event")];
        database.store(lines.iter()).unwrap();
        database.judge(&done("r"), 2, &sha256()).unwrap();
        assert_eq!(database.hand_out_again().unwrap().len(), 2);
        assert_eq!(database.cancel_plan("other").unwrap(), None);
        for _ in 0..2 {
            let open = database.cancel_plan("p").unwrap();
            assert_eq!(open, Some(vec!["p.1".to_owned(), "p.2".to_owned()]));
        }
        assert!(database.hand_out_again().unwrap().is_empty());
        let plan = database.plans().unwrap().remove(0);
        assert!(plan.cancelled.is_some());
        assert_eq!((plan.jobs, plan.done, plan.failed), (3, 1, 0));
        assert!(database.jobs("p").unwrap()[0].run.is_some());
    }

    #[test]
    fn jobs_of_a_plan_with_a_limit_wait_until_they_are_handed_out_and_no_longer_than_the_plan() {
        let (_folder, mut database) = database();
        let prices = crate::price::Prices::parse(crate::price::Prices::EXAMPLE).unwrap();
        let limit = Limit::new(2.0, prices);
        plan_within(&mut database, &["p.0", "p.1", "p.2"], Some(limit.clone()));
        assert_eq!(database.limited_plans().unwrap(), [("p".to_owned(), limit)]);
        assert!(database.hand_out_again().unwrap().is_empty());
        let (out, waiting) = database.out_and_waiting("p").unwrap();
        assert_eq!((out.len(), waiting.len()), (0, 3));
        database.hand_out(&waiting[..1]).unwrap();
        let (out, waiting) = database.out_and_waiting("p").unwrap();
        assert_eq!((out[0].id.as_str(), waiting.len()), ("p.0", 2));
        let again = database.hand_out_again().unwrap();
        assert_eq!((again.len(), again[0].1), (1, 2));
        for reason in ["first", "second"] {
            database.end_plan("p", reason).unwrap();
        }
        assert!(database.limited_plans().unwrap().is_empty());
        assert!(database.hand_out_again().unwrap().is_empty());
        let plan = database.plans().unwrap().remove(0);
        assert_eq!(plan.ended.as_deref(), Some("first"));
    }

    #[test]
    fn what_a_run_cost_is_known_whether_it_counts_or_not() {
        let (_folder, mut database) = database();
        plan(&mut database, &["p.0"]);
        let notes = [
            line("r", 0, "head"),
            line("r", 1, "event"),
            done("r"),
            line("s", 0, "head"),
        ];
        database.store(notes.iter()).unwrap();
        database.judge(&done("r"), 2, &sha256()).unwrap();
        let spent = database.spent("p").unwrap();
        let ends = |last: &str| Some(("head".to_owned(), last.to_owned()));
        assert_eq!(
            (spent[0].is_accepted, &spent[0].ends),
            (true, &ends("event"))
        );
        assert_eq!(spent[0].machine.as_deref(), Some("large"));
        assert_eq!(
            (spent[1].is_accepted, &spent[1].ends),
            (false, &ends("head"))
        );
        assert_eq!(spent[1].machine, None);
    }

    #[test]
    fn a_database_of_version_1_is_brought_up_to_date() {
        let (folder, mut database) = database();
        plan(&mut database, &["p.0"]);
        let back = "ALTER TABLE plan DROP COLUMN cancelled; ALTER TABLE plan DROP COLUMN usd_limit; \
                    ALTER TABLE plan DROP COLUMN ended; ALTER TABLE run DROP COLUMN machine; \
                    PRAGMA user_version = 1;";
        database.0.execute_batch(back).unwrap();
        drop(database);
        let mut database = Database::open(&folder.path().join("x")).unwrap();
        assert_eq!(database.plans().unwrap()[0].jobs, 1);
        database.store([done("r")].iter()).unwrap();
        assert_eq!(
            database.spent("p").unwrap()[0].machine.as_deref(),
            Some("large")
        );
    }

    #[test]
    fn a_database_of_another_version_is_refused() {
        let (folder, database) = database();
        database.0.pragma_update(None, "user_version", 99).unwrap();
        drop(database);
        let error = Database::open(&folder.path().join("x")).unwrap_err();
        assert!(matches!(error, FleetError::Format { .. }), "{error}");
    }
}
