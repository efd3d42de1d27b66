//! The tour: all experiments within a budget of time, and the break-even where a case has sizes.
//!
//! Every part gets its share of what is left of the budget, so time that one part does not need
//! passes to those after it. What no longer fits is listed as left out.

use crate::{
    Experiment, LabError, Measurement, Scale, Workload,
    break_even::{self, BreakEven},
    run::{self, Limits, Observer, Stop},
    sample::{Sampler, Subject},
    verdict::{Rule, Side},
};
use std::time::Duration;

/// What to tour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tour {
    /// Which sizes.
    pub scale: Scale,
    /// Time for all measurements together; one block may overrun it.
    pub budget: Duration,
}

/// One experiment's results.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Id of the experiment.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What was measured, by case, then by size; each with at least one block.
    pub measurements: Vec<Measurement>,
    /// The rule that decides sides in this section.
    pub rule: Rule,
    /// The break-even, if the experiment has one case at several sizes.
    pub break_even: Option<BreakEven>,
    /// Cases and sizes the budget had no time for.
    pub left_out: Vec<(String, usize)>,
}

/// Told about whole sections beside what [`Observer`] is told.
pub trait Guide: Observer {
    /// A section is complete.
    ///
    /// # Errors
    /// Whatever makes it pointless to go on.
    fn section_done(&mut self, section: &Section) -> Result<(), LabError>;
}

/// Runs the tour.
///
/// # Errors
/// Those of the sampler and the guide. A checksum mismatch ends the tour.
pub fn run<'case>(
    experiments: &'case [Experiment],
    tour: Tour,
    sampler: &mut dyn Sampler<'case>,
    guide: &mut dyn Guide,
) -> Result<Vec<Section>, LabError> {
    let start = sampler.elapsed();
    let deadline = start.saturating_add(tour.budget);
    let mut weight_left: u32 = experiments.iter().map(weight).sum();
    let mut sections = Vec::new();
    for experiment in experiments {
        let weight = weight(experiment);
        let end = share_end(sampler.elapsed(), deadline, weight, weight_left);
        weight_left -= weight;
        let mut part = Part {
            experiment,
            end,
            deadline,
            sampler: &mut *sampler,
            guide: &mut *guide,
        };
        let section = part.run(tour.scale)?;
        guide.section_done(&section)?;
        sections.push(section);
    }
    Ok(sections)
}

/// Parts of the time, in percent; an experiment from elsewhere gets an average one.
fn weight(experiment: &Experiment) -> u32 {
    match experiment.id() {
        "E3" => 52,
        "E2" => 24,
        "E8" => 16,
        "E4" => 8,
        _ => 25,
    }
}

/// End of a share that has `weight` of the `weight_left` still to be given out.
fn share_end(now: Duration, end: Duration, weight: u32, weight_left: u32) -> Duration {
    let left = end.saturating_sub(now);
    now + left.mul_f64(f64::from(weight) / f64::from(weight_left.max(1)))
}

/// One experiment with its share of the time and what it is run with.
struct Part<'case, 'run> {
    experiment: &'case Experiment,
    end: Duration,
    deadline: Duration,
    sampler: &'run mut dyn Sampler<'case>,
    guide: &'run mut dyn Guide,
}

impl<'case> Part<'case, '_> {
    fn run(&mut self, scale: Scale) -> Result<Section, LabError> {
        let cases = self.experiment.cases();
        let has_sizes = cases.len() == 1 && cases[0].sizes(scale).len() > 1;
        let mut section = Section {
            id: self.experiment.id().to_owned(),
            title: self.experiment.title().to_owned(),
            measurements: Vec::new(),
            rule: if has_sizes {
                Rule::AMONG_SIZES
            } else {
                Rule::SINGLE
            },
            break_even: None,
            left_out: Vec::new(),
        };
        if has_sizes {
            let scan_end = share_end(self.sampler.elapsed(), self.end, SCAN_PERCENT, 100);
            self.scan(scale, scan_end, &mut section)?;
            self.refine(&mut section)?;
            section.break_even = Some(break_even::locate(&sides(&section)));
        } else {
            self.scan(scale, self.end, &mut section)?;
        }
        Ok(section)
    }

    /// Measures every case at every size.
    fn scan(&mut self, scale: Scale, end: Duration, section: &mut Section) -> Result<(), LabError> {
        let cases = self.experiment.cases().iter().map(AsRef::as_ref);
        let with_sizes =
            |case: &'case dyn Workload| case.sizes(scale).iter().map(move |n| (case, *n));
        let all: Vec<_> = cases.flat_map(with_sizes).collect();
        for (index, (case, n)) in all.iter().copied().enumerate() {
            let left = u32::try_from(all.len() - index).unwrap_or(u32::MAX);
            let until = share_end(self.sampler.elapsed(), end, 1, left);
            let mut measurement = run::measurement_of(self.subject(case), n);
            if self.fits(&measurement, section.measurements.last()) {
                self.measure(case, &mut measurement, &SCAN, until)?;
            }
            if measurement.blocks.is_empty() {
                section.left_out.push((measurement.case, n));
            } else {
                section.measurements.push(measurement);
            }
        }
        Ok(())
    }

    /// Whether opening a size and one block of it should end in time, judged from the size before.
    fn fits(&self, next: &Measurement, before: Option<&Measurement>) -> bool {
        let before = before.filter(|before| before.case == next.case);
        let Some((before, nanos)) = before.and_then(|one| Some((one, one.median_nanos(0)?))) else {
            return true;
        };
        let call = nanos * next.n as f64 / before.n as f64;
        let until = Duration::from_secs_f64(CALLS_TO_START * call / 1e9);
        self.sampler.elapsed().saturating_add(until) <= self.deadline
    }

    /// Completes sizes that got too few blocks to decide anything, looks again at undecided ones
    /// above a decided one, then bisects the bracket.
    fn refine(&mut self, section: &mut Section) -> Result<(), LabError> {
        let case = self.experiment.cases()[0].as_ref();
        let blocks_min = section.rule.blocks_min() as usize;
        for measurement in &mut section.measurements {
            if measurement.blocks.len() < blocks_min && self.sampler.elapsed() < self.end {
                self.measure(case, measurement, &SCAN, self.end)?;
            }
        }
        for n in gaps(&sides(section)) {
            self.probe(n, section, &GAP)?;
        }
        let BreakEven::Between { lower, upper } = break_even::locate(&sides(section)) else {
            return Ok(());
        };
        break_even::bisect(lower, upper, |n| self.probe(n, section, &PROBE))?;
        Ok(())
    }

    /// Adds blocks at one size until it is decided. `None` if there was no time to.
    fn probe(
        &mut self,
        n: usize,
        section: &mut Section,
        stop: &Stop,
    ) -> Result<Option<Side>, LabError> {
        if self.sampler.elapsed() >= self.end {
            return Ok(None);
        }
        let case = self.experiment.cases()[0].as_ref();
        let found = section.measurements.binary_search_by_key(&n, |one| one.n);
        let index = found.unwrap_or_else(|index| {
            let measurement = run::measurement_of(self.subject(case), n);
            section.measurements.insert(index, measurement);
            index
        });
        let measurement = &mut section.measurements[index];
        self.measure(case, measurement, stop, self.end)?;
        let blocks = measurement.blocks.len();
        let side = section.rule.side(&measurement.ratios(1));
        if blocks == 0 {
            section.measurements.remove(index);
        }
        let looked_enough = blocks >= section.rule.blocks_min() as usize;
        Ok((side != Side::Undecided || looked_enough).then_some(side))
    }

    fn measure(
        &mut self,
        case: &'case dyn Workload,
        measurement: &mut Measurement,
        stop: &Stop,
        share_end: Duration,
    ) -> Result<(), LabError> {
        let limits = Limits {
            stop,
            share_end,
            deadline: self.deadline,
        };
        run::measure(
            self.subject(case),
            measurement,
            &limits,
            self.sampler,
            self.guide,
        )
    }

    fn subject(&self, case: &'case dyn Workload) -> Subject<'case> {
        Subject {
            experiment: self.experiment,
            case,
        }
    }
}

/// Sizes with their sides. Sizes with too few blocks to decide anything are no evidence and do
/// not take part.
fn sides(section: &Section) -> Vec<(usize, Side)> {
    let rule = section.rule;
    let side = |measurement: &Measurement| {
        let enough = measurement.blocks.len() >= rule.blocks_min() as usize;
        enough.then(|| (measurement.n, rule.side(&measurement.ratios(1))))
    };
    section.measurements.iter().filter_map(side).collect()
}

/// Undecided sizes above the first one at which the challenger is faster.
fn gaps(points: &[(usize, Side)]) -> Vec<usize> {
    let below = |(_, side): &&(usize, Side)| *side != Side::Faster;
    let above = points.iter().skip_while(below);
    let undecided = above.filter(|(_, side)| *side == Side::Undecided);
    undecided.map(|(n, _)| *n).collect()
}

/// A grid point's blocks do not depend on what they say, so that its median is not biased; only a
/// gap that is looked at again departs from this.
const SCAN: Stop = Stop {
    blocks_min: 5,
    blocks_max: 40,
    decided_by: None,
};
/// A bisection step is there to decide.
const PROBE: Stop = Stop {
    blocks_min: 11,
    blocks_max: 60,
    decided_by: Some(Rule::AMONG_SIZES),
};
/// A gap is what a busy machine leaves: with every third block lost to it, deciding takes a
/// hundred of them.
const GAP: Stop = Stop {
    blocks_max: 200,
    ..PROBE
};
/// Opening calls each of two arms once, a block does so again.
const CALLS_TO_START: f64 = 4.0;
/// Part of an experiment's time that goes to its grid; the rest narrows the bracket.
const SCAN_PERCENT: u32 = 65;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Case};
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    /// Time passes only by the blocks it hands out.
    struct MockSampler {
        now: Duration,
        block_takes: Duration,
        n: usize,
        rng: StdRng,
        speed_up: fn(usize) -> f64,
    }

    impl MockSampler {
        fn new(speed_up: fn(usize) -> f64) -> Self {
            Self {
                now: Duration::from_secs(3),
                block_takes: Duration::from_millis(20),
                n: 0,
                rng: StdRng::seed_from_u64(9),
                speed_up,
            }
        }
    }

    impl<'case> Sampler<'case> for MockSampler {
        fn open(&mut self, _: Subject<'case>, n: usize) -> Result<(), LabError> {
            self.n = n;
            self.now += self.block_takes;
            Ok(())
        }

        fn block(&mut self) -> Result<Block, LabError> {
            self.now += self.block_takes;
            let noise = 1.0 + self.rng.random_range(-0.01..0.01);
            let sequential = self.n as f64 * 230.0;
            Ok(Block {
                calls: 1,
                order: vec![0, 1],
                nanos: vec![sequential, sequential * noise / (self.speed_up)(self.n)],
                checksum: 0,
            })
        }

        fn elapsed(&self) -> Duration {
            self.now
        }
    }

    /// Counts what it is told.
    #[derive(Default)]
    struct Tally {
        blocks: usize,
        sections: Vec<String>,
    }

    impl Observer for Tally {
        fn block_done(&mut self, _: &Measurement, _: Duration) -> Result<(), LabError> {
            self.blocks += 1;
            Ok(())
        }
    }

    impl Guide for Tally {
        fn section_done(&mut self, section: &Section) -> Result<(), LabError> {
            self.sections.push(section.id.clone());
            Ok(())
        }
    }

    fn scanned(id: &'static str) -> Experiment {
        let case = Case::slots("grid", 0_u8)
            .full_sizes([1, 10, 100, 1_000, 10_000])
            .arm("sequential", |_, _| ())
            .arm("parallel", |_, _| ());
        Experiment::new(id, "a grid").case(case)
    }

    fn single(id: &'static str) -> Experiment {
        let case = |name| {
            Case::slots(name, 0_u8)
                .full_sizes([50])
                .arm("sequential", |_, _| ())
                .arm("parallel", |_, _| ())
        };
        Experiment::new(id, "two cases")
            .case(case("a"))
            .case(case("b"))
    }

    fn tour(
        experiments: &[Experiment],
        sampler: &mut MockSampler,
        seconds: u64,
    ) -> (Vec<Section>, Tally) {
        let mut tally = Tally::default();
        let tour = Tour {
            scale: Scale::Full,
            budget: Duration::from_secs(seconds),
        };
        let sections = run(experiments, tour, sampler, &mut tally).unwrap();
        (sections, tally)
    }

    #[test]
    fn a_crossing_is_bracketed_and_every_block_is_reported() {
        let experiments = [scanned("X1"), single("X2")];
        let mut sampler = MockSampler::new(|n| if n >= 170 { 1.5 } else { 1.0 });
        let (sections, tally) = tour(&experiments, &mut sampler, 40);
        let Some(BreakEven::Between { lower, upper }) = sections[0].break_even else {
            panic!("{:?}", sections[0].break_even);
        };
        assert!(lower < 170 && 170 <= upper && upper * 10 <= lower * 11);
        assert_eq!(sections[1].break_even, None);
        assert_eq!(tally.sections, ["X1", "X2"]);
        let all = sections.iter().flat_map(|section| &section.measurements);
        assert_eq!(tally.blocks, all.map(|one| one.blocks.len()).sum::<usize>());
        let sizes: Vec<_> = sections[0].measurements.iter().map(|one| one.n).collect();
        assert!(sizes.is_sorted());
    }

    #[test]
    fn an_arm_that_never_wins_is_reported_as_such() {
        let experiments = [scanned("X1")];
        let (sections, _) = tour(&experiments, &mut MockSampler::new(|_| 0.9), 40);
        let never = BreakEven::NeverUpTo { largest: 10_000 };
        assert_eq!(sections[0].break_even, Some(never));
    }

    #[test]
    fn the_budget_is_kept_and_what_does_not_fit_is_listed() {
        let experiments = [scanned("X1"), single("X2"), single("X3")];
        let mut sampler = MockSampler::new(|_| 1.5);
        sampler.block_takes = Duration::from_secs(1);
        let start = sampler.now;
        let (sections, _) = tour(&experiments, &mut sampler, 20);
        // A case opened just in time takes one opening and one block.
        assert!(sampler.now - start <= Duration::from_secs(22));
        assert_eq!(sections.len(), 3);
        let left_out: usize = sections.iter().map(|section| section.left_out.len()).sum();
        let measured: usize = sections
            .iter()
            .map(|section| section.measurements.len())
            .sum();
        assert_eq!(left_out + measured, 9);
        assert!(left_out > 0);
    }

    #[test]
    fn gaps_are_the_undecided_sizes_above_the_first_win() {
        use Side::{Faster, Slower, Undecided};
        let points = [
            (1, Undecided),
            (2, Faster),
            (3, Undecided),
            (4, Slower),
            (5, Undecided),
        ];
        assert_eq!(gaps(&points), [3, 5]);
        assert_eq!(gaps(&points[..1]), [0; 0]);
    }
}
