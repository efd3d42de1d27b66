//! A lock on a file, held against other processes and other openings of the file until it is dropped.

use crate::FleetError;
use std::{
    fs::{File, TryLockError},
    path::Path,
};

#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Locks an opened file; `None` if it is locked already.
    pub(crate) fn try_of(file: File, path: &Path) -> Result<Option<Self>, FleetError> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FleetError::file("lock", path)(error)),
        }
    }
}

impl Drop for FileLock {
    /// Closing the file would unlock it too, but for a process that is just being started: it has a copy of the file
    /// until its program begins.
    fn drop(&mut self) {
        // If this fails, the lock ends with this process.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_when_it_is_dropped_also_if_a_child_has_a_copy_of_the_file() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let open = || File::options().write(true).open(&path).unwrap();
        let file = open();
        let copy = file.try_clone().unwrap();
        let held = FileLock::try_of(file, &path).unwrap().unwrap();
        assert!(FileLock::try_of(open(), &path).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_of(open(), &path).unwrap().is_some());
        drop(copy);
    }
}
