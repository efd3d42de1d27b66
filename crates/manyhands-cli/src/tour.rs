//! The tour: a few experiments of the laboratory in a fixed time.

use crate::{
    lab,
    meant::Run,
    output::{self, Failure},
};
use manyhands_lab::{Experiment, LabError, Scale, console::Ending, published, registry};

/// Takes the tour and says where to go from there.
pub(crate) fn run(run: Run) -> Result<Ending, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    output::print(&format!(
        "manyhands {version}: where does parallel pay on this machine?\n"
    ))?;
    let experiments = experiments()?;
    let (scale, seed) = (run.settings.scale, run.settings.seed);
    let done = lab::begin(experiments, run, published::companion)?;
    output::print(&advice(scale, seed))?;
    Ok(done)
}

/// The experiments of the tour, in order: sequential loops against ours and nothing else, for the
/// sake of time.
pub(crate) fn experiments() -> Result<Vec<Experiment>, LabError> {
    let stop = |(id, cases)| Ok(registry::find(id)?.first_cases(cases).first_arms(2));
    STOPS.into_iter().map(stop).collect()
}

fn advice(scale: Scale, seed: u64) -> String {
    let again = format!("manyhands tour --seed {seed}");
    let mut advice = vec![
        ("manyhands lab run E3", "narrower intervals, all arms"),
        ("manyhands lab list", "the other experiments"),
        (
            again.as_str(),
            "the same order of arms: does the answer hold?",
        ),
    ];
    if scale == Scale::Quick {
        advice.insert(0, ("manyhands tour", "the full sizes"));
    }
    let mut text =
        "\nTry next (in a clone, 'cargo run --release --' stands for 'manyhands'):\n".to_owned();
    for (command, why) in advice {
        text += &format!("  {command:34} {why}\n");
    }
    text
}

/// Experiments and how many of their cases: of BCrypt only the cheapest.
const STOPS: [(&str, usize); 4] = [("E3", 1), ("E2", 5), ("E8", 1), ("E4", 1)];
