//! `fleet watch` and `fleet export`: what the server's folder says.

use super::{DATABASE, FOLDER, Program, price::Table, say};
use crate::{FleetError, export, server::Database, time::pause, watch};
use clap::Args;
use manyhands_lab::{console::Ending, run::Interrupt};
use std::{collections::HashSet, path::PathBuf, time::Duration};

/// Options of the display.
#[derive(Debug, PartialEq, Args)]
pub struct Watch {
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Show it once, and do not wait for the end of all plans
    #[arg(long)]
    once: bool,
}

/// Options of an export.
#[derive(Debug, PartialEq, Args)]
pub struct Export {
    /// Id of the plan [default: the last one]
    #[arg(value_name = "PLAN")]
    plan: Option<String>,
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = "manyhands-fleet-results")]
    out: PathBuf,
    #[command(flatten)]
    table: Table,
}

pub(super) fn watch(options: &Watch, stop: &Interrupt) -> Result<(), FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let mut shown = String::new();
    while !stop.is_set() {
        let text = watch::text(&database)?;
        // Only what is new: with many jobs and agents the rest is the same.
        let known: HashSet<&str> = shown.lines().collect();
        let news: Vec<&str> = text.lines().filter(|line| !known.contains(line)).collect();
        if !news.is_empty() {
            news.into_iter().try_for_each(say)?;
        }
        shown = text;
        if options.once {
            break;
        }
        if watch::is_over(&database)? {
            let failed = database.plans()?.iter().map(|plan| plan.failed).sum();
            return match failed {
                0 => Ok(()),
                jobs => Err(FleetError::NotDone { jobs }),
            };
        }
        pause(WATCHING, stop);
    }
    Ok(())
}

pub(super) fn export(options: &Export, program: Program) -> Result<Ending, FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let plan = plan_or_last(&database, options.plan.as_deref())?;
    let prices = options.table.given()?;
    let exported = export::export(
        &database,
        &plan,
        &options.out,
        prices.as_ref(),
        program.companion,
    )?;
    say(&format!(
        "{} runs with {} samples: {} and beside it; in agents a folder for each.",
        exported.runs,
        exported.samples,
        options.out.join("runs.csv").display()
    ))?;
    for left_out in &exported.left_out {
        say(&format!("left out: {left_out}"))?;
    }
    if let Some(why) = &exported.no_charts {
        say(why)?;
    }
    Ok(match exported.is_quiet {
        true => Ending::Good,
        false => Ending::NotQuiet,
    })
}

/// The id of the plan that is meant.
pub(super) fn plan_or_last(database: &Database, plan: Option<&str>) -> Result<String, FleetError> {
    if let Some(plan) = plan {
        return Ok(plan.to_owned());
    }
    let last = database.plans()?.pop().map(|plan| plan.id);
    last.ok_or_else(|| FleetError::UnknownPlan {
        plan: "the last one".to_owned(),
    })
}

const WATCHING: Duration = Duration::from_secs(1);
