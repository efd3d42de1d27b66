//! The CPU lines of `/proc/stat` as numbers. Only text comes in; reading is done elsewhere.

/// What one CPU, or all together, did since the system started, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Running anything: programs, the kernel, interrupts.
    pub(crate) busy: u64,
    /// Ready to run, but the hypervisor ran another machine.
    pub(crate) steal: u64,
    /// Nothing to do.
    pub(crate) idle: u64,
}

impl CpuTicks {
    pub(crate) fn all(self) -> u64 {
        self.busy + self.steal + self.idle
    }

    /// Idle time is known to run backwards at times, hence the saturation.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            steal: self.steal.saturating_sub(earlier.steal),
            idle: self.idle.saturating_sub(earlier.idle),
        }
    }

    /// Busy part of all time, 0 to 1; 0 where no tick was counted.
    pub(crate) fn busy_share(self) -> f64 {
        self.busy as f64 / self.all().max(1) as f64
    }
}

/// All CPUs together, from the first line. `None` if it is not complete, or if nothing was ever
/// counted: sandboxes serve such a file.
pub(crate) fn total(text: &str) -> Option<CpuTicks> {
    let (line, _) = text.split_once('\n')?;
    let ticks = numbers(line.strip_prefix("cpu ")?)?;
    (ticks.all() > 0).then_some(ticks)
}

/// Each CPU by itself, in the order of the lines.
pub(crate) fn cores(text: &str) -> Vec<CpuTicks> {
    let of_line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let digits = name.strip_prefix("cpu")?;
        digits.parse::<u32>().ok().and_then(|_| numbers(rest))
    };
    text.lines().filter_map(of_line).collect()
}

/// user nice system idle iowait irq softirq steal; guest time, which follows, is part of user. Old kernels write fewer numbers.
fn numbers(text: &str) -> Option<CpuTicks> {
    let parsed: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    let parsed = parsed.ok().filter(|numbers| numbers.len() >= 4)?;
    let at = |idx: usize| parsed.get(idx).copied().unwrap_or(0);
    Some(CpuTicks {
        busy: at(0) + at(1) + at(2) + at(5) + at(6),
        steal: at(7),
        idle: at(3) + at(4),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "\
cpu  944498 23855 187823 1182482 5425 0 603 1333 77 7
cpu0 463808 12084 87447 607428 1363 0 149 700 0 0
cpu1 480690 11771 100375 575054 4062 0 453 632 0 0
intr 34518836 0 0
ctxt 93195699
";

    #[test]
    fn the_first_line_is_the_total() {
        let expected = CpuTicks {
            busy: 944_498 + 23_855 + 187_823 + 603,
            steal: 1_333,
            idle: 1_182_482 + 5_425,
        };
        assert_eq!(total(RECORDED), Some(expected));
    }

    #[test]
    fn each_core_has_its_own_numbers() {
        let cores = cores(RECORDED);
        assert_eq!(cores.len(), 2);
        assert_eq!(cores[1].steal, 632);
        assert_eq!(cores[0].idle, 607_428 + 1_363);
    }

    #[test]
    fn old_kernels_write_fewer_numbers() {
        assert_eq!(total("cpu  1 2 3 4\n").map(CpuTicks::all), Some(10));
    }

    #[test]
    fn malformed_or_empty_counts_are_no_counts() {
        for text in [
            "",
            "cpu  1 2 3 4",
            "cpu  1 2 3\n",
            "cpu  1 2 x 4 5\n",
            "cpu  1 2 -3 4 5\n",
            "cpu  0 0 0 0 0 0 0 0 0 0\n",
            "cpus 1 2 3 4 5\n",
            "intr 1 2 3 4\n",
        ] {
            assert_eq!(total(text), None, "{text:?}");
        }
        assert!(cores("cpu 1 2 3 4\ncpux 1 2 3 4\ncpu0 1 2\nproc 1 2 3 4\n").is_empty());
    }

    #[test]
    fn shares_are_of_the_time_between_and_never_negative() {
        let earlier = CpuTicks {
            busy: 10,
            steal: 0,
            idle: 20,
        };
        let later = CpuTicks {
            busy: 13,
            steal: 1,
            idle: 19,
        };
        let between = later.since(earlier);
        assert_eq!(
            between,
            CpuTicks {
                busy: 3,
                steal: 1,
                idle: 0
            }
        );
        assert_eq!(between.busy_share(), 0.75);
        assert_eq!(CpuTicks::default().busy_share(), 0.0);
    }
}
