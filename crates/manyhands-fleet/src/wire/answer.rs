//! What the server says under keys, and who reads it. An agent's key opens a way to write them: `nats-server` sends an
//! acknowledgement wherever the publisher wants it. So a value counts if it is of its type and names what it is about;
//! anything else is as if nothing were there.

use super::{Name, from_bytes, to_bytes};
use crate::{FleetError, engine::Engine};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// That a job needs nobody any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Over {
    pub(crate) job: Name,
    /// The run that counts; `None` if none ever will.
    pub(crate) run: Option<Name>,
}

/// The server's answer to one sending of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) run: Name,
    pub(crate) receipt: Receipt,
    pub(crate) sending: Name,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Receipt {
    /// It is the run of its job that counts.
    Accepted,
    /// Another run of the same job counts.
    Superseded,
    /// It is no run that could ever count.
    Refused,
    /// Lines are missing or differ: all of them are wanted once more.
    Resend,
}

impl Over {
    pub(crate) fn tell(&self, engine: &dyn Engine) -> Result<(), FleetError> {
        engine.put(&job_key(&self.job), &to_bytes(self)?)
    }

    /// Takes back that a job is over.
    pub(crate) fn forget(engine: &dyn Engine, job: &Name) -> Result<(), FleetError> {
        engine.forget(&job_key(job))
    }

    /// `None` for a job that is still to be done.
    pub(crate) fn of(engine: &dyn Engine, job: &Name) -> Result<Option<Self>, FleetError> {
        let found: Option<Self> = read(engine, &job_key(job))?;
        Ok(found.filter(|over| over.job == *job))
    }
}

impl Answer {
    pub(crate) fn tell(&self, engine: &dyn Engine) -> Result<(), FleetError> {
        engine.put(&run_key(&self.run), &to_bytes(self)?)
    }

    /// `None` for a run that is not answered yet.
    pub(crate) fn of(engine: &dyn Engine, run: &Name) -> Result<Option<Self>, FleetError> {
        let found: Option<Self> = read(engine, &run_key(run))?;
        Ok(found.filter(|answer| answer.run == *run))
    }
}

fn read<T: DeserializeOwned>(engine: &dyn Engine, key: &str) -> Result<Option<T>, FleetError> {
    let found = engine.get(key)?;
    Ok(found.and_then(|bytes| from_bytes(&bytes).ok()))
}

fn run_key(run: &Name) -> String {
    format!("run.{run}")
}

fn job_key(job: &Name) -> String {
    format!("job.{job}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::InProcess;
    use std::time::Duration;

    #[test]
    fn a_key_that_the_server_has_not_written_says_nothing() {
        let engine = InProcess::new(Duration::from_secs(60));
        let [one, other]: [Name; 2] = ["p.0", "p.1"].map(|name| name.parse().unwrap());
        let over = Over {
            job: other.clone(),
            run: None,
        };
        let answer = Answer {
            run: other.clone(),
            receipt: Receipt::Accepted,
            sending: one.clone(),
        };
        // What `nats-server` acknowledges with, a word, and what the server has said of another.
        let acknowledged = br#"{"stream":"manyhands-results","seq":5}"#.to_vec();
        for value in [acknowledged, b"done".to_vec(), to_bytes(&over).unwrap()] {
            engine.put(&job_key(&one), &value).unwrap();
            engine.put(&run_key(&one), &value).unwrap();
            assert_eq!(Over::of(&engine, &one).unwrap(), None);
            assert_eq!(Answer::of(&engine, &one).unwrap(), None);
        }
        engine
            .put(&run_key(&one), &to_bytes(&answer).unwrap())
            .unwrap();
        assert_eq!(Answer::of(&engine, &one).unwrap(), None);
        over.tell(&engine).unwrap();
        answer.tell(&engine).unwrap();
        assert_eq!(Over::of(&engine, &other).unwrap(), Some(over));
        assert_eq!(Answer::of(&engine, &other).unwrap(), Some(answer));
        Over::forget(&engine, &other).unwrap();
        assert_eq!(Over::of(&engine, &other).unwrap(), None);
    }
}
