//! What was claimed, and whether it holds here, in words.

use super::{
    grid::{Column, Grid},
    sentence::kind_words,
    units::{count, ratio_cell},
};
use crate::findings::{Evidence, ExperimentFindings, Findings, JudgedClaim, JudgedPart, Ruling};

/// The claim of an experiment with its source, and the notes; its ruling and a sentence for each of its parts, unless
/// these stand in the table of all claims. Empty if nothing was claimed and nothing is to be noted.
pub(super) fn claim_sentences(experiment: &ExperimentFindings, table: &Grid) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(claim) = &experiment.claim {
        let source = experiment.source.as_ref();
        let source = source.map_or_else(String::new, |source| format!(" (Source: {source}.)"));
        sentences.push(format!("Claim: {}{source}", claim.text));
        if table.rows.is_empty() || claim.parts.is_empty() {
            sentences.push(ruling_sentence(claim));
            sentences.extend(claim.parts.iter().map(part_sentence));
        }
    }
    let notes = experiment.notes.iter();
    sentences.extend(notes.map(|note| format!("Note: {note}")));
    sentences
}

/// Each part of each claim of a run in a row, with what was found of it.
pub(super) fn claims(findings: &Findings) -> Grid {
    let all = findings.experiments.iter();
    let claimed = all.filter_map(|one| Some((&one.id, one.claim.as_ref()?)));
    let row = |id: &String, part: &JudgedPart| {
        vec![
            Column::words("experiment", id.clone()),
            Column::words("what was claimed", part.says.clone()),
            Column::words("here", ruled(part)),
            Column::words("found", evidence_words(&part.evidence)),
        ]
    };
    Grid::of(claimed.flat_map(|(id, claim)| claim.parts.iter().map(move |part| row(id, part))))
}

/// Whether a part holds, or how many CPUs it would take to decide that.
fn ruled(part: &JudgedPart) -> String {
    match part.needs_cpus {
        None => ruling_word(part.ruling).to_owned(),
        Some((fewest, most)) if fewest == most => format!("undecided: needs {most} CPUs"),
        Some((fewest, most)) => format!("undecided: needs {fewest} to {most} CPUs"),
    }
}

/// One word for a ruling, or three.
pub(super) fn ruling_word(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Holds => "holds",
        Ruling::DoesNotHold => "does not hold",
        Ruling::Undecided => "undecided",
    }
}

fn ruling_sentence(claim: &JudgedClaim) -> String {
    let parts = match claim.parts.len() {
        0 => return "Here: no part of it can be decided by these measurements.".to_owned(),
        1 => "it",
        _ => "all of it",
    };
    match claim.ruling {
        Ruling::Holds => format!("Here: {parts} holds, as far as it can be measured."),
        Ruling::DoesNotHold => "Here: it does not hold.".to_owned(),
        Ruling::Undecided => "Here: it is undecided.".to_owned(),
    }
}

fn part_sentence(part: &JudgedPart) -> String {
    let (ruling, found) = (ruled(part), evidence_words(&part.evidence));
    format!("– {}: {ruling}, {found}.", part.says)
}

/// What a ruling is concluded from.
pub(super) fn evidence_words(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Nothing => "as it was not measured".to_owned(),
        Evidence::Ratio { case, n, ratio } => {
            format!("{} for {case} at n = {}", ratio_cell(*ratio), count(*n))
        }
        Evidence::Mean { of, ratio } => {
            format!("{} in the mean of {} sizes", ratio_cell(*ratio), count(*of))
        }
        Evidence::BreakEven(kind) => kind_words(kind),
    }
}

/// Headline of the table of all claims.
pub(super) const CLAIMS: &str = "What was claimed, and what was found";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::fixture, stats::Estimate};

    #[test]
    fn the_claims_of_all_experiments_stand_in_one_table() {
        let mut findings = fixture::findings();
        let part = |ruling| JudgedPart {
            says: "it is faster".into(),
            ruling,
            needs_cpus: None,
            evidence: Evidence::Nothing,
        };
        let claim = |parts| JudgedClaim {
            text: String::new(),
            ruling: Ruling::Holds,
            parts,
        };
        for one in &mut findings.experiments {
            one.claim = None;
        }
        findings.experiments[0].claim = Some(claim(vec![part(Ruling::Holds)]));
        assert_eq!(claims(&findings).rows.len(), 1);
        let mut two = vec![part(Ruling::Undecided), part(Ruling::DoesNotHold)];
        two[0].needs_cpus = Some((12, 12));
        findings.experiments[1].claim = Some(claim(two));
        let rows = claims(&findings).rows;
        let here: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
        let expected = ["holds", "undecided: needs 12 CPUs", "does not hold"];
        assert_eq!(here, expected);
        assert_eq!(rows[2][0], findings.experiments[1].id);
    }

    #[test]
    fn the_claim_stands_with_its_source_its_ruling_and_what_decides_it() {
        let part = JudgedPart {
            says: "from 100 on it is faster".into(),
            ruling: Ruling::Holds,
            needs_cpus: None,
            evidence: Evidence::Ratio {
                case: "SHA-512".into(),
                n: 1_000,
                ratio: Estimate::new(1.9, 1.8, 2.0),
            },
        };
        let experiment = ExperimentFindings {
            claim: Some(JudgedClaim {
                text: "It is faster.".into(),
                ruling: Ruling::Holds,
                parts: vec![part],
            }),
            source: Some("\"A Post\", 2024".into()),
            notes: vec!["Look twice.".into()],
            ..ExperimentFindings::default()
        };
        let expected = [
            "Claim: It is faster. (Source: \"A Post\", 2024.)",
            "Here: it holds, as far as it can be measured.",
            "– from 100 on it is faster: holds, 1.90 (1.80 … 2.00) for SHA-512 at n = 1,000.",
            "Note: Look twice.",
        ];
        let alone = Grid::default();
        assert_eq!(claim_sentences(&experiment, &alone), expected);
        let table = Grid::of([vec![Column::words("here", "holds".into())]]);
        let beside = [expected[0], expected[3]];
        assert_eq!(claim_sentences(&experiment, &table), beside);
        assert!(claim_sentences(&ExperimentFindings::default(), &alone).is_empty());
    }
}
