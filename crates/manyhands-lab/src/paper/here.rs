//! What was measured here, as a sentence beside what was published.

use crate::{
    break_even::Kind,
    findings::{CaseFindings, Findings, Point},
    paper::PLAIN,
    report::{self, count},
    workload::calls,
};

/// What there is to say about an experiment's findings beyond its tables; `None` if that was not measured.
#[must_use]
pub fn here(experiment_id: &str, findings: &Findings) -> Option<String> {
    match experiment_id {
        "E1a" | "E3" => short_hashes(experiment_id, findings),
        "E2" | "E5" | "E7" => hashes(findings),
        "E6" => cost_of_a_switch(findings),
        "E14" => beside_waits(findings),
        _ => None,
    }
}

/// E1a and E3: from where on the plain loop pays, and for how long a hash. `None` if that was not found.
fn short_hashes(experiment_id: &str, findings: &Findings) -> Option<String> {
    let case = findings.experiment(experiment_id)?.claimed().next()?;
    let arm = case.card.arms.iter().position(|arm| arm == PLAIN)?;
    let Kind::Between { lower, upper, .. } = case.answers.get(arm.checked_sub(1)?)?.kind else {
        return None;
    };
    let point = case.points.last()?;
    let of_hash = point.times.first()?.median.median / point.n.max(1) as f64;
    Some(format!(
        "A loop of short hashes breaks even at n = {}, where a hash takes {}.",
        from_to(&format!("{lower:.0}"), &format!("{upper:.0}")),
        report::nanos(of_hash)
    ))
}

/// E2: SHA-512 against SHA-256.
fn hashes(findings: &Findings) -> Option<String> {
    let cases = &findings.experiment("E2")?.cases;
    let ratio = nanos(cases, "SHA-256")? / nanos(cases, "SHA-512")?;
    let has = match findings.head.machine.sha_instructions {
        true => "has",
        false => "does not have",
    };
    Some(format!(
        "This processor {has} instructions for SHA-256; SHA-256 takes {ratio:.2} times as long as \
         SHA-512 here."
    ))
}

/// Median time of the baseline at the largest size.
fn nanos(cases: &[CaseFindings], name: &str) -> Option<f64> {
    let case = cases.iter().find(|case| case.card.name == name)?;
    Some(case.points.last()?.times.first()?.median.median)
}

/// E6: what a switch costs here, at the start of a chain and in its middle, from the least to the most over the sizes.
fn cost_of_a_switch(findings: &Findings) -> Option<String> {
    let experiment = findings.experiment("E6")?;
    let find = |name: &str| {
        let is_it = |case: &&CaseFindings| case.card.own_name() == name;
        experiment.claimed().find(is_it)
    };
    let cost = |case: &str, arm: &str| {
        let case = find(case)?;
        let arm = case.card.arms.iter().position(|one| one == arm)?;
        let at = |point: &Point| {
            let nanos = |arm: usize| Some(point.times.get(arm)?.median.median);
            let (without, with) = (nanos(0)?, nanos(arm)?);
            Some(((with - without) / point.n.max(1) as f64, with / without))
        };
        let costs: Vec<(f64, f64)> = case.points.iter().filter_map(at).collect();
        let of_item = range(costs.iter().map(|one| one.0), |nanos| format!("{nanos:.1}"))?;
        let times = range(costs.iter().map(|one| one.1), |ratio| format!("{ratio:.2}"))?;
        Some(format!(
            "{of_item} ns an item, {times} times the time without"
        ))
    };
    let sizes = &find("switching")?.points;
    Some(format!(
        "What a switch costs, at n = {}: at the start of a chain, where the post has it, {}; in the middle of one, \
         to sequential and back in order, {}.",
        from_to(&count(sizes.first()?.n), &count(sizes.last()?.n)),
        cost("switching", "switching")?,
        cost("switching in mid-chain", "ordered")?
    ))
}

/// From the least to the most, in words.
fn range(values: impl Iterator<Item = f64> + Clone, words: fn(f64) -> String) -> Option<String> {
    let (least, most) = (values.clone().reduce(f64::min)?, values.reduce(f64::max)?);
    Some(from_to(&words(least), &words(most)))
}

/// Two numbers, or one if they are the same.
fn from_to(least: &str, most: &str) -> String {
    match least == most {
        true => least.to_owned(),
        false => format!("{least} … {most}"),
    }
}

/// E14: times here over what the waits alone take.
fn beside_waits(findings: &Findings) -> Option<String> {
    let cases = findings.experiment("E14")?.cases.iter();
    // Of a case on several numbers of CPUs that with the most, and not what contends or compares builds.
    let plain = cases.filter(|case| case.card.copies.is_none() && case.card.arm.is_none());
    let case = plain.max_by_key(|case| case.card.cpus)?;
    let point = case.points.last()?;
    let (n, waits) = (point.n, Waits::of(point.n));
    let arms = case.card.arms.iter().zip(&point.times);
    let each = arms.map(|(arm, times)| {
        let bound = waits.bound_millis(arm) * 1e6;
        format!("{:.2} ({arm})", times.median.median / bound)
    });
    Some(format!(
        "Here the waits of {n} calls add up to {:.0} ms and the longest is {:.0} ms. Times over what \
         the waits alone take, with the limit that each arm has: {}.",
        waits.sum_millis,
        waits.longest_millis,
        each.collect::<Vec<_>>().join(", ")
    ))
}

/// The waits of a size.
struct Waits {
    sum_millis: f64,
    longest_millis: f64,
}

impl Waits {
    fn of(n: usize) -> Self {
        Self {
            sum_millis: (0..n).map(calls::millis).sum::<u64>() as f64,
            longest_millis: (0..n).map(calls::millis).max().unwrap_or(0) as f64,
        }
    }

    /// The time below which no arm can be; its name says how many it has at a time, if not all.
    fn bound_millis(&self, arm: &str) -> f64 {
        let at_once = arm
            .split_once("@ ")
            .and_then(|(_, count)| count.parse::<f64>().ok());
        let mut share = at_once.map_or(0.0, |count| self.sum_millis / count);
        if arm == calls::TWO_CHANNELS {
            // Only the second half of each wait is limited.
            share /= 2.0;
        }
        share.max(self.longest_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings::ExperimentFindings, report::fixture};

    /// One experiment with one case and one size; arms are a name and a time.
    fn sample(id: &str, case: &str, arms: &[(&str, f64)]) -> Findings {
        let (names, medians): (Vec<&str>, Vec<f64>) = arms.iter().copied().unzip();
        let point = fixture::point(1_000, &medians);
        Findings {
            experiments: vec![ExperimentFindings {
                id: id.to_owned(),
                cases: vec![fixture::case(case, &names, vec![point])],
                ..ExperimentFindings::default()
            }],
            ..fixture::findings()
        }
    }

    #[test]
    fn hashes_are_compared_where_both_were_measured() {
        let mut findings = sample("E2", "SHA-256", &[("sequential", 600.0)]);
        let other = sample("E2", "SHA-512", &[("sequential", 400.0)]);
        assert_eq!(hashes(&findings), None);
        let cases = other.experiments.into_iter().flat_map(|one| one.cases);
        findings.experiments[0].cases.extend(cases);
        findings.head.machine.sha_instructions = true;
        let remark = hashes(&findings).unwrap();
        let part = "This processor has instructions";
        assert!(remark.contains(part), "{remark}");
        assert!(remark.contains("1.50 times as long"), "{remark}");
    }

    #[test]
    fn a_break_even_of_short_hashes_stands_with_what_a_hash_takes() {
        let mut findings = sample("E3", "SHA-512", &[("sequential", 162e3), (PLAIN, 90e3)]);
        assert_eq!(here("E3", &findings), None);
        let answer = fixture::findings().experiments[0].cases[0].answers[0].clone();
        findings.experiments[0].cases[0].answers = vec![answer];
        let expected =
            "A loop of short hashes breaks even at n = 31 … 37, where a hash takes 162 ns.";
        assert_eq!(here("E3", &findings).as_deref(), Some(expected));
    }

    #[test]
    fn the_cost_of_a_switch_is_said_of_one_item() {
        let arms = [("without switching", 2_000.0), ("switching", 5_000.0)];
        let mut findings = sample("E6", "switching", &arms);
        assert_eq!(cost_of_a_switch(&findings), None);
        // At the largest size it costs least.
        let larger = fixture::point(10_000, &[20_000.0, 25_000.0]);
        findings.experiments[0].cases[0].points.push(larger);
        let arms = [("no switch", 1_000.0), ("ordered", 11_000.0)];
        let mut mid_chain = sample("E6", "switching in mid-chain", &arms);
        findings.experiments[0]
            .cases
            .append(&mut mid_chain.experiments[0].cases);
        let said = cost_of_a_switch(&findings).unwrap();
        let part = "What a switch costs, at n = 1,000 … 10,000: at the start";
        assert!(said.starts_with(part), "{said}");
        let part = "0.5 … 3.0 ns an item, 1.25 … 2.50 times the time without; in";
        assert!(said.contains(part), "{said}");
        let part = "10.0 ns an item, 11.00 times the time without.";
        assert!(said.ends_with(part), "{said}");
    }

    #[test]
    fn times_here_stand_over_what_the_waits_alone_take() {
        // The size of the sample is a thousand.
        let waits = Waits::of(1_000);
        let arms = [
            ("for_each_async @ 4", waits.sum_millis / 4.0 * 1.5e6),
            ("channel", waits.longest_millis * 1.25e6),
        ];
        let remark = beside_waits(&sample("E14", "calls", &arms)).unwrap();
        assert!(remark.contains("the longest is 49 ms"), "{remark}");
        let part = "1.50 (for_each_async @ 4), 1.25 (channel).";
        assert!(remark.ends_with(part), "{remark}");
    }
}
