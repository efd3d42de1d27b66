//! The same case on several numbers of CPUs: what more of them bring, and what copies of a call take from each other.

use super::{CaseFindings, ExperimentFindings};
use crate::stats::{Estimate, karp_flatt};
use serde::Serialize;

/// One size of a case, on several numbers of CPUs or in several numbers of copies.
#[derive(Debug, Clone, PartialEq)]
pub struct Over<P> {
    /// The experiment's own name of the case.
    pub case: String,
    /// The largest size that was measured with all of them.
    pub n: usize,
    /// Whether the baseline needs a CPU for half of its time or more.
    pub computes: bool,
    /// The baseline first.
    pub arms: Vec<ArmOver<P>>,
}

/// One arm on several numbers of CPUs or in several numbers of copies.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmOver<P> {
    /// Its name.
    pub name: String,
    /// By ascending number.
    pub points: Vec<P>,
}

/// One arm on one number of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtCpus {
    /// CPUs.
    pub cpus: usize,
    /// Time of a call, in nanoseconds.
    pub nanos: Estimate,
    /// Time of the baseline on the fewest CPUs over this time.
    pub speed_up: f64,
    /// The serial fraction after Karp and Flatt; `None` on a single CPU, where no fraction explains the
    /// speed-up, and where the baseline waits for most of its time, which CPUs do not shorten.
    pub serial_fraction: Option<f64>,
    /// The time below which nobody comes who does not split an item: whole rounds of equal items,
    /// each of the length that one has in the baseline; `None` where that waits for most of its time, and
    /// where some arm is below it all the same: then the baseline's items are no measure of the others'.
    #[serde(rename = "rounds_bound_nanos")]
    pub bound_nanos: Option<f64>,
}

/// Copies of one arm on as many CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtCopies {
    /// Copies.
    pub copies: usize,
    /// Time until all copies of a call have ended, in nanoseconds.
    pub nanos: Estimate,
    /// Calls in a given time, as multiples of those of one copy alone; `None` if none was measured alone.
    pub throughput: Option<f64>,
}

impl ExperimentFindings {
    /// Each case that was measured on several numbers of CPUs.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::findings::ExperimentFindings;
    /// let nothing = ExperimentFindings::default();
    /// assert!(nothing.over_cpus().is_empty() && nothing.over_copies().is_empty());
    /// ```
    #[must_use]
    pub fn over_cpus(&self) -> Vec<Over<AtCpus>> {
        let families = families(&self.cases, |case| case.card.copies.is_none());
        families.iter().filter_map(|one| one.over_cpus()).collect()
    }

    /// Each case that was measured in several numbers of copies.
    ///
    /// Example: see [`over_cpus`](Self::over_cpus).
    #[must_use]
    pub fn over_copies(&self) -> Vec<Over<AtCopies>> {
        let families = families(&self.cases, |case| case.card.copies.is_some());
        let found = families.iter().filter_map(|one| one.over_copies());
        found.collect()
    }
}

/// The variants of one case, by ascending number of CPUs.
struct Family<'run> {
    name: &'run str,
    variants: Vec<(usize, &'run CaseFindings)>,
}

fn families(cases: &[CaseFindings], wanted: fn(&CaseFindings) -> bool) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for case in cases.iter().filter(|case| wanted(case)) {
        let (Some(name), Some(cpus), None) =
            (case.card.of.as_deref(), case.card.cpus, case.card.arm)
        else {
            continue;
        };
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.variants.push((cpus, case)),
            None => families.push(Family {
                name,
                variants: vec![(cpus, case)],
            }),
        }
    }
    for family in &mut families {
        family.variants.sort_by_key(|(cpus, _)| *cpus);
    }
    families.retain(|family| family.variants.len() > 1);
    families
}

impl Family<'_> {
    /// The largest size that all have.
    fn n(&self) -> Option<usize> {
        let (_, first) = self.variants.first()?;
        let sizes = first.points.iter().rev().map(|point| point.n);
        let mut variants = sizes.filter(|n| {
            let mut variants = self.variants.iter();
            variants.all(|(_, case)| case.point(*n).is_some())
        });
        variants.next()
    }

    /// One arm's times at a size, by number of CPUs.
    fn times(&self, n: usize, arm: usize) -> Vec<(usize, Estimate)> {
        let time = |(cpus, case): &(usize, &CaseFindings)| {
            Some((*cpus, case.point(n)?.times.get(arm)?.median))
        };
        self.variants.iter().filter_map(time).collect()
    }

    /// Whether the baseline needs a CPU for half of its time or more; not known is taken for yes.
    fn computes(&self, n: usize) -> bool {
        let first = self.variants.first();
        let first = first.and_then(|(_, case)| case.point(n)?.times.first());
        let share = first.and_then(|times| Some(times.cpu? / times.median.median));
        share.is_none_or(|share| share >= COMPUTING_MIN)
    }

    fn over_cpus(&self) -> Option<Over<AtCpus>> {
        let n = self.n()?;
        let (_, alone) = *self.times(n, 0).first()?;
        let computes = self.computes(n);
        let mut over: Over<AtCpus> = self.over(n, |times| {
            let at = |(cpus, nanos): (usize, Estimate)| {
                let speed_up = alone.median / nanos.median;
                let bound = || n.div_ceil(cpus) as f64 * alone.median / n.max(1) as f64;
                AtCpus {
                    cpus,
                    nanos,
                    speed_up,
                    serial_fraction: karp_flatt(speed_up, workers(cpus)).filter(|_| computes),
                    bound_nanos: computes.then(bound),
                }
            };
            times.into_iter().map(at).collect()
        });
        let is_below = |at: &AtCpus| at.bound_nanos.is_some_and(|bound| at.nanos.high < bound);
        if over.arms.iter().flat_map(|arm| &arm.points).any(is_below) {
            let points = over.arms.iter_mut().flat_map(|arm| &mut arm.points);
            points.for_each(|at| at.bound_nanos = None);
        }
        Some(over)
    }

    fn over_copies(&self) -> Option<Over<AtCopies>> {
        Some(self.over(self.n()?, |times| {
            let alone = times.iter().find(|(copies, _)| *copies == 1);
            let alone = alone.map(|(_, nanos)| nanos.median);
            let at = |(copies, nanos): (usize, Estimate)| AtCopies {
                copies,
                nanos,
                throughput: alone.map(|alone| copies as f64 * alone / nanos.median),
            };
            times.into_iter().map(at).collect()
        }))
    }

    /// All arms at a size, each with what there is to say of its times, which are by number of CPUs.
    fn over<P>(&self, n: usize, points: impl Fn(Vec<(usize, Estimate)>) -> Vec<P>) -> Over<P> {
        let (_, first) = self.variants[0];
        let arms = first.card.arms.iter().enumerate();
        let arms = arms.map(|(arm, name)| ArmOver {
            name: name.clone(),
            points: points(self.times(n, arm)),
        });
        Over {
            case: self.name.to_owned(),
            n,
            computes: self.computes(n),
            arms: arms.collect(),
        }
    }
}

/// A baseline that needs a CPU for less of its time waits.
const COMPUTING_MIN: f64 = 0.5;

fn workers(cpus: usize) -> u32 {
    u32::try_from(cpus).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::findings::{ExperimentFindings, Point};
    use crate::report::fixture::over_cpus as experiment;

    #[test]
    fn what_more_cpus_bring_is_measured_against_the_baseline_alone() {
        let found = experiment().over_cpus();
        let [case] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((case.case.as_str(), case.n), ("SHA-512", 300));
        let [sequential, parallel] = case.arms.as_slice() else {
            panic!("{case:?}");
        };
        assert_eq!(sequential.points.len(), 4);
        assert!(sequential.points.iter().all(|at| at.speed_up == 1.0));
        let cpus: Vec<usize> = parallel.points.iter().map(|at| at.cpus).collect();
        assert_eq!(cpus, [1, 2, 4, 8]);
        let last = parallel.points[3];
        assert!((last.speed_up - 5.0).abs() < 1e-9, "{last:?}");
        // (1/5 − 1/8) / (1 − 1/8).
        let serial = last.serial_fraction.unwrap();
        assert!((serial - 0.075 / 0.875).abs() < 1e-9, "{serial}");
        assert_eq!(parallel.points[0].serial_fraction, None);
        // 38 rounds of one item.
        let bound = last.bound_nanos.unwrap();
        assert!((bound - 38.0 * 1_000.0).abs() < 1e-6);
    }

    fn points(experiment: &mut ExperimentFindings) -> impl Iterator<Item = &mut Point> {
        let cases = experiment.cases.iter_mut();
        cases.flat_map(|case| &mut case.points)
    }

    #[test]
    fn where_the_baseline_waits_there_is_no_bound_and_no_serial_fraction() {
        let mut experiment = experiment();
        for times in points(&mut experiment).flat_map(|point| &mut point.times) {
            times.cpu = Some(times.median.median / 10.0);
        }
        let found = experiment.over_cpus();
        for arm in &found[0].arms {
            let at = |at: &super::AtCpus| at.bound_nanos.is_none() && at.serial_fraction.is_none();
            assert!(arm.points.iter().all(at), "{arm:?}");
        }
    }

    #[test]
    fn a_bound_that_an_arm_is_below_is_none() {
        let mut experiment = experiment();
        // The baseline queues its items under one lock, and the other arm does not.
        for parallel in points(&mut experiment).filter_map(|point| point.times.get_mut(1)) {
            let at = &mut parallel.median;
            (at.median, at.low, at.high) = (at.median / 25.0, at.low / 25.0, at.high / 25.0);
        }
        let found = experiment.over_cpus();
        let mut points = found[0].arms.iter().flat_map(|arm| &arm.points);
        assert!(points.all(|at| at.bound_nanos.is_none()), "{found:?}");
        assert!(found[0].computes);
    }

    #[test]
    fn copies_are_compared_with_one_alone() {
        let found = experiment().over_copies();
        let [case] = found.as_slice() else {
            panic!("{found:?}");
        };
        let throughput = case.arms[0].points.iter().map(|at| at.throughput.unwrap());
        let hundredths: Vec<f64> = throughput.map(|one| (one * 100.0).round()).collect();
        assert_eq!(hundredths, [100.0, 160.0]);
    }

    #[test]
    fn a_single_number_of_cpus_is_no_curve() {
        let mut experiment = experiment();
        experiment.cases.retain(|case| case.card.cpus == Some(2));
        assert_eq!(experiment.over_cpus(), []);
        assert_eq!(experiment.over_copies(), []);
    }
}
