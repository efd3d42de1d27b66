//! How many rounds a loop takes on how many workers: a model of policies for handing out items.
//!
//! `items` items of equal time are handed out to `workers` workers that all begin at once. The time
//! of one item is a round. What is left out: the cost of handing out, waking, uneven items, and workers
//! drifting apart, which lets them share a tail that the model gives to one of them.
//!
//! On a machine with few CPUs this is what there is to say about one with many.

mod panel;
mod policy;
mod ranges;

pub use panel::{ItemTime, OURS, Panel, PanelPoint, panels, rounds_measured, slowdown};
pub use policy::Policy;

/// The rounds that no policy can do without: the busiest worker's share of equal items.
///
/// # Panics
/// If there are no workers.
///
/// # Examples
/// ```
/// use manyhands_lab::model::{Policy, rounds_bound};
///
/// assert_eq!(rounds_bound(300, 64), 5);
/// assert_eq!(Policy::DotNetFor.rounds(300, 64), 8);
/// ```
#[must_use]
pub fn rounds_bound(items: usize, workers: usize) -> usize {
    items.div_ceil(workers)
}
