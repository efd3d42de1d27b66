//! What the server knows, in one SQLite file, and how it changes. Every method is one transaction; runs
//! are in `runs.rs`, what readers see is in `rows.rs`.

use super::schema;
use crate::{
    FleetError, Name,
    plan::Plan,
    price::Limit,
    time::utc,
    wire::{Job, Submission, Text, new_ticket},
};
use rusqlite::{Connection, OptionalExtension, Rows, Transaction, params};
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
                    integer(plan.attempts),
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
        reason: &str,
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
    /// handed out; `None` if there is no such job, or its plan has ended.
    pub(super) fn redo(&mut self, job: &Name) -> Result<Option<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let sql = "SELECT message FROM job JOIN plan ON plan.id = job.plan \
                   WHERE job.id = ? AND coalesce(cancelled, ended) IS NULL";
        let message: Option<String> = transaction
            .query_row(sql, [&**job], |row| row.get(0))
            .optional()?;
        let Some(message) = message else {
            return Ok(None);
        };
        let job = Job {
            // Who was given the job before has nothing to say about it any more.
            ticket: new_ticket(),
            ..read_job(&message)?
        };
        let message = serde_json::to_string(&job).map_err(FleetError::format("a job"))?;
        let sql = "UPDATE run SET state = 'set aside' WHERE job = ?";
        transaction.execute(sql, [&*job.id])?;
        let times: i64 = transaction.query_row(
            "UPDATE job SET failed = NULL, unable = NULL, message = ?, ticket = ?, handed_out = handed_out + 1 \
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
        let (out, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, times)| *times > 0);
        let jobs = |jobs: Vec<(Job, u64)>| jobs.into_iter().map(|(job, _)| job).collect();
        Ok((jobs(out), jobs(waiting)))
    }

    /// Notes that these jobs are handed out for the first time.
    pub(super) fn hand_out(&mut self, jobs: &[Job]) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        for job in jobs {
            transaction.execute("UPDATE job SET handed_out = 1 WHERE id = ?", [&*job.id])?;
        }
        Ok(transaction.commit()?)
    }

    /// Notes that a plan has come to its end before all its jobs have.
    pub(super) fn end_plan(&mut self, plan: &str, reason: &str) -> Result<(), FleetError> {
        let sql = "UPDATE plan SET ended = coalesce(ended, ?) WHERE id = ?";
        self.0.execute(sql, [reason, plan])?;
        Ok(())
    }

    /// Open jobs that were handed out and are not among those that the engine has, each with the number of the time that
    /// it is handed out now.
    pub(super) fn hand_out_again(
        &mut self,
        pending: &HashSet<String>,
    ) -> Result<Vec<(Job, u64)>, FleetError> {
        let transaction = self.0.transaction()?;
        let sql = format!(
            "SELECT message, handed_out + 1 FROM job WHERE {UNDONE} AND handed_out > 0 AND NOT EXISTS \
             (SELECT 1 FROM plan WHERE plan.id = job.plan AND coalesce(cancelled, ended) IS NOT NULL) \
             ORDER BY plan, number"
        );
        let mut jobs = jobs_of(transaction.prepare(&sql)?.query([])?)?;
        jobs.retain(|(job, _)| !pending.contains(&*job.id));
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
    let sql =
        format!("SELECT message, handed_out FROM job WHERE plan = ? AND {UNDONE} ORDER BY number");
    jobs_of(transaction.prepare(&sql)?.query([plan])?)
}

fn jobs_of(mut rows: Rows<'_>) -> Result<Vec<(Job, u64)>, FleetError> {
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        jobs.push((read_job(&message)?, natural(row.get(1)?)));
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
mod tests {
    use super::super::runs::{Judgement, Standing};
    use super::*;
    use crate::{
        measured::head_of,
        wire::{LinesDigest, News, Note, Report, Within, a_job},
    };
    use manyhands_lab::machine::Machine;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn note(run: &str, news: News) -> Note {
        Note {
            agent: name("agent"),
            job: name("p.0"),
            ticket: name("t"),
            run: name(run),
            news,
        }
    }

    fn line(run: &str, first: u64, text: &str) -> Note {
        let (first, texts) = (Within::nearest(first), vec![text.to_owned()]);
        note(run, News::Lines { first, texts })
    }

    fn done(run: &str) -> Note {
        let news = News::Done {
            lines: Within::nearest(2),
            sha256: name("x"),
            sending: name("x"),
            machine: Some(name("large")),
        };
        note(run, news)
    }

    /// The lines of a command's run.
    fn texts() -> [String; 2] {
        let work = a_job().work;
        let machine = Machine {
            cpus: 2,
            ..Machine::default()
        };
        let head = head_of(&work, &[], machine, "2026-11-23T12:00:00Z").unwrap();
        let outcome = "{\"wall_nanos\":1500000000,\"status\":0,\"output\":\"\",\"errors\":\"\"}";
        [serde_json::to_string(&head).unwrap(), outcome.to_owned()]
    }

    fn lines(run: &str) -> [Note; 2] {
        let [head, outcome] = texts();
        [line(run, 0, &head), line(run, 1, &outcome)]
    }

    fn sha256(texts: &[String]) -> Name {
        let mut digest = LinesDigest::default();
        texts.iter().for_each(|text| digest.add(text));
        digest.hex()
    }

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("x")).unwrap();
        (folder, database)
    }

    /// A database with a plan of one job.
    fn with_plan() -> (tempfile::TempDir, Database) {
        let (folder, mut database) = database();
        plan(&mut database, &["p.0"]);
        (folder, database)
    }

    fn store(database: &mut Database, notes: &[Note]) -> Vec<Standing> {
        let reports: Vec<Report> = notes.iter().cloned().map(Report::Job).collect();
        database.store(&reports.iter().collect::<Vec<_>>()).unwrap()
    }

    fn judge(database: &mut Database, run: &str) -> Judgement {
        let sha256 = sha256(&texts());
        database.judge(&done(run), 2, &sha256, &[]).unwrap()
    }

    fn hand_out_again(database: &mut Database) -> Vec<(Job, u64)> {
        database.hand_out_again(&HashSet::new()).unwrap()
    }

    #[test]
    fn a_run_counts_when_all_its_lines_are_there_whatever_their_order_and_number_of_copies() {
        let (_folder, mut database) = with_plan();
        let [head, event] = lines("r");
        store(&mut database, &[event.clone(), done("r")]);
        assert_eq!(judge(&mut database, "r"), Judgement::Missing);
        store(&mut database, &[head, event.clone(), event]);
        for _ in 0..2 {
            assert_eq!(judge(&mut database, "r"), Judgement::Counts);
        }
        assert_eq!(database.lines("r").unwrap(), texts());
        let run = database.jobs("p").unwrap().remove(0).run.unwrap();
        assert_eq!(run.answer.as_deref(), Some("status 0 after 1.5 s"));
    }

    #[test]
    fn a_line_that_differs_is_wanted_again() {
        let (_folder, mut database) = with_plan();
        let [head, event] = lines("r");
        store(&mut database, &[head, line("r", 1, "other")]);
        assert_eq!(judge(&mut database, "r"), Judgement::Differs);
        database.forget_lines(&name("r")).unwrap();
        store(&mut database, &[line("r", 0, &texts()[0]), event]);
        assert_eq!(judge(&mut database, "r"), Judgement::Counts);
    }

    #[test]
    fn of_two_runs_of_a_job_the_first_counts() {
        let (_folder, mut database) = with_plan();
        for run in ["first", "second"] {
            store(&mut database, &lines(run));
        }
        assert_eq!(judge(&mut database, "first"), Judgement::Counts);
        assert_eq!(judge(&mut database, "second"), Judgement::Superseded);
        assert_eq!(judge(&mut database, "first"), Judgement::Counts);
    }

    #[test]
    fn nobody_reports_of_a_job_that_was_not_given_to_it_or_by_the_run_of_another() {
        let (_folder, mut database) = database();
        plan(&mut database, &["p.0", "p.1"]);
        let [head, _] = lines("r");
        assert_eq!(
            store(&mut database, std::slice::from_ref(&head)),
            [Standing::Right]
        );
        let of_another_job = Note {
            job: name("p.1"),
            ..done("r")
        };
        let of_another_agent = Note {
            agent: name("mallory"),
            ..head.clone()
        };
        let without_a_ticket = Note {
            ticket: name("guessed"),
            run: name("s"),
            ..done("s")
        };
        let of_no_job = Note {
            job: name("q.0"),
            run: name("s"),
            ..done("s")
        };
        let notes = [
            of_another_job,
            of_another_agent,
            without_a_ticket,
            of_no_job,
        ];
        let (other, none) = (Standing::OfAnother, Standing::NotGiven);
        assert_eq!(store(&mut database, &notes), [other, other, none, none]);
        assert_eq!(
            database.spent("p").unwrap().len(),
            1,
            "only the first run is known"
        );
    }

    #[test]
    fn a_run_that_is_not_what_its_job_asks_for_has_failed() {
        let (_folder, mut database) = with_plan();
        let [head, event] = texts();
        let wrong: [&[String]; 5] = [
            &["garbage".to_owned(), event.clone()],
            &[head.clone(), "garbage".to_owned()],
            &[head.replace("\"cpus\":2", "\"cpus\":0"), event.clone()],
            &[
                head.replace("2026-11-23T12:00:00Z", "\\u001b[31m"),
                event.clone(),
            ],
            &[head.replace("\"seed\":1", "\"seed\":2"), event],
        ];
        for (number, texts) in wrong.into_iter().enumerate() {
            let run = format!("r{number}");
            assert_ne!(texts[..], self::texts()[..]);
            let notes: Vec<Note> = (0..)
                .zip(texts)
                .map(|(n, text)| line(&run, n, text))
                .collect();
            store(&mut database, &notes);
            let judged = database.judge(&done(&run), 2, &sha256(texts), &[]).unwrap();
            assert_eq!(judged, Judgement::Refused, "{texts:?}");
        }
        let failed = database.jobs("p").unwrap().remove(0).failed.unwrap();
        assert!(failed.starts_with("failed 5 times"), "{failed}");
        assert!(database.jobs("p").unwrap()[0].run.is_none());
    }

    #[test]
    fn failures_are_counted_once_each_and_a_job_that_is_done_after_all_has_not_failed() {
        let (_folder, mut database) = with_plan();
        for run in ["a", "b", "c", "d", "d", "d"] {
            store(&mut database, &[done(run)]);
            assert!(!database.fail(&done(run), "why").unwrap());
        }
        store(&mut database, &[done("e")]);
        assert!(database.fail(&done("e"), "at last").unwrap());
        let failed = |database: &Database| database.jobs("p").unwrap().remove(0).failed;
        assert_eq!(
            failed(&database).as_deref(),
            Some("failed 5 times, at last: at last")
        );
        store(&mut database, &lines("f"));
        assert_eq!(judge(&mut database, "f"), Judgement::Counts);
        assert_eq!(failed(&database), None);
        let plan = database.plans().unwrap().remove(0);
        assert_eq!((plan.done, plan.failed), (1, 0));
    }

    #[test]
    fn a_job_that_is_done_anew_forgets_what_it_was_and_who_had_it() {
        let (_folder, mut database) = with_plan();
        store(&mut database, &lines("r"));
        assert_eq!(judge(&mut database, "r"), Judgement::Counts);
        let (job, times) = database.redo(&name("p.0")).unwrap().unwrap();
        assert_ne!(job.ticket, name("t"));
        assert_eq!(times, 2);
        assert_eq!(store(&mut database, &lines("s")), [Standing::NotGiven; 2]);
        assert!(database.jobs("p").unwrap()[0].run.is_none());
        let ours = lines("s").map(|note| Note {
            ticket: job.ticket.clone(),
            ..note
        });
        store(&mut database, &ours);
        assert_eq!(judge(&mut database, "s"), Judgement::Counts);
        assert!(database.redo(&name("p.7")).unwrap().is_none());
        database.cancel_plan(&name("p")).unwrap();
        assert!(database.redo(&name("p.0")).unwrap().is_none());
    }

    #[test]
    fn what_is_rejected_is_shown_without_what_steers_and_does_not_fill_the_disk() {
        let (_folder, database) = database();
        for _ in 0..REJECTED_MAX + 5 {
            database
                .reject("a\x1b[31m", "why\x07", &[0x1b; 1_000_000])
                .unwrap();
        }
        let rejected = database.rejected().unwrap();
        assert_eq!(rejected.len() as i64, REJECTED_MAX);
        let shown = format!(
            "{}{}{}",
            rejected[0].about, rejected[0].reason, rejected[0].body
        );
        assert!(
            !shown.contains(char::is_control) && shown.len() < 2_000,
            "{shown}"
        );
    }

    fn plan(database: &mut Database, jobs: &[&str]) {
        plan_within(database, jobs, None);
    }

    fn plan_within(database: &mut Database, jobs: &[&str], limit: Option<Limit>) {
        let submission = Submission {
            plan: name("p"),
            toml: String::new(),
            limit,
        };
        let job = |id: &&str| Job {
            id: name(id),
            ..a_job()
        };
        let jobs: Vec<Job> = jobs.iter().map(job).collect();
        let plan = Plan::parse("name = 'plan'\ncommands = [{ name = 'x' }]").unwrap();
        database.add_plan(&submission, &plan, &jobs).unwrap();
    }

    #[test]
    fn a_cancelled_plan_keeps_its_results_and_its_other_jobs_are_not_handed_out_again() {
        let (_folder, mut database) = database();
        plan(&mut database, &["p.0", "p.1", "p.2"]);
        store(&mut database, &lines("r"));
        judge(&mut database, "r");
        assert_eq!(hand_out_again(&mut database).len(), 2);
        let pending = HashSet::from(["p.2".to_owned()]);
        let again = database.hand_out_again(&pending).unwrap();
        assert_eq!((again.len(), &*again[0].0.id, again[0].1), (1, "p.1", 3));
        assert_eq!(database.cancel_plan(&name("other")).unwrap(), None);
        for _ in 0..2 {
            let open = database.cancel_plan(&name("p")).unwrap();
            assert_eq!(open, Some(vec![name("p.1"), name("p.2")]));
        }
        assert!(hand_out_again(&mut database).is_empty());
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
        assert!(hand_out_again(&mut database).is_empty());
        let (out, waiting) = database.out_and_waiting("p").unwrap();
        assert_eq!((out.len(), waiting.len()), (0, 3));
        database.hand_out(&waiting[..1]).unwrap();
        let (out, waiting) = database.out_and_waiting("p").unwrap();
        assert_eq!((&*out[0].id, waiting.len()), ("p.0", 2));
        let again = hand_out_again(&mut database);
        assert_eq!((again.len(), again[0].1), (1, 2));
        for reason in ["first", "second"] {
            database.end_plan("p", reason).unwrap();
        }
        assert!(database.limited_plans().unwrap().is_empty());
        assert!(hand_out_again(&mut database).is_empty());
        let plan = database.plans().unwrap().remove(0);
        assert_eq!(plan.ended.as_deref(), Some("first"));
    }

    #[test]
    fn what_a_run_cost_is_known_whether_it_counts_or_not() {
        let (_folder, mut database) = database();
        plan(&mut database, &["p.0"]);
        store(&mut database, &lines("r"));
        let [head, event] = texts();
        store(&mut database, &[done("r"), line("s", 0, "anything")]);
        judge(&mut database, "r");
        let spent = database.spent("p").unwrap();
        let ends = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
        assert_eq!(
            (spent[0].is_accepted, &spent[0].ends),
            (true, &ends(&head, &event))
        );
        assert_eq!(spent[0].machine.as_deref(), Some("large"));
        assert_eq!(
            (spent[1].is_accepted, &spent[1].ends),
            (false, &ends("anything", "anything"))
        );
        assert_eq!(spent[1].machine, None);
    }

    #[test]
    fn a_database_of_version_1_is_brought_up_to_date() {
        let (folder, mut database) = database();
        plan(&mut database, &["p.0"]);
        let back = "ALTER TABLE plan DROP COLUMN cancelled; ALTER TABLE plan DROP COLUMN usd_limit; \
                    ALTER TABLE plan DROP COLUMN ended; ALTER TABLE run DROP COLUMN machine; \
                    ALTER TABLE job DROP COLUMN ticket; ALTER TABLE job DROP COLUMN attempts; \
                    ALTER TABLE job DROP COLUMN unable; ALTER TABLE run DROP COLUMN blocks; \
                    ALTER TABLE run DROP COLUMN disturbed; ALTER TABLE run DROP COLUMN answer; \
                    PRAGMA user_version = 1;";
        database.0.execute_batch(back).unwrap();
        drop(database);
        let mut database = Database::open(&folder.path().join("x")).unwrap();
        // Its jobs are messages that nobody reads any more.
        let row = database.plans().unwrap().remove(0);
        assert_eq!((row.jobs, row.failed), (1, 1));
        assert!(database.agents().unwrap().is_empty());
        plan(&mut database, &[]);
        assert!(hand_out_again(&mut database).is_empty());
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
