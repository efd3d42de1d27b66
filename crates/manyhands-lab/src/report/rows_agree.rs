//! No sentence about a break-even says of a size what its row in the table does not.
//!
//! A thousand simulated runs, of every shape a curve may have and with more or less noise, are
//! judged and put into words; then the words are read, and compared with the rows.

use super::{
    fixture::{case, point},
    sentence::{break_even_sentence, kind_words},
};
use crate::{
    break_even::{Finder, Judged, Points, Ratio, Verdicts, simulation::JUDGE},
    findings::CaseFindings,
    stats::{Estimate, noise::Noise, quantile},
    verdict::Verdict,
};
use std::collections::BTreeSet;

/// The decades of a case, and sizes as a search adds them around a crossing.
const SIZES: [usize; 9] = [10, 33, 58, 100, 173, 300, 1_000, 10_000, 100_000];

/// Speed-up over size, by shape.
fn truth(shape: u64, n: f64) -> f64 {
    match shape % 8 {
        0 => 1.0 / (50.0 / n + 1.0 / 1.9),
        1 => 1.0 / (20_000.0 / n + 1.0 / 1.6),
        2 => 1.0,
        3 => 1.0 / (1.0 + 50.0 / n),
        4 => 1.54,
        5 if n < 300.0 => 1.0,
        5 => 1.8,
        6 if n > 5_000.0 => 0.8,
        6 => 1.5,
        _ => 1.02,
    }
}

/// The blocks of one run; at one size there may be few, as if the others had been disturbed.
fn simulated(seed: u64) -> Points {
    let mut noise = Noise::new(seed);
    let sigma = 0.01 + 0.05 * noise.normal().abs();
    // With 24 and more the model is tried.
    let fewest = if seed.is_multiple_of(2) { 24 } else { 11 };
    let mut points = Points::new();
    for (index, n) in (0..).zip(SIZES) {
        let more = (0..40).filter(|_| noise.normal() > 0.5).count();
        let is_disturbed = seed.is_multiple_of(5) && seed / 5 % 9 == index;
        let count = if is_disturbed {
            more / 2
        } else {
            fewest + more
        };
        let ratio = |block: usize| Ratio {
            launch: [0, 1, 2][block % 3],
            value: truth(seed, n as f64) * noise.ratio(sigma),
            baseline_nanos: 100.0 * n as f64,
        };
        let ratios: Vec<Ratio> = (0..count).map(ratio).collect();
        if !ratios.is_empty() {
            points.insert(n, ratios);
        }
    }
    points
}

/// The verdicts of the judge. Its interval is a plain one of two quantiles: thousands of
/// bootstraps would take minutes, and what is tested here is how the words follow the verdicts.
fn judged(points: &Points) -> Verdicts {
    let judged = |(n, ratios): (&usize, &Vec<Ratio>)| {
        let values: Vec<f64> = ratios.iter().map(|ratio| ratio.value).collect();
        let half = 0.98 / (values.len() as f64).sqrt();
        let at = |share: f64| quantile(&values, share.clamp(0.0, 1.0)).unwrap();
        let speed_up = Estimate::new(at(0.5), at(0.5 - half), at(0.5 + half));
        let judged = Judged {
            verdict: JUDGE.verdict(&values, speed_up, None),
            speed_up: Some(speed_up),
            is_enough: values.len() >= JUDGE.blocks_min() as usize,
        };
        (*n, judged)
    };
    points.iter().map(judged).collect()
}

/// The run as the reports see it.
fn found(verdicts: &Verdicts) -> CaseFindings {
    let row = |(n, judged): (&usize, &Judged)| {
        let work = 100.0 * *n as f64;
        let mut point = point(*n, &[work, work]);
        point.comparisons[0].verdict = judged.verdict;
        point.comparisons[0].clean = judged.speed_up;
        point
    };
    let points = verdicts.iter().map(row).collect();
    case("case", &["one", "other"], points)
}

/// What a sentence claims, as text.
struct Said<'text>(&'text str);

impl Said<'_> {
    fn has(&self, part: &str) -> bool {
        self.0.contains(part)
    }

    /// The numbers that follow this part, up to the end of its sentence.
    fn numbers(&self, part: &str) -> Option<Vec<f64>> {
        let rest = &self.0[self.0.find(part)? + part.len()..];
        let rest = rest.replace(", ", "; ").replace(',', "");
        let end = rest.find(". ").unwrap_or(rest.len());
        let is_part = |c: char| !(c.is_ascii_digit() || c == '.');
        let words = rest[..end].split(is_part);
        let numbers = words.filter_map(|word| word.trim_matches('.').parse().ok());
        Some(numbers.collect())
    }
}

/// The rows of a table, as claims ask for them.
struct Rows<'run>(&'run Verdicts);

impl Rows<'_> {
    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = Verdict> {
        let sizes = self.0.iter();
        let within = sizes.filter(move |(n, _)| (from..to).contains(&(**n as f64)));
        within.map(|(_, row)| row.verdict)
    }

    fn all(&self, wanted: Verdict, from: f64, to: f64) -> bool {
        self.between(from, to).all(|verdict| verdict == wanted)
    }

    fn any(&self, wanted: Verdict, from: f64, to: f64) -> bool {
        self.between(from, to).any(|verdict| verdict == wanted)
    }

    fn at(&self, n: f64) -> Verdict {
        self.between(n, n + 1.0).next().expect("a measured size")
    }
}

/// A claim by name, and whether the rows bear it out.
type Claim = (&'static str, bool);

/// That it is faster nowhere, or that nothing is known of that.
fn of_no_size(said: &Said<'_>, rows: &Rows<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    let nowhere = !rows.any(Verdict::Faster, ZERO, END);
    if let Some(numbers) = said.numbers("at no size up to n = ") {
        let mut sizes = rows.0.iter().rev();
        let (largest, row) = sizes.find(|(_, row)| row.is_enough).unwrap();
        claims.push(("never: faster", nowhere));
        claims.push(("never: size", *largest as f64 == numbers[0]));
        claims.push(("never: interval", row.speed_up.unwrap().high <= 1.02));
    }
    if said.has("was not decided: it was found so at no size") {
        let all_equal = rows.all(Verdict::NoDifference, ZERO, END);
        claims.push(("open", nowhere && !all_equal));
        let at = said.numbers("at no size, and at n = ").unwrap()[0];
        let mut above = rows.0.iter().skip_while(|(n, _)| (**n as f64) < at);
        let speed_up = above.next().and_then(|(_, row)| row.speed_up);
        let looks_faster = speed_up.is_some_and(|speed_up| speed_up.low > 1.0);
        claims.push(("open: looks", said.has("looks faster") == looks_faster));
    }
    if said.has("differ by less than") {
        claims.push(("equal", rows.all(Verdict::NoDifference, ZERO, END)));
    }
    if said.has("too few blocks") {
        claims.push(("too few", rows.all(Verdict::Undecided, ZERO, END)));
    }
    claims
}

/// That it is faster at all sizes, or changes more than once.
fn of_all_sizes(said: &Said<'_>, rows: &Rows<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    if said.has("faster than 'one' at every size measured") {
        claims.push(("always", rows.all(Verdict::Faster, ZERO, END)));
    }
    if said.has("at every size that was decided") {
        let any = |verdict| rows.any(verdict, ZERO, END);
        let otherwise = any(Verdict::Slower) || any(Verdict::NoDifference);
        claims.push(("always decided", any(Verdict::Faster) && !otherwise));
    }
    if let Some(pairs) = said.numbers("change places more than once: ") {
        for pair in pairs.chunks(2) {
            let is_faster = |n| rows.at(n) == Verdict::Faster;
            claims.push(("several", is_faster(pair[0]) != is_faster(pair[1])));
        }
    }
    if let Some(numbers) = said.numbers("From n = ") {
        claims.push(("settled", rows.all(Verdict::Faster, numbers[0], END)));
    }
    claims
}

/// Where the model puts the break-even.
fn of_the_model(said: &Said<'_>, rows: &Rows<'_>) -> Vec<Claim> {
    let Some(numbers) = said.numbers("at about n = ") else {
        return Vec::new();
    };
    // The size, the 95 of "95 % interval", and its ends. All are rounded.
    let (at, low, high) = (numbers[0], numbers[2], numbers[3]);
    let faster_below = rows.any(Verdict::Faster, ZERO, at - 0.5);
    let slower_above = rows.any(Verdict::Slower, at + 0.5, END);
    let equal_above = rows.any(Verdict::NoDifference, high + 1.0, END);
    let equal_below = rows.any(Verdict::NoDifference, ZERO, low - 1.0);
    let open_above = rows.any(Verdict::Undecided, high + 1.0, END);
    let (says_equal, says_open) = (
        said.has("below it is not faster"),
        said.has("wherever it was decided"),
    );
    vec![
        ("model: order", low <= at && at <= high),
        ("model: faster below", !faster_below),
        ("model: slower above", !slower_above),
        ("model: equal above", !equal_above),
        ("model: below", !equal_below || says_equal),
        ("model: above", !open_above || says_open),
    ]
}

/// Between which measured sizes it lies.
fn of_measured_sizes(said: &Said<'_>, rows: &Rows<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    if let Some(numbers) = said.numbers("breaks even with 'one' somewhere between n = ") {
        let (low, high) = (rows.at(numbers[0]), rows.at(numbers[1]));
        let decided_low = matches!(low, Verdict::Slower | Verdict::NoDifference);
        claims.push(("bracket: lower", decided_low));
        claims.push(("bracket: upper", high == Verdict::Faster));
        let below = rows.any(Verdict::Faster, ZERO, numbers[1]);
        claims.push(("bracket: faster below", !below));
    }
    if let Some(numbers) = said.numbers("is faster than 'one' from n = ") {
        let from = numbers[0];
        let open = rows.any(Verdict::Undecided, from, END);
        claims.push(("from", rows.at(from) == Verdict::Faster));
        claims.push(("from: slower", !rows.any(Verdict::Slower, from, END)));
        claims.push(("from: open", !open || said.has("wherever it was decided")));
        claims.push(("from: below", rows.all(Verdict::Undecided, ZERO, from)));
    }
    claims
}

/// From where on it pays in practice.
fn of_practice(said: &Said<'_>, rows: &Rows<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    let is_open = |row: &Judged| {
        let lies_above = row.speed_up.is_some_and(|found| found.low >= 1.1);
        row.verdict == Verdict::Undecided && lies_above && said.has("(not decided at n = ")
    };
    let pays_from = |from: f64| {
        let mut above = rows.0.iter().filter(|(n, _)| **n as f64 >= from);
        let pays = above.all(|(_, row)| row.verdict == Verdict::Faster || is_open(row));
        pays && rows.at(from) == Verdict::Faster
    };
    if let Some(numbers) = said.numbers("for good, from somewhere between n = ") {
        claims.push(("pays", pays_from(numbers[1])));
    }
    if let Some(numbers) = said.numbers("for good, from n = ") {
        claims.push(("pays from", pays_from(numbers[0])));
    }
    if said.has("No size was found from which on it gains") {
        let last = rows.0.values().next_back().unwrap();
        let pays = last.verdict == Verdict::Faster && last.speed_up.unwrap().median >= 1.1;
        claims.push(("pays nowhere", !pays));
    }
    claims
}

/// Compares each claim with the rows; the culprit, if one is false.
fn contradiction(text: &str, rows: &Verdicts) -> Option<&'static str> {
    let (said, rows) = (Said(text), Rows(rows));
    let mut claims = of_no_size(&said, &rows);
    claims.extend(of_all_sizes(&said, &rows));
    claims.extend(of_the_model(&said, &rows));
    claims.extend(of_measured_sizes(&said, &rows));
    claims.extend(of_practice(&said, &rows));
    assert!(!claims.is_empty(), "nothing is claimed: {text}");
    let mut culprits = claims.into_iter().filter(|(_, holds)| !holds);
    culprits.next().map(|(name, _)| name)
}

/// Below and above all sizes.
const ZERO: f64 = 0.0;
const END: f64 = f64::INFINITY;

#[test]
fn no_sentence_contradicts_a_row_of_its_table() {
    let finder = Finder::new(SIZES, JUDGE);
    let mut seen = BTreeSet::new();
    for seed in 0..1_000 {
        let points = simulated(seed);
        let verdicts = judged(&points);
        // The model is a bootstrap, so only some runs have points for it.
        let has_model = seed % 40 == 16;
        let fitted = if has_model { points } else { Points::new() };
        let answer = finder.answer(&fitted, &verdicts, seed);
        let case = found(&verdicts);
        let text = break_even_sentence(&case, 1, &answer);
        if let Some(claim) = contradiction(&text, &verdicts) {
            panic!("seed {seed}: {claim}: {text}\n{verdicts:?}");
        }
        if text.contains("95 % interval") {
            seen.insert(Some("a model".to_owned()));
        }
        let words = kind_words(&answer.kind);
        seen.insert(words.split(' ').next().map(str::to_owned));
    }
    assert!(seen.len() >= 7, "only {seen:?} was said");
}
