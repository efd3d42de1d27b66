//! What the user asked of a run.

use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// Everything that decides how a run measures; the same settings and seed give the same plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Which sizes, and how many blocks.
    pub scale: Scale,
    /// Time for all measurements together; `None` for as long as it takes.
    pub budget: Option<Duration>,
    /// Fixes orders of arms and resamples.
    pub seed: u64,
    /// Fresh processes per case.
    pub launches: u32,
    /// State of the pool when a call begins.
    pub pool: PoolState,
    /// Workers of the default pool; `None` for one per CPU.
    pub workers: Option<usize>,
    /// When a difference counts: 0.02 is 2 %.
    pub smallest_effect: f64,
    /// Probability of a wrong decision for a single comparison.
    pub alpha: f64,
    /// When a block counts as disturbed.
    pub thresholds: Thresholds,
    /// Whether to measure each arm's peak memory at a case's largest size, in a process of its own.
    #[serde(default)]
    pub memory: bool,
    /// Whether to record what each core does while an arm runs, at a case's largest size.
    #[serde(default)]
    pub cores: bool,
    /// Numbers of CPUs to confine every arm to, one after the other; empty for all there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// Numbers of copies of each call that contend for as many CPUs; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<usize>,
    /// Programs with the same experiments, each arm of which is paired with its namesakes; empty for this program alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<PathBuf>,
    /// Whose published figures stand beside the results: a part of the name of a machine or a runtime,
    /// or "all". Nothing that is measured depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl Settings {
    /// The defaults of a scale.
    #[must_use]
    pub fn new(scale: Scale, seed: u64) -> Self {
        Self {
            scale,
            budget: None,
            seed,
            launches: match scale {
                Scale::Quick => 3,
                Scale::Standard | Scale::Full => 6,
            },
            pool: PoolState::Warm,
            workers: None,
            smallest_effect: 0.02,
            alpha: 0.05,
            thresholds: Thresholds::default(),
            memory: false,
            cores: false,
            cpus: Vec::new(),
            copies: Vec::new(),
            builds: Vec::new(),
            published: None,
        }
    }

    /// A seed for a run that was given none: half the bits, short enough to be typed again.
    #[must_use]
    pub fn drawn_seed() -> u64 {
        rand::random::<u32>().into()
    }
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Sizes and blocks that end within minutes.
    Quick,
    /// The published sizes, as far as a call takes no longer than seconds. Undecided sizes are measured on.
    Standard,
    /// All published sizes.
    Full,
}

/// State of the pool when a timed call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum PoolState {
    /// Calls follow each other at once.
    Warm,
    /// Before each call there is a pause that is not timed, long enough for workers to sleep.
    Parked,
    /// Each call finds a pool of the library that was just made and has no threads yet. Other
    /// libraries' pools stay as they are.
    ColdPool,
    /// Each call is the first one of a fresh process.
    ColdProcess,
}

/// Shares above which a block counts as disturbed and is dropped as a whole, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// CPU time of other processes and of other machines, as a share of all CPUs' time.
    pub load: f64,
    /// Time runnable but not running, as a share of the time of the CPUs this process may use.
    pub run_delay: f64,
    /// Share of disturbed blocks from which on the machine was not quiet enough.
    pub too_noisy: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            load: 0.03,
            run_delay: 0.02,
            too_noisy: 0.30,
        }
    }
}
