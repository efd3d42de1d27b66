//! In the place of a drawing, where the laboratory was built without the feature `charts`.

use super::ChartSpec;
use crate::LabError;

/// Draws nothing.
///
/// # Errors
/// [`LabError::Chart`] always.
pub fn svg(_: &ChartSpec) -> Result<String, LabError> {
    Err(LabError::chart("this build draws none"))
}
