//! The page of results of the comparison programs: builds them as they are to be measured and has them renew
//! the sections of the problems that are named.
//!
//! Not here: what is measured, and how a section is replaced (`peers`).

use std::path::PathBuf;

use anyhow::Result;

use crate::command::Invocation;
use crate::workspace::{PEERS_MANIFEST, target_subdir};

/// Measures; `words` are problems and options, as for `peers results`.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let measure = Invocation::cargo("run --locked --release --manifest-path")
        .args(&[PEERS_MANIFEST, "--", "results"])
        .args(words);
    match with_data_frames(words) {
        Ok(Some(python)) => measure.env("PEERS_PYTHON", python).run(),
        Ok(None) => measure.run(),
        Err(failure) => {
            println!("without polars and DuckDB: {failure:#}");
            measure.run()
        }
    }
}

/// The interpreter that has polars and DuckDB, with which `keys` is compared. They are installed below the build output.
fn with_data_frames(words: &[String]) -> Result<Option<PathBuf>> {
    let names_problems = words.first().is_some_and(|word| !word.starts_with("--"));
    if names_problems && !words.iter().any(|word| word == "keys") {
        return Ok(None);
    }
    let folder = target_subdir("peers-python");
    let python = folder.join("bin/python");
    if !python.exists() {
        Invocation::new("python3 -m venv").arg(&folder).run()?;
    }
    Invocation::program(&python)
        .words("-m pip install --quiet --disable-pip-version-check")
        .words(PACKAGES)
        .run()?;
    Ok(Some(python))
}

/// The newest when they were first measured.
const PACKAGES: &str = "polars==2.1.0 duckdb==2.0.0 numpy==2.4.6 pyarrow==26.0.1";
