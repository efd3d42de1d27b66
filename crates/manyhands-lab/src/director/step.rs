//! What a run does next.

use crate::record::Key;

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Try a case at a tiny size, for what it will cost.
    Pilot {
        /// The case.
        subject: Subject,
        /// Size.
        n: usize,
        /// Arms, the baseline's twin among them.
        arms: usize,
    },
    /// Start a fresh process for a case.
    Launch {
        /// The case.
        subject: Subject,
        /// Size that is about to be measured.
        n: usize,
        /// Number of the process within the case.
        launch: u32,
    },
    /// Prepare a size in a process.
    Open {
        /// The point.
        key: Key,
        /// The process.
        launch: u32,
    },
    /// Time every arm once.
    Block(BlockStep),
    /// Look at an arm beside the blocks.
    Pass(Pass),
    /// End the processes of the case.
    Close,
    /// Nothing is left to do.
    Finished,
}

/// A case, as a process must know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Id of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// The experiment's own name of the case.
    pub of: String,
    /// CPUs to stay on.
    pub cpus: Option<usize>,
    /// Copies of each call that run at the same time.
    pub copies: Option<usize>,
    /// The arm of the experiment's own case that several programs are to run; `None` if this program runs all arms.
    pub arm: Option<usize>,
}

impl Subject {
    /// The case at a size.
    #[must_use]
    pub fn key(&self, n: usize) -> Key {
        Key::new(self.experiment.clone(), self.case.clone(), n)
    }
}

/// A block to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockStep {
    /// The point.
    pub key: Key,
    /// The process.
    pub launch: u32,
    /// Arms; the number after the last one is the baseline's twin.
    pub order: Vec<usize>,
}

/// Something beside the blocks that needs a process of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// What is looked at.
    pub kind: PassKind,
    /// The case.
    pub subject: Subject,
    /// Size.
    pub n: usize,
    /// Arm.
    pub arm: usize,
}

/// What a pass looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassKind {
    /// The peak memory and the threads of one call.
    Memory,
    /// How busy each core is while the arm runs.
    Cores,
}
