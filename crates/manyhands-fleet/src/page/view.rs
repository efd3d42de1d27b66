//! What the page shows: text made of the database, without knowing how it is sent.

use crate::{
    FleetError,
    export::{Drawn, Results},
    price::Prices,
    server::{AgentRow, Database, JobRow, PlanRow},
};
use askama::Template;
use manyhands_lab::console::Companion;
use std::path::Path;

/// The first page.
pub(super) fn index(database: &Path) -> Result<String, FleetError> {
    let live = live(database)?;
    rendered(&Index { live })
}

/// Plans and agents as they are now.
pub(super) fn live(database: &Path) -> Result<String, FleetError> {
    let database = Database::open_to_read(database)?;
    let plans = database.plans()?.into_iter().rev();
    rendered(&Live {
        plans: plans.map(|row| Shown { row }).collect(),
        agents: database.agents()?,
    })
}

/// One plan, with its charts.
pub(super) fn plan(
    database: &Path,
    plan: &str,
    prices: Option<&Prices>,
) -> Result<String, FleetError> {
    let database = Database::open_to_read(database)?;
    let results = Results::read(&database, plan)?;
    let mut plans = database.plans()?.into_iter();
    let row = plans.find(|row| row.id == plan);
    let tables = results.tables()?.into_iter().map(|(name, _)| name);
    let charts = results.over_machines(prices)?;
    let no_charts = if charts.is_empty() {
        results.why_no_charts()
    } else {
        None
    };
    rendered(&OnePlan {
        id: plan,
        title: row.map_or_else(|| plan.to_owned(), |row| Shown { row }.title().to_owned()),
        files: tables.collect(),
        agents: results.names(),
        charts,
        no_charts,
        jobs: database.jobs(plan)?,
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
    plans: Vec<Shown>,
    agents: Vec<AgentRow>,
}

#[derive(Template)]
#[template(path = "plan.html")]
struct OnePlan<'run> {
    id: &'run str,
    title: String,
    files: Vec<String>,
    agents: Vec<String>,
    charts: Vec<Drawn>,
    no_charts: Option<String>,
    jobs: Vec<JobRow>,
}

/// A plan as a line shows it.
struct Shown {
    row: PlanRow,
}

impl Shown {
    fn title(&self) -> &str {
        if self.row.name.is_empty() {
            &self.row.id
        } else {
            &self.row.name
        }
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
            _ if self.row.done + self.row.failed >= self.row.jobs => "over".to_owned(),
            _ => "goes on".to_owned(),
        }
    }
}
