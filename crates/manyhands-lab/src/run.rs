//! Taking blocks until a stop rule or the time says enough. Knows no clock of its own.

use crate::{
    Experiment, LabError, Measurement, Scale,
    sample::{Sampler, Subject},
    verdict::{Rule, Side},
};
use std::time::Duration;

/// When one measurement has blocks enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Blocks to take even if the measurement's share of the time is used up.
    pub blocks_min: u32,
    /// Blocks never to exceed.
    pub blocks_max: u32,
    /// Stop as soon as this rule has decided a side.
    pub decided_by: Option<Rule>,
}

impl Stop {
    /// Exactly this many blocks.
    #[must_use]
    pub fn after_blocks(blocks: u32) -> Self {
        Self {
            blocks_min: blocks,
            blocks_max: blocks,
            decided_by: None,
        }
    }

    /// Whether to stop here. The last block tells how long the next one will take.
    #[must_use]
    pub fn is_enough(&self, measurement: &Measurement, time: &Time) -> bool {
        let blocks = u32::try_from(measurement.blocks.len()).unwrap_or(u32::MAX);
        let next_end = time.now.saturating_add(time.last_block);
        if blocks >= self.blocks_max || next_end > time.deadline {
            return true;
        }
        if blocks < self.blocks_min {
            return false;
        }
        let decides = |rule: Rule| rule.side(&measurement.ratios(1)) != Side::Undecided;
        next_end > time.share_end || self.decided_by.is_some_and(decides)
    }
}

/// The time as a stop rule sees it; all but `last_block` count from the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Now.
    pub now: Duration,
    /// How long the last block took; zero before the first.
    pub last_block: Duration,
    /// End of this measurement's share.
    pub share_end: Duration,
    /// End of everything.
    pub deadline: Duration,
}

/// Told what happens, between blocks.
pub trait Observer {
    /// A case is about to be prepared at one size.
    fn measurement_begins(&mut self, measurement: &Measurement, now: Duration) {
        let _ = (measurement, now);
    }

    /// The last block of this measurement is new.
    ///
    /// # Errors
    /// Whatever makes it pointless to go on, such as results that cannot be saved.
    fn block_done(&mut self, measurement: &Measurement, now: Duration) -> Result<(), LabError>;
}

/// Ignores everything.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn block_done(&mut self, _: &Measurement, _: Duration) -> Result<(), LabError> {
        Ok(())
    }
}

/// An empty measurement of a case at one size.
#[must_use]
pub fn measurement_of(subject: Subject<'_>, n: usize) -> Measurement {
    Measurement {
        experiment: subject.experiment.id().to_owned(),
        case: subject.case.name().to_owned(),
        n,
        arms: subject.case.arms().into_iter().map(str::to_owned).collect(),
        blocks: Vec::new(),
    }
}

/// Opens the case at the measurement's size and adds blocks until it is enough. Nothing happens
/// if the deadline has passed.
///
/// # Errors
/// Those of the sampler and of the observer; the blocks taken before stay.
pub fn measure<'case>(
    subject: Subject<'case>,
    measurement: &mut Measurement,
    limits: &Limits<'_>,
    sampler: &mut dyn Sampler<'case>,
    observer: &mut dyn Observer,
) -> Result<(), LabError> {
    let mut time = Time {
        now: sampler.elapsed(),
        last_block: Duration::ZERO,
        share_end: limits.share_end,
        deadline: limits.deadline,
    };
    if limits.stop.is_enough(measurement, &time) {
        return Ok(());
    }
    observer.measurement_begins(measurement, time.now);
    sampler.open(subject, measurement.n)?;
    loop {
        let before = sampler.elapsed();
        measurement.blocks.push(sampler.block()?);
        time.now = sampler.elapsed();
        time.last_block = time.now.saturating_sub(before);
        observer.block_done(measurement, time.now)?;
        if limits.stop.is_enough(measurement, &time) {
            return Ok(());
        }
    }
}

/// Everything that can end a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits<'stop> {
    /// The rule.
    pub stop: &'stop Stop,
    /// End of this measurement's share of the time.
    pub share_end: Duration,
    /// End of everything.
    pub deadline: Duration,
}

/// Measures all cases of an experiment at all sizes of a scale, without a limit on time.
///
/// # Errors
/// [`LabError::ChecksumMismatch`] if the arms of a case store different results.
pub fn experiment<'case>(
    experiment: &'case Experiment,
    scale: Scale,
    sampler: &mut dyn Sampler<'case>,
    stop: &Stop,
) -> Result<Vec<Measurement>, LabError> {
    let limits = Limits {
        stop,
        share_end: Duration::MAX,
        deadline: Duration::MAX,
    };
    let mut all = Vec::new();
    for case in experiment.cases() {
        let case = case.as_ref();
        for n in case.sizes(scale) {
            let subject = Subject { experiment, case };
            let mut measurement = measurement_of(subject, *n);
            measure(subject, &mut measurement, &limits, sampler, &mut Silent)?;
            all.push(measurement);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;

    fn measurement(ratios: &[f64]) -> Measurement {
        let block = |ratio: &f64| Block {
            calls: 1,
            order: vec![0, 1],
            nanos: vec![100.0 * ratio, 100.0],
            checksum: 0,
        };
        Measurement {
            experiment: "X".into(),
            case: "c".into(),
            n: 1,
            arms: vec!["a".into(), "b".into()],
            blocks: ratios.iter().map(block).collect(),
        }
    }

    const STOP: Stop = Stop {
        blocks_min: 3,
        blocks_max: 20,
        decided_by: Some(Rule::SINGLE),
    };

    #[test]
    fn every_reason_to_stop() {
        fn check(why: &str, ratios: &[f64], seconds: [u64; 4], expected: bool) {
            let [now, last_block, share_end, deadline] = seconds.map(Duration::from_secs);
            let time = Time {
                now,
                last_block,
                share_end,
                deadline,
            };
            let enough = STOP.is_enough(&measurement(ratios), &time);
            assert_eq!(enough, expected, "{why}");
        }
        let mixed = [1.2, 0.8].repeat(10);
        check("fresh", &[], [0, 0, 10, 20], false);
        check("undecided, in time", &mixed[..5], [5, 1, 10, 20], false);
        check("as many as allowed", &mixed, [5, 1, 10, 20], true);
        check("share used up", &mixed[..5], [10, 1, 10, 20], true);
        check(
            "too few, share used up",
            &mixed[..2],
            [12, 1, 10, 20],
            false,
        );
        check("too few, deadline near", &mixed[..2], [19, 2, 10, 20], true);
        check("decided", &[1.5; 7], [5, 1, 10, 20], true);
        check("not yet decided", &[1.5; 6], [5, 1, 10, 20], false);
    }

    #[test]
    fn a_fixed_number_of_blocks_ignores_the_share() {
        let stop = Stop::after_blocks(4);
        let time = Time {
            now: Duration::from_secs(9),
            last_block: Duration::from_secs(1),
            share_end: Duration::ZERO,
            deadline: Duration::MAX,
        };
        assert!(!stop.is_enough(&measurement(&[1.0; 3]), &time));
        assert!(stop.is_enough(&measurement(&[1.0; 4]), &time));
    }
}
