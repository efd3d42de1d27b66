//! What the page shows: text made of the database, without knowing how it is sent.

use crate::{
    FleetError,
    export::Results,
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
pub(super) fn plan(database: &Path, plan: &str) -> Result<String, FleetError> {
    let database = Database::open_to_read(database)?;
    let results = Results::read(&database, plan)?;
    let mut plans = database.plans()?.into_iter();
    let row = plans.find(|row| row.id == plan);
    let drawn = results.drawn()?;
    let tables = results.tables()?.into_iter().map(|(name, _)| name);
    let charts = drawn
        .iter()
        .flat_map(|(name, _)| ["svg", "png"].map(|kind| format!("{name}.{kind}")));
    rendered(&OnePlan {
        id: plan,
        title: row.map_or_else(|| plan.to_owned(), |row| Shown { row }.title().to_owned()),
        files: tables.chain(charts).collect(),
        agents: results.names(),
        charts: drawn.iter().map(|(_, svg)| svg.as_str()).collect(),
        jobs: database.jobs(plan)?,
    })
}

/// A list, a chart or a report of a plan; `None` if it has none of this name.
pub(super) fn file(
    database: &Path,
    plan: &str,
    name: &str,
    companion: Companion,
) -> Result<Option<Vec<u8>>, FleetError> {
    let results = Results::read(&Database::open_to_read(database)?, plan)?;
    if let Some(agent) = name.strip_suffix(".html") {
        return Ok(results.report(agent, companion).map(String::into_bytes));
    }
    let is_chart = name.ends_with(".svg") || name.ends_with(".png");
    let files = if is_chart {
        results.charts()?
    } else {
        results.tables()?
    };
    let mut files = files.into_iter();
    Ok(files.find(|(one, _)| one == name).map(|(_, bytes)| bytes))
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
    charts: Vec<&'run str>,
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
        match (&self.row.refused, &self.row.cancelled) {
            (Some(reason), _) => format!("refused: {reason}"),
            (None, Some(when)) => format!("cancelled {when}"),
            (None, None) if self.row.done + self.row.failed >= self.row.jobs => "over".to_owned(),
            (None, None) => "goes on".to_owned(),
        }
    }
}
