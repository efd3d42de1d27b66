//! What readers of the database see: plans, jobs, runs and agents as rows.

use super::Database;
use super::{database::natural, runs::lines_of};
use crate::{FleetError, time::unix_seconds, watch::SILENT};
use rusqlite::params;
use serde::Serialize;

/// A plan and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// Why it came to its end before all its jobs did, if it has.
    pub ended: Option<String>,
    /// Jobs.
    pub jobs: u64,
    /// Jobs with a run that counts.
    pub done: u64,
    /// Jobs that nobody tries any more.
    pub failed: u64,
}

/// A job of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRow {
    /// Id.
    pub id: String,
    /// What it is, in a line.
    pub title: String,
    /// Why nobody tries it any more.
    pub failed: Option<String>,
    /// Which agent was the last that cannot do it, and why.
    pub unable: Option<String>,
    /// Name of the agent that was the last to say that it measures the job; `None` once it is silent for long.
    pub begun_by: Option<String>,
    /// The run that counts.
    pub run: Option<RunRow>,
}

/// A run of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Id.
    pub id: String,
    /// Name of the agent.
    pub agent: String,
    /// Lines, with the head.
    pub lines: u64,
    /// Digest of all lines.
    pub sha256: String,
    /// What the agent's machine is called in the table of prices.
    pub machine: Option<String>,
    /// Its blocks.
    pub blocks: u64,
    /// How many of them were disturbed.
    pub disturbed: u64,
    /// What it found, in a line; `None` if an earlier version accepted it.
    pub answer: Option<String>,
}

/// What is known of a run's costs, whether it counts or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpentRow {
    pub(crate) agent: String,
    /// What the agent's machine is called in the table of prices.
    pub(crate) machine: Option<String>,
    pub(crate) is_accepted: bool,
    /// When its agent was first and last heard of it, by the engine's clock, in milliseconds since 1970.
    pub(crate) span: (i64, i64),
    /// First and last line that have arrived; `None` if none has.
    pub(crate) ends: Option<(String, String)>,
}

/// An agent when it was last heard of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRow {
    /// Name.
    pub name: String,
    /// Seconds since then.
    pub silent_seconds: i64,
    /// CPUs of its machine, if it has said so.
    pub cpus: Option<u64>,
    /// Model of its processor.
    pub cpu: Option<String>,
    /// What its machine is called in the table of prices.
    pub machine: Option<String>,
    /// What it was at, in a line; `None` if it waited.
    pub title: Option<String>,
    /// Whether a run of that job counts already.
    pub is_done: bool,
    /// Events of the run so far.
    pub events: u64,
    /// Seconds until its end, about.
    pub left_seconds: u64,
}

/// A message that nobody could judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedRow {
    /// When it came, UTC.
    pub received: String,
    /// What it was about: an agent, a plan, a token.
    pub about: String,
    /// Why it was rejected.
    pub reason: String,
    /// How it begins.
    pub body: String,
}

impl Database {
    /// All plans, in the order in which they came: ids are by the clocks of those who submitted them.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn plans(&self) -> Result<Vec<PlanRow>, FleetError> {
        let sql = "SELECT plan.id, plan.name, submitted, refused, cancelled, ended, count(job.id), \
                   count(job.id) FILTER (WHERE EXISTS \
                   (SELECT 1 FROM run WHERE run.job = job.id AND run.state = 'accepted')), \
                   count(job.failed) FILTER (WHERE NOT EXISTS \
                   (SELECT 1 FROM run WHERE run.job = job.id AND run.state = 'accepted')) \
                   FROM plan LEFT JOIN job ON job.plan = plan.id GROUP BY plan.id ORDER BY plan.rowid";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(PlanRow {
                id: row.get(0)?,
                name: row.get(1)?,
                submitted: row.get(2)?,
                refused: row.get(3)?,
                cancelled: row.get(4)?,
                ended: row.get(5)?,
                jobs: natural(row.get(6)?),
                done: natural(row.get(7)?),
                failed: natural(row.get(8)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The jobs of a plan, in order.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn jobs(&self, plan: &str) -> Result<Vec<JobRow>, FleetError> {
        let sql = "SELECT job.id, title, failed, run.id, agent, lines, sha256, machine, unable, \
                   coalesce(blocks, 0), coalesce(disturbed, 0), answer, \
                   (SELECT name FROM agent WHERE agent.job = job.id AND agent.seen >= ?2 AND EXISTS \
                   (SELECT 1 FROM run AS own WHERE own.job = job.id AND own.agent = agent.name AND own.state = 'going on') \
                   ORDER BY seen DESC LIMIT 1) FROM job \
                   LEFT JOIN run ON run.job = job.id AND run.state = 'accepted' \
                   WHERE plan = ?1 ORDER BY number";
        let mut statement = self.0.prepare(sql)?;
        let heard_since = unix_seconds() - SILENT;
        let rows = statement.query_map(params![plan, heard_since], |row| {
            let run: Option<String> = row.get(3)?;
            let run = match run {
                Some(id) => Some(RunRow {
                    id,
                    agent: row.get(4)?,
                    lines: natural(row.get(5)?),
                    sha256: row.get(6)?,
                    machine: row.get(7)?,
                    blocks: natural(row.get(9)?),
                    disturbed: natural(row.get(10)?),
                    answer: row.get(11)?,
                }),
                None => None,
            };
            Ok(JobRow {
                id: row.get(0)?,
                title: row.get(1)?,
                failed: row.get(2)?,
                unable: row.get(8)?,
                begun_by: row.get(12)?,
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
        lines_of(&self.0, run)
    }

    /// The last messages that nobody could judge, the newest first.
    ///
    /// # Errors
    /// [`FleetError::Database`] if the file cannot be read.
    pub fn rejected(&self) -> Result<Vec<RejectedRow>, FleetError> {
        let sql = "SELECT received, about, reason, body FROM rejected ORDER BY id DESC";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(RejectedRow {
                received: row.get(0)?,
                about: row.get(1)?,
                reason: row.get(2)?,
                body: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What the runs of a plan cost in time, as far as their lines have arrived.
    pub(crate) fn spent(&self, plan: &str) -> Result<Vec<SpentRow>, FleetError> {
        let line = |which| {
            format!("(SELECT text FROM line WHERE run = run.id ORDER BY number {which} LIMIT 1)")
        };
        let millis = |time| format!("CAST(1000 * unixepoch({time}, 'subsec') AS INTEGER)");
        let sql = format!(
            "SELECT agent, machine, state = 'accepted', {}, {}, {}, {} FROM run JOIN job ON job.id = run.job \
             WHERE plan = ? ORDER BY run.id",
            line("ASC"),
            line("DESC"),
            millis("begun"),
            // An earlier version did not note it.
            millis("coalesce(heard, 'now')")
        );
        let mut statement = self.0.prepare(&sql)?;
        let rows = statement.query_map([plan], |row| {
            let (first, last): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
            Ok(SpentRow {
                agent: row.get(0)?,
                machine: row.get(1)?,
                is_accepted: row.get(2)?,
                span: (row.get(5)?, row.get(6)?),
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
                   (SELECT 1 FROM run WHERE run.job = job.id AND run.state = 'accepted'), cpus, cpu, machine \
                   FROM agent LEFT JOIN job ON job.id = agent.job ORDER BY name";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let seen: i64 = row.get(1)?;
            let cpus: Option<i64> = row.get(6)?;
            Ok(AgentRow {
                name: row.get(0)?,
                silent_seconds: (unix_seconds() - seen).max(0),
                title: row.get(2)?,
                events: natural(row.get(3)?),
                left_seconds: natural(row.get(4)?),
                is_done: row.get(5)?,
                cpus: cpus.map(natural),
                cpu: row.get(7)?,
                machine: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
