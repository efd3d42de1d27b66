//! The experiments that come with the laboratory: which arms and sizes, what was claimed, and where.
//!
//! The experiments are those of published posts, asked again.
//! What the arms do is in `workload`; what the posts measured in [`paper`](crate::paper).

mod cloud;
mod loops;
mod queries;
mod tasks;
mod waiting;

use crate::{Experiment, LabError};

/// All experiments, in the order of their ids.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    vec![
        loops::e1a(),
        loops::e1b(),
        loops::e2(),
        loops::e3(),
        queries::e4(),
        queries::e5(),
        queries::e6(),
        cloud::e7(),
        cloud::e8(),
        cloud::e9(),
        tasks::e10(),
        tasks::e11(),
        tasks::e12(),
        tasks::e13(),
        waiting::e14(),
        waiting::e15(),
        waiting::e15b(),
        waiting::e16(),
        waiting::e17(),
    ]
}

/// The experiment with just this id, in either case.
///
/// # Errors
/// [`LabError::UnknownExperiment`], naming those most like it, if there is none.
pub fn find(id: &str) -> Result<Experiment, LabError> {
    let is_it = |experiment: &Experiment| experiment.id().eq_ignore_ascii_case(id);
    experiments()
        .into_iter()
        .find(is_it)
        .ok_or_else(|| unknown(id))
}

/// The experiment with this id, or its parts if it has any: "E1" selects E1a and E1b.
///
/// # Errors
/// [`LabError::UnknownExperiment`], naming those most like it, if there is none.
///
/// # Examples
/// ```
/// let selected = manyhands_lab::registry::select("e1")?;
/// assert_eq!(selected.iter().map(|one| one.id()).collect::<Vec<_>>(), ["E1a", "E1b"]);
/// # Ok::<(), manyhands_lab::LabError>(())
/// ```
pub fn select(id: &str) -> Result<Vec<Experiment>, LabError> {
    let is_selected = |experiment: &Experiment| {
        let whole = experiment
            .id()
            .trim_end_matches(|part: char| part.is_ascii_lowercase());
        [experiment.id(), whole]
            .iter()
            .any(|name| name.eq_ignore_ascii_case(id))
    };
    let mut selected = experiments();
    selected.retain(is_selected);
    if selected.is_empty() {
        return Err(unknown(id));
    }
    Ok(selected)
}

/// Names the experiments whose ids begin as `id` does for the longest stretch.
fn unknown(id: &str) -> LabError {
    let ids: Vec<String> = experiments()
        .iter()
        .map(|one| one.id().to_owned())
        .collect();
    let longest = ids.iter().map(|one| common_start(one, id)).max();
    let is_near = |one: &String| Some(common_start(one, id)) == longest;
    LabError::UnknownExperiment {
        id: id.to_owned(),
        near: ids.into_iter().filter(is_near).collect(),
    }
}

/// Number of characters that both begin with, in either case.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs
        .take_while(|(one, other)| one.eq_ignore_ascii_case(other))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, Workload, record::ClaimTest};
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_found_in_either_case() {
        let experiments = experiments();
        let ids: HashSet<_> = experiments.iter().map(Experiment::id).collect();
        assert_eq!(ids.len(), experiments.len());
        for id in ids {
            assert_eq!(find(&id.to_lowercase()).unwrap().id(), id);
            assert_eq!(select(&id.to_uppercase()).unwrap()[0].id(), id);
        }
    }

    #[test]
    fn an_experiment_in_parts_is_selected_as_a_whole_and_nothing_else_with_it() {
        let ids = |id| {
            let selected = select(id).unwrap();
            selected
                .iter()
                .map(|one| one.id().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids("e1"), ["E1a", "E1b"]);
        assert_eq!(ids("E1b"), ["E1b"]);
        assert_eq!(ids("E10"), ["E10"]);
    }

    #[test]
    fn an_unknown_id_is_answered_with_those_most_like_it() {
        fn near(id: &str) -> Vec<String> {
            match (find(id), select(id)) {
                (
                    Err(LabError::UnknownExperiment { near, .. }),
                    Err(LabError::UnknownExperiment { near: too, .. }),
                ) if near == too => near,
                answers => panic!("{answers:?}"),
            }
        }
        assert_eq!(near("e99"), ["E9"]);
        let in_the_teens = [
            "E10", "E11", "E12", "E13", "E14", "E15", "E15b", "E16", "E17",
        ];
        assert_eq!(near("E18"), [&["E1a", "E1b"], &in_the_teens[..]].concat());
        assert_eq!(near("primes").len(), experiments().len());
    }

    #[test]
    fn every_experiment_says_what_was_claimed_and_where_in_parts_that_are_decided_by_its_arms() {
        for experiment in experiments() {
            assert!(experiment.origin().is_some(), "{experiment:?}");
            let claim = experiment.card(Scale::Full).claim.expect("it was claimed");
            assert!(!claim.parts.is_empty(), "{experiment:?}");
            for part in claim.parts {
                let named = match &part.test {
                    ClaimTest::Faster { arm, .. }
                    | ClaimTest::BreakEven { arm, .. }
                    | ClaimTest::MeanSpeedUp { arm, .. }
                    | ClaimTest::NeverFaster { arm }
                    | ClaimTest::Doubling { arm, .. } => vec![arm],
                    ClaimTest::SpeedUp { arm, over, .. }
                    | ClaimTest::Allocated { arm, over, .. }
                    | ClaimTest::Memory { arm, over, .. } => vec![arm, over],
                    ClaimTest::CaseFaster { case, than } => {
                        assert!(experiment.find(case).is_some() && experiment.find(than).is_some());
                        Vec::new()
                    }
                };
                let mut cases = experiment.cases().iter();
                let found = cases.any(|case| named.iter().all(|arm| case.arms().contains(arm)));
                assert!(found, "{experiment:?} {named:?}");
            }
        }
    }

    #[test]
    fn every_case_has_ascending_sizes_and_a_baseline_with_challengers_of_other_names() {
        each_case(|case| {
            for scale in [Scale::Full, Scale::Standard, Scale::Quick] {
                let sizes = case.sizes(scale);
                assert!(!sizes.is_empty(), "{}", case.name());
                assert!(sizes.is_sorted_by(|one, next| one < next), "{sizes:?}");
            }
            let arms = case.arms();
            assert!(arms.len() >= 2, "{}", case.name());
            assert_eq!(arms.iter().collect::<HashSet<_>>().len(), arms.len());
        });
    }

    #[test]
    fn names_of_cases_are_unique_in_their_experiment() {
        for experiment in experiments() {
            let names: HashSet<_> = experiment.cases().iter().map(|case| case.name()).collect();
            assert_eq!(names.len(), experiment.cases().len());
        }
    }

    #[test]
    fn the_arms_of_every_case_agree() {
        each_case(|case| {
            // Heavy items take seconds in a build without optimisation.
            let sizes: &[usize] = match case.name() {
                "BCrypt cost 4" => &[3],
                name if name.starts_with("BCrypt") => &[1],
                _ => &[1, 2, 13],
            };
            for n in sizes {
                let mut trial = case.open(*n);
                let expected = trial.called(0);
                for (arm, name) in case.arms().iter().enumerate().skip(1) {
                    assert_eq!(trial.called(arm), expected, "{} {name} {n}", case.name());
                }
            }
        });
    }

    fn each_case(check: impl Fn(&dyn Workload)) {
        for experiment in experiments() {
            experiment.cases().iter().for_each(|case| check(&**case));
        }
    }
}
