//! What moves between submitter, server and agents, as JSON. Each type here is what a stranger may send: it is read with
//! bounds for every field, and a message that has anything else in it is none.

mod answer;
mod checked;

pub(crate) use answer::{Answer, Over, Receipt};
pub use checked::{Name, OutOfBounds};
pub(crate) use checked::{Text, Texts, Within, made};

use crate::{FleetError, price::Limit};
use manyhands_lab::{Scale, record::Settings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, time::Duration};

/// What the server is asked to do with plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Request {
    /// To carry out a plan.
    Submit(Submission),
    /// To hand out no more jobs of a plan, and to end those that run.
    Cancel(Name),
    /// To have a job done anew, whatever became of it.
    Redo(Anew),
}

/// A job that is to be done anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Anew {
    pub(crate) job: Name,
    /// The job's ticket from then on, made by who asks, so that a request that arrives twice is one request.
    pub(crate) ticket: Name,
}

/// A plan on its way to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submission {
    /// Id of the plan, made by who submits it, so that a plan that arrives twice is one plan.
    pub(crate) plan: Name,
    /// The file as it was written.
    pub(crate) toml: String,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
}

/// One case of a plan, for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    pub(crate) id: Name,
    /// What a report about this job must bring: only who was given the job has it.
    pub(crate) ticket: Name,
    pub(crate) work: Work,
    /// CPUs that an agent must have, exactly; `None` for any number.
    pub(crate) cpus: Option<Cpus>,
}

impl Job {
    /// A job that an agent with this number of CPUs has taken: the server has put it there if it is about itself, and
    /// for such agents.
    pub(crate) fn read(bytes: &[u8], about: &str, cpus: usize) -> Result<Self, FleetError> {
        let job: Self = from_bytes(bytes)?;
        let is_here = *job.id == *about && job.cpus.is_none_or(|wanted| wanted.size() == cpus);
        match is_here {
            true => Ok(job),
            false => Err(FleetError::Format {
                what: "a job",
                reason: "it is in the place of another".to_owned(),
            }),
        }
    }
}

/// What an agent does for a job. What is not named here an agent decides for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Work {
    /// Measures a case of a registered experiment.
    Case {
        experiment: Text,
        case: Text,
        scale: Scale,
        seed: u64,
        launches: Within<3, 64>,
        /// The budget; `None` for as long as it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_max: Option<Seconds>,
    },
    /// Runs a command line of the agent's own list, without a shell.
    Command {
        /// Name in the agent's list, not a path.
        name: Name,
        /// What stands in the holes of the line.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        holes: BTreeMap<Name, Text>,
        /// When it is ended; `None` for never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_max: Option<Seconds>,
    },
}

/// CPUs of a machine.
pub(crate) type Cpus = Within<1, CPUS_MAX>;
/// How long a job may take: up to a year.
pub(crate) type Seconds = Within<1, 31_536_000>;

impl Work {
    /// Seconds after which it is over, if its plan says.
    pub(crate) fn seconds_max(&self) -> Option<u64> {
        let (Self::Case { seconds_max, .. } | Self::Command { seconds_max, .. }) = self;
        seconds_max.map(Seconds::get)
    }

    /// How its case is measured; a command is recorded with the same head.
    pub(crate) fn settings(&self) -> Settings {
        let Self::Case {
            scale,
            seed,
            launches,
            ..
        } = self
        else {
            return Settings::new(Scale::Quick, 1);
        };
        let mut settings = Settings::new(*scale, *seed);
        settings.launches = u32::try_from(launches.get()).unwrap_or(settings.launches);
        settings.budget = self.seconds_max().map(Duration::from_secs);
        settings
    }

    /// One line for people.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Case {
                experiment, case, ..
            } => format!("{} {}", &**experiment, &**case),
            Self::Command { name, holes, .. } => {
                let holes = holes.iter();
                let holes = holes.map(|(hole, value)| format!(" {hole}={}", &**value));
                holes.fold(name.to_string(), |title, hole| title + &hole)
            }
        }
    }
}

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Report {
    /// That it is there and has nothing to do.
    Waits(Presence),
    /// What becomes of a job.
    Job(Note),
}

impl Report {
    pub(crate) fn agent(&self) -> &Name {
        match self {
            Self::Waits(presence) => &presence.agent,
            Self::Job(note) => &note.agent,
        }
    }
}

/// An agent and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Presence {
    pub(crate) agent: Name,
    pub(crate) cpus: Cpus,
    /// Model of the processor.
    pub(crate) cpu: Text,
    /// What the machine is called in the table of prices.
    pub(crate) machine: Option<Name>,
}

/// What an agent reports of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    pub(crate) agent: Name,
    pub(crate) job: Name,
    pub(crate) ticket: Name,
    pub(crate) run: Name,
    pub(crate) news: News,
}

/// The kinds of notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum News {
    /// Lines of the run, from this number on: number 0 is the head, the others are events in order.
    Lines {
        first: Within<0, LINES_MAX>,
        texts: Texts,
    },
    /// The run is complete: the number of its lines, their digest, and which of its sendings this is.
    Done {
        lines: Within<1, LINES_MAX>,
        sha256: Name,
        sending: Name,
        machine: Option<Name>,
    },
    /// The run goes on.
    Beat {
        events: Within<0, LINES_MAX>,
        left_seconds: Within<0, 31_536_000>,
        /// What the agent's machine is called in the table of prices.
        machine: Option<Name>,
    },
    /// The job did not succeed, for its own sake.
    Failed { reason: Text },
    /// This agent cannot do it; another may.
    Unable { reason: Text },
}

/// The digest of a run's lines, in order.
#[derive(Clone, Default)]
pub(crate) struct LinesDigest(Sha256);

impl LinesDigest {
    pub(crate) fn add(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    pub(crate) fn hex(self) -> Name {
        let bytes = self.0.finalize();
        made(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A new id, which sorts by the time it was made.
pub(crate) fn new_id() -> Name {
    made(uuid::Uuid::now_v7().to_string())
}

/// What only those know who were given a job.
pub(crate) fn new_ticket() -> Name {
    made(uuid::Uuid::new_v4().to_string())
}

pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, FleetError> {
    serde_json::to_vec(value).map_err(FleetError::format("a message"))
}

pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FleetError> {
    serde_json::from_slice(bytes).map_err(FleetError::format("a message"))
}

/// Lines of a run; the longest published runs have some ten thousand.
pub(crate) const LINES_MAX: u64 = 1_000_000;
pub(crate) const CPUS_MAX: u64 = 65_536;

/// A job for tests.
#[cfg(test)]
pub(crate) fn a_job() -> Job {
    let name = |text: &str| text.parse().unwrap();
    Job {
        id: name("p.0"),
        ticket: name("t"),
        work: Work::Command {
            name: name("x"),
            holes: BTreeMap::new(),
            seconds_max: None,
        },
        cpus: None,
    }
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
    fn a_job_in_the_place_of_another_is_none() {
        let job = Job {
            cpus: Some(Cpus::nearest(2)),
            ..a_job()
        };
        let bytes = to_bytes(&job).unwrap();
        assert_eq!(Job::read(&bytes, "p.0", 2).unwrap(), job);
        for (about, cpus) in [("p.1", 2), ("p.0", 8)] {
            assert!(Job::read(&bytes, about, cpus).is_err(), "{about} {cpus}");
        }
    }

    #[test]
    fn ids_of_later_runs_sort_later() {
        let ids: Vec<Name> = (0..1_000).map(|_| new_id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }
}
