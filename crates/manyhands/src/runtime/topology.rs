//! The default number of workers: how many threads this process should run at once.
//!
//! That is the smaller of the affinity mask and the cgroup's CPU quota, rounded up; at least one.

use crate::sync::{allowed_cpus, files};
use std::path::Path;

/// How many workers a runtime has by default.
pub(crate) fn default_workers() -> usize {
    let cpus = allowed_cpus().unwrap_or(1);
    quota_of_this_process()
        .map_or(cpus, |quota| quota.min(cpus))
        .max(1)
}

/// The quota of this process's cgroup and of those above it, in whole processors.
fn quota_of_this_process() -> Option<usize> {
    let membership = files::read(Path::new("/proc/self/cgroup"))?;
    quota(&membership, &files::read)
}

/// The smallest quota on the way from the group named in `membership` up to the root.
///
/// `membership` is the text of `/proc/self/cgroup`; `read` reads a file.
fn quota(membership: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let mut smallest: Option<f64> = None;
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(hierarchy), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let path = path.trim_start_matches('/');
        let found = if hierarchy == "0" && controllers.is_empty() {
            smallest_upwards(Path::new("/sys/fs/cgroup"), path, &|group| {
                parse_version_2(&read(&group.join("cpu.max"))?)
            })
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            smallest_upwards(Path::new("/sys/fs/cgroup/cpu"), path, &|group| {
                let quota = read(&group.join("cpu.cfs_quota_us"))?;
                let period = read(&group.join("cpu.cfs_period_us"))?;
                parse_version_1(&quota, &period)
            })
        } else {
            None
        };
        smallest = match (smallest, found) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    smallest.map(whole_processors)
}

/// The smallest answer of `quota_at` from `mount/path` up to `mount`.
fn smallest_upwards(
    mount: &Path,
    path: &str,
    quota_at: &dyn Fn(&Path) -> Option<f64>,
) -> Option<f64> {
    let mut smallest: Option<f64> = None;
    let mut group = mount.join(path);
    while group.starts_with(mount) {
        if let Some(quota) = quota_at(&group) {
            smallest = Some(smallest.map_or(quota, |before| before.min(quota)));
        }
        if !group.pop() {
            break;
        }
    }
    smallest
}

/// `max 100000` or `150000 100000`.
fn parse_version_2(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// A quota of −1 means none.
fn parse_version_1(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded up and small"
)]
fn whole_processors(quota: f64) -> usize {
    quota.ceil().clamp(1.0, 65_536.0) as usize
}

#[cfg(test)]
mod tests {
    use super::{default_workers, quota};
    use std::collections::HashMap;
    use std::path::Path;

    fn check(membership: &str, files: &[(&str, &str)], expected: Option<usize>) {
        let files: HashMap<&Path, &str> = files
            .iter()
            .map(|&(path, text)| (Path::new(path), text))
            .collect();
        let read = |path: &Path| files.get(path).map(|&text| text.to_owned());
        assert_eq!(quota(membership, &read), expected, "{membership}");
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
