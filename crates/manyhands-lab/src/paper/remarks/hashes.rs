//! E2, E5 and E7: SHA-512 against SHA-256.

use crate::{
    findings::{CaseFindings, Findings},
    paper::figures,
};

/// Which of the two is faster where, and why.
pub(super) fn remarks(findings: Option<&Findings>) -> Vec<String> {
    let mut remarks = vec![format!(
        "That SHA-512 beats SHA-256 on 64-bit processors holds on the published laptop, where SHA-256 \
         takes {:.2} times as long. On the EPYC in the cloud, which has instructions for SHA-256, it \
         takes {:.2} times as long, of a text that is one block to either.",
        published("E2"),
        published("E7"),
    )];
    remarks.extend(findings.and_then(here));
    remarks
}

/// Time of SHA-256 over that of SHA-512, sequential, as published.
fn published(experiment: &str) -> f64 {
    let mean = |case: &str| {
        let mut figures = figures().iter();
        let found = figures.find(|figure| {
            (figure.experiment.as_str(), figure.case.as_str()) == (experiment, case)
                && (figure.arm.as_str(), figure.runtime.as_str()) == ("sequential", ".NET 8.0")
        });
        found.map_or(f64::NAN, |figure| figure.mean_nanos)
    };
    mean("SHA-256") / mean("SHA-512")
}

/// The same as found here, in E2.
fn here(findings: &Findings) -> Option<String> {
    let cases = &findings.experiment("E2")?.cases;
    let ratio = nanos(cases, "SHA-256")? / nanos(cases, "SHA-512")?;
    let has = match findings.head.machine.sha_instructions {
        true => "has",
        false => "does not have",
    };
    Some(format!(
        "This processor {has} instructions for SHA-256; SHA-256 takes {ratio:.2} times as long as \
         SHA-512 here."
    ))
}

/// Median time of the baseline at the largest size.
fn nanos(cases: &[CaseFindings], name: &str) -> Option<f64> {
    let case = cases.iter().find(|case| case.card.name == name)?;
    Some(case.points.last()?.times.first()?.median.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::remarks::sample;

    #[test]
    fn the_laptop_and_the_cloud_disagree() {
        assert_eq!(format!("{:.2}", published("E2")), "1.48");
        assert_eq!(format!("{:.2}", published("E7")), "0.91");
    }

    #[test]
    fn what_was_found_here_stands_beside_it() {
        let mut findings = sample::findings("E2", "SHA-256", &[("sequential", 600.0, None)]);
        let other = sample::findings("E2", "SHA-512", &[("sequential", 400.0, None)]);
        assert_eq!(here(&findings), None);
        let cases = other.experiments.into_iter().flat_map(|one| one.cases);
        findings.experiments[0].cases.extend(cases);
        findings.head.machine.sha_instructions = true;
        let remark = here(&findings).unwrap();
        assert!(
            remark.contains("This processor has instructions"),
            "{remark}"
        );
        assert!(remark.contains("1.50 times as long"), "{remark}");
    }
}
