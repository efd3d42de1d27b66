//! Where programs listen.

use crate::error::Error;
use nix::errno::Errno;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a program listens, by the number of its process, if it was not given another path.
#[must_use]
pub fn default_path(process: u32) -> PathBuf {
    folder().join(format!("{process}.{EXTENSION}"))
}

/// Where the only program of this user listens that was not given another path.
///
/// # Errors
/// When there is none, and when there are several.
pub fn only_path() -> Result<PathBuf, Error> {
    let folder = folder();
    check_folder(&folder)?;
    only_in(&folder)
}

/// Whether programs that listen at the path can be those of this user: of the folder where they listen that were given no other
/// path, that nobody else may enter it. Another user may have made it first.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    let folder = folder();
    match path.parent() == Some(&folder) {
        true => check_folder(&folder),
        false => Ok(()),
    }
}

fn check_folder(folder: &Path) -> Result<(), Error> {
    // Not followed: another user may have put a link there.
    let found = match std::fs::symlink_metadata(folder) {
        // What is there a moment later was not checked.
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::NotOne(Vec::new())),
        found => found?,
    };
    let own = nix::unistd::geteuid().as_raw();
    if found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let folder = folder.display();
    let reason = format!("{folder} must be a folder of this user that no other may enter");
    Err(Error::NotTrusted(reason))
}

/// The process at the other end, if it is another user's. Only root may look at those.
#[cfg(target_os = "linux")]
pub(crate) fn foreign_process(stream: &UnixStream) -> Result<Option<u32>, Error> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    let peer = getsockopt(stream, PeerCredentials).map_err(io::Error::from)?;
    let own = nix::unistd::geteuid();
    match peer.uid() {
        user if user == own.as_raw() => Ok(None),
        _ if own.is_root() => Ok(Some(peer.pid().unsigned_abs())),
        user => {
            let reason = format!("it is a process of the user with the number {user}");
            Err(Error::NotTrusted(reason))
        }
    }
}

/// Elsewhere nobody sees who is at the other end.
#[cfg(not(target_os = "linux"))]
pub(crate) fn foreign_process(_: &UnixStream) -> Result<Option<u32>, Error> {
    Ok(None)
}

fn only_in(folder: &Path) -> Result<PathBuf, Error> {
    // A folder that cannot be read is one without programs.
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut listening: Vec<(u32, PathBuf)> = paths
        .filter_map(|path| Some((process_of(&path)?, path)))
        .filter(|(_, path)| is_listening(path))
        .collect();
    listening.sort_unstable();
    match <[_; 1]>::try_from(listening) {
        Ok([(_, path)]) => Ok(path),
        Err(others) => {
            let processes = others.into_iter().map(|(process, _)| process);
            Err(Error::NotOne(processes.collect()))
        }
    }
}

/// Asks with datagrams, which such a socket does not take: of a stream this would wait while its process is stopped and its queue
/// full.
fn is_listening(path: &Path) -> bool {
    let refused = UnixDatagram::unbound().and_then(|probe| probe.connect(path));
    refused.is_err_and(|error| error.raw_os_error() == Some(Errno::EPROTOTYPE as i32))
}

/// A connection to what listens at the path, if that has room for it within this time.
pub(crate) fn connect(path: &Path, limit: Duration) -> Result<UnixStream, Error> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(limit))?;
    let address = SockAddr::unix(path);
    let connected = address.and_then(|address| socket.connect(&address));
    connected.map_err(|cause| match cause.kind() {
        ErrorKind::WouldBlock => {
            let words = "it takes no connections: perhaps it is stopped";
            Error::Connection(io::Error::new(ErrorKind::TimedOut, words))
        }
        _ => Error::NotListening {
            path: path.to_owned(),
            cause,
        },
    })?;
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

fn process_of(path: &Path) -> Option<u32> {
    let is_socket = path.extension()? == EXTENSION;
    let number = path.file_stem()?.to_str()?.parse().ok()?;
    is_socket.then_some(number)
}

fn folder() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match folder {
        Some(folder) if folder.is_absolute() => folder.join("manyhands"),
        _ => std::env::temp_dir().join(format!("manyhands-{}", nix::unistd::geteuid())),
    }
}

const EXTENSION: &str = "sock";

#[cfg(test)]
mod tests {
    use super::{check_folder, connect, only_in};
    use crate::error::Error;
    use socket2::{Domain, SockAddr, Socket, Type};
    use std::fs::{self, Permissions};
    use std::io::ErrorKind;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    #[test]
    fn a_folder_that_others_may_enter_or_a_link_is_not_trusted() {
        let folder = std::env::temp_dir().join(format!("manyhands-trust-{}", std::process::id()));
        let none = check_folder(&folder);
        assert!(matches!(none, Err(Error::NotOne(_))), "{none:?}");
        fs::create_dir_all(&folder).unwrap();
        let link = folder.join("link");
        symlink(&folder, &link).unwrap();
        for (mode, is_trusted) in [(0o700, true), (0o755, false), (0o720, false)] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_folder(&folder).is_ok(), is_trusted, "{mode:o}");
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let refused = check_folder(&link);
        assert!(matches!(refused, Err(Error::NotTrusted(_))), "{refused:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_named() {
        let path = std::env::temp_dir().join("x".repeat(200));
        let error = connect(&path, Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("xxx"), "{error}");
    }

    #[test]
    fn a_program_that_takes_no_connections_is_not_waited_for_without_an_end() {
        let path = std::env::temp_dir().join(format!("manyhands-full-{}", std::process::id()));
        let full = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        full.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        full.listen(0).unwrap();
        let limit = Duration::from_millis(50);
        let most = 10;
        let connections: Vec<_> = (0..most).map(|_| connect(&path, limit)).collect();
        fs::remove_file(&path).unwrap();
        let last = connections.last().unwrap();
        assert!(matches!(last, Err(Error::Connection(_))), "{last:?}");
    }

    #[test]
    fn the_only_program_that_listens_is_found_and_none_or_several_are_said_so() {
        let name = format!("manyhands-place-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let none = only_in(&folder).unwrap_err().to_string();
        assert!(none.contains("MANYHANDS_INSPECT=1"), "{none}");
        fs::create_dir_all(&folder).unwrap();
        // A socket without a listener, and what is no socket of a process.
        drop(UnixListener::bind(folder.join("7.sock")).unwrap());
        let _named = UnixListener::bind(folder.join("other.sock")).unwrap();
        let first = folder.join("12.sock");
        let listening = UnixListener::bind(&first).unwrap();
        listening.set_nonblocking(true).unwrap();
        assert_eq!(only_in(&folder).unwrap(), first);
        let waits = listening.accept().unwrap_err();
        assert_eq!(waits.kind(), ErrorKind::WouldBlock, "it was connected to");
        let _second = UnixListener::bind(folder.join("9.sock")).unwrap();
        let several = only_in(&folder).unwrap_err().to_string();
        assert!(several.contains("9, 12"), "{several}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
