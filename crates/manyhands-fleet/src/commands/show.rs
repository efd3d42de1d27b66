//! `fleet watch` and `fleet export`: what the server's folder says.

use super::{DATABASE, FOLDER, Program, answer, price::Table, remark};
use crate::{
    FleetError,
    export::{self, Exported},
    server::Database,
    time::pause,
    watch,
};
use clap::Args;
use manyhands_lab::{
    console::{Ending, Printing},
    plain::plain,
    run::Interrupt,
};
use serde_json::json;
use std::{
    collections::HashSet,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

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

pub(super) fn watch(
    options: &Watch,
    printing: Printing,
    stop: &Interrupt,
) -> Result<(), FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let text = follow(&database, printing, stop, |database| {
        Ok(options.once || watch::is_over(database)?)
    })?;
    answer(printing, &watch::state(&database)?, || {
        match printing.quiet {
            true => text,
            false => String::new(),
        }
    })?;
    for plan in database.plans()? {
        if watch::is_plan_over(&plan) && plan.done > 0 {
            let results = format!(
                "Results of {}: manyhands fleet export {}",
                plan.name, plan.id
            );
            remark(printing, &results)?;
        }
    }
    match options.once || stop.is_set() {
        true => Ok(()),
        false => all_done(&database),
    }
}

/// Shows what is new until something is so; the answer is how it looks then.
pub(super) fn follow(
    database: &Database,
    printing: Printing,
    stop: &Interrupt,
    is_end: impl Fn(&Database) -> Result<bool, FleetError>,
) -> Result<String, FleetError> {
    let mut shown = String::new();
    loop {
        // Looked at first: what happens meanwhile is in the text.
        let is_end = is_end(database)? || stop.is_set();
        let text = watch::text(database)?;
        if !printing.json {
            // With many jobs and agents most is as it was.
            let known: HashSet<&str> = shown.lines().collect();
            let mut news = text.lines().filter(|line| !known.contains(line));
            news.try_for_each(|line| remark(printing, line))?;
        }
        if is_end {
            return Ok(text);
        }
        shown = text;
        pause(WATCHING, stop);
    }
}

/// Whether all jobs of plans that are over are done.
pub(super) fn all_done(database: &Database) -> Result<(), FleetError> {
    match database.plans()?.iter().map(|plan| plan.failed).sum() {
        0 => Ok(()),
        jobs => Err(FleetError::NotDone { jobs }),
    }
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
    show_exported(&exported, &options.out, program.printing)
}

/// Says what was written.
pub(super) fn show_exported(
    exported: &Exported,
    out: &Path,
    printing: Printing,
) -> Result<Ending, FleetError> {
    let answered = answer(
        printing,
        &json!({ "out": out, "exported": exported }),
        || {
            let mut lines = vec![format!(
                "{} runs with {} samples: {} and beside it; in agents a folder for each.",
                exported.runs,
                exported.samples,
                plain(&out.join("runs.csv").display().to_string())
            )];
            let left_out = exported.left_out.iter();
            lines.extend(left_out.map(|left_out| format!("left out: {}", plain(left_out))));
            lines.extend(exported.no_charts.clone());
            lines.join("\n")
        },
    );
    let ending = match exported.is_quiet {
        true => Ending::Good,
        false => Ending::NotQuiet,
    };
    match answered {
        // A reader who has seen enough of it does not change that.
        Err(FleetError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(ending),
        answered => answered.map(|()| ending),
    }
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
