//! What a run found: medians, ratios with intervals, sides, break-evens. Computed from a
//! [`record`](crate::record) by pure functions; reports and charts read nothing else.

mod analyse;
mod case;
mod claim;
mod collect;
mod point;
mod scaling;
mod suspicion;
#[cfg(test)]
mod tests;

pub use crate::stats::Spread;
pub use analyse::analyse;
pub(crate) use analyse::gates;
pub(crate) use case::worst_clock;
pub use claim::{Evidence, JudgedClaim, JudgedPart, Ruling};
pub(crate) use point::point;
pub use scaling::{ArmOver, AtCopies, AtCpus, Over};

use crate::{
    break_even::Answer,
    record::{CaseCard, CoreTrace, Head, ItemEnds, ThreadCourse},
    stats::{Estimate, Slope},
    verdict::{Doubt, Verdict},
};

/// A whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The run's head.
    pub head: Head,
    /// By experiment, in the order of the head; one without blocks has no cases here.
    pub experiments: Vec<ExperimentFindings>,
    /// Points that could not be measured.
    pub failures: Vec<Failure>,
    /// Points of the head that have neither blocks nor a failure: there was no time for them.
    pub left_out: Vec<crate::record::Key>,
    /// Blocks of the whole run.
    pub blocks: usize,
    /// How many of them were disturbed.
    pub disturbed: usize,
    /// Whether the disturbed share is below the threshold.
    pub quiet: bool,
}

/// One experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExperimentFindings {
    /// Id.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Its cases that have blocks.
    pub cases: Vec<CaseFindings>,
    /// What was claimed, and what was found of it here.
    pub claim: Option<JudgedClaim>,
    /// Where the question comes from.
    pub source: Option<String>,
    /// What a reader of the numbers must know, as sentences.
    pub notes: Vec<String>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFindings {
    /// The case as data.
    pub card: CaseCard,
    /// Its measured sizes, ascending; those of a search for the break-even are among them.
    pub points: Vec<Point>,
    /// Where it pays, one answer per arm from the second on; empty if the case is not searched.
    pub answers: Vec<Answer>,
    /// Geometric mean of the speed-ups over the sizes of the case, one per arm from the second on;
    /// `None` with fewer than two sizes.
    pub speed_ups: Vec<Option<f64>>,
    /// Largest cost and grain of the clock over the launches, in nanoseconds.
    pub clock: Option<(f64, f64)>,
    /// Peak memory, where it was measured.
    pub peaks: Vec<Peak>,
    /// Pictures of the cores, where they were taken.
    pub traces: Vec<Trace>,
    /// Arms whose time does not grow with the size, though their work should.
    pub suspicious: Vec<usize>,
}

/// One size of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Size.
    pub n: usize,
    /// Blocks taken.
    pub blocks: usize,
    /// Blocks dropped, by cause; one block may have several causes.
    pub dropped: Vec<(Cause, usize)>,
    /// Blocks dropped.
    pub disturbed: usize,
    /// Times, by arm, of the clean blocks, or of all if none is clean.
    pub times: Vec<Times>,
    /// Comparisons with the baseline, one per arm from the second on.
    pub comparisons: Vec<Comparison>,
    /// The baseline against its twin: what two equal arms differ by. `None` without a twin.
    pub floor: Option<Estimate>,
}

/// Why a block is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Other processes or other machines used the CPUs.
    Load,
    /// Threads of this process were runnable and did not run.
    RunDelay,
    /// A page had to be read from a file.
    MajorFault,
}

/// Times of one arm at one size, in nanoseconds per call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Median with its interval.
    pub median: Estimate,
    /// Arithmetic mean, for tables that other tools read.
    pub mean: f64,
    /// Standard deviation of one block.
    pub standard_deviation: f64,
    /// Smallest.
    pub minimum: f64,
    /// 95th percentile.
    pub percentile_95: f64,
    /// Median absolute deviation from the median.
    pub deviation: f64,
    /// CPU time per call, median, where it was measured.
    pub cpu: Option<f64>,
    /// Allocations and allocated bytes per call, medians, where they were counted.
    pub allocations: Option<(f64, f64)>,
    /// Steals, parks, threads added and contentions per call, means, where they were counted.
    pub pool: Option<[f64; 4]>,
}

/// One arm against the baseline at one size. Ratios are baseline time over the arm's time: above 1 the arm is faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Speed-up over the clean blocks; `None` if there are none.
    pub clean: Option<Estimate>,
    /// Speed-up over all blocks, disturbed or not.
    pub as_found: Estimate,
    /// What the clean blocks say.
    pub verdict: Verdict,
    /// Why the clean blocks decide nothing, where they do not.
    pub doubt: Option<Doubt>,
    /// p-value of the signs against "no difference at all", of the blocks the verdict is from.
    pub p_value: f64,
    /// Its q-value after Benjamini and Hochberg among all comparisons of the run, if there are so many that some would look
    /// different by chance: the expected share of wrong verdicts among those decided at least as clearly.
    pub q_value: Option<f64>,
    /// Spread between launches and within a launch, as standard deviations of the logarithm.
    pub spread: Spread,
}

/// A point that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub key: crate::record::Key,
    /// One line for people.
    pub message: String,
}

/// Peak memory of one arm at one size, with what else was seen of the calls whose memory was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Peak {
    /// Size.
    pub n: usize,
    /// Arm.
    pub arm: usize,
    /// Peak resident bytes above what was resident before the call: the median of the readings.
    pub bytes: u64,
    /// Each of them, ascending; every one is of a process of its own.
    pub readings: Vec<u64>,
    /// The process's threads during the first of these calls, where the system said.
    pub threads: Option<ThreadCourse>,
    /// When the items of the first of these calls ended, where the arm said.
    pub ends: Option<ItemEnds>,
}

impl Findings {
    /// The experiment with this id, if it is one of the run.
    #[cfg(feature = "experiments")]
    pub(crate) fn experiment(&self, id: &str) -> Option<&ExperimentFindings> {
        self.experiments.iter().find(|one| one.id == id)
    }

    /// All cases, in the order of their experiments.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &CaseFindings> {
        self.experiments.iter().flat_map(|one| &one.cases)
    }

    /// All sizes of all cases.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.cases().flat_map(|case| &case.points)
    }
}

impl Point {
    /// The speed-up to show of an arm; `None` for the baseline, and where it was not measured.
    pub(crate) fn speed_up(&self, arm: usize) -> Option<Estimate> {
        let comparison = self.comparisons.get(arm.checked_sub(1)?)?;
        Some(comparison.shown())
    }
}

impl Comparison {
    /// The speed-up to show: of the clean blocks where there are any.
    pub(crate) fn shown(&self) -> Estimate {
        self.clean.unwrap_or(self.as_found)
    }
}

impl CaseFindings {
    /// The size, if it was measured.
    pub(crate) fn point(&self, n: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.n == n)
    }

    /// Bytes that each item takes at its peak: the slope of all readings of the arm's peak memory over
    /// the size; `None` unless it was measured at three sizes.
    ///
    /// What a call takes once, such as the stacks of a pool's threads, is not in it.
    #[must_use]
    pub fn bytes_per_item(&self, arm: usize) -> Option<Slope> {
        let of_arm = || self.peaks.iter().filter(move |peak| peak.arm == arm);
        let points = of_arm().flat_map(|peak| {
            let readings = peak.readings.iter();
            readings.map(|bytes| (peak.n as f64, *bytes as f64))
        });
        let points: Vec<(f64, f64)> = points.collect();
        (of_arm().count() >= SLOPE_SIZES_MIN)
            .then(|| Slope::fit(&points))
            .flatten()
    }

    /// The peak memory of an arm at a size, where it was measured.
    pub(crate) fn peak(&self, n: usize, arm: usize) -> Option<&Peak> {
        let mut peaks = self.peaks.iter();
        peaks.find(|peak| (peak.n, peak.arm) == (n, arm))
    }
}

/// Fewer sizes show no slope.
const SLOPE_SIZES_MIN: usize = 3;

/// What each core did while an arm ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Size.
    pub n: usize,
    /// Arm.
    pub arm: usize,
    /// The picture.
    pub trace: CoreTrace,
}
