//! What the server knows, in one SQLite file. Every method is one transaction.

use super::schema;
use crate::{
    FleetError,
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
pub struct Database(Connection);

/// A plan and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// Id.
    pub id: String,
    /// As its author calls it.
    pub name: String,
    /// When the server got it, UTC.
    pub submitted: String,
    /// Why it has no jobs, if it was refused.
    pub refused: Option<String>,
    /// When it was cancelled, UTC, if it was.
    pub cancelled: Option<String>,
    /// Jobs.
    pub jobs: u64,
    /// Jobs with a run that counts.
    pub done: u64,
    /// Jobs that nobody tries any more.
    pub failed: u64,
}

/// A job of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Id.
    pub id: String,
    /// What it is, in a line.
    pub title: String,
    /// Why nobody tries it any more.
    pub failed: Option<String>,
    /// The run that counts.
    pub run: Option<RunRow>,
}

/// A run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Id.
    pub id: String,
    /// Name of the agent.
    pub agent: String,
    /// Lines, with the head.
    pub lines: u64,
    /// Digest of all lines.
    pub sha256: String,
}

/// What is known of a run's costs, whether it counts or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpentRow {
    pub(crate) agent: String,
    /// What the agent's machine is called in the table of prices.
    pub(crate) machine: Option<String>,
    pub(crate) is_accepted: bool,
    /// First and last line that have arrived; `None` if none has.
    pub(crate) ends: Option<(String, String)>,
}

/// An agent when it was last heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// Name.
    pub name: String,
    /// Seconds since then.
    pub silent_seconds: i64,
    /// What it was at, in a line.
    pub title: String,
    /// Whether a run of that job counts already.
    pub is_done: bool,
    /// Events of the run so far.
    pub events: u64,
    /// Seconds until its end, about.
    pub left_seconds: u64,
}

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
            transaction.execute(
                "INSERT OR IGNORE INTO job (id, plan, number, title, message) VALUES (?, ?, ?, ?, ?)",
                params![job.id, job.plan, number as i64, job.work.title(), message],
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
        let open: Vec<String> = {
            let mut statement =
                transaction.prepare(&format!("SELECT id FROM job WHERE plan = ? AND {UNDONE}"))?;
            let rows = statement.query_map([plan], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        transaction.commit()?;
        Ok((known > 0).then_some(open))
    }

    /// All open jobs, each with the number of the time that it is handed out now.
    pub(super) fn hand_out_again(&mut self) -> Result<Vec<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let open = format!(
            "{UNDONE} AND NOT EXISTS (SELECT 1 FROM plan WHERE plan.id = job.plan AND cancelled IS NOT NULL)"
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

    /// All plans, in the order they were submitted.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn plans(&self) -> Result<Vec<PlanRow>, FleetError> {
        let sql = "SELECT plan.id, plan.name, submitted, refused, cancelled, count(job.id), \
                   count(job.id) FILTER (WHERE EXISTS \
                   (SELECT 1 FROM run WHERE run.job = job.id AND run.state = 'accepted')), \
                   count(job.failed) \
                   FROM plan LEFT JOIN job ON job.plan = plan.id GROUP BY plan.id ORDER BY plan.id";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(PlanRow {
                id: row.get(0)?,
                name: row.get(1)?,
                submitted: row.get(2)?,
                refused: row.get(3)?,
                cancelled: row.get(4)?,
                jobs: natural(row.get(5)?),
                done: natural(row.get(6)?),
                failed: natural(row.get(7)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The jobs of a plan, in order.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn jobs(&self, plan: &str) -> Result<Vec<JobRow>, FleetError> {
        let sql = "SELECT job.id, title, failed, run.id, agent, lines, sha256 FROM job \
                   LEFT JOIN run ON run.job = job.id AND run.state = 'accepted' \
                   WHERE plan = ? ORDER BY number";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([plan], |row| {
            let run: Option<String> = row.get(3)?;
            let run = match run {
                Some(id) => Some(RunRow {
                    id,
                    agent: row.get(4)?,
                    lines: natural(row.get(5)?),
                    sha256: row.get(6)?,
                }),
                None => None,
            };
            Ok(JobRow {
                id: row.get(0)?,
                title: row.get(1)?,
                failed: row.get(2)?,
                run,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The lines of a run, in order; the first is its head.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn lines(&self, run: &str) -> Result<Vec<String>, FleetError> {
        let mut statement = self
            .0
            .prepare("SELECT text FROM line WHERE run = ? ORDER BY number")?;
        let rows = statement.query_map([run], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What the runs of a plan cost in time, as far as their lines have arrived.
    pub(crate) fn spent(&self, plan: &str) -> Result<Vec<SpentRow>, FleetError> {
        let line = |which| {
            format!("(SELECT text FROM line WHERE run = run.id ORDER BY number {which} LIMIT 1)")
        };
        let sql = format!(
            "SELECT agent, machine, state = 'accepted', {}, {} FROM run JOIN job ON job.id = run.job \
             WHERE plan = ? ORDER BY run.id",
            line("ASC"),
            line("DESC")
        );
        let mut statement = self.0.prepare(&sql)?;
        let rows = statement.query_map([plan], |row| {
            let (first, last): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
            Ok(SpentRow {
                agent: row.get(0)?,
                machine: row.get(1)?,
                is_accepted: row.get(2)?,
                ends: first.zip(last),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// All agents that have reported, by name.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentRow>, FleetError> {
        let sql = "SELECT name, seen, title, events, left_seconds, EXISTS \
                   (SELECT 1 FROM run WHERE run.job = job.id AND run.state = 'accepted') \
                   FROM agent JOIN job ON job.id = agent.job ORDER BY name";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let seen: i64 = row.get(1)?;
            Ok(AgentRow {
                name: row.get(0)?,
                silent_seconds: unix_seconds() - seen,
                title: row.get(2)?,
                events: natural(row.get(3)?),
                left_seconds: natural(row.get(4)?),
                is_done: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn insert_plan(
    transaction: &Transaction<'_>,
    submission: &Submission,
    name: &str,
    refused: Option<&str>,
) -> Result<(), FleetError> {
    transaction.execute(
        "INSERT OR IGNORE INTO plan (id, name, toml, submitted, refused) VALUES (?, ?, ?, ?, ?)",
        params![submission.plan, name, submission.toml, utc(), refused],
    )?;
    Ok(())
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

fn natural(count: i64) -> u64 {
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
        let submission = Submission {
            plan: "p".to_owned(),
            toml: String::new(),
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
        let back = "ALTER TABLE plan DROP COLUMN cancelled; ALTER TABLE run DROP COLUMN machine; \
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
