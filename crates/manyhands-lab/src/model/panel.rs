//! The cloud experiments E7 to E9 drawn again: published times beside the model's, as plain data.

use super::{Policy, rounds_bound};
use crate::paper::{Figure, figures};

/// One arm of one case over numbers of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Id of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// Name of the arm, or [`OURS`] for the library's own loop.
    pub arm: String,
    /// Number of items.
    pub items: usize,
    /// By number of CPUs, ascending.
    pub points: Vec<PanelPoint>,
}

/// Times on one number of CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PanelPoint {
    /// CPUs.
    pub cpus: usize,
    /// As published; `None` where nothing was, and for our loop.
    pub paper_nanos: Option<f64>,
    /// Rounds of the arm's policy.
    pub model_nanos: f64,
    /// Rounds that no policy can do without.
    pub bound_nanos: f64,
    /// Sequential time over CPUs.
    pub ideal_nanos: f64,
}

/// How long an item takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ItemTime {
    /// As published for the sequential loop on the same machine, slowed down as that machine is.
    Published,
    /// As measured, whatever the number of CPUs.
    Measured {
        /// Time of one item alone.
        nanos: f64,
        /// How many times longer an item takes while all CPUs are busy: above 1 where two of them
        /// are threads of one core.
        slowdown: f64,
    },
}

/// All panels of an experiment; none unless it is E7, E8 or E9.
///
/// With published item times there are points where there are figures, with measured ones on
/// 2 to 192 CPUs.
///
/// # Examples
/// ```
/// use manyhands_lab::model::{ItemTime, panels};
///
/// let item = ItemTime::Measured { nanos: 70e6, slowdown: 1.0 };
/// let panels = panels("E9", item);
/// let ours = panels.iter().find(|panel| panel.arm == "ours").expect("is in every case");
/// assert_eq!(ours.points.last().map(|point| point.model_nanos), Some(2.0 * 70e6));
/// ```
#[must_use]
pub fn panels(experiment_id: &str, item: ItemTime) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for figure in cloud_figures(experiment_id) {
        // Our loop takes the place of the sequential one, which is the same on any number of CPUs.
        let arm = if figure.arm == SEQUENTIAL {
            OURS
        } else {
            &figure.arm
        };
        let is_same = |panel: &Panel| panel.case == figure.case && panel.arm == arm;
        if policy(arm, 1.0).is_some() && !panels.iter().any(is_same) {
            panels.push(panel(figure, arm, item));
        }
    }
    panels
}

/// The panel of an arm, of the case of `figure`.
fn panel(figure: &Figure, arm: &str, item: ItemTime) -> Panel {
    let points = CPUS
        .iter()
        .filter_map(|cpus| point(figure, arm, *cpus, item));
    Panel {
        experiment: figure.experiment.clone(),
        case: figure.case.clone(),
        arm: arm.to_owned(),
        items: figure.n,
        points: points.collect(),
    }
}

/// How many times longer an item took on this experiment's machine while all CPUs were busy: the
/// least time over its bound among its heaviest items, where all else is small. `None` unless the
/// experiment is E7, E8 or E9.
#[must_use]
pub fn slowdown(experiment_id: &str) -> Option<f64> {
    // E7 ran on the machine of E8; its own items are too light to tell.
    let heaviest = match experiment_id.to_ascii_uppercase().as_str() {
        "E7" | "E8" => "E8",
        "E9" => "E9",
        _ => return None,
    };
    let over_bound = |figure: &Figure| {
        let rounds = rounds_bound(figure.n, figure.cpus) as f64;
        Some(figure.mean_nanos / (rounds * published_item_nanos(figure, figure.cpus)?))
    };
    cloud_figures(heaviest)
        .filter(|figure| figure.case == "BCrypt cost 10" && policy(&figure.arm, 1.0).is_some())
        .filter_map(over_bound)
        .reduce(f64::min)
}

/// Rounds that a published time comes to, at the sequential time of an item on as many CPUs, slowed
/// down as the machine is. `None` unless the figure is one of E7 to E9.
#[must_use]
pub fn rounds_measured(figure: &Figure) -> Option<f64> {
    let slowdown = slowdown(&figure.experiment)?;
    Some(figure.mean_nanos / (slowdown * published_item_nanos(figure, figure.cpus)?))
}

fn point(figure: &Figure, arm: &str, cpus: usize, item: ItemTime) -> Option<PanelPoint> {
    let (alone, slowdown) = match item {
        ItemTime::Published => (
            published_item_nanos(figure, cpus)?,
            slowdown(&figure.experiment)?,
        ),
        ItemTime::Measured { nanos, slowdown } => (nanos, slowdown),
    };
    let busy = alone * slowdown;
    let rounds = policy(arm, busy)?.rounds(figure.n, cpus);
    Some(PanelPoint {
        cpus,
        paper_nanos: published(figure, cpus, arm).map(|published| published.mean_nanos),
        model_nanos: rounds as f64 * busy,
        bound_nanos: rounds_bound(figure.n, cpus) as f64 * busy,
        ideal_nanos: figure.n as f64 * alone / cpus as f64,
    })
}

/// How an arm hands out items of this time. Queries cut contiguous equal shares, which is the bound.
fn policy(arm: &str, item_nanos: f64) -> Option<Policy> {
    match arm {
        OURS => Some(Policy::ours(item_nanos)),
        "for" | "for_each" => Some(Policy::DotNetFor),
        "ranges" => Some(Policy::DotNetRanges),
        "query, ordered" | "query, unordered" => Some(Policy::OneByOne),
        _ => None,
    }
}

fn published_item_nanos(figure: &Figure, cpus: usize) -> Option<f64> {
    let sequential = published(figure, cpus, SEQUENTIAL)?;
    Some(sequential.mean_nanos / sequential.n as f64)
}

/// The figure of another arm, or on another number of CPUs.
fn published(figure: &Figure, cpus: usize, arm: &str) -> Option<&'static Figure> {
    cloud_figures(&figure.experiment)
        .find(|other| other.cpus == cpus && other.case == figure.case && other.arm == arm)
}

fn cloud_figures(experiment_id: &str) -> impl Iterator<Item = &'static Figure> {
    figures().iter().filter(move |figure| {
        ["E7", "E8", "E9"].contains(&figure.experiment.as_str())
            && figure.experiment.eq_ignore_ascii_case(experiment_id)
    })
}

/// The published numbers of CPUs.
const CPUS: [usize; 8] = [2, 4, 8, 16, 32, 64, 96, 192];
const SEQUENTIAL: &str = "sequential";
/// Stands for the library's own loop among the arms of a panel.
pub const OURS: &str = "ours";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowdown_is_that_of_the_heaviest_items() {
        let rounded = ["E9", "E8", "e7"].map(|id| (slowdown(id).unwrap() * 1e3).round());
        assert_eq!(rounded, [1_108.0, 1_155.0, 1_155.0]);
        assert_eq!(slowdown("E1b"), None);
    }

    #[test]
    fn published_panels_have_a_point_for_every_figure() {
        let all = panels("E9", ItemTime::Published);
        assert_eq!(all.len(), 4 * 6);
        for panel in all {
            let cpus: Vec<_> = panel.points.iter().map(|point| point.cpus).collect();
            assert_eq!(cpus, CPUS);
            let has_paper = panel.points.iter().all(|point| point.paper_nanos.is_some());
            assert_eq!(has_paper, panel.arm != OURS);
        }
        assert!(panels("E1b", ItemTime::Published).is_empty());
    }

    #[test]
    fn the_model_lies_between_the_bound_and_the_paper_where_parallel_for_loses() {
        let all = panels("E9", ItemTime::Published);
        let cost_10 = |arm| {
            let mut panels = all.iter();
            let found = panels.find(|panel| panel.case == "BCrypt cost 10" && panel.arm == arm);
            found.unwrap().points.clone()
        };
        for (plain, ours) in cost_10("for").into_iter().zip(cost_10(OURS)) {
            assert!(plain.ideal_nanos < plain.bound_nanos);
            assert!(ours.model_nanos <= 1.1 * ours.bound_nanos);
            if plain.cpus == 64 || plain.cpus == 96 {
                assert!(plain.model_nanos > 1.4 * plain.bound_nanos);
                let paper = plain.paper_nanos.unwrap();
                assert!((paper / plain.model_nanos - 1.0).abs() < 0.1, "{plain:?}");
            }
        }
    }
}
