//! How an agent gets a key of its own: it makes one, and asks for it to be let in by a token that is good for one.
//!
//! A token is a key too (an nkey), which opens nothing but the queue of these requests. Neither of the two leaves the
//! machine it is on: the request says both public halves, and both sign it, so nobody asks for the key of another. The
//! server forgets the token when it notes the new key.

use crate::{
    FleetError,
    engine::{Engine, Message, Queue},
    wire,
};
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{ErrorKind, Write},
    path::Path,
};
use tempfile::NamedTempFile;

/// A request to let a key in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Public half of the token.
    pub(crate) token: String,
    /// Public half of the agent's key.
    pub(crate) key: String,
    /// By the token, over the agent's key.
    by_token: Vec<u8>,
    /// By the agent's key, over the token.
    by_key: Vec<u8>,
}

impl Request {
    /// Asks for a key, by a token.
    pub(crate) fn new(token: &KeyPair, key: &KeyPair) -> Result<Self, FleetError> {
        let (opens, public) = (token.public_key(), key.public_key());
        let sign = |by: &KeyPair, what: &str| {
            by.sign(what.as_bytes())
                .map_err(FleetError::format("a key"))
        };
        Ok(Self {
            by_token: sign(token, &public)?,
            by_key: sign(key, &opens)?,
            token: opens,
            key: public,
        })
    }

    /// Whether token and key have signed it: who sends it has both.
    pub(crate) fn is_signed(&self) -> bool {
        let is_by = |who: &str, what: &str, signature: &[u8]| {
            let who = KeyPair::from_public_key(who);
            who.is_ok_and(|who| who.verify(what.as_bytes(), signature).is_ok())
        };
        is_by(&self.token, &self.key, &self.by_token) && is_by(&self.key, &self.token, &self.by_key)
    }

    /// Sends it to the server; a key may come again by another token.
    pub(crate) fn send(&self, engine: &dyn Engine) -> Result<(), FleetError> {
        let about = self.token.parse().map_err(FleetError::format("a token"))?;
        let message = Message {
            id: self.token.clone(),
            body: wire::to_bytes(self)?,
        };
        engine.publish(Queue::Enrolments, &about, &[message])
    }
}

/// The key in a file, or a new one that is put there for its owner alone.
pub(crate) fn key_in(path: &Path) -> Result<KeyPair, FleetError> {
    if path.exists() {
        return read_key(path);
    }
    let key = KeyPair::new_user();
    let seed = key.seed().map_err(FleetError::format("a key"))?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // It is there whole or not at all, and of those who make it at once one has made it.
    let written = NamedTempFile::new_in(folder).and_then(|mut file| {
        writeln!(file, "{seed}")?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != ErrorKind::AlreadyExists => return Err(error.error),
            _ => {}
        }
        // The name is on the disk when its folder is.
        #[cfg(unix)]
        fs::File::open(folder)?.sync_all()?;
        Ok(())
    });
    written.map_err(FleetError::file("write", path))?;
    read_key(path)
}

/// The key whose seed is in a file.
pub(crate) fn read_key(path: &Path) -> Result<KeyPair, FleetError> {
    let seed = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
    KeyPair::from_seed(seed.trim()).map_err(FleetError::format("a key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_has_both_the_token_and_the_key() {
        let (token, key) = (KeyPair::new_user(), KeyPair::new_user());
        let request = Request::new(&token, &key).unwrap();
        assert!(request.is_signed());
        let other = KeyPair::new_user();
        let stolen = Request {
            key: other.public_key(),
            ..request.clone()
        };
        let of_another = Request {
            token: other.public_key(),
            ..request.clone()
        };
        let no_key = Request {
            key: "U".to_owned(),
            ..request.clone()
        };
        // The holder of a token signs for a key whose public half is all that it knows.
        let taken_over = Request {
            by_token: token.sign(other.public_key().as_bytes()).unwrap(),
            key: other.public_key(),
            ..request
        };
        for forged in [stolen, of_another, no_key, taken_over] {
            assert!(!forged.is_signed(), "{forged:?}");
        }
    }

    #[test]
    fn of_those_who_make_a_key_at_once_all_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(round.to_string());
            let made: Vec<String> = std::thread::scope(|scope| {
                let making = || key_in(&path).map(|key| key.public_key());
                let all = [(); 4].map(|()| scope.spawn(making));
                all.map(|one| one.join().unwrap().unwrap()).into()
            });
            assert!(made.iter().all(|key| *key == made[0]), "{made:?}");
        }
    }

    #[test]
    fn a_key_is_made_once_and_read_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.nk");
        let made = key_in(&path).unwrap().public_key();
        assert_eq!(key_in(&path).unwrap().public_key(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let left = fs::read_dir(folder.path()).unwrap();
        assert_eq!(left.count(), 1, "nothing is left beside it");
        fs::write(&path, "no seed").unwrap();
        assert!(matches!(
            key_in(&path).unwrap_err(),
            FleetError::Format { .. }
        ));
    }
}
