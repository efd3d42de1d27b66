//! What the system tells in files.

use std::path::Path;

/// The text of a file, if there is one that can be read. Miri has none: what it runs depends on no machine.
pub(crate) fn read(path: &Path) -> Option<String> {
    if cfg!(miri) {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
