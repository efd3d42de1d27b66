//! A socket of this process for others of the same user: its place in the file system is a folder that only its user may enter.
//!
//! Not here: whose the other end is (`user.rs`), and what is said.

use crate::user::own_user;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
pub use std::os::unix::net::{UnixListener as Listener, UnixStream as Stream};
use std::path::{Path, PathBuf};

/// Where the socket of the process `process` is if nothing else was asked for.
pub fn default_path(process: u32) -> PathBuf {
    folder(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from))
        .join(format!("{process}.{EXTENSION}"))
}

fn folder(runtime_folder: Option<PathBuf>) -> PathBuf {
    match runtime_folder {
        Some(folder) if folder.is_absolute() => folder.join("manyhands"),
        _ => std::env::temp_dir().join(format!("manyhands-{}", own_user())),
    }
}

/// Makes the folder of `path`, or checks that it is a folder of this user's that no other may enter. Removes the
/// sockets of processes that have ended from it.
///
/// # Errors
/// If it is another folder, and those of the system.
pub fn prepare_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_folder(folder)?;
            remove_stale(folder);
            Ok(())
        }
        made => made,
    }
}

fn check_folder(folder: &Path) -> io::Result<()> {
    // Not followed: another user may have put a link there.
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == own_user() && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} must be a folder of this user that no other may enter",
            folder.display()
        ),
    ))
}

/// A socket that no process has is that of one that was killed, or ended without closing it.
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|found| found == EXTENSION) && is_stale(&path) {
            // If it is gone already, another process has done it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Asks with datagrams, which no socket here takes: of a stream this waits for room in the queue of its process, which may be
/// stopped, and takes one that is about to listen for one that nobody has.
fn is_stale(path: &Path) -> bool {
    UnixDatagram::unbound()
        .and_then(|probe| probe.connect(path))
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Listens at `path`, which only this user may open.
///
/// # Errors
/// Those of the system.
pub fn bind(path: &Path) -> io::Result<Listener> {
    let listener = Listener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

const EXTENSION: &str = "sock";

#[cfg(test)]
mod tests {
    use super::{bind, check_folder, default_path, folder, prepare_folder};
    use std::fs::{self, Permissions};
    use std::io::ErrorKind;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("manyhands-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn the_folder_is_the_user_s_own_and_relative_ones_are_not_trusted() {
        assert_eq!(
            folder(Some("/run/user/7".into())),
            PathBuf::from("/run/user/7/manyhands")
        );
        let by_user = folder(None);
        assert_eq!(folder(Some("here".into())), by_user);
        assert!(by_user.to_string_lossy().contains("manyhands-"));
        assert!(default_path(12).ends_with("12.sock"));
    }

    #[test]
    fn a_folder_that_others_may_enter_or_a_link_is_refused() {
        let folder = scratch("folder");
        prepare_folder(&folder.join("1.sock")).unwrap();
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        let refused = prepare_folder(&folder.join("1.sock")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let link = scratch("link");
        symlink(&folder, &link).unwrap();
        assert!(check_folder(&link).is_err());
        fs::remove_file(&link).unwrap();
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn only_the_user_may_open_the_socket_and_one_without_a_listener_is_removed() {
        let folder = scratch("sockets");
        let (stale, live) = (folder.join("1.sock"), folder.join("2.sock"));
        prepare_folder(&stale).unwrap();
        drop(bind(&stale).unwrap());
        let listener = bind(&live).unwrap();
        assert_eq!(
            fs::metadata(&live).unwrap().permissions().mode() & 0o777,
            0o600
        );
        prepare_folder(&live).unwrap();
        assert!(!stale.exists() && live.exists());
        drop(listener);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn other_processes_are_not_connected_to() {
        let folder = scratch("probed");
        let other = folder.join("2.sock");
        prepare_folder(&other).unwrap();
        let listener = bind(&other).unwrap();
        listener.set_nonblocking(true).unwrap();
        prepare_folder(&folder.join("1.sock")).unwrap();
        assert!(other.exists());
        // What is in its queue stays there while it is stopped, until the queue is full.
        let found = listener.accept().unwrap_err();
        assert_eq!(found.kind(), ErrorKind::WouldBlock);
        fs::remove_dir_all(&folder).unwrap();
    }
}
