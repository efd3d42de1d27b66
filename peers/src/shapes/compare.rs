//! The parent's side: draws shapes, measures each in two processes, and prints winners and losers.

use std::fs;
use std::slice;
use std::time::{Duration, Instant};

use manyhands_lab::contest::{CaseResult, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};
use crate::shapes::shape::Draw;
use crate::shapes::verdict::{self, Measured};
use crate::shapes::{ARMS, OURS};

/// The search, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let search = &settings.search;
    let plan = Plan::new("shapes", settings, ROUNDS, WINDOW);
    let usual = match search.seconds {
        Some(_) => MOST,
        None if settings.extent.quick => QUICK,
        None if settings.extent.short => SHORT,
        None => USUAL,
    };
    let count = search.count.unwrap_or(usual) as usize;
    let shapes = Draw::new(plan.seed()).take(count);
    let cases = plan.select(shapes.map(|shape| shape.to_string()).collect())?;
    plan.describe("Shapes of work, drawn", report);
    report.line(ABOUT);
    let limit = search
        .seconds
        .map(|count| Duration::from_secs(count.into()));
    let all = measured(&plan, &cases, limit);
    let beside: Vec<Measured> = all.iter().filter_map(Measured::of).collect();
    if settings.selects(OURS) {
        verdict::print(&beside, report);
    }
    if let Some(path) = &search.csv {
        fs::write(path, verdict::csv(&all))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(report.notes(&all.concat()))
}

/// Each case in two contests, so that no process is in both. Once the time is over no other begins.
fn measured(plan: &Plan<'_>, cases: &[String], limit: Option<Duration>) -> Vec<[CaseResult; 2]> {
    let begin = Instant::now();
    let is_over = || limit.is_some_and(|limit| begin.elapsed() >= limit);
    let once = |case| plan.run(&ARMS, Lifetime::Kept, slice::from_ref(case)).pop();
    cases
        .iter()
        .take_while(|_| !is_over())
        .filter_map(|case| Some([once(case)?, once(case)?]))
        .collect()
}

const ABOUT: &str = "\
A shape's words: who calls (the main thread, a task of the pool, or two threads at once); what is collected (a filter with \
the percent that it keeps, a find with the place of the hit, a sort with the order before, a group or a table with the \
number of keys); how the items' costs differ; what their steps do, how many steps an item has in the mean, and how many items there are. The \
seed decides which shapes are drawn. Ratios are to the best of the others, each process for itself.\n";
const ROUNDS: usize = 9;
const WINDOW: Duration = Duration::from_millis(5);
/// Shapes of a usual search, about a second each.
const USUAL: u32 = 100;
const SHORT: u32 = 40;
const QUICK: u32 = 10;
/// Shapes of a search that ends by the clock.
const MOST: u32 = 100_000;
