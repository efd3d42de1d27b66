//! Who is let in: keys of agents, and tokens that are good for one key each.

use super::Database;
use crate::{FleetError, time::unix_seconds};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;

/// A key that opens the server, by its public half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct KeyRow {
    pub(crate) public: String,
    /// Of the agent.
    pub(crate) name: String,
    /// Whether it opens only the queue of those who want a key.
    pub(crate) is_token: bool,
    /// In seconds since 1970; `None` for never.
    pub(crate) expires: Option<i64>,
}

impl Database {
    /// Notes a token for one agent: how long it is good, and how long the agent's key will be.
    pub(crate) fn add_token(
        &self,
        public: &str,
        name: &str,
        seconds: i64,
        key_seconds: Option<i64>,
    ) -> Result<(), FleetError> {
        let expires = unix_seconds().saturating_add(seconds);
        self.0.execute(
            "INSERT INTO access (public, name, is_token, expires, key_seconds) VALUES (?, ?, 1, ?, ?)",
            params![public, name, expires, key_seconds],
        )?;
        Ok(())
    }

    /// Puts an agent's key in the place of a token; `false` if there is no such token, or no longer, or the key has
    /// another name.
    pub(super) fn enrol(&mut self, token: &str, key: &str) -> Result<bool, FleetError> {
        let transaction = self.0.transaction()?;
        let now = unix_seconds();
        let found: Option<(String, Option<i64>)> = transaction
            .query_row(
                "DELETE FROM access WHERE public = ? AND is_token AND expires > ? RETURNING name, key_seconds",
                params![token, now],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let Some((name, seconds)) = found else {
            return Ok(false);
        };
        let expires = seconds.map(|seconds| now.saturating_add(seconds));
        // A key that has expired is good again by a new token of its name.
        let noted = transaction.execute(
            "INSERT INTO access (public, name, is_token, expires) VALUES (?, ?, 0, ?) ON CONFLICT (public) DO UPDATE \
             SET expires = excluded.expires WHERE name = excluded.name AND NOT is_token",
            params![key, name, expires],
        )?;
        // The token is used in any case.
        transaction.commit()?;
        Ok(noted > 0)
    }

    /// All keys that open the server now, by the names of their agents.
    pub(crate) fn valid_keys(&self) -> Result<Vec<KeyRow>, FleetError> {
        let sql = "SELECT public, name, is_token, expires FROM access \
                   WHERE expires IS NULL OR expires > ? ORDER BY name, public";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([unix_seconds()], |row| {
            Ok(KeyRow {
                public: row.get(0)?,
                name: row.get(1)?,
                is_token: row.get(2)?,
                expires: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Forgets an agent's keys and tokens; the answer is how many there were.
    pub(crate) fn revoke(&self, name: &str) -> Result<usize, FleetError> {
        let sql = "DELETE FROM access WHERE name = ?";
        Ok(self.0.execute(sql, [name])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("x")).unwrap();
        (folder, database)
    }

    fn valid(database: &Database) -> Vec<(String, bool)> {
        let keys = database.valid_keys().unwrap().into_iter();
        keys.map(|key| (key.public, key.is_token)).collect()
    }

    #[test]
    fn a_token_is_good_for_one_key() {
        let (_folder, mut database) = database();
        database.add_token("T", "a", 60, None).unwrap();
        assert_eq!(valid(&database), [("T".to_owned(), true)]);
        assert!(database.enrol("T", "K").unwrap());
        assert!(!database.enrol("T", "L").unwrap(), "it is used");
        assert!(!database.enrol("K", "L").unwrap(), "a key is no token");
        assert!(!database.enrol("X", "L").unwrap(), "nobody made it");
        assert_eq!(valid(&database), [("K".to_owned(), false)]);
        assert_eq!(database.revoke("a").unwrap(), 1);
        assert!(valid(&database).is_empty());
    }

    #[test]
    fn a_token_does_not_bring_the_key_or_the_token_of_another() {
        let (_folder, mut database) = database();
        database.add_token("T", "agent-7", 60, None).unwrap();
        assert!(database.enrol("T", "K").unwrap());
        for (token, other) in [("M", "K"), ("N", "O")] {
            database.add_token(token, "mallory", 60, Some(1)).unwrap();
            database.add_token("O", "agent-8", 60, None).ok();
            assert!(!database.enrol(token, other).unwrap());
        }
        let keys = database.valid_keys().unwrap();
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["agent-7", "agent-8"]);
        assert!(keys[0].expires.is_none());
        assert_eq!(database.revoke("agent-7").unwrap(), 1);
    }

    #[test]
    fn what_has_expired_opens_nothing() {
        let (_folder, mut database) = database();
        database.add_token("T", "a", 0, None).unwrap();
        assert!(valid(&database).is_empty());
        assert!(!database.enrol("T", "K").unwrap());
        database.add_token("U", "b", 60, Some(0)).unwrap();
        database.add_token("V", "c", 60, Some(60)).unwrap();
        assert!(database.enrol("U", "K").unwrap());
        assert!(database.enrol("V", "L").unwrap());
        assert_eq!(valid(&database), [("L".to_owned(), false)]);
    }
}
