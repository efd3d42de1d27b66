//! Files in which the system reports its state.

use std::path::Path;

/// The text of a file, if it can be read. Not under Miri and the controlled scheduler, so that their runs do not depend on
/// the machine.
pub(crate) fn read(path: &Path) -> Option<String> {
    if cfg!(any(miri, shuttle)) {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
