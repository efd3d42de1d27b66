//! A smoke run of the default program: the tour, cut short, into a temporary folder. Its
//! numbers are not looked at; that it ends well and draws a chart is.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::command::Invocation;
use crate::workspace;

/// The tour's exit code on a machine where other things run, which is none of its faults.
const NOT_QUIET: i32 = 3;
const TOUR_LIMIT: Duration = Duration::from_secs(120);

/// Builds what [`run`] runs, as a newcomer does.
pub(crate) fn build() -> Result<()> {
    Invocation::cargo("build --release").run()
}

pub(crate) fn run() -> Result<()> {
    let out = workspace::target_subdir("tour-smoke");
    workspace::remove_folder(&out)?;
    workspace::make_folder(&out)?;
    Invocation::cargo("run --release -- tour --quick --budget 5 --out")
        .arg(&out)
        .limit(TOUR_LIMIT)
        .accept(NOT_QUIET)
        .run()?;
    let charts = out.join("charts");
    for end in [".svg", ".png"] {
        let names = workspace::names(&charts, end)?;
        let is_drawn = |name: &String| {
            fs::metadata(charts.join(name.clone() + end)).is_ok_and(|chart| chart.len() > 0)
        };
        ensure!(names.iter().any(is_drawn), "the tour drew no {end} file");
    }
    Ok(())
}
