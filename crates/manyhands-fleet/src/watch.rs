//! How far plans and agents are, as text.

use crate::{
    FleetError,
    server::{AgentRow, Database},
};
use std::{fmt::Write, time::Duration};

/// A line for each plan, and for each agent that was heard of.
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
    let (plans, agents) = (database.plans()?, database.agents()?);
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    for plan in &plans {
        let _ = match &plan.refused {
            Some(reason) => writeln!(text, "plan {}: refused, {reason}", plan.id),
            None => {
                let cancelled = plan.cancelled.as_ref().map_or("", |_| ", cancelled");
                let ended = plan.ended.as_ref();
                let ended = ended.map_or_else(String::new, |reason| format!(", ended: {reason}"));
                writeln!(
                    text,
                    "plan {} ({}): {} of {} jobs done, {} failed{cancelled}{ended}",
                    plan.id, plan.name, plan.done, plan.jobs, plan.failed
                )
            }
        };
        for job in database.jobs(&plan.id)? {
            if let Some(reason) = job.failed {
                let _ = writeln!(text, "  {} failed: {reason}", job.title);
            }
        }
    }
    if plans.is_empty() {
        text.push_str("No plan yet.\n");
    }
    for agent in &agents {
        let _ = writeln!(text, "agent {}: {}", agent.name, agent_state(agent));
    }
    Ok(text)
}

/// What an agent is at, or was when it was last heard of.
pub(crate) fn agent_state(agent: &AgentRow) -> String {
    let silent = agent.silent_seconds.max(0);
    let title = &agent.title;
    match (agent.is_done, silent > SILENT) {
        (true, _) => format!("done with {title}"),
        (_, true) => format!("silent for {silent} s, last at {title}"),
        _ => format!(
            "at {title}, {} events, about {:?} left",
            agent.events,
            Duration::from_secs(agent.left_seconds)
        ),
    }
}

/// Whether every plan is done or cancelled or has ended, or nobody tries what is left of it.
pub(crate) fn is_over(database: &Database) -> Result<bool, FleetError> {
    let plans = database.plans()?;
    let is_over = plans.iter().all(|plan| {
        plan.cancelled.is_some() || plan.ended.is_some() || plan.done + plan.failed >= plan.jobs
    });
    Ok(!plans.is_empty() && is_over)
}

/// Seconds; the longest published calls take some minutes for a block.
const SILENT: i64 = 120;
