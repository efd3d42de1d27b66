//! Decides whether a thread inside a job is blocked, runs, or waits for a processor.
//!
//! A pure function of what the monitor saw of one thread at successive looks: its job, its processor time, and, only
//! where these leave a doubt, its scheduler state. Processor time alone would also take a thread for blocked that
//! waits for a processor, on a machine that is busy with other programs or under a quota that is used up. One more
//! thread would make that worse.
//!
//! Where the system does not report states, as without `/proc`, processor time decides, after a longer time. Where it does not
//! report processor time either, no thread is detected.
//!
//! Not here: reading clocks and states (`blocked.rs`), and adding threads (`sweep.rs`).

use crate::runtime::policy::{IN_DOUBT, OFF_PROCESSOR_SHARE};
use crate::sync::thread_state::Activity;
use std::time::Duration;

/// What the monitor knows of one thread.
#[derive(Debug, Default, Clone)]
pub(crate) struct Watch {
    /// Its job at the last look; `None` for none.
    pub(super) job: Option<u64>,
    /// The look from which processor time is counted.
    since: Duration,
    cpu_nanos: Option<u64>,
    /// When the monitor first saw it in this job.
    begun: Duration,
    /// Processor time that it had used by then.
    begun_cpu_nanos: Option<u64>,
    /// That of the last look.
    pub(super) verdict: ThreadVerdict,
    /// Whether it was on a processor for nearly all the time between the last two looks.
    pub(super) has_processor: bool,
    /// Since when it has been off the processor, if it is blocked.
    asleep_since: Duration,
    /// Its job was noted as a long one.
    pub(super) is_noted: bool,
}

/// What a thread does, by the looks so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadVerdict {
    /// It has no job, or has been in its job for too short a time to decide.
    #[default]
    Unknown,
    /// It computes.
    Runs,
    /// It would compute if a processor were free.
    Starved,
    /// It sleeps in the kernel.
    Blocked,
}

/// What the monitor sees of a thread at one look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// When, on any monotonic clock.
    pub(crate) at: Duration,
    /// Its job: another number for another job. `None` for none.
    pub(crate) job: Option<u64>,
    /// Processor time it has used so far, if the system reports it.
    pub(crate) cpu_nanos: Option<u64>,
}

impl Watch {
    /// Takes one more look into account. A thread that was off the processor for `blocked_after` is blocked, unless
    /// `activity`, which is called only if it matters, says that it is runnable.
    pub(crate) fn look(
        &mut self,
        look: Look,
        blocked_after: Duration,
        activity: impl FnOnce() -> Option<Activity>,
    ) -> ThreadVerdict {
        if look.job.is_none() || look.job != self.job {
            *self = Self {
                job: look.job,
                since: look.at,
                cpu_nanos: look.cpu_nanos,
                begun: look.at,
                begun_cpu_nanos: look.cpu_nanos,
                asleep_since: look.at,
                ..Self::default()
            };
            return self.verdict;
        }
        let elapsed = look.at.saturating_sub(self.since);
        let Some((before, now)) = self.cpu_nanos.zip(look.cpu_nanos) else {
            return self.verdict;
        };
        let used = now.saturating_sub(before);
        if self.verdict == ThreadVerdict::Blocked && used == 0 {
            return self.verdict;
        }
        let found = if is_much(used, elapsed) {
            ThreadVerdict::Runs
        } else if elapsed < blocked_after {
            return self.verdict;
        } else {
            match activity() {
                Some(Activity::Runnable) => ThreadVerdict::Starved,
                None if elapsed < IN_DOUBT => return self.verdict,
                Some(Activity::Asleep) | None => ThreadVerdict::Blocked,
            }
        };
        self.has_processor = is_nearly_all(used, elapsed);
        self.asleep_since = self.since;
        self.verdict = found;
        self.since = look.at;
        self.cpu_nanos = look.cpu_nanos;
        found
    }

    /// Whether another thread should run in place of this one, which is blocked. Where other workers compute and no
    /// processor is free, it may wait for a lock whose holder waits for a processor. More threads would then only
    /// queue at that lock too.
    pub(crate) fn is_to_be_replaced(
        &self,
        now: Duration,
        others_run: bool,
        processors_are_taken: impl FnOnce() -> bool,
    ) -> bool {
        !others_run || now.saturating_sub(self.asleep_since) >= IN_DOUBT || !processors_are_taken()
    }

    /// How long it has been in its job, as far as the monitor saw.
    pub(crate) fn at_it_for(&self, now: Duration) -> Duration {
        now.saturating_sub(self.begun)
    }

    /// For how much of that it was on a processor, up to the last look that decided.
    pub(crate) fn computed_for(&self) -> Duration {
        let used = self.cpu_nanos.zip(self.begun_cpu_nanos);
        let used = used.map_or(0, |(used, before)| used.saturating_sub(before));
        Duration::from_nanos(used)
    }
}

/// Whether a thread that used `used_nanos` of `elapsed` was on a processor.
fn is_much(used_nanos: u64, elapsed: Duration) -> bool {
    u128::from(used_nanos) * OFF_PROCESSOR_SHARE >= elapsed.as_nanos()
}

/// Whether a thread that used `used_nanos` of `elapsed` had a processor for itself.
fn is_nearly_all(used_nanos: u64, elapsed: Duration) -> bool {
    u128::from(used_nanos) * OFF_PROCESSOR_SHARE >= elapsed.as_nanos() * (OFF_PROCESSOR_SHARE - 1)
}

#[cfg(test)]
mod tests {
    use super::{IN_DOUBT, Look, ThreadVerdict, Watch};
    use crate::sync::thread_state::Activity;
    use crate::sync::thread_state::Activity::{Asleep, Runnable};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_micros(400);

    /// One look: when in microseconds, the job, processor time in microseconds, the scheduler state.
    type Seen = (u64, Option<u64>, Option<u64>, Option<Activity>);

    /// The verdict at each look of a trace.
    fn verdicts(trace: &[Seen]) -> Vec<ThreadVerdict> {
        let mut watch = Watch::default();
        let look = |&(at, job, cpu, activity): &Seen| {
            let look = Look {
                at: Duration::from_micros(at),
                job,
                cpu_nanos: cpu.map(|micros| micros * 1_000),
            };
            watch.look(look, PATIENCE, || activity)
        };
        trace.iter().map(look).collect()
    }

    /// The verdict at the end of a trace of one job with a look every 200 µs: processor time used up to each
    /// look, in microseconds, and the scheduler state.
    fn last(
        looks: u64,
        cpu: impl Fn(u64) -> Option<u64>,
        activity: Option<Activity>,
    ) -> ThreadVerdict {
        let look = |step| (step * 200, Some(1), cpu(step), activity);
        let trace: Vec<Seen> = (0..looks).map(look).collect();
        *verdicts(&trace).last().expect("there is a look")
    }

    #[test]
    fn a_thread_that_sleeps_inside_a_job_is_blocked_after_the_least_time() {
        let trace = [
            (0, Some(1), Some(50), Some(Asleep)),
            (200, Some(1), Some(50), Some(Asleep)),
            (400, Some(1), Some(50), Some(Asleep)),
            (600, Some(1), Some(50), None),
        ];
        use ThreadVerdict::{Blocked, Unknown};
        assert_eq!(verdicts(&trace), [Unknown, Unknown, Blocked, Blocked]);
    }

    #[test]
    fn a_thread_that_computes_runs_however_long() {
        assert_eq!(
            last(500, |step| Some(step * 200), Some(Runnable)),
            ThreadVerdict::Runs
        );
        // Caught asleep for a moment: in a lock of the allocator, for example.
        assert_eq!(
            last(500, |step| Some(step * 150), Some(Asleep)),
            ThreadVerdict::Runs
        );
    }

    #[test]
    fn a_thread_kept_from_running_by_others_is_starved_not_blocked() {
        assert_eq!(
            last(50, |_| Some(7), Some(Runnable)),
            ThreadVerdict::Starved
        );
        // One of twenty that share a processor.
        assert_eq!(
            last(50, |step| Some(step * 10), Some(Runnable)),
            ThreadVerdict::Starved
        );
    }

    #[test]
    fn threads_under_a_quota_that_is_used_up_are_starved() {
        // 20 ms on, 80 ms off, as a cgroup with a fifth of a processor has it.
        let on = |step: u64| (step / 500) * 20_000 + (step % 500 * 200).min(20_000);
        let trace: Vec<Seen> = (0..2_000)
            .map(|step| (step * 200, Some(1), Some(on(step)), Some(Runnable)))
            .collect();
        assert!(!verdicts(&trace).contains(&ThreadVerdict::Blocked));
        assert!(verdicts(&trace).contains(&ThreadVerdict::Starved));
    }

    #[test]
    fn a_sleeper_beside_others_that_run_is_replaced_at_once_only_if_a_processor_is_free() {
        let mut watch = Watch::default();
        let mut look = |millis| {
            let look = Look {
                at: Duration::from_millis(millis),
                job: Some(1),
                cpu_nanos: Some(7),
            };
            watch.look(look, PATIENCE, || Some(Asleep));
            [(false, true), (true, false), (true, true)]
                .map(|(others, taken)| watch.is_to_be_replaced(look.at, others, || taken))
        };
        look(0);
        assert_eq!(look(1), [true, true, false]);
        assert_eq!(look(49), [true, true, false]);
        assert_eq!(look(50), [true, true, true]);
    }

    #[test]
    fn only_a_thread_alone_on_its_processor_has_one() {
        let has_processor = |cpu: u64| {
            let mut watch = Watch::default();
            for step in 0..2 {
                let look = Look {
                    at: PATIENCE * step,
                    job: Some(1),
                    cpu_nanos: Some(u64::from(step) * cpu),
                };
                watch.look(look, PATIENCE, || Some(Runnable));
            }
            watch.has_processor
        };
        assert!(has_processor(400_000) && has_processor(360_000));
        assert!(!has_processor(200_000) && !has_processor(0));
    }

    #[test]
    fn short_jobs_one_after_the_other_leave_the_verdict_open() {
        let trace: Vec<Seen> = (0..50)
            .map(|step| (step * 200, Some(step), Some(9), Some(Asleep)))
            .collect();
        assert!(
            verdicts(&trace)
                .iter()
                .all(|&found| found == ThreadVerdict::Unknown)
        );
    }

    #[test]
    fn a_thread_without_a_job_is_never_blocked() {
        let trace: Vec<Seen> = (0..50)
            .map(|step| (step * 200, None, Some(9), Some(Asleep)))
            .collect();
        assert!(
            verdicts(&trace)
                .iter()
                .all(|&found| found == ThreadVerdict::Unknown)
        );
    }

    #[test]
    fn a_blocked_thread_that_goes_on_is_not_blocked_any_more() {
        let computes = [
            (0, Some(1), Some(0), Some(Asleep)),
            (500, Some(1), Some(0), Some(Asleep)),
            (900, Some(1), Some(350), Some(Runnable)),
        ];
        use ThreadVerdict::{Blocked, Runs, Starved, Unknown};
        assert_eq!(verdicts(&computes), [Unknown, Blocked, Runs]);
        let waits_for_a_processor = [
            (0, Some(1), Some(0), Some(Asleep)),
            (500, Some(1), Some(0), Some(Asleep)),
            (9_900, Some(1), Some(1), Some(Runnable)),
        ];
        assert_eq!(
            verdicts(&waits_for_a_processor),
            [Unknown, Blocked, Starved]
        );
        let another_job = [
            (0, Some(1), Some(0), Some(Asleep)),
            (500, Some(1), Some(0), Some(Asleep)),
            (600, Some(2), Some(0), Some(Asleep)),
        ];
        assert_eq!(verdicts(&another_job), [Unknown, Blocked, Unknown]);
    }

    #[test]
    fn a_thread_that_wakes_now_and_then_only_to_sleep_again_stays_blocked() {
        assert_eq!(
            last(200, |step| Some(step * 2), Some(Asleep)),
            ThreadVerdict::Blocked
        );
    }

    #[test]
    fn without_states_it_takes_longer_and_without_processor_time_no_thread_is_detected() {
        let steps = |time: Duration| u64::try_from(time.as_micros()).expect("short") / 200;
        let soon = steps(IN_DOUBT) - 2;
        let late = steps(IN_DOUBT) + 2;
        assert_eq!(last(soon, |_| Some(7), None), ThreadVerdict::Unknown);
        assert_eq!(last(late, |_| Some(7), None), ThreadVerdict::Blocked);
        assert_eq!(
            last(late, |step| Some(step * 200), None),
            ThreadVerdict::Runs
        );
        assert_eq!(last(late, |_| None, Some(Asleep)), ThreadVerdict::Unknown);
        assert_eq!(last(1_000, |_| None, None), ThreadVerdict::Unknown);
    }
}
