//! The runs in the database: what agents report of them, and which of them count.

use super::{
    Database,
    database::{integer, natural, read_job},
};
use crate::{
    FleetError, Name,
    measured::{Found, Measured},
    time::{unix_seconds, utc_at},
    watch::SILENT,
    wire::{LINES_MAX, LinesDigest, News, Note, Presence, Report, Text},
};
use manyhands_lab::Experiment;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::time::Duration;

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
    /// It is no run of its job, or has failed.
    Refused,
}

/// Whether what is reported of a job may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Right,
    /// The agent was not given the job, or what it was given is void.
    NotGiven,
    /// The run is another agent's, or of another job.
    OfAnother,
    /// The agent has begun the job too often.
    TooMany,
}

impl Database {
    /// Stores what was reported, and when by the engine's clock; what is there already stays as it is. The answer is for
    /// each of them whether it may be believed.
    pub(super) fn store(
        &mut self,
        reports: &[(&Report, Duration)],
    ) -> Result<Vec<Standing>, FleetError> {
        let transaction = self.0.transaction()?;
        let mut standings = Vec::new();
        for (report, sent) in reports {
            standings.push(match report {
                Report::Waits(presence) => {
                    note_presence(&transaction, presence)?;
                    Standing::Right
                }
                Report::Job(note) => {
                    let standing = standing(&transaction, note)?;
                    if standing == Standing::Right {
                        store_note(&transaction, note, *sent)?;
                    }
                    standing
                }
            });
        }
        transaction.commit()?;
        Ok(standings)
    }

    /// Compares a run's lines with what its agent says of them. The first run of a job that agrees, and that is one the
    /// job asks for, counts.
    pub(super) fn judge(
        &mut self,
        note: &Note,
        lines: u64,
        sha256: &str,
        experiments: &[Experiment],
    ) -> Result<Judgement, FleetError> {
        let transaction = self.0.transaction()?;
        let sql = "SELECT state FROM run WHERE id = ?";
        let state: String = transaction.query_row(sql, [&*note.run], |row| row.get(0))?;
        match state.as_str() {
            "accepted" => return Ok(Judgement::Counts),
            "superseded" => return Ok(Judgement::Superseded),
            GOING_ON => {}
            _ => return Ok(Judgement::Refused),
        }
        let sql = "SELECT (SELECT count(*) FROM line WHERE run = id), bytes FROM run WHERE id = ?";
        let (count, bytes): (i64, i64) =
            transaction.query_row(sql, [&*note.run], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if bytes > RUN_BYTES_MAX {
            drop(transaction);
            let reason = format!("its lines have more than {} MiB", RUN_BYTES_MAX >> 20);
            self.fail(note, &Text::of(&reason))?;
            return Ok(Judgement::Refused);
        }
        if natural(count) < lines {
            return Ok(Judgement::Missing);
        }
        let texts = lines_of(&transaction, &note.run)?;
        let mut digest = LinesDigest::default();
        texts.iter().for_each(|text| digest.add(text));
        if texts.len() as u64 > lines || *digest.hex() != *sha256 {
            return Ok(Judgement::Differs);
        }
        if is_done(&transaction, &note.job)? {
            end_run(&transaction, note, "superseded", None)?;
            transaction.commit()?;
            return Ok(Judgement::Superseded);
        }
        let sql = "SELECT message FROM job WHERE id = ?";
        let message: String = transaction.query_row(sql, [&*note.job], |row| row.get(0))?;
        let job = read_job(&message);
        match job.and_then(|job| Measured::of_job(&texts, &job, experiments)) {
            Ok(found) => {
                accept(&transaction, note, &found)?;
                let sql = "UPDATE run SET lines = ?, sha256 = ? WHERE id = ?";
                transaction.execute(sql, params![integer(lines), sha256, &*note.run])?;
                transaction.commit()?;
                Ok(Judgement::Counts)
            }
            Err(error) => {
                drop(transaction);
                self.fail(note, &Text::of(&error.to_string()))?;
                Ok(Judgement::Refused)
            }
        }
    }

    /// Drops a run's lines, before its agent sends them again.
    pub(super) fn forget_lines(&mut self, run: &Name) -> Result<(), FleetError> {
        let transaction = self.0.transaction()?;
        transaction.execute("DELETE FROM line WHERE run = ?", [&**run])?;
        transaction.execute("UPDATE run SET bytes = 0 WHERE id = ?", [&**run])?;
        Ok(transaction.commit()?)
    }

    /// Notes that a run of a job has failed; whether nobody should try the job again. It does not count while another
    /// agent is at the job: who had it before, or has the ticket only, does not fail it for the one that has it now.
    pub(super) fn fail(&mut self, note: &Note, reason: &Text) -> Result<bool, FleetError> {
        let reason = &**reason;
        let transaction = self.0.transaction()?;
        if is_at_another(&transaction, &note.run)? {
            end_run(&transaction, note, SET_ASIDE, Some(reason))?;
            transaction.commit()?;
            return Ok(false);
        }
        end_run(&transaction, note, "failed", Some(reason))?;
        let sql = "SELECT (SELECT count(*) FROM run WHERE run.job = job.id AND state = 'failed'), attempts \
                   FROM job WHERE id = ?";
        let (failures, attempts): (i64, i64) =
            transaction.query_row(sql, [&*note.job], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let is_over = failures >= attempts && !is_done(&transaction, &note.job)?;
        if is_over {
            let reason = match failures {
                1 => reason.to_owned(),
                _ => format!("{failures} times, at last: {reason}"),
            };
            let sql = "UPDATE job SET failed = coalesce(failed, ?) WHERE id = ?";
            transaction.execute(sql, [&reason, &*note.job])?;
        }
        transaction.commit()?;
        Ok(is_over)
    }
}

/// Whether a note's job is one that its agent was given, and its run that agent's run of it.
fn standing(transaction: &Transaction<'_>, note: &Note) -> Result<Standing, FleetError> {
    let mut run = transaction.prepare("SELECT job, agent FROM run WHERE id = ?")?;
    let known = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let known: Option<(String, String)> = run.query_row([&*note.run], known).optional()?;
    match known {
        Some((job, agent)) if job != *note.job || agent != *note.agent => {
            return Ok(Standing::OfAnother);
        }
        Some(_) => {}
        None => {
            // Each failure is a run, and a job that is done anew begins with none.
            let sql = "SELECT count(*) >= ?3 + (SELECT attempts FROM job WHERE id = ?1) FROM run \
                       WHERE job = ?1 AND agent = ?2 AND state <> ?4";
            let of_both = params![&*note.job, &*note.agent, RUNS_MAX, REDONE];
            let is_often: Option<bool> = transaction.query_row(sql, of_both, |row| row.get(0))?;
            if is_often == Some(true) {
                return Ok(Standing::TooMany);
            }
        }
    }
    let mut job = transaction.prepare("SELECT ticket = ? FROM job WHERE id = ?")?;
    let is_given: Option<bool> = job
        .query_row([&*note.ticket, &*note.job], |row| row.get(0))
        .optional()?;
    Ok(match is_given {
        Some(true) => Standing::Right,
        _ => Standing::NotGiven,
    })
}

fn store_note(
    transaction: &Transaction<'_>,
    note: &Note,
    sent: Duration,
) -> Result<(), FleetError> {
    transaction.execute(
        "INSERT INTO run (id, job, agent, begun, heard, state) VALUES (?1, ?2, ?3, ?4, ?4, ?5) \
         ON CONFLICT (id) DO UPDATE SET begun = min(begun, excluded.begun), \
         heard = max(coalesce(heard, ''), excluded.heard) WHERE state = excluded.state",
        params![&*note.run, &*note.job, &*note.agent, utc_at(sent), GOING_ON],
    )?;
    match &note.news {
        News::Lines { first, texts } => store_lines(transaction, &note.run, first.get(), texts)?,
        News::Beat {
            events,
            left_seconds,
            machine,
        } => {
            note_machine(transaction, note, machine.as_ref())?;
            transaction.execute(
                "INSERT INTO agent (name, seen, job, events, left_seconds) VALUES (?, ?, ?, ?, ?) \
                 ON CONFLICT (name) DO UPDATE SET seen = excluded.seen, job = excluded.job, \
                 events = excluded.events, left_seconds = excluded.left_seconds",
                params![
                    &*note.agent,
                    unix_seconds(),
                    &*note.job,
                    integer(events.get()),
                    integer(left_seconds.get())
                ],
            )?;
        }
        News::Done { machine, .. } => note_machine(transaction, note, machine.as_ref())?,
        News::Unable { reason } => {
            // An agent that lacks something says so again and again: of a run without lines nothing stays.
            let sql = "DELETE FROM run WHERE id = ? AND state = ? AND bytes = 0";
            transaction.execute(sql, params![&*note.run, GOING_ON])?;
            end_run(transaction, note, SET_ASIDE, None)?;
            let waits = "UPDATE agent SET job = NULL WHERE name = ?";
            transaction.execute(waits, [&*note.agent])?;
            let reason = format!("{}: {}", note.agent, &**reason);
            let sql = "UPDATE job SET unable = ? WHERE id = ?";
            transaction.execute(sql, [&reason, &*note.job])?;
        }
        News::Failed { .. } => {}
    }
    Ok(())
}

/// Adds lines to a run that goes on, as long as they are not too many: nobody needs to say that a run is complete.
fn store_lines(
    transaction: &Transaction<'_>,
    run: &Name,
    first: u64,
    texts: &[String],
) -> Result<(), FleetError> {
    let sql = "INSERT OR IGNORE INTO line (run, number, text) \
               SELECT id, ?, ? FROM run WHERE id = ? AND state = ? AND bytes <= ?";
    let mut insert = transaction.prepare(sql)?;
    let sql = "UPDATE run SET bytes = bytes + ? WHERE id = ?";
    let mut grow = transaction.prepare(sql)?;
    for (number, text) in (first..LINES_MAX).zip(texts) {
        let number = integer(number);
        let added = insert.execute(params![number, text, &**run, GOING_ON, RUN_BYTES_MAX])?;
        if added > 0 {
            grow.execute(params![integer(text.len() as u64), &**run])?;
        }
    }
    Ok(())
}

/// Notes that an agent is there and waits.
fn note_presence(transaction: &Transaction<'_>, presence: &Presence) -> Result<(), FleetError> {
    let machine = presence.machine.as_deref();
    transaction.execute(
        "INSERT OR REPLACE INTO agent (name, seen, cpus, cpu, machine) VALUES (?, ?, ?, ?, ?)",
        params![
            &*presence.agent,
            unix_seconds(),
            integer(presence.cpus.get()),
            &*presence.cpu,
            machine
        ],
    )?;
    // Of those that have never begun anything only the latest are kept: anybody who reaches the engine can make them up.
    let sql = "DELETE FROM agent WHERE (SELECT count(*) FROM agent) > ?1 AND name IN (SELECT name FROM agent \
               WHERE job IS NULL AND name NOT IN (SELECT agent FROM run) ORDER BY seen DESC, rowid DESC LIMIT -1 OFFSET ?1)";
    transaction.execute(sql, [AGENTS_MAX])?;
    Ok(())
}

/// Notes how a run has ended, unless that is known.
fn end_run(
    transaction: &Transaction<'_>,
    note: &Note,
    state: &str,
    reason: Option<&str>,
) -> Result<(), FleetError> {
    let sql = "UPDATE run SET state = ?, answer = ? WHERE id = ? AND state = ?";
    transaction.execute(sql, params![state, reason, &*note.run, GOING_ON])?;
    Ok(())
}

/// Whether another agent is at the job of a run: its own run of it has not ended, and was heard of lately.
fn is_at_another(transaction: &Transaction<'_>, run: &Name) -> Result<bool, FleetError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM run AS own JOIN run AS other \
               ON other.job = own.job AND other.agent <> own.agent WHERE own.id = ? AND other.state = ? \
               AND unixepoch(other.heard) > unixepoch(own.heard) - ?)";
    Ok(transaction.query_row(sql, params![&**run, GOING_ON, SILENT], |row| row.get(0))?)
}

/// Notes that a run is the one of its job that counts.
fn accept(transaction: &Transaction<'_>, note: &Note, found: &Found) -> Result<(), FleetError> {
    transaction.execute(
        "UPDATE run SET state = 'accepted', blocks = ?, disturbed = ?, answer = ? WHERE id = ?",
        params![
            integer(found.blocks),
            integer(found.disturbed),
            found.answer,
            &*note.run
        ],
    )?;
    // A job that was given up and is done after all has not failed.
    transaction.execute("UPDATE job SET failed = NULL WHERE id = ?", [&*note.job])?;
    Ok(())
}

/// Whether a job has a run that counts.
fn is_done(transaction: &Transaction<'_>, job: &Name) -> Result<bool, FleetError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM run WHERE job = ? AND state = 'accepted')";
    Ok(transaction.query_row(sql, [&**job], |row| row.get(0))?)
}

/// Notes on which kind of machine a run is.
fn note_machine(
    transaction: &Transaction<'_>,
    note: &Note,
    machine: Option<&Name>,
) -> Result<(), FleetError> {
    let machine = machine.map(|name| &**name);
    transaction.execute(
        "UPDATE run SET machine = ? WHERE id = ? AND machine IS NOT ?",
        params![machine, &*note.run, machine],
    )?;
    Ok(())
}

/// The lines of a run that are there, in order.
pub(super) fn lines_of(connection: &Connection, run: &str) -> Result<Vec<String>, FleetError> {
    let sql = "SELECT text FROM line WHERE run = ? ORDER BY number";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([run], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const GOING_ON: &str = "going on";
/// Of a run that is nothing to its job.
const SET_ASIDE: &str = "set aside";
/// Of a run whose job is done anew.
pub(super) const REDONE: &str = "redone";
/// Of the lines of a run, which are read at once; the longest published runs have some megabytes.
const RUN_BYTES_MAX: i64 = 32 << 20;
/// Of an agent's runs of one job beside its failures: each time that it has lost its disk there is one more.
const RUNS_MAX: i64 = 64;
/// Agents that have begun nothing and are kept.
const AGENTS_MAX: i64 = 1_000;
