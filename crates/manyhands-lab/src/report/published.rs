//! What stands beside the findings of a run, if somebody measured the same before.

use crate::{chart::Named, paper::Paper};
use std::collections::BTreeMap;

/// Published figures and charts of other things than what was measured. Empty for experiments of
/// one's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// Figures, by id of the experiment.
    pub papers: BTreeMap<String, Paper>,
    /// Further charts.
    pub charts: Vec<Named>,
}

impl Published {
    /// A run's own charts and then these.
    pub(super) fn beside(&self, mut own: Vec<Named>) -> Vec<Named> {
        own.extend(self.charts.iter().cloned());
        own
    }
}
