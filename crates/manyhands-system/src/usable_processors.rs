//! How many threads this process should run at once, which is the default number of workers.
//!
//! That is the smaller of the affinity mask and the cgroup's CPU quota, rounded up; at least one. A quota of a group above that
//! of this process holds for it, too.

use crate::affinity::allowed_cpus;
use crate::files;
use std::iter;
use std::path::{Path, PathBuf};

/// The number of processors that this process may use at once, as far as the system says so, and at least one.
pub fn usable_processors() -> usize {
    let cpus = allowed_cpus().unwrap_or(1);
    quota(&files::read).unwrap_or(cpus).min(cpus).max(1)
}

/// Reads a file.
type ReadFile<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The smallest quota of this process's cgroups and of those above them, in whole processors.
fn quota(read: &ReadFile<'_>) -> Option<usize> {
    let of_groups = |line: &str| {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let [hierarchy, controllers, path] = fields[..] else {
            return None;
        };
        // The kernel's two interfaces have other files.
        let (mount, files): (PathBuf, &[&str]) = if hierarchy == "0" && controllers.is_empty() {
            // `max 100000` or `150000 100000`.
            (PathBuf::from(MOUNT), &["cpu.max"])
        } else if controllers.split(',').any(|name| name == "cpu") {
            // A quota of −1 means none.
            let files = &["cpu.cfs_quota_us", "cpu.cfs_period_us"];
            (Path::new(MOUNT).join("cpu"), files)
        } else {
            return None;
        };
        let own = mount.join(path.trim_start_matches('/'));
        let of_group = |group: &Path| {
            let texts = files.iter().map(|name| read(&group.join(name)));
            processors(&texts.collect::<Option<Vec<_>>>()?.join(" "))
        };
        iter::successors(Some(&*own), |group| group.parent())
            .take_while(|group| group.starts_with(&mount))
            .filter_map(of_group)
            .min()
    };
    let membership = read(Path::new("/proc/self/cgroup"))?;
    membership.lines().filter_map(of_groups).min()
}

/// How many processors a quota and its period are, rounded up.
fn processors(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: usize = words.next()?.parse().ok()?;
    let period: usize = words.next()?.parse().ok()?;
    (quota > 0 && period > 0).then(|| quota.div_ceil(period))
}

const MOUNT: &str = "/sys/fs/cgroup";

#[cfg(test)]
mod tests {
    use super::{quota, usable_processors};
    use std::collections::HashMap;
    use std::path::Path;

    fn check(membership: &str, files: &[(&str, &str)], expected: Option<usize>) {
        let files: HashMap<&Path, &str> = files
            .iter()
            .chain([&("/proc/self/cgroup", membership)])
            .map(|&(path, text)| (Path::new(path), text))
            .collect();
        let read = |path: &Path| files.get(path).map(|&text| text.to_owned());
        assert_eq!(quota(&read), expected, "{membership}");
    }

    #[test]
    fn the_smallest_quota_above_the_process_counts() {
        check(
            "0::/\n",
            &[("/sys/fs/cgroup/cpu.max", "max 100000\n")],
            None,
        );
        check(
            "0::/a\n",
            &[("/sys/fs/cgroup/a/cpu.max", "150000 100000\n")],
            Some(2),
        );
        check(
            "0::/a/b\n",
            &[
                ("/sys/fs/cgroup/a/b/cpu.max", "800000 100000"),
                ("/sys/fs/cgroup/a/cpu.max", "300000 100000"),
            ],
            Some(3),
        );
        check(
            "3:cpu,cpuacct:/x\n2:memory:/x\n",
            &[
                ("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000"),
                ("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000"),
            ],
            Some(1),
        );
        check(
            "3:cpu:/x\n",
            &[
                ("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1"),
                ("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000"),
            ],
            None,
        );
        check(
            "nonsense\n\n0::/a\n",
            &[("/sys/fs/cgroup/a/cpu.max", "what")],
            None,
        );
    }

    #[test]
    fn there_is_always_one() {
        assert!(usable_processors() >= 1);
    }
}
