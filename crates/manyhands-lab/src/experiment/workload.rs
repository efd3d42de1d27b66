//! A case as the runner sees it, whatever its arms do. Most cases are a [`Case`](super::Case);
//! one that needs more implements these traits itself.

use crate::record::{Scale, Throughput};

/// A case: named arms over sizes.
pub trait Workload {
    /// Name, unique in the experiment.
    fn name(&self) -> &str;

    /// Names of the arms; the first is the baseline.
    fn arms(&self) -> Vec<String>;

    /// Sizes to measure, ascending.
    fn sizes(&self, scale: Scale) -> Vec<usize>;

    /// What one unit of the size is, in the singular.
    fn unit(&self) -> &str {
        "item"
    }

    /// What is counted to say how much an arm does in a second; `None` to leave that out.
    fn throughput(&self) -> Option<Throughput> {
        None
    }

    /// Whether sizes between those of the scale are searched for the break-even.
    fn finds_break_even(&self) -> bool {
        false
    }

    /// How many CPUs its processes are pinned to; `None` for all there are.
    fn cpus(&self) -> Option<usize> {
        None
    }

    /// Makes room for the results of size `n`; the arms are not called yet.
    fn open(&self, n: usize) -> Box<dyn Trial + '_>;
}

/// A case at one size, ready to be timed.
pub trait Trial {
    /// Forgets the results of earlier calls. Not timed.
    fn reset(&mut self);

    /// The most calls of this arm that [`prepare`](Self::prepare) is asked for at a time.
    fn calls_max(&self, _arm: usize) -> u32 {
        u32::MAX
    }

    /// Makes what the next `times` calls of this arm take in. Not timed.
    fn prepare(&mut self, _arm: usize, _times: u32) {}

    /// Calls one arm `times` times. This is what is timed.
    fn call(&mut self, arm: usize, times: u32);

    /// Checksum of the results of the last call. Not timed.
    fn checksum(&self) -> u64;

    /// Calls one arm once, and gives the checksum of its results. Not timed.
    fn called(&mut self, arm: usize) -> u64 {
        self.reset();
        self.prepare(arm, 1);
        self.call(arm, 1);
        self.checksum()
    }
}
