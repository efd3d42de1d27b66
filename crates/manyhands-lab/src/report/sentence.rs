//! The break-even in words.

use super::units::{count, interval, nanos, percent, ratio, size};
use crate::{
    break_even::{Answer, Fit, Kind, Practical, Source},
    findings::{CaseFindings, Point},
    stats::Estimate,
    verdict::Verdict,
};

/// What an answer says about an arm, in a few sentences.
///
/// # Panics
/// If the case has no such arm, or `arm` is the baseline.
#[must_use]
pub fn break_even_sentence(case: &CaseFindings, arm: usize, answer: &Answer) -> String {
    let verdict = |point: &Point| Some((point.n, point.comparisons.get(arm - 1)?.verdict));
    let words = Words {
        case,
        index: arm,
        arm: &case.card.arms[arm],
        baseline: &case.card.arms[0],
        verdicts: case.points.iter().filter_map(verdict).collect(),
    };
    let fit = answer.fit.as_ref();
    let mut sentences = vec![words.kind(&answer.kind, fit)];
    match answer.kind {
        Kind::Between { source, .. } => {
            let trusted = fit.filter(|_| source == Source::Fit);
            sentences.extend(trusted.map_or_else(|| words.measured_costs(arm), cost_words));
            sentences.push(words.practical(answer.practical));
        }
        Kind::AlwaysFrom { .. } => {
            sentences.extend(
                fit.and_then(|fit| fit.break_even)
                    .map(|model| format!("The cost model puts it at about n = {}.", sizes(model))),
            );
            let trusted = fit.filter(|fit| !fit.has_steps);
            sentences.extend(trusted.map_or_else(|| words.measured_costs(arm), cost_words));
            sentences.push(words.practical(answer.practical));
        }
        Kind::Several { .. } => sentences.push(words.practical(answer.practical)),
        Kind::NeverUpTo { .. }
        | Kind::NotDecided { .. }
        | Kind::NoDifference { .. }
        | Kind::TooFewBlocks => {}
    }
    sentences.join(" ")
}

/// A few words for beside a mark in a chart: up to three lines, or one if the case has several arms.
/// Empty unless the answer is [`Kind::Between`].
///
/// # Panics
/// If the case has no such arm.
#[must_use]
pub fn break_even_label(case: &CaseFindings, arm: usize, answer: &Answer) -> String {
    let Kind::Between {
        lower,
        upper,
        source,
    } = answer.kind
    else {
        return String::new();
    };
    let middle = middle(lower, upper, source, answer.fit.as_ref());
    let ends = size_range(lower, upper);
    let work = work_at(case, middle).map_or_else(String::new, nanos);
    let several = case.answers.len() > 1;
    let name = &case.card.arms[arm];
    if source == Source::Bracket && is_open_below(case, arm, lower) {
        let from = size(upper);
        return if several {
            format!("{name}: faster from n = {from} on")
        } else {
            format!("faster from\nn = {from} on")
        };
    }
    if several {
        return format!("{name}: even at n = {ends}, {work} of work");
    }
    match source {
        Source::Fit => format!("break-even\nn = {} ({ends})\n{work} of work", size(middle)),
        Source::Bracket => format!("break-even\nbetween n = {ends}\n{work} of work"),
    }
}

/// An answer in a few words, to stand beside another one.
pub(super) fn kind_words(kind: &Kind) -> String {
    match kind {
        Kind::Between { lower, upper, .. } => format!("n = {}", size_range(*lower, *upper)),
        Kind::AlwaysFrom { smallest } => format!("below n = {}", count(*smallest)),
        Kind::NeverUpTo { largest, .. } => format!("never up to n = {}", count(*largest)),
        Kind::NotDecided { largest, .. } => format!("not decided at n = {}", count(*largest)),
        Kind::NoDifference { .. } => "no difference at any size".to_owned(),
        Kind::Several { .. } => "several crossings".to_owned(),
        Kind::TooFewBlocks => "too few blocks".to_owned(),
    }
}

/// Two sizes, or one if they are the same.
pub(super) fn size_range(lower: f64, upper: f64) -> String {
    let (lower, upper) = (size(lower), size(upper));
    if lower == upper {
        lower
    } else {
        format!("{lower} … {upper}")
    }
}

struct Words<'case> {
    case: &'case CaseFindings,
    index: usize,
    arm: &'case str,
    baseline: &'case str,
    /// What the table says of the arm, by size.
    verdicts: Vec<(usize, Verdict)>,
}

impl Words<'_> {
    fn kind(&self, kind: &Kind, fit: Option<&Fit>) -> String {
        let (arm, baseline) = (self.arm, self.baseline);
        match kind {
            Kind::Between {
                lower,
                upper,
                source,
            } => match source {
                Source::Fit => self.by_model(*lower, *upper, fit),
                Source::Bracket => self.by_sizes(*lower, *upper, fit),
            },
            Kind::AlwaysFrom { smallest } => format!(
                "'{arm}' is faster than '{baseline}' at every size {}, from n = {}{} on; the \
                 break-even lies below that.",
                self.if_open(0.0, "that was decided", "measured"),
                count(*smallest),
                self.work_in_brackets(*smallest as f64)
            ),
            Kind::NeverUpTo {
                largest,
                speed_up_at_most,
            } => format!(
                "'{arm}' is faster than '{baseline}' at no size up to n = {}{}; its speed-up there \
                 is at most {}.",
                count(*largest),
                self.work_in_brackets(*largest as f64),
                ratio((speed_up_at_most * 100.0).ceil() / 100.0)
            ),
            Kind::NotDecided { largest, speed_up } if speed_up.ends().is_none() => format!(
                "Whether '{arm}' is ever faster than '{baseline}' was not decided: it was found so \
                 at no size, and at n = {} there are too few blocks. A larger budget or a quieter \
                 machine gives more.",
                count(*largest)
            ),
            Kind::NotDecided { largest, speed_up } => {
                let low = ratio((speed_up.low * 100.0).floor() / 100.0);
                let high = ratio((speed_up.high * 100.0).ceil() / 100.0);
                let found = if speed_up.low > 1.0 {
                    format!(
                        "it looks faster, by {low} to {high}, in fewer blocks than it takes to be sure \
                         of one size among all that could be measured"
                    )
                } else {
                    format!("its speed-up may lie anywhere from {low} to {high}")
                };
                format!(
                    "Whether '{arm}' is ever faster than '{baseline}' was not decided: it was found \
                     so at no size, and at n = {}{} {found}. A larger budget or a quieter machine \
                     gives more blocks.",
                    count(*largest),
                    self.work_in_brackets(*largest as f64)
                )
            }
            Kind::NoDifference { effect } => format!(
                "'{arm}' and '{baseline}' differ by less than {} at every size measured: there is \
                 no break-even to find.",
                percent(*effect)
            ),
            Kind::Several {
                crossings,
                settled_from,
            } => self.several(crossings, *settled_from),
            Kind::TooFewBlocks => format!(
                "There are too few blocks to say where '{arm}' breaks even with '{baseline}'; a \
                 larger budget or a quieter machine gives more."
            ),
        }
    }

    fn by_model(&self, lower: f64, upper: f64, fit: Option<&Fit>) -> String {
        let at = middle(lower, upper, Source::Fit, fit);
        let is_equal =
            |one: &(usize, Verdict)| (one.0 as f64) < lower && one.1 == Verdict::NoDifference;
        let below = if self.verdicts.iter().any(is_equal) {
            "below it is not faster"
        } else {
            "below it is slower"
        };
        format!(
            "'{}' breaks even with '{}' at about n = {} (95 % interval {} … {}){}: {below}, above \
             it faster{}.",
            self.arm,
            self.baseline,
            size(at),
            size(lower),
            size(upper),
            self.work_of(at),
            self.if_open(upper, WHERE_DECIDED, "")
        )
    }

    fn by_sizes(&self, lower: f64, upper: f64, fit: Option<&Fit>) -> String {
        let (arm, baseline) = (self.arm, self.baseline);
        if is_open_below(self.case, self.index, lower) {
            return format!(
                "'{arm}' is faster than '{baseline}' from n = {}{} on{}; what it is at n = {} and \
                 below was not decided.",
                size(upper),
                self.work_in_brackets(upper),
                self.if_open(upper, WHERE_DECIDED, ""),
                size(lower),
            );
        }
        let why = match fit {
            Some(fit) if fit.has_steps => {
                "; the curve has steps, so these are measured sizes and no model"
            }
            _ => "; both are measured sizes",
        };
        format!(
            "'{arm}' breaks even with '{baseline}' somewhere between n = {} and n = {}{}{why}.",
            size(lower),
            size(upper),
            self.work_of(middle(lower, upper, Source::Bracket, fit))
        )
    }

    /// What is said where a size from this one on stayed undecided, or where none did.
    fn if_open(&self, n: f64, open: &'static str, decided: &'static str) -> &'static str {
        let mut verdicts = self.verdicts.iter();
        let is_open = verdicts.any(|one| one.0 as f64 >= n && one.1 == Verdict::Undecided);
        if is_open { open } else { decided }
    }

    fn several(&self, crossings: &[(usize, usize)], settled_from: Option<usize>) -> String {
        let (arm, baseline) = (self.arm, self.baseline);
        let pairs: Vec<String> = crossings
            .iter()
            .map(|(one, next)| format!("between n = {} and n = {}", count(*one), count(*next)))
            .collect();
        let end = settled_from.map_or_else(
            || format!("There is no size from which on '{arm}' is always faster."),
            |n| {
                format!(
                    "From n = {}{} on, '{arm}' is faster at every size measured.",
                    count(n),
                    self.work_in_brackets(n as f64)
                )
            },
        );
        format!(
            "'{arm}' and '{baseline}' change places more than once: {}. {end}",
            pairs.join(", ")
        )
    }

    fn practical(&self, practical: Practical) -> String {
        let gain = percent(PRACTICAL - 1.0);
        match practical {
            Practical::From(smallest) => format!(
                "It pays in practice, by {gain} or more for good, from n = {} or below on{}.",
                count(smallest),
                self.undecided_from(smallest)
            ),
            Practical::Between(lower, upper) => format!(
                "It pays in practice, by {gain} or more for good, from somewhere between n = {} \
                 and n = {}{}.",
                count(lower),
                count(upper),
                self.undecided_from(upper)
            ),
            Practical::Nowhere => {
                format!("No size was found from which on it gains {gain} or more for good.")
            }
        }
    }

    /// The sizes from this one on that stayed undecided, in brackets, if there are any.
    fn undecided_from(&self, n: usize) -> String {
        let from = self.verdicts.iter().filter(|one| one.0 >= n);
        let open = from.filter(|one| one.1 == Verdict::Undecided);
        let open: Vec<String> = open.map(|one| count(one.0)).collect();
        if open.is_empty() {
            return String::new();
        }
        format!(" (not decided at n = {})", open.join(", "))
    }

    /// What the model would say of the costs, where it does not hold: as measured at both ends.
    fn measured_costs(&self, arm: usize) -> Option<String> {
        let (first, last) = (self.case.points.first()?, self.case.points.last()?);
        let more = first.times.get(arm)?.median.median - first.times.first()?.median.median;
        let relation = if more < 0.0 { "less" } else { "more" };
        Some(format!(
            "At n = {} a call takes {} {relation} than '{}', at n = {} the speed-up is {}.",
            count(first.n),
            nanos(more.abs()),
            self.baseline,
            count(last.n),
            ratio(last.speed_up(arm)?.median)
        ))
    }

    fn work_of(&self, n: f64) -> String {
        self.work(n)
            .map_or_else(String::new, |work| format!(", {work}"))
    }

    fn work_in_brackets(&self, n: f64) -> String {
        self.work(n)
            .map_or_else(String::new, |work| format!(" ({work})"))
    }

    fn work(&self, n: f64) -> Option<String> {
        let work = nanos(work_at(self.case, n)?);
        Some(format!("where '{}' takes {work}", self.baseline))
    }
}

/// Whether it was not decided what the arm is at the lower of two measured sizes.
fn is_open_below(case: &CaseFindings, arm: usize, lower: f64) -> bool {
    let point = case.points.iter().find(|point| point.n as f64 == lower);
    let comparison = point.and_then(|point| point.comparisons.get(arm - 1));
    comparison.is_some_and(|one| one.verdict == Verdict::Undecided)
}

/// The model's two costs.
fn cost_words(fit: &Fit) -> Option<String> {
    Some(format!(
        "A call costs about {} before anything is gained, and for large n the speed-up tends to \
         {}.",
        nanos(fit.overhead_nanos.max(0.0)),
        ratio(fit.asymptotic_speed_up)
    ))
}

/// Where to say the break-even is: at the model's value, or in the middle of a bracket.
fn middle(lower: f64, upper: f64, source: Source, fit: Option<&Fit>) -> f64 {
    let modelled = fit.and_then(|fit| fit.break_even);
    match (source, modelled) {
        (Source::Fit, Some(estimate)) => estimate.median,
        _ => (lower * upper).sqrt(),
    }
}

/// Time of the baseline at a size, scaled from the measured size nearest to it.
fn work_at(case: &CaseFindings, n: f64) -> Option<f64> {
    let far = |measured: usize| (n / measured.max(1) as f64).ln().abs();
    let nearest = case
        .points
        .iter()
        .min_by(|one, other| far(one.n).total_cmp(&far(other.n)))?;
    let time = nearest.times.first()?.median.median;
    Some(time * n / nearest.n.max(1) as f64)
}

fn sizes(estimate: Estimate) -> String {
    format!(
        "{} ({} … {})",
        size(estimate.median),
        size(estimate.low),
        size(estimate.high)
    )
}

/// The noise floor of some points, or that there is none.
pub(super) fn floor_sentence<'point>(points: impl Iterator<Item = &'point Point>) -> String {
    let floors = points.filter_map(|point| Some((point.n, point.floor?)));
    let floors = floors.filter(|(_, floor)| floor.ends().is_some());
    let width = |floor: &Estimate| (floor.high / floor.low).ln();
    let widest = floors.max_by(|(_, one), (_, other)| width(one).total_cmp(&width(other)));
    widest.map_or_else(
        || "Noise floor: unknown, the baseline was not timed against itself.".to_owned(),
        |(n, floor)| {
            format!(
                "Noise floor: the baseline against itself is {} {}, at n = {} where it is widest.",
                ratio(floor.median),
                interval(floor),
                count(n)
            )
        },
    )
}

/// How far the speed-ups of some points spread between launches and within one, at most; nothing if they do not.
pub(super) fn spread_sentence<'point>(
    points: impl Iterator<Item = &'point Point>,
) -> Option<String> {
    let spreads = points.flat_map(|point| &point.comparisons);
    let (between, within) = spreads.fold((0.0_f64, 0.0_f64), |(between, within), one| {
        let spread = one.spread;
        (
            between.max(spread.between_launches),
            within.max(spread.within_launches),
        )
    });
    (between > 0.0 || within > 0.0).then(|| {
        format!(
            "Spread of the speed-ups: at most {} between launches, at most {} within one.",
            percent(between),
            percent(within)
        )
    })
}

/// Qualifies "faster above".
const WHERE_DECIDED: &str = " wherever it was decided";
/// The speed-up from which on an arm pays in practice.
const PRACTICAL: f64 = 1.1;
