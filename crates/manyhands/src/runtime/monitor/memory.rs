//! Reads whether the cgroup of this process is nearly out of memory.
//!
//! Not here: what the monitor does then (`sweep.rs`).

use crate::runtime::cgroup::{self, ReadFile, Version};
use crate::runtime::policy::FULL_PERCENT;
use crate::sync::files;
use std::path::Path;

/// Whether the cgroup of this process, or one above it, is nearly full.
pub(crate) fn is_scarce() -> bool {
    is_scarce_by(&files::read)
}

fn is_scarce_by(read: &ReadFile<'_>) -> bool {
    let mut groups = cgroup::groups(read, "memory").into_iter();
    groups.any(|(version, group)| is_full(version, &group, read))
}

fn is_full(version: Version, group: &Path, read: &ReadFile<'_>) -> bool {
    // `memory.stat` names the pages of files, read once and read often, that the kernel drops for others, but counts as used.
    let (limit, usage, total) = match version {
        Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        Version::Two => ("memory.max", "memory.current", ""),
    };
    let number = |name: &str| read(&group.join(name))?.trim().parse::<u64>().ok();
    // Without a limit the text is not a number.
    let (Some(limit), Some(usage)) = (number(limit), number(usage)) else {
        return false;
    };
    let statistics = read(&group.join("memory.stat")).unwrap_or_default();
    let droppable = ["inactive_file", "active_file"]
        .map(|name| statistic(&statistics, &format!("{total}{name}")));
    let used = usage.saturating_sub(droppable.into_iter().flatten().sum());
    u128::from(used) * 100 >= u128::from(limit) * FULL_PERCENT
}

/// One line of `memory.stat`.
fn statistic(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::is_scarce_by;
    use std::collections::HashMap;
    use std::path::Path;

    #[track_caller]
    fn check(membership: &str, files: &[(&str, &str)], expected: bool) {
        let files: HashMap<&Path, &str> = files
            .iter()
            .chain([&("/proc/self/cgroup", membership)])
            .map(|&(path, text)| (Path::new(path), text))
            .collect();
        let read = |path: &Path| files.get(path).map(|&text| text.to_owned());
        assert_eq!(is_scarce_by(&read), expected);
    }

    #[test]
    fn a_group_is_full_at_four_fifths_of_its_limit() {
        let limit = ("/sys/fs/cgroup/a/memory.max", "1000\n");
        let usage = "/sys/fs/cgroup/a/memory.current";
        check("0::/a\n", &[limit, (usage, "799\n")], false);
        check("0::/a\n", &[limit, (usage, "800\n")], true);
    }

    #[test]
    fn a_full_group_above_counts_and_files_that_can_be_dropped_do_not() {
        let above = [
            ("/sys/fs/cgroup/a/memory.max", "1000"),
            ("/sys/fs/cgroup/a/memory.current", "900"),
            ("/sys/fs/cgroup/a/b/memory.max", "max"),
            ("/sys/fs/cgroup/a/b/memory.current", "1"),
        ];
        check("0::/a/b\n", &above, true);
        // Neither is enough alone.
        let statistics = "anon 700\ninactive_file_x 1\ninactive_file 100\nactive_file 50\n";
        let droppable = ("/sys/fs/cgroup/a/memory.stat", statistics);
        check("0::/a\n", &[above[0], above[1], droppable], false);
        let droppable = ("/sys/fs/cgroup/a/memory.stat", "inactive_file 100\n");
        check("0::/a\n", &[above[0], above[1], droppable], true);
    }

    #[test]
    fn the_first_version_s_names_count_too_and_nonsense_is_no_limit() {
        let files = [
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000"),
            ("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "950"),
        ];
        check("4:cpu:/y\n3:memory,hugetlb:/x\n", &files, true);
        let droppable = (
            "/sys/fs/cgroup/memory/x/memory.stat",
            "inactive_file 7\ntotal_inactive_file 80\ntotal_active_file 80\n",
        );
        check("3:memory:/x\n", &[files[0], files[1], droppable], false);
        check("4:cpu:/x\nnonsense\n0::/\n", &files, false);
        check("0::/a\n", &[("/sys/fs/cgroup/a/memory.max", "what")], false);
    }
}
