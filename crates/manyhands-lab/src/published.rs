//! What stands beside the findings of the registry's experiments: the figures that were published,
//! what there is to say about them, and the cloud experiments drawn as they were published.

use crate::{
    chart::{self, Contender, Facet, Named, Scaling, ScalingPoint},
    findings::{ExperimentFindings, Findings},
    paper::{self, Figure},
    report::Published,
};

/// The companion of runs of the registry's experiments: the figures that the run's settings ask for, and of an
/// experiment that has none of those, as without asking, those of .NET 8 on the smallest machine.
#[must_use]
pub fn companion(findings: &Findings) -> Published {
    let papers = |experiment: &ExperimentFindings| {
        let id = &experiment.id;
        let usual = paper::of(id)?;
        let wanted = findings.head.settings.published.as_deref();
        let wanted = wanted
            .map(|text| paper::matching(id, text))
            .unwrap_or_default();
        let mut papers = if wanted.is_empty() {
            vec![usual.clone()]
        } else {
            wanted
        };
        // The notes are about these.
        for paper in papers.iter_mut().filter(|one| one.source == usual.source) {
            paper.notes.extend(paper::here(id, findings));
        }
        Some((id.clone(), papers))
    };
    let experiments = findings.experiments.iter();
    Published {
        papers: experiments.clone().filter_map(papers).collect(),
        charts: experiments.filter_map(drawn).collect(),
    }
}

/// Times of the cloud experiments over CPUs as published.
pub(crate) fn posted(experiment: &ExperimentFindings) -> Scaling {
    let facets = experiment.cases.iter().filter_map(|case| {
        let figures = paper::figures().iter();
        let of_case = |one: &&Figure| one.experiment == experiment.id && one.case == case.card.name;
        let mut figures: Vec<&Figure> = figures.filter(of_case).collect();
        figures.sort_by_key(|figure| figure.cpus);
        facet(&case.card.name, &figures)
    });
    Scaling {
        title: format!("{}: published times over CPUs", experiment.id),
        notes: vec![
            "As published, with the bound that whole rounds of equal items set.".to_owned(),
        ],
        facets: facets.collect(),
    }
}

/// One panel of a chart, of figures by ascending number of CPUs: the arms that hand out items, with the lines below which none
/// can go.
fn facet(case: &str, figures: &[&Figure]) -> Option<Facet> {
    let slowdown = slowdown(&figures.first()?.experiment)?;
    let sequential = figures.iter().filter(|figure| figure.arm == SEQUENTIAL);
    let lines = sequential.map(|figure| {
        let nanos = figure.mean_nanos;
        let rounds = figure.n.div_ceil(figure.cpus) as f64;
        let bound = rounds * nanos / figure.n as f64 * slowdown;
        (
            (figure.cpus, nanos / figure.cpus as f64),
            (figure.cpus, bound),
        )
    });
    let (ideal, rounds_bound) = lines.unzip();
    let mut contenders: Vec<Contender> = Vec::new();
    for figure in figures
        .iter()
        .filter(|figure| DRAWN.contains(&&*figure.arm))
    {
        let point = ScalingPoint {
            cpus: figure.cpus,
            nanos: figure.mean_nanos,
            interval: None,
        };
        match contenders.iter_mut().find(|one| one.name == figure.arm) {
            Some(contender) => contender.points.push(point),
            None => contenders.push(Contender {
                name: figure.arm.clone(),
                family: contenders.len(),
                points: vec![point],
            }),
        }
    }
    Some(Facet {
        caption: case.to_owned(),
        contenders,
        ideal,
        rounds_bound,
    })
}

/// How many times longer an item took on this experiment's machine while all CPUs were busy: the least published time of
/// BCrypt at cost 10 over that of its rounds. E7 ran on the machine of E8.
fn slowdown(experiment_id: &str) -> Option<f64> {
    match experiment_id {
        "E7" | "E8" => Some(1.154_961_888_662_721_3),
        "E9" => Some(1.107_762_060_402_993_9),
        _ => None,
    }
}

const SEQUENTIAL: &str = "sequential";
const DRAWN: [&str; 5] = [
    "for",
    "for_each",
    "ranges",
    "query, ordered",
    "query, unordered",
];

/// Nothing if there are no times.
fn drawn(experiment: &ExperimentFindings) -> Option<Named> {
    Some(Named {
        name: format!("{}-published", experiment.id.to_lowercase()),
        experiment: experiment.id.clone(),
        case: None,
        chart: chart::scaling(&posted(experiment))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Scale,
        findings::analyse,
        machine::Machine,
        record::{Block, CaseCard, Event, Key, Meters, Sample, Settings},
        registry,
        report::summary_json,
        run::head,
    };
    use serde_json::Value;

    #[test]
    fn the_summary_of_all_experiments_has_every_claim_with_its_ruling_and_every_paper() {
        let experiments = registry::experiments();
        let settings = Settings::new(Scale::Full, 1);
        let head = head(&experiments, settings, Machine::here(), "now");
        let findings = analyse(&head, &[]);
        let summary = summary_json(&findings, &companion(&findings));
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let all = summary["experiments"].as_array().unwrap();
        assert_eq!(all.len(), 19);
        for one in all {
            let parts = one["claim"]["parts"].as_array().unwrap();
            assert!(!parts.is_empty(), "{one}");
            for part in parts {
                assert_eq!(part["verdict"], "undecided", "{one}");
                assert_eq!(part["evidence"], "as it was not measured", "{one}");
            }
            assert!(one["published"][0]["source"].is_string(), "{one}");
        }
    }

    /// A block of the largest size of a case, in which each call of an arm takes and allocates the same.
    fn block(experiment: &str, card: &CaseCard) -> Event {
        let sample = Sample {
            calls: 1,
            wall_nanos: 1_000_000,
            meters: Meters {
                allocations: Some(1),
                allocated_bytes: Some(64_000_000),
                ..Meters::default()
            },
        };
        let largest = *card.sizes.last().unwrap();
        Event::Block {
            key: Key::new(experiment, &card.name, largest),
            block: Block {
                launch: 1,
                order: (0..card.arms.len()).collect(),
                samples: vec![sample; card.arms.len()],
                checksum: String::new(),
            },
        }
    }

    #[test]
    fn the_summary_has_each_table_of_what_was_published() {
        let experiments = ["E8", "E15"].map(|id| registry::find(id).unwrap());
        let settings = Settings::new(Scale::Full, 1);
        let head = head(&experiments, settings, Machine::here(), "now");
        let cards = head.experiments.iter();
        let blocks = cards.flat_map(|one| one.cases.iter().map(move |case| block(&one.id, case)));
        let findings = analyse(&head, &blocks.collect::<Vec<_>>());
        let summary = summary_json(&findings, &companion(&findings));
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let [loops, waits] = [0, 1].map(|at| &summary["experiments"][at]["published"][0]);
        assert_eq!(loops["speed_ups"][0]["here"]["median"], 1.0, "{loops}");
        let ranges = &loops["ranges"][0];
        assert_eq!(ranges["there"][0]["cpus"], 16, "{loops}");
        assert!(ranges["there"][0]["ratio"].is_f64() && ranges["here"]["median"] == 1.0);
        let memory = &waits["memory"][0];
        assert_eq!(memory["n_here"], 1_000_000, "{waits}");
        assert_eq!(memory["here"], 64.0, "{waits}");
        assert!(memory["there"].as_f64() > Some(400.0), "{waits}");
    }
}
