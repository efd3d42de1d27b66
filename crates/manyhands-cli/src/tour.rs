//! The tour: a few experiments of the laboratory in a fixed time.

use crate::{
    lab,
    meant::Run,
    output::{self, Failure},
};
use manyhands_lab::{
    Experiment, LabError, Scale,
    console::{self, Ending},
    launcher::Launcher,
    record::Head,
    registry,
};
use std::{env, io};

/// Takes the tour and says where to go from there.
pub(crate) fn run(run: Run) -> Result<Ending, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let printing = run.printing;
    // With JSON the advice would be about another command.
    let is_for_people = !printing.json;
    if is_for_people {
        printing.remark(&format!(
            "manyhands {version}: from which size on does parallel code pay on this machine?\n"
        ))?;
    }
    let experiments = experiments()?;
    let (scale, seed) = (run.settings.scale, run.settings.seed);
    // What was published is of other machines, which have other numbers of CPUs.
    let done = lab::begin(experiments, run, console::alone)?;
    match is_for_people {
        true => output::end(printing.remark(&advice(scale, seed)), done),
        false => Ok(done),
    }
}

/// The experiments of the tour, in order: sequential loops against ours and nothing else, at sizes
/// that leave time for all of them.
pub(crate) fn experiments() -> Result<Vec<Experiment>, LabError> {
    let stop = |(id, title)| {
        let few = registry::find(id)?.first_cases(1).first_arms(2);
        Ok(few.sizes_of(Scale::Quick).asked_as(title))
    };
    STOPS.into_iter().map(stop).collect()
}

/// Whether a run was a tour: it has the tour's cases and arms, which are fewer than the
/// laboratory's.
pub(crate) fn took(head: &Head) -> Result<bool, LabError> {
    let scale = head.settings.scale;
    let stops = experiments()?;
    let cards: Vec<_> = stops.iter().map(|stop| stop.card(scale)).collect();
    Ok(head.experiments == cards)
}

/// How to start the processes of a tour that goes on.
pub(crate) fn launcher() -> io::Result<Launcher> {
    Ok(Launcher::new(env::current_exe()?, ["tour"]))
}

fn advice(scale: Scale, seed: u64) -> String {
    let again = format!("manyhands tour --seed {seed} --out again");
    let mut advice = vec![
        ("manyhands lab run E3", "narrower intervals, all arms"),
        ("manyhands lab list", "the other experiments"),
        (again.as_str(), "does the answer hold?"),
    ];
    if scale == Scale::Quick {
        advice.insert(0, ("manyhands tour", "the full sizes"));
    }
    let mut text =
        "\nTry next (in a clone, 'cargo run --release --' stands for 'manyhands'):\n".to_owned();
    for (command, why) in advice {
        text += &format!("  {command:45} {why}\n");
    }
    text
}

/// Short items, longer ones, dear ones, and a query; of each experiment the first case.
const STOPS: [(&str, &str); 4] = [
    ("E3", "SHA-512 of eleven bytes, n times"),
    ("E2", "HMAC-SHA512 of a paragraph, n times"),
    ("E8", "BCrypt at its lowest cost, n times"),
    ("E4", "the primes up to n, by a query"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_lab::{machine::Machine, record::Settings, run};

    #[test]
    fn a_tour_is_known_by_its_cases_and_arms() {
        let settings = || Settings::new(Scale::Quick, 1);
        let is_tour = |experiments: &[Experiment]| {
            let head = run::head(experiments, settings(), Machine::here(), "now");
            took(&head).expect("the stops are there")
        };
        assert!(is_tour(&experiments().expect("the stops are there")));
        assert!(!is_tour(&registry::select("E3").expect("it is there")));
        let cards = experiments().expect("the stops are there");
        assert!(
            cards
                .iter()
                .all(|stop| stop.claimed().is_none() && !stop.title().contains("CPUs"))
        );
    }
}
