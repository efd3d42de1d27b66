//! Whether what was claimed holds here, decided by intervals and verdicts alone.

use super::{AtCpus, CaseFindings, ExperimentFindings, Over, Peak, Point};
use crate::{
    break_even::Kind,
    record::{ClaimCard, ClaimPart, ClaimTest, Range},
    stats::Estimate,
    verdict::{Doubt, Verdict},
};

/// A claim and what was found of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedClaim {
    /// The claim as a sentence.
    pub text: String,
    /// What is to be said of all of it: that of its parts which says most against it. `Undecided`
    /// if it has no part that can be decided.
    pub ruling: Ruling,
    /// Its parts.
    pub parts: Vec<JudgedPart>,
}

/// A part of a claim and what was found of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedPart {
    /// What it says.
    pub says: String,
    /// Whether it holds.
    pub ruling: Ruling,
    /// The fewest and the most CPUs that it is about, if others were used here. Then it is undecided.
    pub needs_cpus: Option<(usize, usize)>,
    /// What that is concluded from.
    pub evidence: Evidence,
}

/// Whether something holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruling {
    /// It holds.
    Holds,
    /// What was measured does not tell.
    Undecided,
    /// It does not hold.
    DoesNotHold,
}

/// What a ruling is concluded from.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// It was not measured.
    Nothing,
    /// A ratio, at a size where there are several.
    Ratio {
        /// Case.
        case: String,
        /// Size.
        n: usize,
        /// The ratio. That of times is as certain as the verdicts: without the blocks that these need it has no
        /// interval, and its ends are farther out by what two equal arms differed by in the same blocks.
        ratio: Estimate,
    },
    /// The geometric mean of several ratios.
    Mean {
        /// How many.
        of: usize,
        /// Their mean.
        ratio: Estimate,
    },
    /// A break-even.
    BreakEven(Kind),
}

impl ExperimentFindings {
    /// Compares what was found with what was claimed, on a machine with so many CPUs.
    pub(super) fn judge(&self, claim: &ClaimCard, cpus: usize) -> JudgedClaim {
        let confined = self.claimed().filter_map(|case| case.card.cpus).max();
        let cpus = confined.unwrap_or(cpus);
        let judged = |part: &ClaimPart| {
            let (ruling, evidence) = self.decide(&part.test);
            let is_other = |&(fewest, most): &(usize, usize)| !(fewest..=most).contains(&cpus);
            let needs_cpus = part.cpus.filter(is_other);
            JudgedPart {
                says: part.says.clone(),
                ruling: needs_cpus.map_or(ruling, |_| Ruling::Undecided),
                needs_cpus,
                evidence,
            }
        };
        let parts: Vec<JudgedPart> = claim.parts.iter().map(judged).collect();
        let worst = parts.iter().map(|part| part.ruling).max();
        JudgedClaim {
            text: claim.text.clone(),
            ruling: worst.unwrap_or(Ruling::Undecided),
            parts,
        }
    }

    fn decide(&self, test: &ClaimTest) -> (Ruling, Evidence) {
        match test {
            ClaimTest::Faster { arm, from, to } => {
                let points = self.points(arm, *from, *to);
                worst(points.filter_map(|(case, point, arm)| faster(case, point, arm)))
            }
            ClaimTest::SpeedUp {
                arm,
                over,
                from,
                to,
                within,
            } => {
                let points = self.points(arm, *from, *to);
                worst(points.filter_map(|(case, point, arm)| {
                    let over = position(case, over)?;
                    let ratio = speed_up(point, arm)?.over(speed_up(point, over)?);
                    Some(lies(case, point.n, ratio, *within))
                }))
            }
            ClaimTest::MeanSpeedUp { arm, within } => {
                let points = self.points(arm, 0, None);
                let found = points.filter_map(|(_, point, arm)| speed_up(point, arm));
                let found: Vec<Estimate> = found.collect();
                let (of, mean) = (found.len(), Estimate::geometric_mean(&found));
                let ruled = |ratio| (in_range(ratio, *within), Evidence::Mean { of, ratio });
                worst(mean.map(ruled).into_iter())
            }
            ClaimTest::BreakEven { arm, within } => {
                self.worst_answer(arm, |kind| breaks_even(kind, *within))
            }
            ClaimTest::NeverFaster { arm } => self.worst_answer(arm, never),
            ClaimTest::Allocated { arm, over, within } => {
                worst(self.with_arm(arm).filter_map(|(case, arm)| {
                    let (over, point) = (position(case, over)?, case.points.last()?);
                    let counted = |arm: usize| Some(point.times.get(arm)?.allocations?.1.max(1.0));
                    let ratio = counted(arm)? / counted(over)?;
                    let ratio = Estimate::new(ratio, ratio, ratio);
                    Some(lies(case, point.n, ratio, *within))
                }))
            }
            ClaimTest::Memory { arm, over, within } => {
                worst(self.with_arm(arm).filter_map(|(case, arm)| {
                    let over = position(case, over)?;
                    let of_arm = |arm| case.peaks.iter().filter(move |peak| peak.arm == arm);
                    let peak = |arm| of_arm(arm).max_by_key(|peak| peak.n);
                    let (one, other) = (peak(arm)?, peak(over)?);
                    let ratio = bytes(one).over(bytes(other));
                    Some(lies(case, one.n, ratio, *within))
                }))
            }
            ClaimTest::Doubling { arm, within } => {
                let cases = self.over_cpus().into_iter();
                worst(cases.filter_map(|case| doubling(&case, arm, *within)))
            }
            ClaimTest::CaseFaster { case, than } => worst(self.case_faster(case, than).into_iter()),
        }
    }

    /// The cases that claims are about: of one that was confined to several numbers of CPUs that
    /// with the most, and none in copies.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = &CaseFindings> {
        let is_wider = |one: &CaseFindings, other: &CaseFindings| {
            let (one, other) = (&one.card, &other.card);
            one.of == other.of && one.copies.is_none() && one.cpus > other.cpus
        };
        self.cases.iter().filter(move |case| {
            let is_widest = || !self.cases.iter().any(|other| is_wider(other, case));
            case.card.of.is_none() || case.card.copies.is_none() && is_widest()
        })
    }

    /// Those of them that have this arm, with its place.
    fn with_arm<'run>(
        &'run self,
        arm: &'run str,
    ) -> impl Iterator<Item = (&'run CaseFindings, usize)> {
        let place = move |case: &'run CaseFindings| Some((case, position(case, arm)?));
        self.claimed().filter_map(place)
    }

    /// The points of those cases from a size on, up to another if there is one.
    fn points<'run>(
        &'run self,
        arm: &'run str,
        from: usize,
        to: Option<usize>,
    ) -> impl Iterator<Item = (&'run CaseFindings, &'run Point, usize)> {
        self.with_arm(arm).flat_map(move |(case, arm)| {
            let points = case.points.iter();
            let asked =
                points.filter(move |point| (from..=to.unwrap_or(usize::MAX)).contains(&point.n));
            asked.map(move |point| (case, point, arm))
        })
    }

    fn worst_answer(&self, arm: &str, ruling: impl Fn(&Kind) -> Ruling) -> (Ruling, Evidence) {
        worst(self.with_arm(arm).filter_map(|(case, arm)| {
            let kind = &case.answers.get(arm.checked_sub(1)?)?.kind;
            Some((ruling(kind), Evidence::BreakEven(kind.clone())))
        }))
    }

    fn case_faster(&self, case: &str, than: &str) -> Option<(Ruling, Evidence)> {
        let find = |name: &str| self.claimed().find(|case| case.card.own_name() == name);
        let (one, other) = (find(case)?, find(than)?);
        let baseline = |case: &CaseFindings, n: usize| {
            let point = case.point(n)?;
            Some(certain(point, point.times.first()?.median))
        };
        let sizes = one.points.iter().rev().map(|point| point.n);
        let mut times = sizes.filter_map(|n| Some((n, baseline(one, n)?, baseline(other, n)?)));
        let (n, time, than) = times.next()?;
        Some(lies(one, n, than.over(time), Range::from(1.0)))
    }
}

/// What says most against a claim, of what was found in all cases and at all sizes; of equals the first: the smallest size
/// of the first case.
fn worst(found: impl Iterator<Item = (Ruling, Evidence)>) -> (Ruling, Evidence) {
    let worst = found.reduce(|worst, one| if one.0 > worst.0 { one } else { worst });
    worst.unwrap_or((Ruling::Undecided, Evidence::Nothing))
}

fn position(case: &CaseFindings, arm: &str) -> Option<usize> {
    case.card.arms.iter().position(|one| one == arm)
}

/// The speed-up of an arm over the baseline, which is one for the baseline itself.
fn speed_up(point: &Point, arm: usize) -> Option<Estimate> {
    let Some(challenger) = arm.checked_sub(1) else {
        return Some(Estimate::new(1.0, 1.0, 1.0));
    };
    Some(certain(point, point.comparisons.get(challenger)?.shown()))
}

/// As certain as the verdicts. See [`Evidence::Ratio`].
fn certain(point: &Point, found: Estimate) -> Estimate {
    let mut doubts = point.comparisons.iter().map(|one| one.doubt);
    let floor = match doubts.all(|doubt| matches!(doubt, Some(Doubt::FewBlocks { .. }))) {
        true => Estimate::new(1.0, 0.0, f64::INFINITY),
        false => point.floor.unwrap_or(Estimate::new(1.0, 1.0, 1.0)),
    };
    let low = found.low / floor.high.max(1.0);
    let high = found.high / floor.low.min(1.0);
    Estimate::new(found.median, low, high)
}

/// The median of the readings of a peak, between the least and the most.
fn bytes(peak: &Peak) -> Estimate {
    let at_least_one = |bytes: Option<&u64>| (*bytes.unwrap_or(&peak.bytes) as f64).max(1.0);
    let (least, most) = (peak.readings.first(), peak.readings.last());
    Estimate::new(at_least_one(None), at_least_one(least), at_least_one(most))
}

fn faster(case: &CaseFindings, point: &Point, arm: usize) -> Option<(Ruling, Evidence)> {
    let comparison = point.comparisons.get(arm.checked_sub(1)?)?;
    let ruling = match comparison.verdict {
        Verdict::Faster => Ruling::Holds,
        Verdict::Slower | Verdict::NoDifference => Ruling::DoesNotHold,
        Verdict::Undecided => Ruling::Undecided,
    };
    let evidence = evidence(&case.card.name, point.n, comparison.shown());
    Some((ruling, evidence))
}

fn evidence(case: &str, n: usize, ratio: Estimate) -> Evidence {
    let case = case.to_owned();
    Evidence::Ratio { case, n, ratio }
}

/// Whether an interval lies in a range: all of it, none of it, or some.
fn lies(case: &CaseFindings, n: usize, ratio: Estimate, within: Range) -> (Ruling, Evidence) {
    (in_range(ratio, within), evidence(&case.card.name, n, ratio))
}

fn in_range(ratio: Estimate, within: Range) -> Ruling {
    let above = within.high.is_some_and(|high| ratio.low > high);
    if within.contains(ratio.low) && within.contains(ratio.high) {
        Ruling::Holds
    } else if above || ratio.high < within.low {
        Ruling::DoesNotHold
    } else {
        Ruling::Undecided
    }
}

fn breaks_even(kind: &Kind, within: Range) -> Ruling {
    match *kind {
        Kind::Between { lower, upper, .. } => {
            in_range(Estimate::new((lower * upper).sqrt(), lower, upper), within)
        }
        Kind::AlwaysFrom { smallest } if (smallest as f64) < within.low => Ruling::DoesNotHold,
        Kind::NeverUpTo { largest, .. } => match within.high {
            Some(high) if largest as f64 > high => Ruling::DoesNotHold,
            _ => Ruling::Undecided,
        },
        Kind::NoDifference { .. } => Ruling::DoesNotHold,
        _ => Ruling::Undecided,
    }
}

fn never(kind: &Kind) -> Ruling {
    match kind {
        Kind::NeverUpTo { .. } | Kind::NoDifference { .. } => Ruling::Holds,
        Kind::Between { .. } | Kind::AlwaysFrom { .. } | Kind::Several { .. } => {
            Ruling::DoesNotHold
        }
        Kind::NotDecided { .. } | Kind::TooFewBlocks => Ruling::Undecided,
    }
}

/// From half of the CPUs to all, for the most CPUs of which half was measured, too.
fn doubling(case: &Over<AtCpus>, arm: &str, within: Range) -> Option<(Ruling, Evidence)> {
    let arm = case.arms.iter().find(|one| one.name == arm)?;
    let half = |cpus: usize| arm.points.iter().find(|at| at.cpus * 2 == cpus);
    let mut pairs = arm.points.iter().rev();
    let (half, whole) = pairs.find_map(|at| Some((half(at.cpus)?, at)))?;
    let ratio = half.nanos.over(whole.nanos);
    Some((in_range(ratio, within), evidence(&case.case, case.n, ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, over_cpus};

    fn ruling(experiment: &ExperimentFindings, test: &ClaimTest) -> Ruling {
        experiment.decide(test).0
    }

    fn quicker(case: &str, than: &str) -> ClaimTest {
        let (case, than) = (case.to_owned(), than.to_owned());
        ClaimTest::CaseFaster { case, than }
    }

    #[test]
    fn a_claim_holds_does_not_or_is_undecided_by_its_intervals() {
        let found = fixture::findings();
        let loops = &found.experiments[0];
        let check = |test, expected| assert_eq!(ruling(loops, &test), expected);
        check(ClaimTest::faster("for_each", 300), Ruling::Holds);
        // At n = 100 the fixture's verdict is undecided, at n = 10 it is slower.
        check(ClaimTest::faster("for_each", 100), Ruling::Undecided);
        check(ClaimTest::faster("for_each", 10), Ruling::DoesNotHold);
        check(ClaimTest::faster("nobody", 10), Ruling::Undecided);
        // That size alone, and not what is above it.
        check(ClaimTest::faster_at("for_each", 100), Ruling::Undecided);
        check(ClaimTest::faster_at("for_each", 300), Ruling::Holds);
        let gain = |within| ClaimTest::speed_up("for_each", "sequential", 10_000, within);
        check(gain(Range::of(2.5, 3.5)), Ruling::Holds);
        check(gain(Range::of(2.9, 3.5)), Ruling::Undecided);
        check(gain(Range::from(5.0)), Ruling::DoesNotHold);
        // At n = 10 it is slower, at 10,000 three times as fast.
        let up_to = |to| ClaimTest::speed_up_to("for_each", "sequential", to, Range::of(0.0, 1.0));
        check(up_to(10), Ruling::Holds);
        check(up_to(10_000), Ruling::DoesNotHold);
        let mean = |low, high| ClaimTest::mean_speed_up("for_each", Range::of(low, high));
        check(mean(0.5, 3.0), Ruling::Holds);
        check(mean(3.0, 5.0), Ruling::DoesNotHold);
        let nobody = ClaimTest::mean_speed_up("nobody", Range::from(1.0));
        check(nobody, Ruling::Undecided);
        let even = |low, high| ClaimTest::break_even("for_each", Range::of(low, high));
        check(even(20.0, 50.0), Ruling::Holds);
        check(even(35.0, 50.0), Ruling::Undecided);
        check(even(100.0, 500.0), Ruling::DoesNotHold);
        // The fixture counts the same bytes for both, and none for the baseline.
        let allocated = |over, range| ClaimTest::allocated("for_each", over, range);
        check(allocated("ranges", Range::of(0.9, 1.1)), Ruling::Holds);
        check(allocated("ranges", Range::from(1.8)), Ruling::DoesNotHold);
        check(allocated("sequential", Range::from(0.0)), Ruling::Undecided);
        // Only one arm's peak is known.
        let memory = ClaimTest::memory("for_each", "ranges", Range::from(0.0));
        check(memory, Ruling::Undecided);
        let hashes = &found.experiments[1];
        let quicker = |case, than| ruling(hashes, &quicker(case, than));
        assert_eq!(quicker("SHA-512", "SHA-256"), Ruling::Holds);
        assert_eq!(quicker("SHA-256", "SHA-512"), Ruling::DoesNotHold);
    }

    #[test]
    fn few_blocks_and_a_high_noise_floor_decide_no_claim_about_times() {
        let found = fixture::findings();
        let range = Range::of(0.5, 3.5);
        let tests = [
            (0, ClaimTest::speed_up("for_each", "ranges", 300, range)),
            (0, ClaimTest::speed_up("for_each", "sequential", 300, range)),
            (0, ClaimTest::mean_speed_up("for_each", range)),
            (1, quicker("SHA-512", "SHA-256")),
        ];
        let check = |change: &dyn Fn(&mut Point), expected| {
            for (at, test) in &tests {
                let mut changed = found.experiments[*at].clone();
                for case in &mut changed.cases {
                    case.points.iter_mut().for_each(change);
                }
                assert_eq!(ruling(&changed, test), expected, "{test:?}");
            }
        };
        check(&|_: &mut Point| (), Ruling::Holds);
        let floor = Some(Estimate::new(1.0, 0.1, 10.0));
        check(&|point: &mut Point| point.floor = floor, Ruling::Undecided);
        let few = |point: &mut Point| {
            for one in &mut point.comparisons {
                let (blocks, needed) = (6, 7);
                one.doubt = Some(Doubt::FewBlocks { blocks, needed });
            }
        };
        check(&few, Ruling::Undecided);
    }

    #[test]
    fn never_is_an_answer_that_a_break_even_refutes() {
        let found = fixture::findings();
        let kinds = &found.experiments[2];
        let only = |name: &str| {
            let cases = kinds.cases.iter().filter(|case| case.card.name == name);
            let cases = cases.cloned().collect();
            let one = ExperimentFindings {
                cases,
                ..ExperimentFindings::default()
            };
            let arm = "two tasks".to_owned();
            ruling(&one, &ClaimTest::NeverFaster { arm })
        };
        assert_eq!(only("never"), Ruling::Holds);
        assert_eq!(only("same"), Ruling::Holds);
        assert_eq!(only("always"), Ruling::DoesNotHold);
        assert_eq!(only("open"), Ruling::Undecided);
    }

    #[test]
    fn twice_the_cpus_are_compared_at_the_most_there_were() {
        let experiment = over_cpus();
        // From 4 to 8 CPUs the fixture gains 5 / 3.4.
        let gain = |low, high| ClaimTest::doubling("for", Range::of(low, high));
        assert_eq!(ruling(&experiment, &gain(1.3, 1.6)), Ruling::Holds);
        assert_eq!(ruling(&experiment, &gain(1.8, 2.2)), Ruling::DoesNotHold);
        let nothing = ExperimentFindings::default();
        assert_eq!(ruling(&nothing, &gain(1.8, 2.2)), Ruling::Undecided);
    }

    #[test]
    fn a_claim_is_about_the_most_cpus_that_a_case_was_measured_on() {
        // On one CPU the fixture's loop is as fast as the sequential one; copies are no loop alone.
        let mut experiment = over_cpus();
        let faster = ClaimTest::faster("for", 300);
        assert_eq!(ruling(&experiment, &faster), Ruling::Holds);
        let (_, evidence) = experiment.decide(&faster);
        let Evidence::Ratio { case, .. } = evidence else {
            panic!("{evidence:?}");
        };
        assert_eq!(case, "SHA-512, 8 CPUs");
        let than_itself = experiment.decide(&quicker("SHA-512", "SHA-512"));
        assert_ne!(than_itself.1, Evidence::Nothing);
        experiment.cases.retain(|case| case.card.copies.is_some());
        assert_eq!(ruling(&experiment, &faster), Ruling::Undecided);
    }

    #[test]
    #[cfg(feature = "experiments")]
    fn a_claim_whose_second_half_the_table_refutes_does_not_hold() {
        let experiment = crate::registry::find("E14").expect("it is one");
        let claim = experiment.card(crate::Scale::Full).claim;
        let names = experiment.cases()[0].arms();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let rulings = |without_limit: f64| {
            let time = |name: &&str| match *name {
                "for_each_async" => without_limit,
                "channel" => 50e6,
                _ => 750e6,
            };
            let medians: Vec<f64> = names.iter().map(time).collect();
            let calls = fixture::case("calls", &names, vec![fixture::point(100, &medians)]);
            let found = ExperimentFindings {
                cases: vec![calls],
                ..ExperimentFindings::default()
            };
            let judged = found.judge(claim.as_ref().expect("it has one"), 2);
            let parts: Vec<Ruling> = judged.parts.iter().map(|part| part.ruling).collect();
            (judged.ruling, parts)
        };
        // Published: a loop without a limit of its own takes far longer than all at once. Here it finds one.
        let holds = (Ruling::Holds, vec![Ruling::Holds; 2]);
        assert_eq!(rulings(370e6), holds);
        let halves = vec![Ruling::Holds, Ruling::DoesNotHold];
        assert_eq!(rulings(55e6), (Ruling::DoesNotHold, halves));
    }

    #[test]
    fn a_claim_is_as_good_as_its_worst_part_and_open_without_its_cpus() {
        let found = fixture::findings();
        let about = |tests: Vec<ClaimTest>, cpus: Option<(usize, usize)>| {
            let part = |test| ClaimPart {
                says: "so it is".to_owned(),
                test,
                cpus,
            };
            let card = ClaimCard {
                text: "It is so.".to_owned(),
                parts: tests.into_iter().map(part).collect(),
            };
            found.experiments[0].judge(&card, 2).ruling
        };
        let claim = |tests| about(tests, None);
        let [good, open, bad] = [300, 100, 10].map(|from| ClaimTest::faster("for_each", from));
        assert_eq!(claim(vec![]), Ruling::Undecided);
        assert_eq!(claim(vec![good.clone()]), Ruling::Holds);
        assert_eq!(claim(vec![good.clone(), open.clone()]), Ruling::Undecided);
        assert_eq!(about(vec![bad.clone()], Some((12, 16))), Ruling::Undecided);
        assert_eq!(about(vec![bad.clone()], Some((2, 16))), Ruling::DoesNotHold);
        assert_eq!(claim(vec![good, open, bad]), Ruling::DoesNotHold);
    }
}
