//! The break-even in words.

use super::units::{count, nanos, ratio};
use crate::{Measurement, break_even::BreakEven, tour::Section};
use std::fmt::Write;

/// What the section says about the break-even, or `None` if it was not looked for.
#[must_use]
pub fn break_even_sentence(section: &Section) -> Option<String> {
    let words = Words { section };
    let percent = section.rule.margin * 100.0;
    let arm = words.challenger();
    Some(match section.break_even.as_ref()? {
        BreakEven::Between { lower, upper } => format!(
            "Break-even: '{arm}' is measurably faster (by more than {percent:.0} %) from somewhere \
             between n = {} and n = {}, {} to {} of work. {}{}",
            count(*lower),
            count(*upper),
            words.work(*lower),
            words.work(*upper),
            words.below(*lower),
            words.doubt(*lower),
        ),
        BreakEven::FromSmallest { smallest } => format!(
            "Break-even: '{arm}' pays from the smallest size measured, n = {} ({} of work).",
            count(*smallest),
            words.work(*smallest),
        ),
        BreakEven::NeverUpTo { largest } => format!(
            "Break-even: never up to n = {} ({} of work); '{arm}' reaches {} there, as it does where \
             only one CPU is free.{}",
            count(*largest),
            words.work(*largest),
            words.speed_up(*largest),
            words.doubt(*largest),
        ),
        BreakEven::Unsettled { faster_at, largest } => format!(
            "Break-even: not settled. '{arm}' is measurably faster at n = {} but not at n = {}, \
             where it reaches {}; a longer --budget or a quieter machine may tell.",
            count(*faster_at),
            count(*largest),
            words.speed_up(*largest),
        ),
        BreakEven::TooFewBlocks => format!(
            "Break-even: no time to look for it; deciding one size takes {} blocks or more. \
             Try a longer --budget.",
            section.rule.blocks_min(),
        ),
        BreakEven::Several {
            crossings,
            settled_from,
        } => {
            let pairs: Vec<String> = crossings
                .iter()
                .map(|(one, next)| format!("{} and {}", count(*one), count(*next)))
                .collect();
            let end = settled_from.map_or_else(
                || format!("There is no size from which on '{arm}' is always faster."),
                |n| {
                    let (n, work) = (count(n), words.work(n));
                    format!("From n = {n} on, {work} of work, '{arm}' is faster at every size.")
                },
            );
            format!(
                "Break-even: several crossings, between n = {}. {end}",
                pairs.join(", between "),
            )
        }
    })
}

struct Words<'section> {
    section: &'section Section,
}

impl Words<'_> {
    fn challenger(&self) -> &str {
        let first = self.section.measurements.first();
        first.map_or("parallel", |one| one.arms[1].as_str())
    }

    fn at(&self, n: usize) -> Option<&Measurement> {
        self.section.measurements.iter().find(|one| one.n == n)
    }

    /// Time of the baseline at a size.
    fn work(&self, n: usize) -> String {
        let median = self.at(n).and_then(|one| one.median_nanos(0));
        median.map_or_else(|| "unknown time".to_owned(), nanos)
    }

    fn speed_up(&self, n: usize) -> String {
        let estimate = self.at(n).and_then(|one| one.speed_up(1, INTERVAL_SEED));
        estimate.map_or_else(|| "nothing".to_owned(), |found| ratio(found.median))
    }

    /// A warning where the interval at a size is too wide to take the answer at its word.
    fn doubt(&self, n: usize) -> String {
        let estimate = self.at(n).and_then(|one| one.speed_up(1, INTERVAL_SEED));
        let wide = estimate.filter(|found| found.high / found.low > WIDE);
        wide.map_or_else(String::new, |found| {
            format!(
                " The interval at n = {}, {:.2} … {:.2}, is wide: probably other programs used the machine \
                 meanwhile; a quiet one may break even earlier.",
                count(n),
                found.low,
                found.high,
            )
        })
    }

    /// What happens below the break-even: the design, then the worst that was measured.
    fn below(&self, lower: usize) -> String {
        let below = || {
            self.section
                .measurements
                .iter()
                .filter(|one| one.n <= lower)
        };
        let speed_ups =
            below().filter_map(|one| Some((one.speed_up(1, INTERVAL_SEED)?.median, one)));
        let extras =
            below().filter_map(|one| Some((one.median_nanos(1)? - one.median_nanos(0)?, one)));
        let slowest = speed_ups.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let costliest = extras.max_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut text =
            "Below that no gain stands out from the noise; where there is none to be had, the \
            loop is built to stay on the calling thread at the cost of the plain loop."
                .to_owned();
        if let (Some((speed_up, slowest)), Some((extra, costliest))) = (slowest, costliest) {
            let _ = write!(
                text,
                " Measured there, the lowest speed-up is {} (n = {}) and the largest extra time per \
                 call {} (n = {}).",
                ratio(speed_up),
                count(slowest.n),
                nanos(extra.max(0.0)),
                count(costliest.n),
            );
        }
        text
    }
}

/// Ends of an interval further apart than this factor are called wide.
const WIDE: f64 = 1.2;
/// Only the interval depends on it, and the sentence gives the median.
const INTERVAL_SEED: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, verdict::Rule};

    fn sentence(break_even: BreakEven) -> String {
        break_even_sentence(&section(break_even)).unwrap()
    }

    fn section(break_even: BreakEven) -> Section {
        let measurement = |n: usize, speed_up: f64| Measurement {
            experiment: "E3".into(),
            case: "SHA-512".into(),
            n,
            arms: vec!["sequential".into(), "for_each".into()],
            blocks: vec![Block {
                calls: 1,
                order: vec![0, 1],
                nanos: vec![n as f64 * 230.0, n as f64 * 230.0 / speed_up],
                checksum: 0,
            }],
        };
        Section {
            id: "E3".into(),
            title: "t".into(),
            measurements: vec![
                measurement(10, 0.97),
                measurement(100, 1.0),
                measurement(1_000, 1.8),
            ],
            rule: Rule::AMONG_SIZES,
            break_even: Some(break_even),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_wide_interval_is_a_reason_for_doubt() {
        let block = |ratio: f64| Block {
            calls: 1,
            order: vec![0, 1],
            nanos: vec![ratio, 1.0],
            checksum: 0,
        };
        let mut section = section(BreakEven::NeverUpTo { largest: 1_000 });
        assert!(!break_even_sentence(&section).unwrap().contains("is wide"));
        section.measurements[2].blocks = [0.6, 1.9, 0.7, 1.8, 1.0].map(block).to_vec();
        let text = break_even_sentence(&section).unwrap();
        assert!(text.contains("n = 1,000, 0.60 … 1.90, is wide"), "{text}");
    }

    #[test]
    fn every_answer_names_its_sizes() {
        fn check(break_even: BreakEven, parts: &[&str]) {
            let text = sentence(break_even);
            for part in parts {
                assert!(text.contains(part), "'{part}' is missing in: {text}");
            }
            assert!(!text.contains("  "), "{text}");
        }
        check(
            BreakEven::Between {
                lower: 100,
                upper: 1_000,
            },
            &[
                "between n = 100 and n = 1,000, 23.0 µs to 230 µs of work",
                "more than 2 %",
                "0.97× (n = 10)",
                "71.1 ns (n = 10).",
            ],
        );
        check(
            BreakEven::FromSmallest { smallest: 10 },
            &["n = 10 (2.30 µs"],
        );
        check(
            BreakEven::NeverUpTo { largest: 1_000 },
            &["never up to n = 1,000", "1.80×"],
        );
        check(
            BreakEven::Unsettled {
                faster_at: 100,
                largest: 1_000,
            },
            &["not settled", "n = 100 but not at n = 1,000"],
        );
        check(BreakEven::TooFewBlocks, &["11 blocks or more"]);
        check(
            BreakEven::Several {
                crossings: vec![(10, 100), (100, 1_000)],
                settled_from: Some(1_000),
            },
            &[
                "between n = 10 and 100, between 100 and 1,000.",
                "From n = 1,000 on, 230 µs of work",
            ],
        );
    }
}
