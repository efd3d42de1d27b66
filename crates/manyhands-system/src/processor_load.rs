//! How busy the machine's processors are, with all its programs, as far as the system reports it.

use crate::files;
use std::path::Path;
use std::sync::OnceLock;

/// Whether a thread that became runnable now would find no free processor besides the calling one. False
/// if the system does not report it.
pub fn all_are_taken() -> bool {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    // Once it is known: a file that cannot be read now may be later.
    let known = PROCESSORS.get().copied();
    let count = known.or_else(|| {
        // Not where a file of that name says something else.
        let stat = files::read(Path::new("/proc/stat")).filter(|_| cfg!(target_os = "linux"));
        let count = processors(&stat?)?;
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

#[cfg(test)]
mod tests {
    use super::{processors, runnable};

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
}
