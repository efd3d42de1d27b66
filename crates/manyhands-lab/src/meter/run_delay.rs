//! How long threads of this process were ready to run and did not, from the `schedstat` file of each thread.
//!
//! Files are kept open. The file of a thread that has ended cannot be read any more; what it last
//! said is kept, so the sum never falls. The delay of a thread that starts and ends between two
//! readings is not seen, nor what an ending thread waited after its last reading.

use super::kept_file::{Buffer, KeptFile};
use std::{collections::BTreeMap, fs};

const FOLDER: &str = "/proc/self/task";

/// The sum over all threads, those that have ended included.
#[derive(Debug, Default)]
pub(super) struct RunDelay {
    threads: BTreeMap<u32, Thread>,
    ended_nanos: u64,
}

#[derive(Debug)]
struct Thread {
    file: KeptFile,
    nanos: u64,
}

impl RunDelay {
    /// Nanoseconds so far; `None` where the system does not count them.
    pub(super) fn read(&mut self) -> Option<u64> {
        let Self {
            threads,
            ended_nanos,
        } = self;
        // First the known ones: the number of a thread that has ended may be in use again.
        threads.retain(|_, thread| {
            let is_alive = thread.renew().is_some();
            if !is_alive {
                *ended_nanos += thread.nanos;
            }
            is_alive
        });
        for id in thread_ids() {
            if !threads.contains_key(&id)
                && let Some(thread) = Thread::find(id)
            {
                threads.insert(id, thread);
            }
        }
        let running: u64 = threads.values().map(|thread| thread.nanos).sum();
        (!threads.is_empty()).then_some(*ended_nanos + running)
    }
}

impl Thread {
    fn find(id: u32) -> Option<Self> {
        let file = KeptFile::open(&format!("{FOLDER}/{id}/schedstat"))?;
        let mut thread = Self { file, nanos: 0 };
        thread.renew()?;
        Some(thread)
    }

    fn renew(&mut self) -> Option<()> {
        let mut buffer: Buffer = [0; 256];
        self.nanos = delay_nanos(self.file.read(&mut buffer)?)?;
        Some(())
    }
}

fn thread_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Second of three numbers: time run, time ready, times run. A kernel that does not count writes three zeros.
fn delay_nanos(schedstat: &str) -> Option<u64> {
    let parsed: Result<Vec<u64>, _> = schedstat.split_whitespace().map(str::parse).collect();
    match *parsed.ok()? {
        [0, 0, 0] => None,
        [_, delay, _] => Some(delay),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Barrier, thread};

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(delay_nanos("578565 45468 2\n"), Some(45_468));
        assert_eq!(delay_nanos("578565 0 2\n"), Some(0));
    }

    #[test]
    fn malformed_and_uncounted_text_is_none() {
        for text in ["", "1 2", "1 2 3 4", "1 x 3", "1 -2 3", "0 0 0\n"] {
            assert_eq!(delay_nanos(text), None, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ended_threads_do_not_make_the_sum_fall() {
        const THREADS: usize = 8;
        let mut delay = RunDelay::default();
        let Some(start) = delay.read() else { return };
        // Twice: all have run, all may end. Nothing between may panic, or they would wait on.
        let gate = Barrier::new(THREADS + 1);
        let (during, known) = thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    gate.wait();
                    gate.wait();
                });
            }
            gate.wait();
            let during = delay.read();
            gate.wait();
            (during, delay.threads.len())
        });
        assert!(known > THREADS, "{known}");
        let during = during.expect("it could be read before");
        let after = delay.read().expect("it could be read before");
        assert!(start <= during && during <= after);
    }

    #[test]
    fn what_an_ended_thread_last_said_is_kept() {
        let gone = KeptFile::open("/dev/null").or_else(|| KeptFile::open("NUL"));
        let thread = Thread {
            file: gone.expect("the empty device is there on every system"),
            nanos: 1_000_000_000_000,
        };
        let mut delay = RunDelay::default();
        delay.threads.insert(u32::MAX, thread);
        if let Some(nanos) = delay.read() {
            assert!(nanos >= 1_000_000_000_000);
        }
        assert!(!delay.threads.contains_key(&u32::MAX));
        assert_eq!(delay.ended_nanos, 1_000_000_000_000);
    }
}
