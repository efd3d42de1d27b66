//! How far plans and agents are, as text.

use crate::{
    FleetError,
    server::{AgentRow, Database, JobRow, PlanRow},
};
use std::{fmt::Write, time::Duration};

/// A line for each plan, for each of its jobs of which something is known, and for each agent that was heard of.
///
/// # Errors
/// [`FleetError::Database`] if the file cannot be read.
///
/// # Examples
/// ```
/// use manyhands_fleet::{server::Database, watch};
///
/// let folder = tempfile::tempdir()?;
/// let database = Database::open(&folder.path().join("fleet.sqlite"))?;
/// assert_eq!(watch::text(&database)?, "No plan yet.\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn text(database: &Database) -> Result<String, FleetError> {
    let mut text = String::new();
    let plans = database.plans()?;
    // Writing to a `String` cannot fail.
    for plan in &plans {
        let jobs = database.jobs(&plan.id)?;
        let _ = writeln!(text, "plan {}", plan_state(plan, &jobs));
        for job in &jobs {
            if let Some(state) = job_state(job) {
                let _ = writeln!(text, "  job {} ({}): {state}", job.id, job.title);
            }
        }
        if is_plan_over(plan) && plan.done > 0 {
            let _ = writeln!(text, "  its results: manyhands fleet export {}", plan.id);
        }
    }
    if plans.is_empty() {
        text.push_str("No plan yet.\n");
    }
    for agent in database.agents()? {
        let _ = writeln!(text, "agent {}: {}", agent.name, agent_state(&agent));
    }
    let rejected = database.rejected()?;
    if let Some(last) = rejected.first() {
        let _ = writeln!(
            text,
            "{} messages rejected, at last at {} from {}: {}",
            rejected.len(),
            last.received,
            last.about,
            last.reason
        );
    }
    Ok(text)
}

fn plan_state(plan: &PlanRow, jobs: &[JobRow]) -> String {
    if let Some(reason) = &plan.refused {
        return format!("{}: refused, {reason}", plan.id);
    }
    let cancelled = plan.cancelled.as_ref().map_or("", |_| ", cancelled");
    let ended = plan.ended.as_ref();
    let ended = ended.map_or_else(String::new, |reason| format!(", ended: {reason}"));
    let runs = jobs.iter().filter_map(|job| job.run.as_ref());
    let disturbed = runs.fold((0, 0), |(disturbed, blocks), run| {
        (disturbed + run.disturbed, blocks + run.blocks)
    });
    format!(
        "{} ({}): {} of {} jobs done, {} failed{}{cancelled}{ended}",
        plan.id,
        plan.name,
        plan.done,
        plan.jobs,
        plan.failed,
        share(disturbed).map_or_else(String::new, |share| format!(", {share}"))
    )
}

/// How many blocks were disturbed, as text; `None` if there are no blocks.
pub(crate) fn share((disturbed, blocks): (u64, u64)) -> Option<String> {
    let percent = (100 * disturbed).checked_div(blocks)?;
    Some(format!("{percent} % of {blocks} blocks disturbed"))
}

/// What has become of a job; `None` if nothing has yet.
pub(crate) fn job_state(job: &JobRow) -> Option<String> {
    if let Some(run) = &job.run {
        let answer = run.answer.as_deref().unwrap_or("done");
        let share = share((run.disturbed, run.blocks));
        let share = share.map_or_else(String::new, |share| format!("; {share}"));
        return Some(format!("{answer}{share}, by {}", run.agent));
    }
    let failed = job.failed.as_ref().map(|reason| format!("failed: {reason}"));
    failed.or_else(|| Some(format!("open, and not for {}", job.unable.as_ref()?)))
}

/// What an agent is at, or was when it was last heard of.
pub(crate) fn agent_state(agent: &AgentRow) -> String {
    let silent = agent.silent_seconds;
    let is_silent = silent > SILENT;
    match &agent.title {
        None if is_silent => format!("silent for {silent} s"),
        None => "waits for a job".to_owned(),
        Some(title) if agent.is_done => format!("done with {title}"),
        Some(title) if is_silent => format!("silent for {silent} s, last at {title}"),
        Some(title) => format!(
            "at {title}, {} events, about {:?} left",
            agent.events,
            Duration::from_secs(agent.left_seconds)
        ),
    }
}

/// Whether every plan is over.
pub(crate) fn is_over(database: &Database) -> Result<bool, FleetError> {
    let plans = database.plans()?;
    Ok(!plans.is_empty() && plans.iter().all(is_plan_over))
}

/// Whether a plan is done or cancelled or has ended, or nobody tries what is left of it.
pub(crate) fn is_plan_over(plan: &PlanRow) -> bool {
    plan.cancelled.is_some() || plan.ended.is_some() || plan.done + plan.failed >= plan.jobs
}

/// Seconds; the longest published calls take some minutes for a block.
const SILENT: i64 = 120;
