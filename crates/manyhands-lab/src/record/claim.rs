//! What was claimed of an experiment, in words and as conditions that measurements decide.

use serde::{Deserialize, Serialize};

/// A claim as data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClaimCard {
    /// The claim as a sentence.
    pub text: String,
    /// Its parts that can be decided here; it may have others.
    pub parts: Vec<ClaimPart>,
}

/// One part of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimPart {
    /// What it says, as a sentence.
    pub says: String,
    /// What decides it.
    pub test: ClaimTest,
    /// The fewest and the most CPUs that it is about; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<(usize, usize)>,
}

/// What decides a part of a claim. A condition about an arm is about all cases that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case")]
pub enum ClaimTest {
    /// The arm is faster than the baseline at every size between two.
    Faster {
        /// Arm.
        arm: String,
        /// Smallest size.
        from: usize,
        /// Largest size; `None` for all above the smallest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<usize>,
    },
    /// The time of one arm over that of another lies in a range, at every size between two.
    SpeedUp {
        /// The arm that may be faster.
        arm: String,
        /// The arm that it is compared with.
        over: String,
        /// Smallest size.
        from: usize,
        /// Largest size; `None` for all above the smallest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<usize>,
        /// Range of the speed-up.
        within: Range,
    },
    /// The geometric mean of the speed-ups over the baseline, at all sizes of all cases, lies in a range.
    MeanSpeedUp {
        /// Arm.
        arm: String,
        /// Range of the mean.
        within: Range,
    },
    /// The arm breaks even with the baseline between two sizes.
    BreakEven {
        /// Arm.
        arm: String,
        /// Range of the size.
        within: Range,
    },
    /// The arm breaks even with the baseline at no size.
    NeverFaster {
        /// Arm.
        arm: String,
    },
    /// The bytes that a call of one arm allocates, given back or not, over those of another lie in a range, at the
    /// largest size.
    Allocated {
        /// Arm.
        arm: String,
        /// The arm that it is compared with.
        over: String,
        /// Range of the ratio.
        within: Range,
    },
    /// The peak memory of one arm over that of another lies in a range: all readings of it, which are too few for an
    /// interval, at the largest size.
    Memory {
        /// Arm.
        arm: String,
        /// The arm that it is compared with.
        over: String,
        /// Range of the ratio.
        within: Range,
    },
    /// The time of an arm over its time on twice the CPUs lies in a range, for the most CPUs that were measured.
    Doubling {
        /// Arm.
        arm: String,
        /// Range of the speed-up.
        within: Range,
    },
    /// The baseline of one case takes less time than that of another, at the largest size both have.
    CaseFaster {
        /// The case that takes less.
        case: String,
        /// The case that takes more.
        than: String,
    },
}

/// From one number to another; open above without a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: Option<f64>,
}

impl Range {
    /// From one number to another.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::record::Range;
    /// assert!(Range::of(1.0, 2.0).contains(2.0));
    /// assert!(Range::from(1.0).contains(1e9));
    /// ```
    #[must_use]
    pub fn of(low: f64, high: f64) -> Self {
        let high = Some(high);
        Self { low, high }
    }

    /// From a number on.
    ///
    /// Example: see [`of`](Self::of).
    #[must_use]
    pub fn from(low: f64) -> Self {
        Self { low, high: None }
    }

    /// Whether a number lies in it.
    ///
    /// Example: see [`of`](Self::of).
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        value >= self.low && self.high.is_none_or(|high| value <= high)
    }
}

impl ClaimTest {
    /// See [`Faster`](Self::Faster); at every size from one on.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{Experiment, Scale, record::{ClaimTest, Range}};
    /// let experiment = Experiment::new("X", "Sums")
    ///     .claim("From 100 on the loop is faster, and ranges make no difference.")
    ///     .decided_by("from 100 on it is faster", ClaimTest::faster("for", 100))
    ///     .decided_by(
    ///         "ranges make no difference",
    ///         ClaimTest::speed_up("ranges", "for", 100, Range::of(0.9, 1.1)),
    ///     );
    /// let claim = experiment.card(Scale::Quick).claim.expect("it has one");
    /// assert_eq!(claim.parts.len(), 2);
    /// ```
    #[must_use]
    pub fn faster(arm: &str, from: usize) -> Self {
        let (arm, to) = (arm.to_owned(), None);
        Self::Faster { arm, from, to }
    }

    /// See [`Faster`](Self::Faster); at one size.
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn faster_at(arm: &str, n: usize) -> Self {
        let (arm, from, to) = (arm.to_owned(), n, Some(n));
        Self::Faster { arm, from, to }
    }

    /// See [`SpeedUp`](Self::SpeedUp).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn speed_up(arm: &str, over: &str, from: usize, within: Range) -> Self {
        Self::SpeedUp {
            arm: arm.to_owned(),
            over: over.to_owned(),
            from,
            to: None,
            within,
        }
    }

    /// See [`SpeedUp`](Self::SpeedUp); at every size up to one.
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn speed_up_to(arm: &str, over: &str, to: usize, within: Range) -> Self {
        Self::SpeedUp {
            arm: arm.to_owned(),
            over: over.to_owned(),
            from: 0,
            to: Some(to),
            within,
        }
    }

    /// See [`MeanSpeedUp`](Self::MeanSpeedUp).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn mean_speed_up(arm: &str, within: Range) -> Self {
        let arm = arm.to_owned();
        Self::MeanSpeedUp { arm, within }
    }

    /// See [`BreakEven`](Self::BreakEven).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn break_even(arm: &str, within: Range) -> Self {
        let arm = arm.to_owned();
        Self::BreakEven { arm, within }
    }

    /// See [`Allocated`](Self::Allocated).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn allocated(arm: &str, over: &str, within: Range) -> Self {
        let (arm, over) = (arm.to_owned(), over.to_owned());
        Self::Allocated { arm, over, within }
    }

    /// See [`Memory`](Self::Memory).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn memory(arm: &str, over: &str, within: Range) -> Self {
        let (arm, over) = (arm.to_owned(), over.to_owned());
        Self::Memory { arm, over, within }
    }

    /// See [`Doubling`](Self::Doubling).
    ///
    /// Example: see [`faster`](Self::faster).
    #[must_use]
    pub fn doubling(arm: &str, within: Range) -> Self {
        let arm = arm.to_owned();
        Self::Doubling { arm, within }
    }
}
