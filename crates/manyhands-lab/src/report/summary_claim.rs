//! The claim of an experiment, as part of the summary.

use super::claim::{evidence_words, ruling_word};
use crate::findings::{JudgedClaim, JudgedPart};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ClaimOut<'run> {
    text: &'run str,
    verdict: &'static str,
    parts: Vec<PartOut<'run>>,
}

#[derive(Serialize)]
struct PartOut<'run> {
    says: &'run str,
    verdict: &'static str,
    evidence: String,
}

impl<'run> From<&'run JudgedClaim> for ClaimOut<'run> {
    fn from(claim: &'run JudgedClaim) -> Self {
        let part = |part: &'run JudgedPart| PartOut {
            says: &part.says,
            verdict: ruling_word(part.ruling),
            evidence: evidence_words(&part.evidence)
                .trim_start_matches(", ")
                .to_owned(),
        };
        Self {
            text: &claim.text,
            verdict: ruling_word(claim.ruling),
            parts: claim.parts.iter().map(part).collect(),
        }
    }
}
