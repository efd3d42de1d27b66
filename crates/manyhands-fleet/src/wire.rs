//! What moves between submitter, server and agents, as JSON.

use crate::{FleetError, price::Limit};
use manyhands_lab::record::Settings;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// What the server is asked to do with plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Request {
    /// To carry out a plan.
    Submit(Submission),
    /// To hand out no more jobs of a plan, and to end those that run.
    Cancel { plan: String },
}

/// A plan on its way to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Submission {
    /// Id of the plan, made by who submits it, so that a plan that arrives twice is one plan.
    pub(crate) plan: String,
    /// The file as it was written.
    pub(crate) toml: String,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
}

/// One case of a plan, for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) plan: String,
    pub(crate) work: Work,
    /// How often it may be handed out.
    pub(crate) attempts: u64,
    /// CPUs that an agent must have, exactly; `None` for any number.
    pub(crate) cpus: Option<usize>,
}

/// What an agent does for a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Work {
    /// Measures a case of a registered experiment.
    Case {
        experiment: String,
        case: String,
        settings: Settings,
    },
    /// Runs a program that the agent's own list allows, without a shell.
    Command {
        /// Name in the agent's list, not a path.
        name: String,
        arguments: Vec<String>,
        /// When it is ended; `None` for never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_max: Option<u64>,
    },
}

impl Work {
    /// Seconds after which it is over, if its plan says.
    pub(crate) fn seconds_max(&self) -> Option<u64> {
        match self {
            Self::Case { settings, .. } => settings.budget.map(|budget| budget.as_secs()),
            Self::Command { seconds_max, .. } => *seconds_max,
        }
    }

    /// One line for people.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Case {
                experiment, case, ..
            } => format!("{experiment} {case}"),
            Self::Command {
                name, arguments, ..
            } => {
                let words = [std::slice::from_ref(name), arguments].concat();
                words.join(" ")
            }
        }
    }
}

/// What an agent reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) agent: String,
    pub(crate) job: String,
    pub(crate) run: String,
    pub(crate) news: News,
}

/// The kinds of notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum News {
    /// A line of the run: number 0 is the head, the others are events in order.
    Line { number: u64, text: String },
    /// The run is complete: the number of its lines, their digest, and which of its sendings this is.
    Done {
        lines: u64,
        sha256: String,
        sending: String,
        machine: Option<String>,
    },
    /// The run goes on.
    Beat {
        events: u64,
        left_seconds: u64,
        /// What the agent's machine is called in the table of prices.
        machine: Option<String>,
    },
    /// Nobody should try this job again.
    Failed { reason: String },
}

/// The server's answer to one sending of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) receipt: Receipt,
    pub(crate) sending: String,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Receipt {
    /// It is the run of its job that counts.
    Accepted,
    /// Another run of the same job counts.
    Superseded,
    /// Lines are missing or differ: all of them are wanted once more.
    Resend,
}

/// The key under which the answer to a run lies.
pub(crate) fn run_key(run: &str) -> String {
    format!("run.{run}")
}

/// The key that is there as soon as a job needs nobody any more.
pub(crate) fn job_key(job: &str) -> String {
    format!("job.{job}")
}

/// The digest of a run's lines, in order.
#[derive(Clone, Default)]
pub(crate) struct LinesDigest(Sha256);

impl LinesDigest {
    pub(crate) fn add(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    pub(crate) fn hex(self) -> String {
        let bytes = self.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A new id, which sorts by the time it was made.
pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, FleetError> {
    serde_json::to_vec(value).map_err(FleetError::format("a message"))
}

pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FleetError> {
    serde_json::from_slice(bytes).map_err(FleetError::format("a message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_where_lines_end() {
        let digest = |lines: &[&str]| {
            let mut digest = LinesDigest::default();
            lines.iter().for_each(|line| digest.add(line));
            digest.hex()
        };
        assert_eq!(digest(&["a", "b"]).len(), 64);
        assert_ne!(digest(&["a", "b"]), digest(&["ab"]));
        assert_ne!(digest(&["a", "b"]), digest(&["b", "a"]));
    }

    #[test]
    fn ids_of_later_runs_sort_later() {
        let ids: Vec<String> = (0..1_000).map(|_| new_id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }
}
