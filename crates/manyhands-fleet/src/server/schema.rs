//! The tables, and how a file is opened.

use crate::FleetError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::{path::Path, time::Duration};

/// Opens a database to write it, and makes its tables.
pub(super) fn open(path: &Path) -> Result<Connection, FleetError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    // One that begins to write after it has read does not wait: it fails if another process has written since.
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    // An answer to an agent promises that its samples survive the machine.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    let transaction = connection.transaction()?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let missing = match version {
        // What is there already stays as it is.
        0 => TABLES,
        1 => &format!("{SINCE_1}{SINCE_2}{SINCE_4}{SINCE_5}{SINCE_6}{TABLES}"),
        2 => &format!("{SINCE_2}{SINCE_4}{SINCE_5}{SINCE_6}{TABLES}"),
        3 | 4 => &format!("{SINCE_4}{SINCE_5}{SINCE_6}{TABLES}"),
        5 => &format!("{SINCE_5}{SINCE_6}"),
        6 => SINCE_6,
        VERSION => {
            drop(transaction);
            return Ok(connection);
        }
        other => return Err(of_version(other)),
    };
    transaction.execute_batch(missing)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(connection)
}

/// Opens a database that another process may be writing.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, FleetError> {
    // Reading beside a writer needs the writer's shared files, so the file itself is not opened for reading only.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "query_only", true)?;
    match connection.pragma_query_value(None, "user_version", |row| row.get(0))? {
        VERSION => Ok(connection),
        other => Err(of_version(other)),
    }
}

fn of_version(version: i64) -> FleetError {
    FleetError::Format {
        what: "the database",
        reason: format!("it has version {version}, and this program reads {VERSION}"),
    }
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS plan (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    toml TEXT NOT NULL,
    submitted TEXT NOT NULL,
    refused TEXT,
    cancelled TEXT,
    usd_limit TEXT,
    ended TEXT
);
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY,
    plan TEXT NOT NULL REFERENCES plan(id),
    number INTEGER NOT NULL,
    title TEXT NOT NULL,
    message TEXT NOT NULL,
    ticket TEXT,
    attempts INTEGER NOT NULL DEFAULT 5,
    handed_out INTEGER NOT NULL DEFAULT 1,
    failed TEXT,
    unable TEXT
);
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    agent TEXT NOT NULL,
    begun TEXT NOT NULL,
    heard TEXT,
    state TEXT NOT NULL DEFAULT 'going on',
    lines INTEGER,
    bytes INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT,
    machine TEXT,
    blocks INTEGER,
    disturbed INTEGER,
    answer TEXT
);
-- Of the runs of a job one counts.
CREATE UNIQUE INDEX IF NOT EXISTS run_that_counts ON run(job) WHERE state = 'accepted';
CREATE TABLE IF NOT EXISTS line (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agent (
    name TEXT PRIMARY KEY,
    seen INTEGER NOT NULL,
    job TEXT,
    events INTEGER NOT NULL DEFAULT 0,
    left_seconds INTEGER NOT NULL DEFAULT 0,
    cpus INTEGER,
    cpu TEXT,
    machine TEXT
);
CREATE TABLE IF NOT EXISTS rejected (
    id INTEGER PRIMARY KEY,
    received TEXT NOT NULL,
    about TEXT NOT NULL,
    reason TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS access (
    public TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    is_token INTEGER NOT NULL,
    expires INTEGER,
    key_seconds INTEGER
);
";
/// What a file of version 1 lacks.
const SINCE_1: &str = "
ALTER TABLE plan ADD COLUMN cancelled TEXT;
ALTER TABLE run ADD COLUMN machine TEXT;
";
/// What a file of version 2 lacks.
const SINCE_2: &str = "
ALTER TABLE plan ADD COLUMN usd_limit TEXT;
ALTER TABLE plan ADD COLUMN ended TEXT;
";
/// What a file of version 4 lacks. Its jobs are messages that nobody reads any more, and agents report anew.
const SINCE_4: &str = "
ALTER TABLE job ADD COLUMN ticket TEXT;
ALTER TABLE job ADD COLUMN attempts INTEGER NOT NULL DEFAULT 5;
ALTER TABLE job ADD COLUMN unable TEXT;
ALTER TABLE run ADD COLUMN blocks INTEGER;
ALTER TABLE run ADD COLUMN disturbed INTEGER;
ALTER TABLE run ADD COLUMN answer TEXT;
UPDATE job SET failed = 'it was not done before this program was replaced by a newer one' WHERE failed IS NULL
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.job = job.id AND state = 'accepted');
DROP TABLE agent;
";
/// What a file of version 5 lacks.
const SINCE_5: &str = "
ALTER TABLE run ADD COLUMN heard TEXT;
";
/// What a file of version 6 lacks.
const SINCE_6: &str = "
ALTER TABLE run ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE run SET bytes = (SELECT coalesce(sum(octet_length(text)), 0) FROM line WHERE run = run.id);
";
const VERSION: i64 = 7;
const BUSY: Duration = Duration::from_secs(10);
