//! Files in which the system reports its state.

use std::path::Path;

/// Where the code of this process lies, a line for each part of its memory; empty if the system does not report it.
pub fn memory_map() -> String {
    lossy(Path::new("/proc/self/maps"))
}

/// The text of a file, whatever its bytes; empty if it cannot be read.
pub(crate) fn lossy(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text of a file, if it can be read. Not under Miri and the controlled scheduler, so that their runs do not depend on
/// the machine.
pub(crate) fn read(path: &Path) -> Option<String> {
    if cfg!(any(miri, shuttle)) {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
