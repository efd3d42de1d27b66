//! How busy the machine's processors are, with all its programs, as far as the system reports it.

use crate::sync::files;
use std::path::Path;
use std::sync::OnceLock;

/// Whether a thread that became runnable now would find no free processor besides the calling one. False
/// if the system does not report it.
pub(crate) fn all_are_taken() -> bool {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    // Once it is known: a file that cannot be read now may be later.
    let known = PROCESSORS.get().copied();
    let count = known.or_else(|| {
        let count = processors(&stat()?)?;
        Some(*PROCESSORS.get_or_init(|| count))
    });
    let runnable = files::read(Path::new("/proc/loadavg")).and_then(|text| runnable(&text));
    let both = runnable.zip(count);
    both.is_some_and(|(runnable, processors)| runnable > processors)
}

/// Threads of the whole machine that run or want to, from `/proc/loadavg`.
fn runnable(loadavg: &str) -> Option<usize> {
    let (runnable, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

/// Processors of the machine, including those that this process may not use: a line each after that of all.
fn processors(stat: &str) -> Option<usize> {
    let of_processors = stat.lines().take_while(|line| line.starts_with("cpu"));
    of_processors
        .count()
        .checked_sub(1)
        .filter(|&count| count > 0)
}

/// Not where a file of that name says something else.
fn stat() -> Option<String> {
    files::read(Path::new("/proc/stat")).filter(|_| cfg!(target_os = "linux"))
}

/// Ticks of all processors together since the system began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessorTicks {
    busy: u64,
    all: u64,
}

impl ProcessorTicks {
    /// The current counts. `None` if the system does not report them.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&stat()?)
    }

    /// Parses `/proc/stat`, whose first line is the sum of all processors.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        // User, nice, system, idle, waiting for a disk, two kinds of interrupts, stolen. The later columns are
        // contained in these.
        let words = line.split_whitespace().take(8);
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        let all = ticks.iter().sum::<u64>();
        Some(Self {
            busy: all.checked_sub(idle)?,
            all,
        })
    }

    /// Which part of the processors' time since `before` was used; 1 is all of it.
    pub(crate) fn load_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        self.busy.saturating_sub(before.busy) as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessorTicks, processors, runnable};

    #[test]
    fn what_runs_or_wants_to_is_read() {
        assert_eq!(runnable("6.54 13.71 10.65 4/124 26461\n"), Some(4));
        for text in ["", "1 2 3", "1 2 3 4", "1 2 3 x/4 5"] {
            assert_eq!(runnable(text), None);
        }
    }

    #[test]
    fn each_processor_has_a_line() {
        let stat = "cpu  9 0 5\ncpu0 4 0 2\ncpu1 5 0 3\nintr 1\ncpu";
        assert_eq!(processors(stat), Some(2));
        for text in ["cpu  9 0 5\n", ""] {
            assert_eq!(processors(text), None);
        }
    }

    #[test]
    fn the_load_is_what_was_not_idle() {
        let before = ProcessorTicks::parse("cpu  10 0 5 80 5 0 0 0 0 0\ncpu0 1 2 3 4").unwrap();
        let now = ProcessorTicks::parse("cpu  30 1 7 90 6 1 1 0 30 0\n").unwrap();
        assert!((now.load_since(before) - 25.0 / 36.0).abs() < 1e-9);
        assert!(now.load_since(now) < f64::EPSILON);
    }

    #[test]
    fn anything_else_is_not_understood() {
        for text in ["", "cpu", "cpu 1 2", "intr 1 2 3 4 5"] {
            assert_eq!(ProcessorTicks::parse(text), None);
        }
    }
}
