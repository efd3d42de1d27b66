//! Files in which the system reports its state.

use std::path::Path;

/// The text of a file, if it can be read. Not under Miri, so that its runs do not depend on the machine.
pub(crate) fn read(path: &Path) -> Option<String> {
    if cfg!(miri) {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
