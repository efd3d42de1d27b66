//! Opening the files that a program says it has loaded. It may say what it wants.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Which of the files that a program names may be opened.
#[derive(Debug)]
pub(super) enum Allowed {
    All,
    /// Those that the system says it has loaded: their owner is another user, who could name what that user must not read.
    Mapped(HashSet<String>),
}

impl Allowed {
    pub(super) fn of(foreign: Option<u32>) -> Self {
        let Some(process) = foreign else {
            return Self::All;
        };
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let path = |line: &str| Some(line[line.find('/')?..].to_owned());
        Self::Mapped(maps.lines().filter_map(path).collect())
    }

    /// Opens a file. Nothing but a regular one: opening others may wait, or be an order to a device. Of another user's program
    /// none that memory may have no room for, such as one that is nearly all holes.
    pub(super) fn open(&self, path: &str) -> Option<File> {
        let is_allowed = match self {
            Self::All => path.starts_with('/'),
            Self::Mapped(mapped) => mapped.contains(path),
        };
        let only_path = nix::fcntl::OFlag::O_PATH.bits();
        let place = || {
            OpenOptions::new()
                .read(true)
                .custom_flags(only_path)
                .open(path)
                .ok()
        };
        let place = is_allowed.then(place)??;
        // What was looked at is opened, whatever has been put there since.
        let known = place.metadata().ok()?;
        let has_room = matches!(self, Self::All) || known.len() <= FOREIGN_BYTES_MAX;
        let is_fit = known.is_file() && has_room;
        is_fit.then(|| File::open(path_of(&place)).ok())?
    }
}

/// A path that leads to this file as long as it is open.
pub(super) fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// More than programs have with all that debuggers want to know.
const FOREIGN_BYTES_MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::{Allowed, FOREIGN_BYTES_MAX};
    use nix::{sys::stat::Mode, unistd::mkfifo};

    #[test]
    fn pipes_and_devices_are_not_opened_and_of_others_only_what_they_have_loaded() {
        let folder = std::env::temp_dir().join(format!("manyhands-opening-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let program = std::env::current_exe().unwrap();
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let foreign = Some(std::process::id());
        for (path, own, others) in [
            (program.to_str().unwrap(), true, true),
            (manifest, true, false),
            // This would wait for who writes into it.
            (pipe.to_str().unwrap(), false, false),
            ("/dev/null", false, false),
            ("Cargo.toml", false, false),
            ("[vdso]", false, false),
        ] {
            assert_eq!(Allowed::of(None).open(path).is_some(), own, "{path}");
            assert_eq!(Allowed::of(foreign).open(path).is_some(), others, "{path}");
        }
        let holes = folder.join("holes");
        let file = std::fs::File::create(&holes).unwrap();
        let path = holes.to_str().unwrap();
        let mapped = Allowed::Mapped([path.to_owned()].into());
        for (length, others) in [(FOREIGN_BYTES_MAX, true), (FOREIGN_BYTES_MAX + 1, false)] {
            file.set_len(length).unwrap();
            assert_eq!(mapped.open(path).is_some(), others);
            assert!(Allowed::of(None).open(path).is_some(), "one's own");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
