//! `fleet submit`, `fleet cancel` and `fleet redo`: what the server is asked to do with plans.

use super::{Program, ServerOptions, answer, price::Table};
use crate::{
    FleetError, Name,
    engine::{Engine, Message, Queue},
    plan::Plan,
    price::{Estimate, Limit},
    time::pause,
    wire::{self, Anew, Request, Submission},
};
use clap::Args;
use manyhands_lab::{Experiment, clock::Stopwatch, console::Printing, run::Interrupt};
use serde_json::json;
use std::{fs, path::PathBuf, time::Duration};

/// Options of a submission.
#[derive(Debug, PartialEq, Args)]
pub struct Submit {
    /// The plan
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    #[command(flatten)]
    server: ServerOptions,
    /// Hand out no job that could make the plan cost more than this number of dollars
    #[arg(long, value_name = "USD", value_parser = super::price::usd)]
    max_usd: Option<f64>,
    #[command(flatten)]
    table: Table,
}

/// Options of a repetition.
#[derive(Debug, PartialEq, Args)]
pub struct Redo {
    /// Id of the job, as `watch` and the page show it
    #[arg(value_name = "JOB")]
    job: Name,
    #[command(flatten)]
    server: ServerOptions,
}

/// Options of a cancellation.
#[derive(Debug, PartialEq, Args)]
pub struct Cancel {
    /// Id of the plan, as `submit` and `watch` show it
    #[arg(value_name = "PLAN")]
    plan: Name,
    #[command(flatten)]
    server: ServerOptions,
}

pub(super) fn submit(options: &Submit, program: Program) -> Result<(), FleetError> {
    let path = &options.plan;
    let toml = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
    // What makes no sense is refused before anybody is asked.
    let (plan, experiments) = (Plan::parse(&toml)?, (program.experiments)());
    let mut says = String::new();
    let mut limit = None;
    if let Some(usd_max) = options.max_usd {
        let prices = options.table.read()?;
        let estimate = Estimate::of(&plan, &experiments, &prices)?.usd();
        says = format!(
            " It may cost {estimate} if each job takes all its minutes, and hands out none that could make it more than \
             {usd_max:.2} USD."
        );
        limit = Some(Limit::new(usd_max, prices));
    }
    let engine = options.server.connect()?;
    let (plan, request) = request(&toml, limit, &experiments)?;
    let send = || engine.publish(Queue::Plans, &plan, &request);
    // For as long as a server that was started just now may need to make its queues.
    patiently(Some(STARTING), |_| Ok(()), send)?;
    answer(
        program.printing,
        &json!({ "plan": plan.to_string() }),
        || format!("Plan {plan} is with the server.{says}"),
    )
}

pub(super) fn cancel(options: &Cancel, printing: Printing) -> Result<(), FleetError> {
    let engine = options.server.connect()?;
    cancel_at(&engine, &options.plan)?;
    answer(
        printing,
        &json!({ "plan": options.plan.to_string() }),
        || {
            let plan = &options.plan;
            format!(
                "The server is asked to end plan {plan}: agents end after the block they are at."
            )
        },
    )
}

pub(super) fn redo(options: &Redo, printing: Printing) -> Result<(), FleetError> {
    let engine = options.server.connect()?;
    redo_at(&engine, &options.job)?;
    answer(printing, &json!({ "job": options.job.to_string() }), || {
        let job = &options.job;
        format!(
            "The server is asked to hand out job {job} anew; what was found of it counts no more."
        )
    })
}

/// Asks the server of an engine to have a job done anew, whatever became of it. A job that the server does not know, and
/// one of a plan that has ended, is left alone.
///
/// # Errors
/// [`FleetError::Engine`] if the request may not have arrived.
///
/// # Examples
/// ```
/// use manyhands_fleet::{commands::redo_at, engine::InProcess};
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// redo_at(&engine, &"0190-plan.3".parse()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn redo_at(engine: &dyn Engine, job: &Name) -> Result<(), FleetError> {
    let anew = Anew {
        job: job.clone(),
        ticket: wire::new_ticket(),
    };
    ask(engine, job, &Request::Redo(anew))
}

/// Asks the server of an engine to end a plan: its jobs are handed out no more, agents that are at one end it after the
/// block they are at, and what was measured stays. A plan that the server does not know is left alone.
///
/// # Errors
/// [`FleetError::Engine`] if the request may not have arrived.
///
/// # Examples
/// ```
/// use manyhands_fleet::{commands::cancel_at, engine::InProcess};
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// cancel_at(&engine, &"0190-plan".parse()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cancel_at(engine: &dyn Engine, plan: &Name) -> Result<(), FleetError> {
    ask(engine, plan, &Request::Cancel(plan.clone()))
}

fn ask(engine: &dyn Engine, about: &Name, request: &Request) -> Result<(), FleetError> {
    let message = Message {
        id: wire::new_id().to_string(),
        body: wire::to_bytes(request)?,
    };
    engine.publish(Queue::Plans, about, &[message])
}

/// Gives a plan to the server of an engine, with what it may cost; the answer is its id.
///
/// # Errors
/// [`FleetError::Plan`] if it makes no sense or names an experiment that is not there, [`FleetError::Engine`] if it
/// may not have arrived.
///
/// # Examples
/// ```
/// use manyhands_fleet::{commands::submit_to, engine::InProcess};
/// use manyhands_lab::registry;
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// let plan = "name = 'loops'\nexperiments = ['E3']";
/// let id = submit_to(&engine, plan, None, &registry::experiments())?;
/// assert!(!id.is_empty());
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
pub fn submit_to(
    engine: &dyn Engine,
    toml: &str,
    limit: Option<Limit>,
    experiments: &[Experiment],
) -> Result<Name, FleetError> {
    let (plan, request) = request(toml, limit, experiments)?;
    engine.publish(Queue::Plans, &plan, &request)?;
    Ok(plan)
}

/// The id of a plan, and the message that gives it to a server.
fn request(
    toml: &str,
    limit: Option<Limit>,
    experiments: &[Experiment],
) -> Result<(Name, [Message; 1]), FleetError> {
    let plan = wire::new_id();
    Plan::parse(toml)?.jobs(&plan, experiments)?;
    let toml = toml.to_owned();
    let request = Request::Submit(Submission {
        plan: plan.clone(),
        toml,
        limit,
    });
    let message = Message {
        id: plan.to_string(),
        body: wire::to_bytes(&request)?,
    };
    Ok((plan, [message]))
}

/// Tries the same again while the engine does not answer, or refuses: for this time, or without an end.
pub(super) fn patiently(
    limit: Option<Duration>,
    mut complain: impl FnMut(&FleetError) -> Result<(), FleetError>,
    mut attempt: impl FnMut() -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let watch = Stopwatch::start();
    let is_over = || limit.is_some_and(|limit| watch.elapsed() >= limit);
    let never = Interrupt::default();
    loop {
        match attempt() {
            Err(error @ FleetError::Engine { .. }) if !is_over() => {
                complain(&error)?;
                pause(AGAIN, &never);
            }
            ended => return ended,
        }
    }
}

const STARTING: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_no_queues_yet_is_asked_again_and_other_errors_end_it() {
        let silent = |_: &FleetError| Ok(());
        let mut tries = 0;
        patiently(Some(STARTING), silent, || {
            tries += 1;
            match tries {
                1 | 2 => Err(FleetError::engine("send a message")("no stream")),
                _ => Ok(()),
            }
        })
        .unwrap();
        assert_eq!(tries, 3);
        let ended = patiently(None, silent, || {
            tries += 1;
            Err(FleetError::NoNatsServer)
        });
        assert!(matches!(ended, Err(FleetError::NoNatsServer)), "{ended:?}");
        assert_eq!(tries, 4);
    }

    #[test]
    fn what_has_no_limit_is_tried_and_said_until_the_engine_answers() {
        for (limit, tries) in [(None, 3), (Some(Duration::ZERO), 1)] {
            let (mut tried, mut said) = (0, 0);
            let complain = |_: &FleetError| {
                said += 1;
                Ok(())
            };
            let ended = patiently(limit, complain, || {
                tried += 1;
                match tried {
                    3 => Ok(()),
                    _ => Err(FleetError::engine("send a message")("nobody is there")),
                }
            });
            assert_eq!(ended.is_ok(), limit.is_none());
            assert_eq!((tried, said), (tries, tries - 1));
        }
    }
}
