//! The machine an agent is on: its name, and the file that its agents lock in turn.

use super::spool::open_lock;
use crate::{FleetError, Name, file_lock::FileLock, wire};
use std::{
    env,
    path::{Path, PathBuf},
};

/// The name of this machine, if it can be an agent's; else `agent`.
///
/// # Examples
/// ```
/// let name = manyhands_fleet::agent::host_name();
/// assert!(!name.is_empty());
/// ```
#[must_use]
pub fn host_name() -> Name {
    #[cfg(unix)]
    let host = nix::unistd::gethostname().ok();
    #[cfg(not(unix))]
    let host = env::var_os("COMPUTERNAME");
    let host = host.and_then(|host| host.to_str()?.parse().ok());
    host.unwrap_or_else(|| wire::made("agent".to_owned()))
}

/// The file that agents of this user lock in turn. It is in a folder of the user's own that nobody else can write, which
/// is made if it is not there.
///
/// # Errors
/// [`FleetError::Arguments`] if the folder is somebody else's, or open to others; [`FleetError::File`] if it cannot be
/// made.
///
/// # Examples
/// ```
/// let lock = manyhands_fleet::agent::default_host_lock()?;
/// assert!(lock.parent().is_some_and(|folder| folder.is_dir()));
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
pub fn default_host_lock() -> Result<PathBuf, FleetError> {
    let folder = run_folder();
    make_own(&folder, "--host-lock")?;
    Ok(folder.join(HOST_LOCK))
}

/// Takes the machine's lock; `None` if another agent has it.
pub(super) fn lock_host(path: &Path) -> Result<Option<FileLock>, FleetError> {
    FileLock::try_of(open_lock(path)?, path)
}

#[cfg(unix)]
fn run_folder() -> PathBuf {
    let user = nix::unistd::geteuid();
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match given {
        Some(folder) if folder.is_absolute() => folder.join("manyhands"),
        _ if user.is_root() => PathBuf::from("/run/manyhands"),
        _ => env::temp_dir().join(format!("manyhands-{user}")),
    }
}

#[cfg(not(unix))]
fn run_folder() -> PathBuf {
    env::temp_dir().join("manyhands")
}

/// Makes a folder for this user alone, or checks that it is one: in a folder that all may write, another user may have
/// made it. The option names another one.
#[cfg(unix)]
pub(super) fn make_own(folder: &Path, option: &str) -> Result<(), FleetError> {
    use std::{
        fs::{self, DirBuilder},
        io::ErrorKind,
        os::unix::fs::{DirBuilderExt, MetadataExt},
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(FleetError::file("create", folder)(error));
        }
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(FleetError::file("look at", folder))?;
    let is_own = found.uid() == nix::unistd::geteuid().as_raw();
    if found.is_dir() && is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(FleetError::Arguments {
        reason: format!(
            "others can write '{}', so they could stop this agent; name another place with {option}",
            folder.display()
        ),
    })
}

#[cfg(not(unix))]
pub(super) fn make_own(folder: &Path, _: &str) -> Result<(), FleetError> {
    std::fs::create_dir_all(folder).map_err(FleetError::file("create", folder))
}

const HOST_LOCK: &str = "fleet-host.lock";

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[test]
    fn a_lock_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        for _ in 0..2 {
            make_own(&own, "--x").unwrap();
        }
        let lock = own.join("lock");
        let held = lock_host(&lock).unwrap();
        assert!(held.is_some() && lock_host(&lock).unwrap().is_none());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&own), mode(&lock)), (0o700, 0o600));
    }

    #[test]
    fn a_folder_that_others_can_write_or_have_made_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        symlink(folder.path(), &link).unwrap();
        for path in [open, link] {
            let refused = make_own(&path, "--x").unwrap_err();
            assert!(matches!(refused, FleetError::Arguments { .. }), "{refused}");
        }
    }
}
