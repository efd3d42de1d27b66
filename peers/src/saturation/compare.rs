//! The parent's side: prints what is cheap beside what is heavy, at saturation and at each load.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};
use crate::saturation::{ARMS, THREADS, chart};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let closed = CLOSED.iter().map(|(case, _)| (*case).to_owned());
    let loads: &[u32] = if settings.extent.short {
        &SHORT_LOADS
    } else {
        &LOADS
    };
    let open = loads.iter().map(|load| format!("load {load}"));
    let plan = Plan::new("saturation", settings, ROUNDS, WINDOW);
    let cases = plan.select(closed.chain(open).collect())?;
    plan.describe("A service at saturation", report);
    report.line(
        "A heavy request is about 4 ms of arithmetic. A cheap task, which does nothing but note when it runs, is due \
         every 2 ms, and its time counts from then. Every measurement has a fresh process. Ratios of times are to \
         manyhands, below 1 is faster. Ratios of requests a second are to as many plain threads as there are \
         workers, without cheap tasks: above 1 is more. `Of it in the pool` counts from when the sender handed the \
         task over, and is what 99 % waited within from then: the system may wake the sender late. How late shows the row of the \
         plain threads: beside them, in a second window, the sender does the cheap tasks itself.\n",
    );
    report.line(
        "At each load, given in percent, heavy requests are due on a clock as well and done in order. All of 100 is what \
         those threads do, measured in the same process just before. Beyond it the times grow with the window.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    let load_of = |case: &str| case.strip_prefix("load ")?.parse().ok();
    let loads: Vec<_> = results
        .iter()
        .filter_map(|result| Some((load_of(&result.case)?, result)))
        .collect();
    if let Some(spec) = chart::over_load(&loads) {
        report.chart("saturation", &spec);
    }
    for result in &results {
        match CLOSED.iter().find(|(case, _)| *case == result.case) {
            Some((_, title)) => report.case(title, result, &CLOSED_COLUMNS),
            None => report.case(
                &format!("A {} %: heavy requests arrive on a clock", result.case),
                result,
                &OPEN_COLUMNS,
            ),
        }
    }
    Ok(report.notes(&results))
}

/// The cases with clients that ask again at once, as the child knows them, and their titles.
const CLOSED: [(&str, &str); 4] = [
    (
        "loop",
        "Eight clients; the heavy request is a parallel loop where there is one",
    ),
    (
        "query",
        "Eight clients; the heavy request is a parallel query where there is one",
    ),
    ("in-order", "Eight clients; the heavy request in order"),
    (
        "priorities",
        "Eight clients; in order, what is cheap has priority where there are priorities",
    ),
];
/// Percent of the capacity.
const LOADS: [u32; 12] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120];
const SHORT_LOADS: [u32; 3] = [10, 50, 90];
/// The columns, by place among a sample's values.
const CLOSED_COLUMNS: [Column; 6] = [
    Column::time("cheap: half within", 2),
    Column::time("99 % within", 3),
    Column::ratio("ratio", 3),
    Column::time("of it in the pool", 4),
    Column::time("for each heavy request", 0),
    Column::ratio_to("requests a second, to threads", THREADS, 1),
];
const OPEN_COLUMNS: [Column; 7] = [
    Column::time("cheap: half within", 0),
    Column::time("99 % within", 1),
    Column::ratio("ratio", 1),
    Column::time("of it in the pool", 2),
    Column::time("heavy: half within", 3),
    Column::time("99 % within", 4),
    Column::ratio("ratio", 4),
];
const WINDOW: Duration = Duration::from_secs(1);
const ROUNDS: usize = 7;
