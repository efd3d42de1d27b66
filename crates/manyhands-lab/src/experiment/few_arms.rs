//! A case with fewer of its arms or at other sizes, for a run that has little time.

use super::{Trial, Workload};
use crate::record::Scale;

/// The first few arms of another case.
pub(super) struct FewArms {
    pub(super) case: Box<dyn Workload + Send + Sync>,
    pub(super) arms: usize,
    /// The scale whose sizes it has, if not that of the run.
    pub(super) sizes_of: Option<Scale>,
}

impl Workload for FewArms {
    fn name(&self) -> &str {
        self.case.name()
    }

    fn arms(&self) -> Vec<String> {
        let mut arms = self.case.arms();
        arms.truncate(self.arms);
        arms
    }

    fn sizes(&self, scale: Scale) -> Vec<usize> {
        self.case.sizes(self.sizes_of.unwrap_or(scale))
    }

    fn unit(&self) -> &str {
        self.case.unit()
    }

    fn finds_break_even(&self) -> bool {
        self.case.finds_break_even()
    }

    fn cpus(&self) -> Option<usize> {
        self.case.cpus()
    }

    fn open(&self, n: usize) -> Box<dyn Trial + '_> {
        self.case.open(n)
    }
}
