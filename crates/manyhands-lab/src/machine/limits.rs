//! What of the machine this process may use: its affinity mask and its control groups' quota.

use super::files::Files;
use serde::{Deserialize, Serialize};

/// Limits set from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// CPUs in the affinity mask.
    pub affinity: Option<usize>,
    /// The tightest quota of the control groups around this process; `None` if it sees none.
    pub quota: Option<Quota>,
}

/// CPU time per period; a process that has used it up is stopped until the next period, which adds noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Time granted, all CPUs together.
    pub micros: u64,
    /// Per this much wall time.
    pub period_micros: u64,
}

impl Limits {
    pub(super) fn read(files: &impl Files, affinity: Option<usize>) -> Self {
        Self {
            affinity,
            quota: tightest_quota(files),
        }
    }

    pub(super) fn line(&self) -> Option<String> {
        let affinity = self
            .affinity
            .map(|cpus| format!("{cpus} in the affinity mask"));
        let quota = self
            .quota
            .map(|quota| format!("quota of {:.2} CPUs", quota.cpus()));
        super::join([affinity, quota])
    }
}

impl Quota {
    /// The quota as a number of CPUs.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.micros as f64 / self.period_micros as f64
    }
}

/// A parent's quota binds its children, so every group up to the root counts. Inside a container
/// the upper groups, or the whole path, may not be visible.
fn tightest_quota(files: &impl Files) -> Option<Quota> {
    let groups = files.text("/proc/self/cgroup")?;
    let quotas = groups.lines().flat_map(|line| quotas_of(files, line));
    quotas.min_by(|left, right| left.cpus().total_cmp(&right.cpus()))
}

/// A line is `number:controllers:path`; version 2 has no controllers in it.
fn quotas_of(files: &impl Files, line: &str) -> Vec<Quota> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let at = |root: &str, read: &dyn Fn(&str) -> Option<Quota>| -> Vec<Quota> {
        let group = |path: &str| read(&format!("{root}{path}"));
        ancestors(path).filter_map(group).collect()
    };
    if controllers.is_empty() {
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .iter()
            .flat_map(|root| {
                at(root, &|group| {
                    version_2(&files.text(&format!("{group}/cpu.max"))?)
                })
            })
            .collect()
    } else if controllers.split(',').any(|name| name == "cpu") {
        let version_1 = |group: &str| {
            quota(
                files.number(&format!("{group}/cpu.cfs_quota_us"))?,
                files.number(&format!("{group}/cpu.cfs_period_us"))?,
            )
        };
        at(&format!("/sys/fs/cgroup/{controllers}"), &version_1)
    } else {
        Vec::new()
    }
}

/// `/a/b`, `/a` and the root, which is empty. A path that leads out of what is visible has only the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let path = if path.contains("..") {
        ""
    } else {
        path.trim_end_matches('/')
    };
    let cuts = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    let own = (!path.is_empty()).then_some(path);
    own.into_iter()
        .chain(cuts)
        .chain(path.is_empty().then_some(""))
}

/// `max 100000` or `150000 100000`.
fn version_2(text: &str) -> Option<Quota> {
    let (micros, period) = text.split_once(' ')?;
    quota(micros.parse().ok()?, period.parse().ok()?)
}

/// Negative means no quota in version 1.
fn quota(micros: i64, period_micros: i64) -> Option<Quota> {
    let positive = |number| u64::try_from(number).ok().filter(|number| *number > 0);
    Some(Quota {
        micros: positive(micros)?,
        period_micros: positive(period_micros)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::files::recorded::Recorded;

    fn cpus(files: &str) -> Option<f64> {
        tightest_quota(&Recorded(files)).map(|quota| quota.cpus())
    }

    #[test]
    fn the_tightest_group_of_version_2_wins() {
        let files = "
/proc/self/cgroup 0::/user/work
/sys/fs/cgroup/user/work/cpu.max max 100000
/sys/fs/cgroup/user/cpu.max 150000 100000
/sys/fs/cgroup/cpu.max 400000 100000
";
        assert_eq!(cpus(files), Some(1.5));
        let limits = Limits::read(&Recorded(files), Some(4));
        let line = limits.line().unwrap();
        assert_eq!(line, "4 in the affinity mask, quota of 1.50 CPUs");
    }

    #[test]
    fn version_1_is_found_also_where_the_path_is_the_hosts() {
        let files = "
/proc/self/cgroup 4:memory:/x
3:cpu,cpuacct:/docker/abc
0::/
/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us 50000
/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us 100000
";
        assert_eq!(cpus(files), Some(0.5));
    }

    #[test]
    fn no_quota_and_malformed_quotas_are_none() {
        let malformed = ["0 100000", "100000 0", "100000", "x y", "-5 10"];
        for text in malformed.into_iter().chain(["max 100000"]) {
            let files = format!("\n/proc/self/cgroup 0::/\n/sys/fs/cgroup/cpu.max {text}");
            assert_eq!(cpus(&files), None, "{text:?}");
        }
        let version_1 = "
/proc/self/cgroup 1:cpu:/
/sys/fs/cgroup/cpu/cpu.cfs_quota_us -1
/sys/fs/cgroup/cpu/cpu.cfs_period_us 100000
";
        assert_eq!(cpus(version_1), None);
        assert_eq!(cpus("\n/proc/self/cgroup nonsense"), None);
        assert_eq!(cpus(""), None);
    }

    #[test]
    fn ancestors_go_up_to_the_root() {
        let all = |path| ancestors(path).collect::<Vec<_>>();
        assert_eq!(all("/a/b"), ["/a/b", "/a", ""]);
        assert_eq!(all("/"), [""]);
        assert_eq!(all("/../.."), [""]);
    }
}
