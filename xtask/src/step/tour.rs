//! A smoke run of the default program: the tour, cut short, into a temporary folder. Its
//! numbers are not looked at; that it ends well and draws a chart is.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

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
    for extension in ["svg", "png"] {
        let is_there =
            holds(&out, extension).with_context(|| format!("cannot read {}", out.display()))?;
        ensure!(is_there, "the tour wrote no .{extension} file");
    }
    Ok(())
}

/// Whether a file with this extension and some content is in the folder or below it.
fn holds(folder: &Path, extension: &str) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let found = if path.is_dir() {
            holds(&path, extension)?
        } else {
            path.extension().is_some_and(|found| found == extension) && entry.metadata()?.len() > 0
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
