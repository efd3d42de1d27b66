//! What stands beside the findings of a run, if somebody measured the same before.

use crate::{chart::Named, paper::Paper};
use std::collections::BTreeMap;

/// Published figures and charts of other things than what was measured. Empty for experiments of one's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// Figures, by id of the experiment: of one machine and runtime, or of several.
    pub papers: BTreeMap<String, Vec<Paper>>,
    /// Further charts.
    pub charts: Vec<Named>,
}

impl Published {
    /// The figures of one experiment.
    #[must_use]
    pub fn papers_of(&self, experiment: &str) -> &[Paper] {
        self.papers.get(experiment).map_or(&[], Vec::as_slice)
    }

    /// A run's own charts and then these.
    pub(super) fn beside(&self, mut own: Vec<Named>) -> Vec<Named> {
        own.extend(self.charts.iter().cloned());
        own
    }
}
