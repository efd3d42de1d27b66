//! The answers a search for the break-even can end with.

use crate::stats::Estimate;
use serde::Serialize;

/// From which size on an arm pays.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The answer itself.
    pub kind: Kind,
    /// The cost model, if it was tried.
    pub fit: Option<Fit>,
    /// From where on it pays in practice.
    pub practical: Practical,
}

/// From which size on an arm gains a tenth or more for good: at this size and at each larger one that was decided it is
/// faster, with a median speed-up of 1.1 or more, and where a larger one was not decided, the interval lies above 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Practical {
    /// From this measured size on, or from below it: no smaller one stands against it.
    From(usize),
    /// From somewhere between these two measured sizes on: the first stands against it.
    Between(usize, usize),
    /// From no size that was decided.
    Nowhere,
}

/// The six kinds of answer, and the one that there are too few blocks for any.
///
/// All are about the verdicts of the measured sizes. A size that stayed undecided is no evidence for either side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Faster above, and not below. Below it is slower, unless it was decided slower nowhere.
    Between {
        /// Lower end.
        lower: f64,
        /// Upper end.
        upper: f64,
        /// Where the ends come from.
        source: Source,
    },
    /// Decided faster at the smallest size, and at none decided not to be: the crossing lies below all of them.
    AlwaysFrom {
        /// Smallest size measured.
        smallest: usize,
    },
    /// Faster at no size: the intervals of all exclude it.
    NeverUpTo {
        /// Largest size with blocks enough.
        largest: usize,
        /// Upper end of the interval of the speed-up there.
        speed_up_at_most: f64,
    },
    /// Decided faster at no size, and the interval of some size does not exclude it.
    NotDecided {
        /// Largest such size.
        largest: usize,
        /// The speed-up there.
        speed_up: Estimate,
    },
    /// Neither arm is faster by as much as this anywhere.
    NoDifference {
        /// Smallest effect worth deciding.
        effect: f64,
    },
    /// The sides change more than once.
    Several {
        /// Neighbouring decided sizes with opposite sides.
        crossings: Vec<(usize, usize)>,
        /// Smallest size from which on it was decided faster at every size, if there is one.
        settled_from: Option<usize>,
    },
    /// Too few blocks to decide anything.
    TooFewBlocks,
}

/// Where a break-even's two ends come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Source {
    /// The interval of the fitted cost model.
    #[serde(rename = "model")]
    Fit,
    /// Two measured sizes, the upper one decided faster and the lower one decided slower: always valid, also where the
    /// curve has steps. Where no size was decided slower, the lower one is the largest at which no difference was found, or
    /// else the largest that was not decided faster.
    #[serde(rename = "measured_sizes")]
    Bracket,
}

/// Time of the arm over time of the baseline as c + d / n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// Limit for large n; its inverse is the speed-up there.
    pub c: f64,
    /// Fixed cost in units of the baseline's time for one item.
    pub d: f64,
    /// Fixed cost of the arm in nanoseconds.
    pub overhead_nanos: f64,
    /// Speed-up for large n.
    pub asymptotic_speed_up: f64,
    /// Where the two arms take equally long, with its interval; `None` if they never do.
    pub break_even: Option<Estimate>,
    /// Misfit of the model over the scatter of the blocks, like an F ratio.
    pub lack_of_fit: f64,
    /// Whether the misfit says that the curve has steps; then the fit is not the answer.
    pub has_steps: bool,
}
