//! How busy each core is, over time, watched from outside: by the process that started the one
//! at work, so that watching does not disturb it from within.

use super::proc_stat::{self, CpuTicks};
use crate::{clock::Stopwatch, record::CoreTrace};
use std::{
    fs,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

/// A good length of a step: five ticks of the system's own accounting.
pub(crate) const CORE_STEP: Duration = Duration::from_millis(50);

/// An hour of steps; what comes after is not recorded.
const STEPS_MAX: usize = 72_000;

/// A running watch over all cores of the machine.
///
/// # Cost
/// One thread that reads one file per step, some 20 µs of CPU time.
#[derive(Debug)]
pub(crate) struct CoreSampler {
    stop: Sender<()>,
    thread: JoinHandle<CoreTrace>,
}

impl CoreSampler {
    /// Watches, in steps of this length, until it is stopped or dropped. `None` where the system
    /// does not tell what each core does, or gives no thread.
    ///
    /// # Panics
    /// If the step has no length.
    pub(crate) fn start(step: Duration) -> Option<Self> {
        assert!(!step.is_zero(), "a step of the core trace has a length");
        let watch = Stopwatch::start();
        let tracer = Tracer::new(step, &stat()?)?;
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("core-sampler".to_owned())
            .spawn(move || sample(tracer, watch, &stopped))
            .ok()?;
        Some(Self { stop, thread })
    }

    /// Ends the watch. A last step counts if at least half of it was seen.
    ///
    /// # Panics
    /// If the watching thread did, which is a bug.
    pub(crate) fn stop(self) -> CoreTrace {
        drop(self.stop);
        self.thread.join().expect("sampling does not panic")
    }
}

fn sample(mut tracer: Tracer, watch: Stopwatch, stopped: &Receiver<()>) -> CoreTrace {
    loop {
        let wait = tracer.next_step().saturating_sub(watch.elapsed());
        let signal = stopped.recv_timeout(wait);
        if let Some(text) = stat() {
            tracer.observe(watch.elapsed(), &text);
        }
        if signal != Err(RecvTimeoutError::Timeout) {
            return tracer.finish();
        }
    }
}

fn stat() -> Option<String> {
    fs::read_to_string("/proc/stat").ok()
}

/// Turns texts with their times into a trace; knows no clock.
#[derive(Debug)]
struct Tracer {
    step: Duration,
    /// Steps recorded so far, which is also the time of the last text.
    steps: usize,
    last: Vec<CpuTicks>,
    busy: Vec<Vec<f64>>,
}

impl Tracer {
    /// `None` if the text tells of no core.
    fn new(step: Duration, text: &str) -> Option<Self> {
        let last = proc_stat::cores(text);
        let busy = vec![Vec::new(); last.len()];
        (!last.is_empty()).then_some(Self {
            step,
            steps: 0,
            last,
            busy,
        })
    }

    /// When the step under way ends, from the start.
    fn next_step(&self) -> Duration {
        self.step.mul_f64((self.steps + 1) as f64)
    }

    /// Takes what the system said at this time from the start. A late call finds several
    /// steps to fill, and only their mean is known; an early one changes nothing.
    fn observe(&mut self, elapsed: Duration, text: &str) {
        let now = proc_stat::cores(text);
        let due = whole_steps(elapsed, self.step).min(STEPS_MAX);
        if due <= self.steps || now.len() != self.last.len() {
            return;
        }
        for ((busy, now), last) in self.busy.iter_mut().zip(&now).zip(&self.last) {
            busy.resize(due, now.since(*last).busy_share());
        }
        self.steps = due;
        self.last = now;
    }

    fn finish(self) -> CoreTrace {
        CoreTrace {
            step_millis: self.step.as_secs_f64() * 1e3,
            busy: self.busy,
        }
    }
}

/// Steps that fit, to the nearest.
fn whole_steps(elapsed: Duration, step: Duration) -> usize {
    let steps = (elapsed.as_nanos() + step.as_nanos() / 2) / step.as_nanos();
    usize::try_from(steps).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cores with these busy and idle ticks.
    fn text(first: (u64, u64), second: (u64, u64)) -> String {
        let line = |name, (busy, idle)| format!("cpu{name} {busy} 0 0 {idle} 0 0 0 0 0 0\n");
        format!(
            "cpu  9 9 9 9\n{}{}intr 1\n",
            line(0, first),
            line(1, second)
        )
    }

    fn traced(observed: &[(u64, String)]) -> CoreTrace {
        let mut tracer = Tracer::new(CORE_STEP, &text((0, 0), (0, 0))).unwrap();
        for (millis, text) in observed {
            tracer.observe(Duration::from_millis(*millis), text);
        }
        tracer.finish()
    }

    #[test]
    fn each_step_has_the_busy_share_of_each_core() {
        let trace = traced(&[(50, text((5, 0), (0, 5))), (101, text((6, 4), (5, 5)))]);
        assert_eq!(trace.step_millis, 50.0);
        assert_eq!(trace.busy, [[1.0, 0.2], [0.0, 1.0]]);
    }

    #[test]
    fn a_late_reading_fills_the_steps_it_missed_with_their_mean() {
        let trace = traced(&[(50, text((5, 0), (0, 5))), (200, text((5, 15), (15, 5)))]);
        assert_eq!(trace.busy, [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]);
    }

    #[test]
    fn less_than_half_a_step_at_the_end_is_dropped() {
        let first = (50, text((5, 0), (0, 5)));
        let last = text((7, 0), (0, 7));
        assert_eq!(traced(&[first.clone(), (74, last.clone())]).busy[0], [1.0]);
        assert_eq!(traced(&[first, (75, last)]).busy[0], [1.0, 1.0]);
    }

    #[test]
    fn unreadable_text_is_passed_over() {
        let later = (100, text((10, 0), (0, 10)));
        let trace = traced(&[(50, "cpu0 1 x\n".to_owned()), later]);
        assert_eq!(trace.busy, [[1.0, 1.0], [0.0, 0.0]]);
        assert!(Tracer::new(CORE_STEP, "intr 1 2 3\n").is_none());
    }

    #[test]
    fn the_number_of_steps_is_bounded() {
        let mut tracer = Tracer::new(CORE_STEP, &text((0, 0), (0, 0))).unwrap();
        tracer.observe(Duration::from_hours(9), &text((5, 5), (5, 5)));
        assert_eq!(tracer.finish().busy[0].len(), STEPS_MAX);
    }

    #[test]
    fn a_watch_ends_when_it_is_stopped() {
        let Some(sampler) = CoreSampler::start(Duration::from_hours(1)) else {
            return;
        };
        let trace = sampler.stop();
        assert!(!trace.busy.is_empty());
        assert!(trace.busy.iter().all(Vec::is_empty), "no step has passed");
    }
}
