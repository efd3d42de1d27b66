//! How many threads this process has, over time, watched from within.

use crate::{clock::Stopwatch, record::ThreadCourse};
use std::{
    fs,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

/// A good length of a step: threads that live for a shorter time are missed.
pub(crate) const THREAD_STEP: Duration = Duration::from_millis(2);

/// A running watch over this process's threads.
///
/// # Cost
/// A thread of its own, which is not counted; it reads one folder per step.
#[derive(Debug)]
pub(crate) struct ThreadSampler {
    stop: Sender<()>,
    thread: JoinHandle<ThreadCourse>,
}

impl ThreadSampler {
    /// Watches, in steps of this length, until it is stopped or dropped. `None` where the system
    /// does not tell, or gives no thread.
    pub(crate) fn start(step: Duration) -> Option<Self> {
        threads()?;
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("thread-sampler".to_owned())
            .spawn(move || sample(step, &stopped))
            .ok()?;
        Some(Self { stop, thread })
    }

    /// Ends the watch.
    ///
    /// # Panics
    /// If the watching thread did, which is a bug.
    pub(crate) fn stop(self) -> ThreadCourse {
        drop(self.stop);
        self.thread.join().expect("sampling does not panic")
    }
}

fn sample(step: Duration, stopped: &Receiver<()>) -> ThreadCourse {
    let watch = Stopwatch::start();
    let mut course = Course::new(step);
    loop {
        // This thread is none of those that are watched.
        course.add(threads().unwrap_or(1).saturating_sub(1));
        let wait = course.next().saturating_sub(watch.elapsed());
        if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            course.add(threads().unwrap_or(1).saturating_sub(1));
            return course.finish();
        }
    }
}

fn threads() -> Option<u32> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    u32::try_from(entries.count()).ok()
}

/// Counts at equal steps, which double when there are too many.
struct Course {
    step: Duration,
    counts: Vec<u32>,
}

impl Course {
    fn new(step: Duration) -> Self {
        let counts = Vec::new();
        Self { step, counts }
    }

    fn add(&mut self, count: u32) {
        self.counts.push(count);
        if self.counts.len() == COUNTS_MAX {
            // Of each two the larger, so that no peak is lost.
            let pairs = self.counts.chunks(2);
            self.counts = pairs
                .filter_map(|pair| pair.iter().copied().max())
                .collect();
            self.step *= 2;
        }
    }

    /// When the next count is due, from the start.
    fn next(&self) -> Duration {
        let steps = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        self.step.saturating_mul(steps)
    }

    fn finish(self) -> ThreadCourse {
        ThreadCourse {
            step_millis: self.step.as_secs_f64() * 1e3,
            counts: self.counts,
        }
    }
}

/// A course has fewer counts than this.
const COUNTS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_keeps_its_peak_and_its_length() {
        let mut course = Course::new(Duration::from_millis(2));
        for count in 0..COUNTS_MAX {
            course.add(if count == 100 { 99 } else { 3 });
        }
        assert_eq!(course.next(), Duration::from_millis(4) * 256);
        let course = course.finish();
        assert_eq!((course.step_millis, course.counts.len()), (4.0, 256));
        assert_eq!(course.counts.iter().max(), Some(&99));
        assert_eq!(course.counts[50], 99);
    }

    #[test]
    fn threads_that_live_are_counted() {
        let Some(sampler) = ThreadSampler::start(THREAD_STEP) else {
            return;
        };
        let (ends, until) = mpsc::channel::<()>();
        let alive = thread::spawn(move || until.recv());
        let course = sampler.stop();
        drop(ends);
        assert!(alive.join().is_ok());
        // The test's thread, and the one that waits.
        assert!(course.counts.last() >= Some(&2), "{course:?}");
    }
}
