//! How far plans and agents are, as text.

use crate::{
    FleetError,
    server::{AgentRow, Database, JobRow, PlanRow, RejectedRow},
    time::spoken,
};
use serde::Serialize;
use std::fmt::Write;

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

/// All that [`text`] is made of.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    plans: Vec<PlanState>,
    agents: Vec<AgentRow>,
    rejected: Vec<RejectedRow>,
}

#[derive(Debug, Serialize)]
struct PlanState {
    plan: PlanRow,
    jobs: Vec<JobRow>,
}

/// The same for programs.
pub(crate) fn state(database: &Database) -> Result<State, FleetError> {
    let plans = database.plans()?.into_iter().map(|plan| {
        let jobs = database.jobs(&plan.id)?;
        Ok(PlanState { plan, jobs })
    });
    Ok(State {
        plans: plans.collect::<Result<_, FleetError>>()?,
        agents: database.agents()?,
        rejected: database.rejected()?,
    })
}

fn plan_state(plan: &PlanRow, jobs: &[JobRow]) -> String {
    if let Some(reason) = &plan.refused {
        return format!("{}: refused, {reason}", plan.id);
    }
    let cancelled = plan.cancelled.as_ref().map_or("", |_| ", cancelled");
    let ended = plan.ended.as_ref();
    let ended = ended.map_or_else(String::new, |reason| format!(", ended: {reason}"));
    format!(
        "{} ({}): {} of {} jobs done, {} failed{}{cancelled}{ended}",
        plan.id,
        plan.name,
        plan.done,
        plan.jobs,
        plan.failed,
        share(disturbed(jobs)).map_or_else(String::new, |share| format!(", {share}"))
    )
}

/// Disturbed blocks and all blocks of the runs that count.
pub(crate) fn disturbed(jobs: &[JobRow]) -> (u64, u64) {
    let runs = jobs.iter().filter_map(|job| job.run.as_ref());
    runs.fold((0, 0), |(disturbed, blocks), run| {
        (disturbed + run.disturbed, blocks + run.blocks)
    })
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
        return Some(format!("by {}: {answer}{share}", run.agent));
    }
    if let Some(reason) = &job.failed {
        return Some(format!("failed: {reason}"));
    }
    let begun = job.begun_by.as_ref();
    let begun = begun.map(|agent| format!("begun by {agent}"));
    match &job.unable {
        Some(unable) => {
            let is = begun.unwrap_or_else(|| "open".to_owned());
            Some(format!("{is}, and not for {unable}"))
        }
        None => begun,
    }
}

/// Whether a job has neither a run that counts nor failed.
pub(crate) fn is_open(job: &JobRow) -> bool {
    job.run.is_none() && job.failed.is_none()
}

/// What an agent is at, or was when it was last heard of.
pub(crate) fn agent_state(agent: &AgentRow) -> String {
    let silent = agent.silent_seconds;
    let is_silent = silent > SILENT;
    match &agent.title {
        None if silent > SILENT_WAITING => format!("silent for {}", spoken(silent.unsigned_abs())),
        None => "waits for a job".to_owned(),
        Some(title) if agent.is_done => format!("done with {title}"),
        Some(title) if is_silent => {
            let silent = spoken(silent.unsigned_abs());
            format!("silent for {silent}, last at {title}")
        }
        // A command has none.
        Some(title) if agent.events == 0 => format!("at {title}"),
        Some(title) => format!(
            "at {title}, {} events, about {} left",
            agent.events,
            spoken(agent.left_seconds)
        ),
    }
}

/// When an agent was heard of, so roughly that the page does not change at each look.
pub(crate) fn last_seen(agent: &AgentRow) -> String {
    let seconds = agent.silent_seconds;
    match seconds {
        ..30 => "now".to_owned(),
        30..120 => format!("{} s ago", seconds / 30 * 30),
        _ => format!("{} ago", spoken(seconds.unsigned_abs())),
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

/// Seconds; an agent that waits says so every ten.
const SILENT_WAITING: i64 = 40;
/// Seconds; the longest published calls take some minutes for a block.
pub(crate) const SILENT: i64 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::RunRow;

    fn job(run: Option<RunRow>) -> JobRow {
        JobRow {
            id: "p.0".to_owned(),
            title: "E3 loops".to_owned(),
            failed: None,
            unable: Some("one: no such case".to_owned()),
            begun_by: None,
            run,
        }
    }

    #[test]
    fn a_job_that_is_done_says_what_it_found_and_how_much_was_disturbed() {
        let run = RunRow {
            id: "r".to_owned(),
            agent: "one".to_owned(),
            lines: 3,
            sha256: String::new(),
            machine: None,
            blocks: 332,
            disturbed: 310,
            answer: Some("for 2.00×, undecided".to_owned()),
        };
        let done = job(Some(run));
        let says = job_state(&done).unwrap();
        assert_eq!(
            says,
            "by one: for 2.00×, undecided; 93 % of 332 blocks disturbed"
        );
        assert_eq!(disturbed(&[done, job(None)]), (310, 332));
        assert_eq!(
            job_state(&job(None)).unwrap(),
            "open, and not for one: no such case"
        );
        let begun = JobRow {
            begun_by: Some("two".to_owned()),
            ..job(None)
        };
        assert_eq!(
            job_state(&begun).unwrap(),
            "begun by two, and not for one: no such case"
        );
        assert_eq!(share((0, 0)), None);
    }

    #[test]
    fn an_agent_that_waits_is_there_and_one_that_is_silent_says_so() {
        let agent = |title: Option<&str>, silent_seconds| AgentRow {
            name: "one".to_owned(),
            silent_seconds,
            cpus: None,
            cpu: None,
            machine: None,
            title: title.map(str::to_owned),
            is_done: false,
            events: 7,
            left_seconds: 400,
        };
        assert_eq!(agent_state(&agent(None, 0)), "waits for a job");
        assert_eq!(agent_state(&agent(None, 300)), "silent for 5 min");
        let at = agent_state(&agent(Some("E3"), 1));
        assert_eq!(at, "at E3, 7 events, about 6 min left");
    }
}
