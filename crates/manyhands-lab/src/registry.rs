//! The experiments that come with the laboratory.

use crate::{Experiment, LabError, workload};

/// All experiments, in the order a tour runs them.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    vec![
        workload::sha512_hello(),
        workload::five_hashes(),
        workload::bcrypt_strings(),
        workload::primes(),
    ]
}

/// The experiment with this id.
///
/// # Errors
/// [`LabError::UnknownExperiment`] if there is none.
pub fn find(id: &str) -> Result<Experiment, LabError> {
    let wanted = |experiment: &Experiment| experiment.id().eq_ignore_ascii_case(id);
    let unknown = || LabError::UnknownExperiment { id: id.to_owned() };
    experiments().into_iter().find(wanted).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LiveSampler, Scale, Stop, run};
    use std::{collections::HashSet, time::Duration};

    #[test]
    fn ids_are_unique_and_found_in_either_case() {
        let ids: HashSet<_> = experiments().iter().map(Experiment::id).collect();
        assert_eq!(ids.len(), experiments().len());
        for id in ids {
            assert_eq!(find(&id.to_lowercase()).unwrap().id(), id);
        }
        assert!(find("E0").is_err());
    }

    #[test]
    fn every_case_has_ascending_sizes_and_a_baseline_with_a_challenger() {
        for experiment in experiments() {
            for case in experiment.cases() {
                for scale in [Scale::Full, Scale::Quick] {
                    let sizes = case.sizes(scale);
                    assert!(!sizes.is_empty());
                    assert!(sizes.is_sorted_by(|one, next| one < next));
                }
                assert!(case.arms().len() >= 2, "{experiment:?}");
            }
        }
    }

    #[test]
    fn the_arms_of_every_experiment_agree() {
        for experiment in experiments() {
            let mut sampler = LiveSampler::new(1).batch(Duration::from_micros(1));
            let stop = Stop::after_blocks(1);
            let all = run::experiment(&experiment, Scale::Quick, &mut sampler, &stop).unwrap();
            assert!(all.iter().all(|measurement| measurement.blocks.len() == 1));
        }
    }
}
