//! How long a run would take, from a try of each of its cases at a tiny size.

use crate::{
    Experiment, LabError,
    clock::utc,
    director::{Director, Plan, Statistics},
    launcher::{Launcher, Live},
    machine::Machine,
    record::{Event, Settings},
    run::{self, Interrupt, Observer, Progress},
};
use std::time::Duration;

/// Time for all these experiments, about.
///
/// # Errors
/// Those of [`run::execute`].
///
/// # Cost
/// A fresh process for each case.
pub fn needed(
    experiments: &[Experiment],
    settings: &Settings,
    launcher: Launcher,
) -> Result<Duration, LabError> {
    // Nothing is planned without a budget; this one leaves nothing out.
    let settings = Settings {
        budget: Some(Duration::from_hours(24 * 365)),
        ..settings.clone()
    };
    let head = run::head(experiments, settings, Machine::here(), utc());
    let mut director = Director::new(&head, Box::new(Statistics::new(&head)));
    let mut live = Live::new(launcher, &head.settings);
    let mut planned = Planned(None);
    let mut events: Vec<Event> = Vec::new();
    let interrupt = Interrupt::default();
    match run::execute(
        &mut director,
        &mut live,
        &mut events,
        &mut planned,
        &interrupt,
    ) {
        Ok(_) | Err(LabError::Stopped) => Ok(planned.0.unwrap_or_default()),
        Err(error) => Err(error),
    }
}

/// Ends a run as soon as it is planned.
struct Planned(Option<Duration>);

impl Observer for Planned {
    fn planned(&mut self, plan: &Plan) -> Result<(), LabError> {
        self.0 = Some(plan.needed);
        Err(LabError::Stopped)
    }

    fn happened(&mut self, _: &Event, _: &Progress) -> Result<(), LabError> {
        Ok(())
    }
}
