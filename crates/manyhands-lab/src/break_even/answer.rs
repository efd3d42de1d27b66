//! The answers a search for the break-even can end with.

use crate::stats::Estimate;

/// From which size on an arm pays.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The answer itself.
    pub kind: Kind,
    /// The cost model, if it was tried.
    pub fit: Option<Fit>,
    /// Neighbouring measured sizes between which the median speed-up passes 1.1 for good, if it
    /// does and the arm was decided faster anywhere: from there on it pays in practice.
    pub practical: Option<(usize, usize)>,
}

/// The five kinds of answer, and the one that says there is none yet.
///
/// Sizes with blocks too few to decide anything do not count as measured, and a size that stayed
/// undecided is no evidence for either side.
#[derive(Debug, Clone, PartialEq)]
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
    /// Decided faster at the smallest size, and not to be faster at none: the crossing lies below
    /// all of them.
    AlwaysFrom {
        /// Smallest size measured.
        smallest: usize,
    },
    /// Decided faster at no size.
    NeverUpTo {
        /// Largest size measured.
        largest: usize,
        /// Upper end of the interval of the speed-up there.
        speed_up_at_most: f64,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The interval of the fitted cost model.
    Fit,
    /// Two measured sizes, the upper one decided faster and the lower one decided slower: always
    /// valid, also where the curve has steps. Where no size was decided slower, the lower one is
    /// the largest below the upper one that was not decided faster.
    Bracket,
}

/// Time of the arm over time of the baseline as c + d / n.
#[derive(Debug, Clone, Copy, PartialEq)]
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
