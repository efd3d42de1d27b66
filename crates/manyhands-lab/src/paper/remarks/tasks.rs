//! E6 and E10 to E13: what the published figures can and cannot bear.

use super::{list, speed_ups};
use crate::{
    findings::{CaseFindings, Findings, Times},
    paper::Paper,
};

/// E6: differences of two means, beside their deviations.
pub(super) fn switching(paper: &Paper, findings: Option<&Findings>) -> Vec<String> {
    let cells = |arm: &'static str| paper.cells.iter().filter(move |cell| cell.arm == arm);
    let pairs = cells("without switching").zip(cells("switching"));
    let differences = pairs.filter_map(|(without, with)| {
        let (without_deviation, with_deviation) = (
            without.standard_deviation_nanos?,
            with.standard_deviation_nanos?,
        );
        let difference = (with.mean_nanos - without.mean_nanos) / 1e3;
        let deviation = without_deviation.hypot(with_deviation) / 1e3;
        Some(format!(
            "{difference:.0} ± {deviation:.0} µs at n = {}",
            with.n
        ))
    });
    let mut remarks = vec![
        format!(
            "The published cost of switching is {} (one standard deviation of a single pair of calls): \
             it changes its sign, and says nothing.",
            list(differences)
        ),
        "It could not be found out because there was nothing to find: right after AsParallel, AsSequential in \
         .NET gives back the very source that AsParallel was called on, and no item goes through a query."
            .to_owned(),
    ];
    remarks.extend(findings.and_then(cost_of_a_switch));
    remarks
}

/// What a switch costs here, at the start of a chain and in its middle.
fn cost_of_a_switch(findings: &Findings) -> Option<String> {
    let experiment = findings.experiment("E6")?;
    let cost = |case: &str, arm: &str| {
        let is_it = |one: &&CaseFindings| one.card.of.as_ref().unwrap_or(&one.card.name) == case;
        let case = experiment.claimed().find(is_it)?;
        let arm = case.card.arms.iter().position(|one| one == arm)?;
        let point = case.points.last()?;
        let nanos = |arm: usize| Some(point.times.get(arm)?.median.median);
        let (without, with) = (nanos(0)?, nanos(arm)?);
        let of_item = (with - without) / point.n.max(1) as f64;
        Some(format!(
            "{of_item:.1} ns an item, {:.2} times the time without",
            with / without
        ))
    };
    Some(format!(
        "What a switch costs: at the start of a chain, where the post has it, {}; in the middle of one, to \
         sequential and back in order, {}.",
        cost("switching", "switching")?,
        cost("switching in mid-chain", "ordered")?
    ))
}

/// E10 and E11: where two tasks were faster.
pub(super) fn counting(paper: &Paper) -> Vec<String> {
    let faster = || speed_ups(paper, "in series", "two tasks").filter(|(_, ratio)| *ratio > 1.0);
    let each = list(faster().map(|(cell, ratio)| format!("{ratio:.3} times at n = {}", cell.n)));
    if paper.source.contains("1 CPU,") {
        return vec![format!(
            "On one CPU two tasks were published as faster, {each}. Those are single shots: what \
             they show is noise, not a gain."
        )];
    }
    vec![format!(
        "Two tasks were published as faster, {each}; two is the most that two tasks can give."
    )]
}

/// E12: sleeping is not computing.
pub(super) fn sleeping(paper: &Paper, findings: Option<&Findings>) -> Vec<String> {
    let above = speed_ups(paper, "in series", "two tasks").filter(|(_, ratio)| *ratio > 2.0);
    let mut remarks = vec![format!(
        "More than twice as fast, {}, is more than two tasks can be: the clock of that system woke \
         sleepers on ticks of 15.6 ms.",
        list(above.map(|(cell, ratio)| format!("{ratio:.2} times at {} ms", cell.n)))
    )];
    remarks.extend(findings.and_then(processor_share));
    remarks
}

/// CPU time over wall time, for every arm.
fn processor_share(findings: &Findings) -> Option<String> {
    let (n, arms) = largest(findings, "E12")?;
    let shares = arms.filter_map(|(arm, times)| {
        let percent = times.cpu? / times.median.median * 100.0;
        Some(format!("{percent:.1} % ({arm})"))
    });
    let shares = list(shares);
    (!shares.is_empty())
        .then(|| format!("Here, at {n} ms, CPU time was this share of wall time: {shares}."))
}

/// E13: times of one item.
pub(super) fn queueing(paper: &Paper, findings: Option<&Findings>) -> Vec<String> {
    let per_item = |arm: &str| {
        let cell = paper.cells.iter().find(|cell| cell.arm == arm);
        cell.map_or(f64::NAN, |cell| cell.mean_nanos / cell.n as f64)
    };
    let mut remarks = vec![format!(
        "Published, an empty item took {:.0} ns through locked queue and {:.0} ns through the pool \
         that replaced it.",
        per_item("locked queue"),
        per_item("run")
    )];
    remarks.extend(findings.and_then(per_item_here));
    remarks
}

fn per_item_here(findings: &Findings) -> Option<String> {
    let (n, arms) = largest(findings, "E13")?;
    let each = arms.map(|(arm, times)| format!("{:.0} ns ({arm})", times.median.median / n as f64));
    Some(format!("Here, at {n} items, one takes {}.", list(each)))
}

/// The largest size of an experiment of one case, with its arms and their times.
pub(super) fn largest<'a>(
    findings: &'a Findings,
    id: &str,
) -> Option<(usize, impl Iterator<Item = (&'a String, &'a Times)>)> {
    let cases = findings.experiment(id)?.cases.iter();
    // Of a case on several numbers of CPUs that with the most, and not what contends or compares builds.
    let plain = cases.filter(|case| case.card.copies.is_none() && case.card.arm.is_none());
    let case = plain.max_by_key(|case| case.card.cpus)?;
    let point = case.points.last()?;
    Some((point.n, case.card.arms.iter().zip(&point.times)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{of, remarks::sample};

    #[test]
    fn the_cost_of_a_switch_is_said_of_one_item() {
        let arms = [
            ("without switching", 2_000.0, None),
            ("switching", 5_000.0, None),
        ];
        let mut findings = sample::findings("E6", "switching", &arms);
        assert_eq!(cost_of_a_switch(&findings), None);
        let arms = [("no switch", 1_000.0, None), ("ordered", 11_000.0, None)];
        let mut mid_chain = sample::findings("E6", "switching in mid-chain", &arms);
        findings.experiments[0]
            .cases
            .append(&mut mid_chain.experiments[0].cases);
        let said = cost_of_a_switch(&findings).unwrap();
        assert!(
            said.contains("3.0 ns an item, 2.50 times the time without; in"),
            "{said}"
        );
        assert!(
            said.ends_with("10.0 ns an item, 11.00 times the time without."),
            "{said}"
        );
    }

    #[test]
    fn the_cost_of_switching_changes_its_sign() {
        let remark = switching(&of("E6").unwrap(), None).concat();
        assert!(
            remark.contains("27 ± 9 µs at n = 10000, 558 ± 846 µs"),
            "{remark}"
        );
        assert!(remark.contains("-14849 ± "), "{remark}");
    }

    #[test]
    fn gains_on_one_cpu_are_called_noise() {
        let remark = counting(&of("E11").unwrap()).concat();
        assert!(remark.contains("1.038 times at n = 10000000"), "{remark}");
        assert!(remark.contains("noise"), "{remark}");
        let remark = counting(&of("E10").unwrap()).concat();
        assert!(remark.contains("1.986 times at n = 1000000000"), "{remark}");
    }

    #[test]
    fn sleeps_that_gain_more_than_two_are_explained() {
        let remark = sleeping(&of("E12").unwrap(), None).concat();
        assert!(
            remark.contains("2.29 times at 10 ms, 2.06 times at 100 ms"),
            "{remark}"
        );
    }

    #[test]
    fn an_item_of_e13_is_given_in_nanoseconds() {
        let remark = queueing(&of("E13").unwrap(), None).concat();
        assert!(
            remark.contains("503 ns") && remark.contains("245 ns"),
            "{remark}"
        );
    }

    #[test]
    fn what_was_found_here_stands_beside_it() {
        let arms = [("in series", 2e6, Some(4e3)), ("two tasks", 1e6, Some(1e4))];
        let remark = processor_share(&sample::findings("E12", "sleeping", &arms)).unwrap();
        assert!(
            remark.contains("0.2 % (in series) and 1.0 % (two tasks)"),
            "{remark}"
        );
        let arms = [("locked queue", 5e5, None), ("run", 1e5, None)];
        let findings = sample::findings("E13", "empty work items", &arms);
        let remark = per_item_here(&findings).unwrap();
        assert!(
            remark.contains("500 ns (locked queue) and 100 ns (run)"),
            "{remark}"
        );
        assert_eq!(processor_share(&findings), None);
    }

    #[test]
    fn without_cpu_times_no_share_is_given() {
        let findings = sample::findings("E12", "sleeping", &[("in series", 2e6, None)]);
        assert_eq!(processor_share(&findings), None);
    }
}
