//! A smoke run of the default program: the tour, cut short, into a temporary folder. Its
//! numbers are not looked at; that it ends well and draws a chart is.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

/// The tour's exit code on a machine where other things run, which is none of its faults.
const NOT_QUIET: i32 = 3;
const TOUR_LIMIT: Duration = Duration::from_secs(120);

/// Builds what [`run`] runs, as a newcomer does.
pub(crate) fn build() -> Result<(), Failure> {
    Invocation::cargo("build --release").run()
}

pub(crate) fn run() -> Result<(), Failure> {
    let out = workspace::target_subdir("tour-smoke");
    let cannot = |error| Failure::new(format!("cannot use {}: {error}", out.display()));
    match fs::remove_dir_all(&out) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(error)),
        _ => {}
    }
    fs::create_dir_all(&out).map_err(cannot)?;
    Invocation::cargo("run --release -- tour --quick --budget 5 --out")
        .arg(&out)
        .limit(TOUR_LIMIT)
        .accept(NOT_QUIET)
        .run()?;
    for extension in ["svg", "png"] {
        if !holds(&out, extension).map_err(cannot)? {
            return Err(Failure::new(format!("the tour wrote no .{extension} file")));
        }
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
