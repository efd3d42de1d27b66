//! Charts over machines of several sizes, from the runs of one plan. Those of a single machine are the laboratory's.

use manyhands_lab::{
    chart::{ChartSpec, Contender, Facet, Scaling, ScalingPoint, scaling},
    findings::{CaseFindings, Findings, Point},
    report::count,
};
use std::collections::{BTreeMap, BTreeSet};

/// Times over the CPUs of the machines, a chart for each experiment that was measured on machines of several sizes, with
/// its id.
pub(crate) fn over_machines(runs: &[Findings]) -> Vec<(String, ChartSpec)> {
    let mut titles: Vec<(&str, &str)> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.experiments) {
        if !titles.iter().any(|(id, _)| *id == one.id) {
            titles.push((&one.id, &one.title));
        }
    }
    let chart = |(id, title): (&str, &str)| {
        let models: BTreeSet<&str> = runs.iter().map(|run| &*run.head.machine.cpu).collect();
        let facets = facets(runs, id);
        let is_over_machines = |facet: &Facet| sizes(facet).len() > 1;
        let facets: Vec<Facet> = facets.into_iter().filter(is_over_machines).collect();
        let chart = scaling(&Scaling {
            title: format!("{id}: {title}, over machines"),
            notes: vec![format!(
                "Processors: {}. Lines between machines of different models compare these too.",
                models.into_iter().collect::<Vec<_>>().join(", ")
            )],
            facets,
        })?;
        Some((id.to_owned(), chart))
    };
    titles.into_iter().filter_map(chart).collect()
}

/// A point of one case and size, by the CPUs of the machine that it was measured on.
type OnMachines<'run> = BTreeMap<usize, (&'run CaseFindings, &'run Point)>;

/// One for each case and size that was measured on a machine.
fn facets(runs: &[Findings], id: &str) -> Vec<Facet> {
    // Every point with the CPUs of its machine; of two machines with as many CPUs the first stands.
    let mut points: BTreeMap<(&str, usize), OnMachines<'_>> = BTreeMap::new();
    for run in runs {
        let experiments = run.experiments.iter().filter(|one| one.id == id);
        for case in experiments.flat_map(|one| &one.cases) {
            // The last one is the largest, where there is most to share.
            if let Some(point) = case.points.last() {
                let cpus = run.head.machine.cpus;
                let key = (case.card.name.as_str(), point.n);
                let of_case = points.entry(key).or_default();
                of_case.entry(cpus).or_insert((case, point));
            }
        }
    }
    let facets = points.into_iter().map(|((name, n), by_cpus)| {
        let arms = by_cpus
            .values()
            .next()
            .map_or(&[][..], |(case, _)| &case.card.arms[..]);
        let line = |(family, arm): (usize, &String)| Contender {
            name: arm.clone(),
            family,
            points: by_cpus
                .iter()
                .filter_map(|(cpus, (_, point))| {
                    let median = point.times.get(family)?.median;
                    Some(ScalingPoint {
                        cpus: *cpus,
                        nanos: median.median,
                        interval: median.ends(),
                    })
                })
                .collect(),
        };
        let contenders: Vec<Contender> = arms.iter().enumerate().map(line).collect();
        let alone = |cpus: usize| {
            let (_, point) = by_cpus.get(&cpus)?;
            Some(point.times.first()?.median.median)
        };
        let ideal = by_cpus
            .keys()
            .filter_map(|cpus| Some((*cpus, alone(*cpus)? / *cpus as f64)));
        let rounds = by_cpus.keys().filter_map(|cpus| {
            let share = n.div_ceil(*cpus) as f64 / n.max(1) as f64;
            Some((*cpus, alone(*cpus)? * share))
        });
        Facet {
            caption: format!("{name}, n = {}", count(n)),
            ideal: ideal.collect(),
            rounds_bound: rounds.collect(),
            contenders,
        }
    });
    facets.collect()
}

/// Numbers of CPUs that a panel has times of.
fn sizes(facet: &Facet) -> BTreeSet<usize> {
    let points = facet.contenders.iter().flat_map(|one| &one.points);
    points.map(|point| point.cpus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_lab::{
        Case, Experiment, Scale, findings,
        machine::Machine,
        record::{Block, Event, Key, Meters, Sample, Settings},
        run,
    };

    /// A run whose arms take these nanoseconds for each call.
    fn measured(cpus: usize, nanos: [u64; 2]) -> Findings {
        let case = Case::returning("hash").full_sizes([300]);
        let case = case.arm("sequential", |n| n).arm("for", |n| n);
        let experiments = [Experiment::new("X", "Hashes").case(case)];
        let machine = Machine {
            cpus,
            cpu: "model".to_owned(),
            ..Machine::default()
        };
        let head = run::head(&experiments, Settings::new(Scale::Full, 1), machine, "now");
        let sample = |wall_nanos| Sample {
            calls: 1,
            wall_nanos,
            meters: Meters::default(),
        };
        let event = |launch| Event::Block {
            key: Key {
                experiment: "X".to_owned(),
                case: "hash".to_owned(),
                n: 300,
            },
            block: Block {
                launch,
                order: vec![0, 1, 2],
                samples: [nanos[0], nanos[1], nanos[0]].map(sample).to_vec(),
                checksum: "1".to_owned(),
            },
        };
        let events: Vec<Event> = (0..12).map(|block| event(block % 3)).collect();
        findings::analyse(&head, &events)
    }

    #[test]
    fn a_machine_of_each_size_is_a_point_of_each_line() {
        let runs = [
            measured(2, [600, 310]),
            measured(8, [600, 80]),
            // Another machine of the same size.
            measured(8, [600, 75]),
        ];
        let facet = facets(&runs, "X").remove(0);
        assert_eq!(facet.caption, "hash, n = 300");
        let line = &facet.contenders[1];
        assert_eq!(line.name, "for");
        // Medians come back from their logarithms.
        let rounded = |(cpus, nanos): &(usize, f64)| (*cpus, nanos.round());
        let rounded = |line: &[(usize, f64)]| line.iter().map(rounded).collect::<Vec<_>>();
        let points: Vec<(usize, f64)> = line.points.iter().map(|at| (at.cpus, at.nanos)).collect();
        assert_eq!(rounded(&points), [(2, 310.0), (8, 80.0)]);
        assert_eq!(rounded(&facet.ideal), [(2, 300.0), (8, 75.0)]);
        // 300 items on 8 CPUs are 38 rounds.
        assert_eq!(rounded(&facet.rounds_bound), [(2, 300.0), (8, 76.0)]);
        let charts = over_machines(&runs);
        assert_eq!(charts[0].0, "X");
        assert!(
            manyhands_lab::chart::svg(&charts[0].1)
                .unwrap()
                .contains("for")
        );
    }

    #[test]
    fn machines_of_one_size_have_no_chart() {
        let runs = [measured(8, [600, 80]), measured(8, [600, 75])];
        assert!(over_machines(&runs).is_empty());
        assert!(over_machines(&[]).is_empty());
    }
}
