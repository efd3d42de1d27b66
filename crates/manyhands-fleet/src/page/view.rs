//! What the page shows: text made of the database, without knowing how it is sent.

use crate::{
    FleetError,
    export::{Drawn, Results},
    price::{Bill, Prices, Usd},
    server::{AgentRow, Database, JobRow, PlanRow, RejectedRow},
    watch,
};
use askama::Template;
use manyhands_lab::console::Companion;
use std::path::Path;

/// The first page.
pub(super) fn index(database: &Path, prices: Option<&Prices>) -> Result<String, FleetError> {
    let live = live(database, prices)?;
    rendered(&Index { live })
}

/// Plans and agents as they are now.
pub(super) fn live(database: &Path, prices: Option<&Prices>) -> Result<String, FleetError> {
    let database = Database::open_to_read(database)?;
    let plans = database.plans()?.into_iter().rev();
    let plans = plans.map(|row| ShownPlan::of(&database, row, prices));
    rendered(&Live {
        plans: plans.collect::<Result<_, _>>()?,
        agents: database.agents()?,
        rejected: database.rejected()?,
    })
}

/// One plan as it is now.
pub(super) fn plan_live(
    database: &Path,
    plan: &str,
    prices: Option<&Prices>,
) -> Result<String, FleetError> {
    let database = Database::open_to_read(database)?;
    let plan = ShownPlan::find(&database, plan, prices)?;
    rendered(&PlanLive { plan })
}

/// One plan, with its charts.
pub(super) fn plan(path: &Path, plan: &str, prices: Option<&Prices>) -> Result<String, FleetError> {
    let database = Database::open_to_read(path)?;
    let results = Results::read(&database, plan)?;
    let shown = ShownPlan::find(&database, plan, prices)?;
    let tables = results.tables()?.into_iter().map(|(name, _)| name);
    // A chart that cannot be drawn costs itself, and not the page.
    let (charts, why_none) = match results.over_machines(prices) {
        Ok(charts) if charts.is_empty() => (charts, results.why_no_charts()),
        Ok(charts) => (charts, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    rendered(&OnePlan {
        id: plan,
        title: shown.title().to_owned(),
        live: rendered(&PlanLive { plan: shown })?,
        files: tables.collect(),
        agents: results.names(),
        left_out: &results.left_out,
        charts,
        no_charts: why_none,
    })
}

/// A list, a chart or a report of a plan; `None` if it has none of this name.
pub(super) fn file(
    database: &Path,
    (plan, name): (&str, &str),
    prices: Option<&Prices>,
    companion: Companion,
) -> Result<Option<Vec<u8>>, FleetError> {
    let results = Results::read(&Database::open_to_read(database)?, plan)?;
    if let Some(agent) = name.strip_suffix(".html") {
        return Ok(results.report(agent, companion).map(String::into_bytes));
    }
    let mut tables = results.tables()?.into_iter();
    if let Some((_, bytes)) = tables.find(|(one, _)| one == name) {
        return Ok(Some(bytes));
    }
    for chart in results.over_machines(prices)? {
        if let Some(bytes) = chart.file(name)? {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

fn rendered(template: &impl Template) -> Result<String, FleetError> {
    template.render().map_err(FleetError::format("a page"))
}

#[derive(Template)]
#[template(path = "index.html")]
struct Index {
    live: String,
}

#[derive(Template)]
#[template(path = "live.html")]
struct Live {
    plans: Vec<ShownPlan>,
    agents: Vec<AgentRow>,
    rejected: Vec<RejectedRow>,
}

impl Live {
    /// All plans have costs, or none has: without prices nobody knows them.
    fn has_costs(&self) -> bool {
        self.plans.iter().any(|plan| plan.usd.is_some())
    }

    /// Whether an agent says what its machine is called in the table of prices.
    fn has_machines(&self) -> bool {
        self.agents.iter().any(|agent| agent.machine.is_some())
    }
}

#[derive(Template)]
#[template(path = "plan_live.html")]
struct PlanLive {
    plan: ShownPlan,
}

#[derive(Template)]
#[template(path = "plan.html")]
struct OnePlan<'run> {
    id: &'run str,
    title: String,
    live: String,
    files: Vec<String>,
    agents: Vec<String>,
    left_out: &'run [String],
    charts: Vec<Drawn>,
    no_charts: Option<String>,
}

/// A plan with its jobs and what it has cost so far.
struct ShownPlan {
    row: PlanRow,
    jobs: Vec<JobRow>,
    usd: Option<Usd>,
}

impl ShownPlan {
    fn find(database: &Database, plan: &str, prices: Option<&Prices>) -> Result<Self, FleetError> {
        let row = database.plans()?.into_iter().find(|row| row.id == plan);
        let row = row.ok_or_else(|| FleetError::UnknownPlan {
            plan: plan.to_owned(),
        })?;
        Self::of(database, row, prices)
    }

    fn of(database: &Database, row: PlanRow, prices: Option<&Prices>) -> Result<Self, FleetError> {
        let bill = prices.map(|prices| Bill::of(database, &row.id, prices));
        Ok(Self {
            jobs: database.jobs(&row.id)?,
            usd: bill.transpose()?.map(|bill| bill.usd()),
            row,
        })
    }

    fn title(&self) -> &str {
        if self.row.name.is_empty() {
            &self.row.id
        } else {
            &self.row.name
        }
    }

    /// When it was submitted, to the minute.
    fn submitted(&self) -> String {
        let to_the_minute = self.row.submitted.get(..16).unwrap_or(&self.row.submitted);
        to_the_minute.replace('T', " ")
    }

    fn disturbed(&self) -> String {
        watch::share(watch::disturbed(&self.jobs)).unwrap_or_default()
    }

    fn is_over(&self) -> bool {
        watch::is_plan_over(&self.row)
    }

    fn state(&self) -> String {
        let PlanRow {
            refused,
            cancelled,
            ended,
            ..
        } = &self.row;
        match (refused, cancelled, ended) {
            (Some(reason), _, _) => format!("refused: {reason}"),
            (None, Some(when), _) => format!("cancelled {when}"),
            (None, None, Some(reason)) => format!("ended: {reason}"),
            _ if self.is_over() => "over".to_owned(),
            _ => {
                let open = self.jobs.iter().filter(|job| watch::is_open(job));
                match open.filter(|job| job.unable.is_some()).count() {
                    0 => "goes on".to_owned(),
                    1 => "goes on; 1 job needs another agent".to_owned(),
                    jobs => format!("goes on; {jobs} jobs need another agent"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(machine: Option<&str>, unable: Option<&str>) -> String {
        let job = JobRow {
            id: "p.0".to_owned(),
            title: "E3 loops".to_owned(),
            failed: None,
            unable: unable.map(str::to_owned),
            begun_by: None,
            run: None,
        };
        let row = PlanRow {
            id: "p".to_owned(),
            name: "loops".to_owned(),
            submitted: "2026-11-23T12:00:00Z".to_owned(),
            refused: None,
            cancelled: None,
            ended: None,
            jobs: 1,
            done: 0,
            failed: 0,
        };
        let agent = AgentRow {
            name: "one".to_owned(),
            silent_seconds: 1,
            cpus: Some(2),
            cpu: None,
            machine: machine.map(str::to_owned),
            title: None,
            is_done: false,
            events: 0,
            left_seconds: 0,
        };
        let plan = ShownPlan {
            row,
            jobs: vec![job],
            usd: None,
        };
        let live = Live {
            plans: vec![plan],
            agents: vec![agent],
            rejected: Vec::new(),
        };
        live.render().unwrap()
    }

    #[test]
    fn a_column_without_values_is_not_there() {
        let without = live(None, None);
        assert!(!without.contains("Machine") && !without.contains("Cost"));
        let with = live(Some("c8a"), None);
        assert!(
            with.contains(">Machine<") && with.contains(">c8a<"),
            "{with}"
        );
        for shown in [without, with] {
            let (heads, cells) = (shown.matches("<th").count(), shown.matches("<td").count());
            // `<thead` begins so too, once in each of the two tables.
            assert_eq!(heads - 2, cells, "{shown}");
        }
    }

    #[test]
    fn a_plan_says_that_its_agents_cannot_do_a_job() {
        assert!(live(None, None).contains(">goes on<"));
        let unable = live(None, Some("one: no such command"));
        assert!(
            unable.contains(">goes on; 1 job needs another agent<"),
            "{unable}"
        );
    }
}
