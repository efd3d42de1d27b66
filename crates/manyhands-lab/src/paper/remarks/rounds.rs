//! E7 to E9: what the partition model says about the figures from the cloud.

use super::list;
use crate::{
    model::{Policy, rounds_bound, rounds_measured},
    paper::{Figure, figures},
};

/// Why ranges win on some numbers of CPUs.
pub(super) fn remarks(experiment: &str) -> Vec<String> {
    let cpus: Vec<usize> = figures_of(experiment, "for")
        .map(|figure| figure.cpus)
        .collect();
    let from = |least: usize| cpus.iter().copied().filter(move |cpus| *cpus >= least);
    let one_item = from(0)
        .find(|cpus| ITEMS / (3 * cpus) <= 1)
        .unwrap_or(ITEMS);
    let modelled =
        |policy: Policy| list(from(one_item).map(|cpus| policy.rounds(ITEMS, cpus).to_string()));
    let measured = |arm| list(from(one_item).filter_map(|cpus| rounds(experiment, arm, cpus)));
    let many = from(one_item).map(|cpus| cpus.to_string());
    let of_cost = |cost: &str| {
        let of_cpus = from(one_item).filter_map(|cpus| gain_of_ranges(experiment, cost, cpus));
        format!("{} at cost {cost}", list(of_cpus))
    };
    vec![
        format!(
            "Ranges against the plain loop as published, on {} CPUs: {}.",
            list(many),
            ["4", "6", "8", "10"].map(of_cost).join("; ")
        ),
        format!(
            "Why ranges win: from {one_item} CPUs on a range of n/(3P) is a single item, so items are \
             handed out one by one. Parallel.For cuts ranges of n/P items, one for each worker, and \
             lets a worker that is done take a left-over range whole."
        ),
        format!(
            "On {} CPUs Parallel.For needs {} rounds of {ITEMS} items by the model, {} measured at \
             cost 10; ranges {} by the model, {} measured; no policy can do with less than {}. A \
             loop of this library needs {}, and one more when it is called for the first time.",
            list(from(one_item).map(|cpus| cpus.to_string())),
            modelled(Policy::DotNetFor),
            measured("for"),
            modelled(Policy::DotNetRanges),
            measured("ranges"),
            list(from(one_item).map(|cpus| rounds_bound(ITEMS, cpus).to_string())),
            modelled(Policy::ours(HEAVY_NANOS)),
        ),
        format!(
            "On 16 and 32 CPUs the model asks too much of Parallel.For, {} rounds against {} measured: \
             workers drift apart and share the last ranges.",
            list([16, 32].map(|cpus| Policy::DotNetFor.rounds(ITEMS, cpus).to_string())),
            list(
                [16, 32]
                    .into_iter()
                    .filter_map(|cpus| rounds(experiment, "for", cpus))
            ),
        ),
    ]
}

/// How much faster ranges were, in percent of their time.
fn gain_of_ranges(experiment: &str, cost: &str, cpus: usize) -> Option<String> {
    let case = format!("BCrypt cost {cost}");
    let nanos = |arm: &str| {
        let mut figures = figures().iter();
        let is_it = |one: &&Figure| {
            (one.experiment.as_str(), one.case.as_str()) == (experiment, case.as_str())
                && (one.arm.as_str(), one.cpus) == (arm, cpus)
        };
        Some(figures.find(is_it)?.mean_nanos)
    };
    let percent = (nanos("for")? / nanos("ranges")? - 1.0) * 100.0;
    Some(format!("{percent:+.0} %"))
}

/// What more CPUs did to light items.
pub(super) fn light_items() -> Vec<String> {
    let over_bound = |figure: &Figure| {
        let bound = rounds_bound(figure.n, figure.cpus) as f64;
        rounds_measured(figure).map(|rounds| format!("{:.1}", rounds / bound))
    };
    let hmac = || {
        figures().iter().filter(|figure| {
            figure.experiment == "E7" && figure.case == "HMAC-SHA512" && figure.arm == "for"
        })
    };
    vec![format!(
        "Handing out items does not explain it: on {} CPUs the parallel HMAC-SHA512 took {} times what \
         the rounds of equal items take, although a share is thousands of items long. Something that \
         the items have in common held them up, most likely memory.",
        list(hmac().map(|figure| figure.cpus.to_string())),
        list(hmac().filter_map(over_bound)),
    )]
}

/// Rounds that the published time of cost 10 comes to.
fn rounds(experiment: &str, arm: &str, cpus: usize) -> Option<String> {
    let figure = figures_of(experiment, arm).find(|figure| figure.cpus == cpus)?;
    Some(format!("{:.1}", rounds_measured(figure)?))
}

/// Figures of the heaviest items, by CPUs.
fn figures_of(experiment: &str, arm: &str) -> impl Iterator<Item = &'static Figure> {
    figures().iter().filter(move |figure| {
        figure.experiment == experiment && figure.case == "BCrypt cost 10" && figure.arm == arm
    })
}

/// Items of E8 and E9.
const ITEMS: usize = 300;
/// Time of an item of cost 10, as the laboratory's loop sees it.
const HEAVY_NANOS: f64 = 7e7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_the_model_stand_beside_those_measured() {
        let remarks = remarks("E9");
        assert!(remarks[1].contains("from 64 CPUs on"), "{remarks:?}");
        for part in [
            "On 64, 96 and 192 CPUs Parallel.For needs 8, 6 and 2 rounds",
            "8.6, 6.2 and 2.5 measured",
            "ranges 5, 4 and 2 by the model, 5.9, 4.5 and 2.4 measured",
            "less than 5, 4 and 2. A loop of this library needs 5, 4 and 2, and",
        ] {
            assert!(remarks[2].contains(part), "{part}: {remarks:?}");
        }
        assert!(
            remarks[3].contains("30 and 18 rounds against 22.0 and 12.4"),
            "{remarks:?}"
        );
    }

    #[test]
    fn the_other_machine_shows_the_same_on_its_own_cpus() {
        let remarks = remarks("E8");
        let cells = remarks[0].matches(" %").count();
        assert_eq!(cells, 8, "{remarks:?}");
        assert!(remarks[0].contains("on 64 and 96 CPUs: +"), "{remarks:?}");
        assert!(remarks[2].starts_with("On 64 and 96 CPUs Parallel.For needs 8 and 6 rounds"));
    }

    #[test]
    fn light_items_are_far_from_their_bound() {
        assert!(
            light_items()[0].contains("on 16, 32 and 64 CPUs"),
            "{:?}",
            light_items()
        );
    }
}
