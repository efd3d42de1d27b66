//! The default number of workers: how many threads this process should run at once.
//!
//! That is the smaller of the affinity mask and the cgroup's CPU quota, rounded up; at least one.

use crate::runtime::cgroup::{self, ReadFile, Version};
use crate::sync::{allowed_cpus, files};
use std::path::PathBuf;

/// How many workers a runtime has by default.
pub(crate) fn default_workers() -> usize {
    let cpus = allowed_cpus().unwrap_or(1);
    quota(&files::read).unwrap_or(cpus).min(cpus).max(1)
}

/// The smallest quota of this process's cgroup and of those above it, in whole processors.
fn quota(read: &ReadFile<'_>) -> Option<usize> {
    let of_group = |(version, group): (Version, PathBuf)| {
        let text = |name: &str| read(&group.join(name));
        match version {
            // `max 100000` or `150000 100000`.
            Version::Two => processors(&text("cpu.max")?),
            // A quota of −1 means none.
            Version::One => {
                processors(&[text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?].join(" "))
            }
        }
    };
    let quotas = cgroup::groups(read, "cpu").into_iter().filter_map(of_group);
    quotas.min()
}

/// How many processors a quota and its period are, rounded up.
fn processors(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: usize = words.next()?.parse().ok()?;
    let period: usize = words.next()?.parse().ok()?;
    (quota > 0 && period > 0).then(|| quota.div_ceil(period))
}

#[cfg(test)]
mod tests {
    use super::{default_workers, quota};
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
    fn there_is_always_a_worker() {
        assert!(default_workers() >= 1);
    }
}
