//! What the laboratory claims, and whether it holds.

use super::{Extent, arms::Spin};
use crate::{
    Experiment,
    break_even::{Kind, Source},
    findings::{CaseFindings, Findings, Point},
    record::Settings,
    verdict::{Judge, Verdict},
};
use serde::Serialize;
use std::fmt;

/// One claim with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Criterion {
    /// What is claimed, as a sentence without its full stop.
    pub claim: &'static str,
    /// How often it was found.
    pub found: usize,
    /// Of how many that could be judged.
    pub of: usize,
    /// Comparisons with too few undisturbed blocks to be judged.
    pub left_out: usize,
    /// How often it must or may be found.
    pub needed: Needed,
    /// Blocks that were taken.
    pub blocks: usize,
    /// Those that did not count, because the machine was not ours.
    pub disturbed: usize,
}

/// A bound on a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    /// No fewer.
    AtLeast(usize),
    /// No more.
    AtMost(usize),
}

impl Criterion {
    /// Whether the claim holds, of all comparisons that could be judged.
    #[must_use]
    pub fn holds(&self) -> bool {
        match self.needed {
            Needed::AtLeast(bound) => self.found >= bound,
            Needed::AtMost(bound) => self.found <= bound,
        }
    }

    /// Whether enough comparisons could be judged to say anything: half of them.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.of > 0 && self.of >= self.left_out
    }
}

/// One line: pass, fail or open, the claim, the number.
impl fmt::Display for Criterion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match (self.is_judged(), self.holds()) {
            (false, _) => "open",
            (true, true) => "pass",
            (true, false) => "FAIL",
        };
        let (word, bound) = match self.needed {
            Needed::AtLeast(bound) => ("at least", bound),
            Needed::AtMost(bound) => ("at most", bound),
        };
        let Self {
            claim, found, of, ..
        } = self;
        let disturbed = 100 * self.disturbed / self.blocks.max(1);
        write!(
            formatter,
            "{sign}  {claim}: {found} of {of}, {word} {bound}; \
             {disturbed} % of the blocks were disturbed"
        )?;
        match self.left_out {
            0 => Ok(()),
            left_out => write!(
                formatter,
                ", which left too few to judge {left_out} more comparisons"
            ),
        }
    }
}

/// The claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Equal,
    Slower,
    BreakEven,
    OneCore,
    Step,
}

impl Claim {
    pub(super) const ALL: [Self; 5] = [
        Self::Equal,
        Self::Slower,
        Self::BreakEven,
        Self::OneCore,
        Self::Step,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Equal => "two equal arms are called different",
            Self::Slower => "an arm slower by 5 % is found slower",
            Self::BreakEven => "a known break-even lies in its interval",
            Self::OneCore => "two threads on one core are not found to pay",
            Self::Step => "a step in the curve is answered with the sizes around it",
        }
    }

    fn cases(self, extent: Extent) -> usize {
        extent.of(match self {
            Self::Equal => 200,
            Self::Slower | Self::BreakEven => 100,
            Self::OneCore => 4,
            Self::Step => 20,
        })
    }

    /// This many equal cases: each is measured and judged on its own.
    pub(super) fn experiment(self, spin: Spin, extent: Extent) -> Experiment {
        let all = (0..self.cases(extent)).map(|number| number.to_string());
        let empty = Experiment::new(format!("{self:?}"), self.text());
        all.fold(empty, |experiment, name| match self {
            Self::Equal => experiment.case(spin.pair(name, PAIR_MICROS, 1.0)),
            Self::Slower => experiment.case(spin.pair(name, PAIR_MICROS, 1.05)),
            Self::BreakEven => {
                experiment.case(spin.curve(name, SIZES, |n| OVERHEAD_MICROS + n as f64 / SPEED_UP))
            }
            Self::OneCore => experiment.case(spin.two_threads(name, SIZES)),
            Self::Step => experiment
                .case(spin.curve(name, SIZES, |n| n as f64 * if n < STEP { 1.2 } else { 0.6 })),
        })
    }

    /// Counts the cases in which the claim shows.
    pub(super) fn judge(self, findings: &Findings, all: usize) -> Criterion {
        let has_enough = |case: &&CaseFindings| has_enough(case, &findings.head.settings);
        let judged: Vec<&CaseFindings> = findings.cases().filter(has_enough).collect();
        let of = judged.len();
        let percent = |percent: usize| (of * percent).div_ceil(100);
        Criterion {
            claim: self.text(),
            found: judged.into_iter().filter(|case| self.shows(case)).count(),
            of,
            left_out: all - of,
            needed: match self {
                Self::Equal => Needed::AtMost(of * 5 / 100),
                Self::Slower | Self::Step => Needed::AtLeast(percent(95)),
                Self::BreakEven => Needed::AtLeast(percent(90)),
                Self::OneCore => Needed::AtLeast(of),
            },
            blocks: findings.blocks,
            disturbed: findings.disturbed,
        }
    }

    fn shows(self, case: &CaseFindings) -> bool {
        let verdict = || Some(case.points.first()?.comparisons.first()?.verdict);
        let kind = || case.answers.first().map(|answer| &answer.kind);
        match self {
            Self::Equal => matches!(verdict(), Some(Verdict::Faster | Verdict::Slower)),
            Self::Slower => verdict() == Some(Verdict::Slower),
            Self::BreakEven => match kind() {
                Some(Kind::Between { lower, upper, .. }) => (*lower..=*upper).contains(&BREAK_EVEN),
                _ => false,
            },
            Self::OneCore => kind().is_some_and(|kind| {
                matches!(
                    kind,
                    Kind::NeverUpTo { .. } | Kind::NoDifference { .. } | Kind::NotDecided { .. }
                )
            }),
            Self::Step => match kind() {
                Some(Kind::Between {
                    lower,
                    upper,
                    source: Source::Bracket,
                }) => (*lower..=*upper).contains(&(STEP as f64)),
                _ => false,
            },
        }
    }
}

/// Whether every size has the undisturbed blocks without which it is not judged: where nothing is searched,
/// half of those at the first look, and in a search those without which it gives no verdict at all.
fn has_enough(case: &CaseFindings, settings: &Settings) -> bool {
    let at_least = if case.card.finds_break_even {
        Judge::of_case(settings, &case.card).blocks_min() as usize
    } else {
        CLEAN_MIN
    };
    let undisturbed = |point: &Point| point.blocks - point.disturbed;
    let mut points = case.points.iter();
    !case.points.is_empty() && points.all(|point| undisturbed(point) >= at_least)
}

/// Half of what a standard run takes before it first looks.
const CLEAN_MIN: usize = 18;
/// Sizes of the curves; an item of the baseline takes a microsecond.
const SIZES: [usize; 4] = [10, 40, 160, 640];
/// Fixed cost of the arm with a break-even.
const OVERHEAD_MICROS: f64 = 40.0;
/// Its speed-up for large sizes.
const SPEED_UP: f64 = 2.0;
/// Where n = overhead + n / speed-up.
const BREAK_EVEN: f64 = OVERHEAD_MICROS / (1.0 - 1.0 / SPEED_UP);
/// The stepped curve is slower below and faster from here on.
const STEP: usize = 100;
/// Time of the arms that are compared at one size.
const PAIR_MICROS: f64 = 1_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_criterion_is_one_line_with_its_number() {
        let mut criterion = Criterion {
            claim: "it rains",
            found: 3,
            of: 4,
            left_out: 0,
            needed: Needed::AtLeast(3),
            blocks: 200,
            disturbed: 24,
        };
        let disturbed = "12 % of the blocks were disturbed";
        let expected = format!("pass  it rains: 3 of 4, at least 3; {disturbed}");
        assert_eq!(criterion.to_string(), expected);
        criterion.needed = Needed::AtMost(2);
        let expected = format!("FAIL  it rains: 3 of 4, at most 2; {disturbed}");
        assert_eq!(criterion.to_string(), expected);
        criterion.left_out = 5;
        let text = criterion.to_string();
        assert!(text.starts_with("open  it rains"), "{text}");
        assert!(text.ends_with("too few to judge 5 more comparisons"));
    }

    #[test]
    fn a_comparison_with_too_few_undisturbed_blocks_is_not_judged() {
        let mut findings = fixture::findings();
        findings.experiments.truncate(2);
        findings.experiments.remove(0);
        let cases = &mut findings.experiments[0].cases;
        cases.truncate(3);
        // The first is faster as found, but nearly all of its blocks are disturbed.
        cases[0].points[0].disturbed = cases[0].points[0].blocks - 1;
        let criterion = Claim::Equal.judge(&findings, 3);
        assert_eq!((criterion.of, criterion.left_out), (2, 1));
        assert_eq!(criterion.found, 2);
        assert!(criterion.is_judged() && !criterion.holds());
    }
}
