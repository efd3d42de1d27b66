//! What parent and child say to each other. Both are the same program, so there is no version.
//!
//! The parent asks, the child answers each request once, in order. The first request is
//! [`Request::Start`]. There is no request to end: the child ends when its input does.

use crate::{
    clock::ClockCard,
    record::{PeakReading, PoolState, Sample},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the parent wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Prepare the process; answered with [`Reply::Started`].
    Start(Start),
    /// Prepare the case at a size, warm every arm and fix its calls; answered with
    /// [`Reply::Opened`].
    Open {
        /// Size.
        n: usize,
        /// Number of the process within the case.
        launch: u32,
    },
    /// Time the arms in this order; answered with [`Reply::Block`].
    Block {
        /// Arms; the number after the last one is the baseline's twin.
        order: Vec<usize>,
    },
    /// Call an arm once and tell how much memory it took; answered with [`Reply::Peak`].
    Peak {
        /// Size.
        n: usize,
        /// Arm.
        arm: usize,
    },
    /// Prepare the case at a size and time the very first call of an arm; answered with
    /// [`Reply::Block`], of one sample.
    First {
        /// Size.
        n: usize,
        /// Arm.
        arm: usize,
    },
    /// Call an arm again and again for a while; answered with [`Reply::Repeated`].
    Repeat {
        /// Size.
        n: usize,
        /// Arm.
        arm: usize,
        /// Until at least this has passed.
        at_least: Duration,
    },
}

/// How the process is to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Id of the experiment.
    pub(crate) experiment: String,
    /// Name of the case.
    pub(crate) case: String,
    /// CPUs to stay on, counted from the first allowed one.
    pub(crate) cpus: Option<usize>,
    /// Copies of each call that run at the same time.
    pub(crate) copies: Option<usize>,
    /// Workers of the pool that the arms find.
    pub(crate) workers: Option<usize>,
    /// State of the pool when a timed call begins.
    pub(crate) pool: PoolState,
    /// How long a sample should take.
    pub(crate) batch: Batch,
}

/// How long one sample of an arm should take. An operation that takes longer is called once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Shorter samples get more calls.
    pub at_least: Duration,
    /// A clock so coarse that samples had to be longer than this is refused.
    pub at_most: Duration,
    /// Of a call that takes so long the first one counts, too: what it finds cold is a small part of it.
    pub first_counts: Duration,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            at_least: Duration::from_millis(1),
            at_most: Duration::from_millis(50),
            first_counts: Duration::from_secs(1),
        }
    }
}

/// What the child answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The process is ready, with this clock.
    Started(ClockCard),
    /// The case is open.
    Opened,
    /// The arms were timed.
    Block(Taken),
    /// The arm was called.
    Peak {
        /// What it took; `None` where the system does not say.
        peak: Option<PeakReading>,
    },
    /// The arm was called for a while.
    Repeated,
    /// The request could not be carried out; the process is of no further use.
    Failed {
        /// One line for people.
        message: String,
    },
}

/// One block as the child took it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// By arm, the twin last.
    pub samples: Vec<Sample>,
    /// Checksum that all arms agreed on, in hexadecimal.
    pub checksum: String,
}
