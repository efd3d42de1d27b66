//! What every machine took, as rows: the numbers behind the charts over machines, and a list of their own.

use crate::price::{Prices, Usd};
use manyhands_lab::findings::{CaseFindings, Findings, Point};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What one agent found.
#[derive(Debug)]
pub(crate) struct OnMachine {
    /// Name of the agent.
    pub(crate) agent: String,
    /// What its machine is called in the table of prices.
    pub(crate) machine: Option<String>,
    pub(crate) findings: Findings,
}

/// One arm of one case on one machine. Times are nanoseconds for a call; the baseline has no speed-up, and without a
/// price there are no dollars.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PointRow {
    pub(crate) experiment: String,
    pub(crate) case: String,
    pub(crate) n: usize,
    pub(crate) agent: String,
    pub(crate) machine: Option<String>,
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    pub(crate) arm: String,
    /// The arm's place in its case; the first is the baseline.
    #[serde(skip)]
    pub(crate) family: usize,
    pub(crate) median_nanos: f64,
    pub(crate) median_low: Option<f64>,
    pub(crate) median_high: Option<f64>,
    /// Over the baseline of the same machine.
    pub(crate) speed_up: Option<f64>,
    pub(crate) speed_up_low: Option<f64>,
    pub(crate) speed_up_high: Option<f64>,
    /// The same machine's baseline, split evenly among its CPUs.
    pub(crate) ideal_nanos: f64,
    /// The same machine's baseline, in as many rounds as there are if no item is split.
    pub(crate) rounds_bound_nanos: f64,
    /// From the cheapest to the dearest machine that it may be.
    pub(crate) usd_per_hour_least: Option<f64>,
    pub(crate) usd_per_hour_most: Option<f64>,
    pub(crate) usd_per_million_calls_least: Option<f64>,
    pub(crate) usd_per_million_calls_most: Option<f64>,
}

impl PointRow {
    /// Ends of the interval of the median.
    pub(crate) fn median_ends(&self) -> Option<(f64, f64)> {
        self.median_low.zip(self.median_high)
    }

    /// Ends of the interval of the speed-up.
    pub(crate) fn speed_up_ends(&self) -> Option<(f64, f64)> {
        self.speed_up_low.zip(self.speed_up_high)
    }

    /// Dollars for a million calls, at least and at most.
    pub(crate) fn usd(&self) -> Option<(f64, f64)> {
        self.usd_per_million_calls_least
            .zip(self.usd_per_million_calls_most)
    }
}

/// The rows of an experiment: those cases and sizes that were measured on machines of several sizes, by case, size, CPUs
/// and arm.
pub(super) fn rows(runs: &[OnMachine], id: &str, prices: Option<&Prices>) -> Vec<PointRow> {
    let mut cases: BTreeMap<(&str, usize), Vec<Found<'_>>> = BTreeMap::new();
    for run in runs {
        let experiments = run.findings.experiments.iter().filter(|one| one.id == id);
        for case in experiments.flat_map(|one| &one.cases) {
            // The last one is the largest, where there is most to share.
            if let Some(point) = case.points.last() {
                let key = (case.card.name.as_str(), point.n);
                cases
                    .entry(key)
                    .or_default()
                    .push(Found { run, case, point });
            }
        }
    }
    let mut rows = Vec::new();
    for mut found in cases.into_values() {
        let sizes: BTreeSet<usize> = found.iter().map(Found::cpus).collect();
        if sizes.len() > 1 {
            // Of machines with as many CPUs, the order of the runs stays.
            found.sort_by_key(Found::cpus);
            rows.extend(found.iter().flat_map(|one| one.rows(id, prices)));
        }
    }
    rows
}

/// A case's largest size on one machine.
struct Found<'run> {
    run: &'run OnMachine,
    case: &'run CaseFindings,
    point: &'run Point,
}

impl Found<'_> {
    fn cpus(&self) -> usize {
        self.run.findings.head.machine.cpus
    }

    fn rows(&self, id: &str, prices: Option<&Prices>) -> Vec<PointRow> {
        let Some(baseline) = self.point.times.first() else {
            return Vec::new();
        };
        let (cpus, n, alone) = (self.cpus(), self.point.n, baseline.median.median);
        let machine = self.run.machine.as_deref();
        let price = prices.and_then(|prices| prices.usd_per_hour(machine, cpus));
        let row = |(family, arm): (usize, &String)| {
            let median = self.point.times.get(family)?.median;
            let comparison = family
                .checked_sub(1)
                .and_then(|index| self.point.comparisons.get(index));
            let speed_up = comparison.map(|one| one.clean.unwrap_or(one.as_found));
            let speed_up_ends = speed_up.and_then(|one| one.ends());
            let usd = price.map(|price| price.times(median.median / NANOS_PER_HOUR * MILLION));
            Some(PointRow {
                experiment: id.to_owned(),
                case: self.case.card.name.clone(),
                n,
                agent: self.run.agent.clone(),
                machine: self.run.machine.clone(),
                cpu: self.run.findings.head.machine.cpu.clone(),
                cpus,
                arm: arm.clone(),
                family,
                median_nanos: median.median,
                median_low: median.ends().map(|ends| ends.0),
                median_high: median.ends().map(|ends| ends.1),
                speed_up: speed_up.map(|one| one.median),
                speed_up_low: speed_up_ends.map(|ends| ends.0),
                speed_up_high: speed_up_ends.map(|ends| ends.1),
                ideal_nanos: alone / cpus as f64,
                rounds_bound_nanos: alone * n.div_ceil(cpus) as f64 / n.max(1) as f64,
                usd_per_hour_least: price.map(|price: Usd| price.least),
                usd_per_hour_most: price.map(|price| price.most),
                usd_per_million_calls_least: usd.map(|usd| usd.least),
                usd_per_million_calls_most: usd.map(|usd| usd.most),
            })
        };
        let arms = self.case.card.arms.iter().enumerate();
        arms.filter_map(row).collect()
    }
}

const NANOS_PER_HOUR: f64 = 3.6e12;
const MILLION: f64 = 1e6;
