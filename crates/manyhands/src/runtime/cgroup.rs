//! The cgroups of this process: its own and those above it, whose limits hold for it, too.
//!
//! Not here: the limits on processors (`topology.rs`) and on memory (`monitor/memory.rs`).

use std::iter;
use std::path::{Path, PathBuf};

/// By which of the kernel's two interfaces a group has its limits: they have other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// Reads a file.
pub(crate) type ReadFile<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The groups that `controller` may limit, each one before that above it.
pub(crate) fn groups(read: &ReadFile<'_>, controller: &str) -> Vec<(Version, PathBuf)> {
    let upwards = |line: &str| {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let [hierarchy, controllers, path] = fields[..] else {
            return None;
        };
        let (version, mount) = if hierarchy == "0" && controllers.is_empty() {
            (Version::Two, PathBuf::from(MOUNT))
        } else if controllers.split(',').any(|name| name == controller) {
            (Version::One, Path::new(MOUNT).join(controller))
        } else {
            return None;
        };
        let own = mount.join(path.trim_start_matches('/'));
        let groups = iter::successors(Some(own), |group| group.parent().map(Path::to_owned))
            .take_while(move |group| group.starts_with(&mount));
        Some(groups.map(move |group| (version, group)))
    };
    let membership = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    membership.lines().filter_map(upwards).flatten().collect()
}

const MOUNT: &str = "/sys/fs/cgroup";
