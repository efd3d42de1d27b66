//! `lab compare`: two recorded runs side by side, for people, for programs and for a build server.

use crate::{
    meant::Form,
    output::{self, Failure},
};
use manyhands_lab::{
    console::{self, Ending},
    findings::{self, Findings},
    report,
    store::{self, Damage},
};
use std::path::PathBuf;

/// Which runs to compare, and how.
#[derive(Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) before: PathBuf,
    pub(crate) after: PathBuf,
    pub(crate) damage: Damage,
    pub(crate) form: Form,
    /// The share by which something must be slower to fail the command; `None` if nothing does.
    pub(crate) fail_if_slower: Option<f64>,
}

/// Compares two runs.
pub(crate) fn run(asked: &Comparison) -> Result<Ending, Failure> {
    let findings = |folder: &PathBuf| -> Result<Findings, Failure> {
        let recording = store::read(folder, asked.damage)?;
        output::remark(&crate::lab::skipped(folder, &recording));
        Ok(findings::analyse(&recording.head, &recording.events))
    };
    let (before, after) = (findings(&asked.before)?, findings(&asked.after)?);
    let printed = output::print(&match asked.form {
        Form::Text => report::compare(&before, &after, console::width()),
        Form::Json => report::compare_json(&before, &after) + "\n",
    });
    let slower = |share| report::slower(&before, &after, share);
    let slower = asked.fail_if_slower.map(slower).unwrap_or_default();
    for sentence in &slower {
        output::remark(&format!("{sentence}\n"));
    }
    let ending = match slower.is_empty() {
        true => Ending::Good,
        false => Ending::Failed,
    };
    output::end(printed, ending)
}

/// Reads a share as typed: `5%` or `0.05`.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|value: f64| value / 100.0),
        None => text.parse(),
    };
    let share = share
        .ok()
        .filter(|share| share.is_finite() && *share >= 0.0);
    share.ok_or_else(|| "a share is needed, such as 5% or 0.05".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_typed_in_percent_or_as_a_number() {
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert_eq!(parse_share("0.25"), Ok(0.25));
        assert_eq!(parse_share("0"), Ok(0.0));
        for wrong in ["", "%", "-5%", "inf", "much"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
