//! Where programs listen.

use crate::error::Error;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

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
    only_in(&folder())
}

fn only_in(folder: &Path) -> Result<PathBuf, Error> {
    // A folder that cannot be read is one without programs.
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut listening: Vec<(u32, PathBuf)> = paths
        .filter_map(|path| Some((process_of(&path)?, path)))
        .filter(|(_, path)| UnixStream::connect(path).is_ok())
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
    use super::only_in;
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_only_program_that_listens_is_found_and_none_or_several_are_said_so() {
        let name = format!("manyhands-place-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let none = only_in(&folder).unwrap_err().to_string();
        assert!(none.contains("MANYHANDS_INSPECT=1"), "{none}");
        std::fs::create_dir_all(&folder).unwrap();
        // A socket without a listener, and what is no socket of a process.
        drop(UnixListener::bind(folder.join("7.sock")).unwrap());
        let _named = UnixListener::bind(folder.join("other.sock")).unwrap();
        let first = folder.join("12.sock");
        let _first = UnixListener::bind(&first).unwrap();
        assert_eq!(only_in(&folder).unwrap(), first);
        let _second = UnixListener::bind(folder.join("9.sock")).unwrap();
        let several = only_in(&folder).unwrap_err().to_string();
        assert!(several.contains("9, 12"), "{several}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
