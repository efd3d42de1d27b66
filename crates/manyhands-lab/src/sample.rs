//! Taking one block: every arm timed once over the same number of calls.
//!
//! Resetting and checksumming stay outside the timed region. What a block means is decided
//! elsewhere.

use crate::{
    LabError,
    clock::Stopwatch,
    experiment::{Experiment, Trial, Workload},
    measurement::Block,
};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use std::{fmt, time::Duration};

/// A case together with the experiment it belongs to.
#[derive(Clone, Copy)]
pub struct Subject<'case> {
    /// The experiment.
    pub experiment: &'case Experiment,
    /// The case.
    pub case: &'case dyn Workload,
}

impl Subject<'_> {
    /// Experiment and case, as printed.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.experiment.id(), self.case.name())
    }
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.title())
    }
}

/// Where blocks come from; tests put their own in place of the clock.
pub trait Sampler<'case> {
    /// Prepares a case at one size: warms its arms, compares their results and fixes the number
    /// of calls per sample.
    ///
    /// # Errors
    /// [`LabError::ChecksumMismatch`] if two arms store different results.
    fn open(&mut self, subject: Subject<'case>, n: usize) -> Result<(), LabError>;

    /// Times every arm of the open case once.
    ///
    /// # Errors
    /// [`LabError::ChecksumMismatch`] if an arm stores other results than before.
    ///
    /// # Panics
    /// If no case is open.
    fn block(&mut self) -> Result<Block, LabError>;

    /// Time since the sampler was made.
    fn elapsed(&self) -> Duration;
}

/// The sampler that really measures.
pub struct LiveSampler<'case> {
    watch: Stopwatch,
    batch: Duration,
    rng: StdRng,
    open: Option<Open<'case>>,
}

impl<'case> LiveSampler<'case> {
    /// Makes a sampler; the seed fixes the order of the arms.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            watch: Stopwatch::start(),
            batch: BATCH,
            rng: StdRng::seed_from_u64(seed),
            open: None,
        }
    }

    /// Sets how long one sample of the baseline should take at least.
    #[must_use]
    pub fn batch(mut self, batch: Duration) -> Self {
        self.batch = batch;
        self
    }
}

impl<'case> Sampler<'case> for LiveSampler<'case> {
    fn open(&mut self, subject: Subject<'case>, n: usize) -> Result<(), LabError> {
        // The results of the case before go first: both at once may not fit.
        self.open = None;
        let mut open = Open::new(subject, n)?;
        open.warm_up(self.batch)?;
        self.open = Some(open);
        Ok(())
    }

    fn block(&mut self) -> Result<Block, LabError> {
        let open = self
            .open
            .as_mut()
            .expect("a case is opened before its blocks");
        open.block(&mut self.rng)
    }

    fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }
}

impl fmt::Debug for LiveSampler<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.open.as_ref().map(|open| open.subject);
        formatter
            .debug_struct("LiveSampler")
            .field("batch", &self.batch)
            .field("open", &subject)
            .finish_non_exhaustive()
    }
}

/// The case being measured.
struct Open<'case> {
    subject: Subject<'case>,
    n: usize,
    arms: Vec<&'static str>,
    trial: Box<dyn Trial + 'case>,
    calls: u32,
    order: Vec<usize>,
    turn: Turn,
    expected: Option<u64>,
}

/// How the next block orders its arms: drawn, then mirrored, so that two blocks are ABBA.
#[derive(Clone, Copy)]
enum Turn {
    Draw,
    Mirror,
}

impl<'case> Open<'case> {
    fn new(subject: Subject<'case>, n: usize) -> Result<Self, LabError> {
        let arms = subject.case.arms();
        if arms.len() < 2 {
            return Err(LabError::TooFewArms {
                case: subject.title(),
            });
        }
        Ok(Self {
            subject,
            n,
            trial: subject.case.open(n),
            calls: 1,
            order: (0..arms.len()).collect(),
            turn: Turn::Draw,
            expected: None,
            arms,
        })
    }

    /// Calls every arm, which compares their results, and doubles the calls until one sample of
    /// the baseline lasts as long as asked.
    fn warm_up(&mut self, batch: Duration) -> Result<(), LabError> {
        let mut took = self.time(0)?;
        while took < batch && self.calls < CALLS_MAX {
            let missing = batch.as_nanos() / took.as_nanos().max(1) + 1;
            let factor = u32::try_from(missing).unwrap_or(u32::MAX).min(GROWTH_MAX);
            self.calls = self.calls.saturating_mul(factor).min(CALLS_MAX);
            took = self.time(0)?;
        }
        for arm in 1..self.arms.len() {
            self.time(arm)?;
        }
        Ok(())
    }

    fn block(&mut self, rng: &mut StdRng) -> Result<Block, LabError> {
        self.turn = match self.turn {
            Turn::Draw => {
                self.order.shuffle(rng);
                Turn::Mirror
            }
            Turn::Mirror => {
                self.order.reverse();
                Turn::Draw
            }
        };
        let order = self.order.clone();
        let mut nanos = vec![0.0; order.len()];
        for arm in &order {
            let took = self.time(*arm)?;
            // A clock too coarse for the sample must not make a ratio infinite.
            nanos[*arm] = (took.as_nanos().max(1) as f64) / f64::from(self.calls);
        }
        Ok(Block {
            calls: self.calls,
            order,
            nanos,
            checksum: self.expected.unwrap_or_default(),
        })
    }

    /// Times one sample of an arm and checks what it stored.
    fn time(&mut self, arm: usize) -> Result<Duration, LabError> {
        self.trial.reset();
        let watch = Stopwatch::start();
        self.trial.call(arm, self.calls);
        let took = watch.elapsed();
        let found = self.trial.checksum();
        let expected = *self.expected.get_or_insert(found);
        if found == expected {
            return Ok(took);
        }
        Err(LabError::ChecksumMismatch {
            case: self.subject.title(),
            n: self.n,
            baseline: self.arms[0].to_owned(),
            expected,
            arm: self.arms[arm].to_owned(),
            found,
        })
    }
}

/// Long against the clock's grain, short enough for forty blocks a point.
const BATCH: Duration = Duration::from_millis(5);
const CALLS_MAX: u32 = 1 << 24;
/// One step of the warm-up grows no more than this: a first call may be far too slow or fast.
const GROWTH_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn experiment(second: fn(usize, &mut Vec<u32>)) -> Experiment {
        let case = Case::slots("fill", 0_u32)
            .full_sizes([3])
            .arm("one", |_, slots| slots.fill(1))
            .arm("two", second);
        Experiment::new("X1", "a test").case(case)
    }

    fn open_first<'case>(
        sampler: &mut LiveSampler<'case>,
        experiment: &'case Experiment,
    ) -> Result<(), LabError> {
        let case = experiment.cases()[0].as_ref();
        sampler.open(Subject { experiment, case }, 3)
    }

    #[test]
    fn blocks_time_every_arm_and_mirror_their_order() {
        let experiment = experiment(|_, slots| slots.fill(1));
        let mut sampler = LiveSampler::new(1).batch(Duration::from_micros(10));
        open_first(&mut sampler, &experiment).unwrap();
        for _ in 0..4 {
            let drawn = sampler.block().unwrap();
            let mut mirrored = sampler.block().unwrap();
            mirrored.order.reverse();
            assert_eq!(drawn.order, mirrored.order);
            assert!(drawn.nanos.iter().all(|nanos| *nanos > 0.0));
            assert_eq!(drawn.checksum, mirrored.checksum);
        }
    }

    #[test]
    fn arms_that_store_different_results_fail_the_case() {
        let experiment = experiment(|_, slots| slots.fill(2));
        let mut sampler = LiveSampler::new(1).batch(Duration::from_micros(10));
        let error = open_first(&mut sampler, &experiment).unwrap_err();
        let LabError::ChecksumMismatch { case, arm, n, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((case.as_str(), arm.as_str(), n), ("X1 fill", "two", 3));
    }

    #[test]
    fn an_arm_that_stores_nothing_fails_the_case() {
        let experiment = experiment(|_, _| ());
        let mut sampler = LiveSampler::new(1).batch(Duration::from_micros(10));
        assert!(open_first(&mut sampler, &experiment).is_err());
    }

    #[test]
    fn a_single_arm_is_nothing_to_compare() {
        let case = Case::slots("c", 0_u8)
            .full_sizes([3])
            .arm("only", |_, _| ());
        let experiment = Experiment::new("X1", "a test").case(case);
        let mut sampler = LiveSampler::new(1);
        let error = open_first(&mut sampler, &experiment).unwrap_err();
        assert!(matches!(error, LabError::TooFewArms { .. }));
    }
}
