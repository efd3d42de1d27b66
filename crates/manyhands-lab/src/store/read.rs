//! Reads a run back.

use super::{EVENTS, HEAD, Line};
use crate::{
    LabError,
    plain::is_harmful,
    record::{Event, FORMAT, Head},
};
use serde::Deserialize;
use std::{fs, path::Path, time::Duration};

/// What a run has left behind so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What was asked.
    pub head: Head,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Time that the run had taken when the last of them happened.
    pub spent: Duration,
    /// Lines that were skipped because they are damaged, from 1.
    pub skipped: Vec<usize>,
    /// Bytes of the events' file that are whole lines.
    pub(super) whole_bytes: u64,
}

/// What to do with a damaged line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Refuse the run.
    Refuse,
    /// Do without the block that it was.
    Skip,
}

/// Reads the run in a folder, finished or not. The run may still be going on.
///
/// # Errors
/// [`LabError::File`] if there is none, [`LabError::UnknownFormat`] if another version wrote it,
/// [`LabError::Damaged`] if a file does not hold what this program wrote. An unfinished last line
/// of the events is no damage: a process was killed while writing it. A damaged line before it costs
/// its block, if that is asked for.
pub fn read(folder: &Path, damage: Damage) -> Result<Recording, LabError> {
    let head = read_head(&folder.join(HEAD))?;
    let path = folder.join(EVENTS);
    let bytes = fs::read(&path).map_err(LabError::file("read", &path))?;
    let mut events = Vec::new();
    let mut spent = Duration::ZERO;
    let (mut whole_bytes, mut skipped) = (0, Vec::new());
    for (index, bytes) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(json) = bytes.strip_suffix(b"\n") else {
            break;
        };
        match (serde_json::from_slice::<Line<Event>>(json), damage) {
            (Ok(line), _) => {
                events.push(line.event);
                spent = Duration::from_millis(line.spent_millis);
            }
            (Err(_), Damage::Skip) => skipped.push(index + 1),
            (Err(error), Damage::Refuse) => {
                return Err(LabError::Damaged {
                    path,
                    line: index + 1,
                    reason: error.to_string(),
                });
            }
        }
        whole_bytes += bytes.len() as u64;
    }
    Ok(Recording {
        head,
        events,
        spent,
        skipped,
        whole_bytes,
    })
}

/// The format comes first: another version's head may have other fields.
fn read_head(path: &Path) -> Result<Head, LabError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let damaged = |error: serde_json::Error| LabError::Damaged {
        path: path.to_owned(),
        line: error.line(),
        reason: error.to_string(),
    };
    let bytes = fs::read(path).map_err(LabError::file("read", path))?;
    let Versioned { format } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if format != FORMAT {
        return Err(LabError::UnknownFormat {
            path: path.to_owned(),
            found: format,
        });
    }
    let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
    if names(&head).any(|name| name.chars().any(is_harmful)) {
        return Err(LabError::Damaged {
            path: path.to_owned(),
            line: 1,
            reason: "a name has control characters".to_owned(),
        });
    }
    Ok(head)
}

/// Everything in a head that is printed as it is.
fn names(head: &Head) -> impl Iterator<Item = &str> {
    let cases = head.experiments.iter().flat_map(|one| &one.cases);
    let of_cases = cases.flat_map(|case| case.arms.iter().chain([&case.name, &case.unit]));
    let of_experiments = head
        .experiments
        .iter()
        .flat_map(|one| [&one.id, &one.title]);
    let of_experiments = of_experiments.chain(head.experiments.iter().flat_map(|one| {
        let parts = one.claim.iter().flat_map(|claim| &claim.parts);
        let claims = one.claim.iter().map(|claim| &claim.text);
        let said = claims.chain(parts.map(|part| &part.says));
        said.chain(&one.source).chain(&one.notes)
    }));
    let all = of_experiments.chain(of_cases).chain([&head.started]);
    all.map(String::as_str)
}
