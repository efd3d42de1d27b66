//! What stands beside the findings of the registry's experiments: the figures that were published,
//! what there is to say about them, and the cloud experiments drawn for more CPUs than are here.

use crate::{
    chart::{self, Contender, Facet, Named, Scaling, ScalingPoint},
    findings::{CaseFindings, ExperimentFindings, Findings},
    model::{ItemTime, Panel, PanelPoint, panels, slowdown},
    paper,
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
        // What can be computed from the figures is about these.
        for paper in papers.iter_mut().filter(|one| one.source == usual.source) {
            paper.notes.extend(paper::remarks(id, Some(findings)));
        }
        Some((id.clone(), papers))
    };
    let experiments = findings.experiments.iter();
    let both = |experiment: &ExperimentFindings| {
        let posted = drawn(experiment, "published", &posted(experiment));
        posted.chain(drawn(experiment, "model", &modelled(experiment)))
    };
    Published {
        papers: experiments.clone().filter_map(papers).collect(),
        charts: experiments.flat_map(both).collect(),
    }
}

/// Times over CPUs as published.
pub(crate) fn posted(experiment: &ExperimentFindings) -> Scaling {
    let facets = experiment.cases.iter().filter_map(|case| {
        let panels = panels_of(experiment, case, ItemTime::Published);
        facet(case, &panels, |point| point.paper_nanos)
    });
    Scaling {
        title: format!("{}: published times over CPUs", experiment.id),
        notes: vec![
            "As published, with the bound that whole rounds of equal items set.".to_owned(),
        ],
        facets: facets.collect(),
    }
}

/// Times over CPUs as the model has them, with the item time measured here.
fn modelled(experiment: &ExperimentFindings) -> Scaling {
    let facets = experiment.cases.iter().filter_map(|case| {
        let point = case.points.last()?;
        let nanos = point.times.first()?.median.median / point.n as f64;
        let slowdown = slowdown(&experiment.id)?;
        let item = ItemTime::Measured { nanos, slowdown };
        let panels = panels_of(experiment, case, item);
        facet(case, &panels, |point| Some(point.model_nanos))
    });
    Scaling {
        title: format!("{}: the partition model over CPUs", experiment.id),
        notes: vec![
            "Item time measured here; rounds counted by the rule of each kind of loop.".to_owned(),
        ],
        facets: facets.collect(),
    }
}

fn panels_of(experiment: &ExperimentFindings, case: &CaseFindings, item: ItemTime) -> Vec<Panel> {
    let mut panels = panels(&experiment.id, item);
    panels.retain(|panel| panel.case == case.card.name);
    panels
}

/// One panel of a chart: the arms that have a time to show, with the lines below which none can go.
fn facet(
    case: &CaseFindings,
    panels: &[Panel],
    time: impl Fn(&PanelPoint) -> Option<f64>,
) -> Option<Facet> {
    let contender = |(family, panel): (usize, &Panel)| {
        let point = |point: &PanelPoint| {
            Some(ScalingPoint {
                cpus: point.cpus,
                nanos: time(point)?,
                interval: None,
            })
        };
        Contender {
            name: panel.arm.clone(),
            family,
            points: panel.points.iter().filter_map(point).collect(),
        }
    };
    let contenders: Vec<Contender> = panels.iter().enumerate().map(contender).collect();
    let longest = panels.iter().max_by_key(|panel| panel.points.len())?;
    let line = |nanos: fn(&PanelPoint) -> f64| {
        let points = longest.points.iter();
        points.map(|point| (point.cpus, nanos(point))).collect()
    };
    Some(Facet {
        caption: case.card.name.clone(),
        contenders: contenders
            .into_iter()
            .filter(|one| !one.points.is_empty())
            .collect(),
        ideal: line(|point| point.ideal_nanos),
        rounds_bound: line(|point| point.bound_nanos),
    })
}

/// The times, and again as multiples of the bound, where lines that lie on each other stand apart.
/// Nothing if there are no times.
fn drawn(
    experiment: &ExperimentFindings,
    what: &str,
    data: &Scaling,
) -> impl Iterator<Item = Named> + use<> {
    let id = experiment.id.clone();
    let name = format!("{}-{what}", id.to_lowercase());
    let charts = [
        (name.clone(), chart::scaling(data)),
        (name + "-over-bound", chart::scaling_over_bound(data)),
    ];
    charts.into_iter().filter_map(move |(name, chart)| {
        Some(Named {
            name,
            experiment: id.clone(),
            case: None,
            chart: chart?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Scale, findings::analyse, machine::Machine, record::Settings, registry,
        report::summary_json, run::head,
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
}
