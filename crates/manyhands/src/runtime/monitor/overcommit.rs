//! Overcommit for short tasks while long jobs occupy every worker: for how long, and by how many threads beyond the limit.
//!
//! A pure function of what the sweeps saw, with tests by table.
//!
//! Not here: which tasks are short (`job/long_kinds.rs`), and where they are found (`worker/short_tasks.rs`).

use crate::job::{JobKind, LongKinds};
use crate::runtime::policy::{LONG, LONG_BY_KIND_NANOS, OVERCOMMIT_LASTS};
use std::time::{Duration, Instant};

/// What the monitor remembers of it from sweep to sweep.
#[derive(Debug, Default)]
pub(super) struct OvercommitForShort {
    on: Option<On>,
}

/// While it is on.
#[derive(Debug, Clone, Copy)]
struct On {
    until: Instant,
    threads: usize,
    /// When a thread is woken next for short tasks that no thread was woken for.
    look_at: Instant,
    pause: Duration,
    /// How many short tasks had been found when one was woken last.
    found: u64,
}

/// What a sweep saw.
#[derive(Debug, Clone, Copy)]
pub(super) struct SaturationSample {
    /// When.
    pub(super) now: Instant,
    /// Threads in long jobs.
    pub(super) long: usize,
    /// Whether jobs of kinds that are known to be long have occupied every worker for some time, as one look shows, or a push
    /// has seen that since the last sweep.
    pub(super) by_kinds: bool,
    /// Threads that run.
    pub(super) running: usize,
    /// Those of them beyond the limit that run short tasks, or what was taken for one.
    pub(super) in_short_tasks: usize,
    /// Those of them whose task turned out to be long.
    pub(super) turned_out_long: usize,
    /// Those of them whose task will not end soon; see [`count_overrunning`].
    pub(super) overrunning: usize,
    /// Threads that may run.
    pub(super) limit: usize,
}

impl OvercommitForShort {
    /// Whether threads beyond the limit may run short tasks now.
    pub(super) fn is_on(&self) -> bool {
        self.on.is_some()
    }

    /// Takes a sweep into account. Returns how many threads beyond the limit may run short tasks.
    pub(super) fn update(&mut self, sample: SaturationSample) -> usize {
        if sample.by_kinds || sample.long >= sample.running.max(sample.limit) {
            let on = self.on.get_or_insert(On {
                until: sample.now,
                threads: 0,
                look_at: sample.now,
                pause: LONG,
                found: 0,
            });
            on.until = sample.now + OVERCOMMIT_LASTS;
            // One, and one more for each task that turned out to be long, up to the number of workers, and beyond that only
            // for those that overrun. Long jobs that continue after they were blocked, while other jobs run in their place,
            // come on top.
            let others = sample.running.saturating_sub(sample.in_short_tasks);
            let others = others.max(sample.limit);
            let compensated = (sample.turned_out_long + 1).min(sample.limit);
            on.threads = others - sample.limit + compensated.max(sample.overrunning + 1);
        } else if self.on.is_some_and(|on| sample.now >= on.until) {
            self.on = None;
        }
        self.on.map_or(0, |on| on.threads)
    }

    /// Whether to wake a thread now for tasks that wait and no thread was woken for; `found` counts the short
    /// ones found so far. Seldom while nothing is found: all that wait may be long ones.
    pub(super) fn wakes(&mut self, now: Instant, found: u64) -> bool {
        let Some(on) = self.on.as_mut().filter(|on| now >= on.look_at) else {
            return false;
        };
        on.pause = if found == on.found {
            (on.pause * 2).min(OVERCOMMIT_LASTS)
        } else {
            LONG
        };
        on.found = found;
        on.look_at = now + on.pause;
        true
    }
}

/// Whether a job of this kind that has run for this long counts as long. If it has computed for long, its kind is
/// noted. A job of another kind that does not run does not count: a thread beyond the limit would run more of that kind.
pub(super) fn is_long(
    known: &LongKinds,
    kind: *const JobKind,
    running_for: Duration,
    computed_for: Duration,
) -> bool {
    if computed_for >= LONG {
        known.note(kind);
    }
    if kind.is_null() {
        running_for >= LONG
    } else {
        running_for >= Duration::from_nanos(LONG_BY_KIND_NANOS) && known.has(kind)
    }
}

/// How many of the tasks that were taken for short ones will not end soon. The k-th of them, in the order of the time that they
/// have computed, counts if that is at least k times [`OVERCOMMIT_LASTS`]. So any number of endless tasks
/// is compensated for. Of n tasks that each take t and then end, about t / `OVERCOMMIT_LASTS` are compensated for at once. With
/// the same time for each, nearly all of many tasks that take a second would run at once, and none would end.
pub(super) fn count_overrunning(computed_for: &mut [Duration]) -> usize {
    computed_for.sort_unstable_by(|one, other| other.cmp(one));
    let least = (1..).map(|count| OVERCOMMIT_LASTS * count);
    let pairs = computed_for.iter().zip(least);
    pairs.take_while(|(time, least)| *time >= least).count()
}

#[cfg(test)]
mod tests {
    use super::{
        LONG, LONG_BY_KIND_NANOS, OVERCOMMIT_LASTS, OvercommitForShort, SaturationSample,
        count_overrunning, is_long,
    };
    use crate::job::LongKinds;
    use crate::sync::clock;
    use std::ptr;
    use std::time::{Duration, Instant};

    const LONG_BY_KIND: Duration = Duration::from_nanos(LONG_BY_KIND_NANOS);

    fn sample(
        now: Instant,
        long: usize,
        running: usize,
        in_short_tasks: usize,
    ) -> SaturationSample {
        SaturationSample {
            now,
            long,
            by_kinds: false,
            running,
            in_short_tasks,
            turned_out_long: in_short_tasks,
            overrunning: 0,
            limit: 2,
        }
    }

    #[test]
    fn a_job_that_gets_no_processor_is_long_only_if_its_kind_is_known_to_be() {
        let (known, kind) = (LongKinds::default(), ptr::without_provenance(64));
        // It waits for a processor, or has slept for most of the time.
        assert!(!is_long(&known, kind, LONG, Duration::ZERO));
        assert!(!is_long(&known, kind, 9 * LONG, LONG / 2));
        assert!(!known.has(kind));
        assert!(!is_long(&known, kind, LONG_BY_KIND, LONG_BY_KIND));
        assert!(is_long(&known, kind, LONG, LONG));
        assert!(is_long(&known, kind, LONG_BY_KIND, Duration::ZERO));
        assert!(!is_long(&known, kind, LONG_BY_KIND / 2, Duration::ZERO));
        assert!(!is_long(&known, ptr::null(), LONG_BY_KIND, LONG_BY_KIND));
        assert!(is_long(&known, ptr::null(), LONG, Duration::ZERO), "a loop");
    }

    #[test]
    fn threads_are_allowed_while_every_place_is_held_and_for_a_while_after() {
        let start = clock::now();
        let mut overcommit = OvercommitForShort::default();
        let mut threads =
            |after, long, running| overcommit.update(sample(start + after, long, running, 0));
        assert_eq!(threads(Duration::ZERO, 1, 2), 0);
        assert_eq!(threads(Duration::ZERO, 2, 2), 1);
        assert_eq!(threads(OVERCOMMIT_LASTS / 2, 1, 2), 1);
        assert_eq!(threads(OVERCOMMIT_LASTS, 0, 2), 0);
        assert_eq!(
            threads(OVERCOMMIT_LASTS, 2, 1),
            1,
            "a thread has just been counted as blocked"
        );
    }

    #[test]
    fn one_look_that_finds_long_kinds_in_all_places_is_enough() {
        let start = clock::now();
        let mut overcommit = OvercommitForShort::default();
        let mut threads = |after, by_kinds, running| {
            let sample = sample(start + after, 0, running, 0);
            overcommit.update(SaturationSample { by_kinds, ..sample })
        };
        assert_eq!(threads(Duration::ZERO, true, 2), 1);
        assert_eq!(threads(OVERCOMMIT_LASTS / 2, false, 1), 1);
        assert_eq!(
            threads(OVERCOMMIT_LASTS, true, 4),
            3,
            "two too many, and one"
        );
        assert_eq!(
            threads(OVERCOMMIT_LASTS + OVERCOMMIT_LASTS / 2, false, 2),
            3
        );
        assert_eq!(threads(OVERCOMMIT_LASTS * 2, false, 2), 0);
    }

    #[test]
    fn each_thread_that_turns_out_to_be_long_is_made_up_for_up_to_the_workers() {
        let now = clock::now();
        let mut overcommit = OvercommitForShort::default();
        assert_eq!(overcommit.update(sample(now, 3, 3, 1)), 2);
        assert_eq!(overcommit.update(sample(now, 4, 4, 2)), 2);
        assert_eq!(overcommit.update(sample(now, 3, 4, 2)), 2, "as before");
    }

    #[test]
    fn each_thread_that_outlasts_the_others_is_made_up_for_whatever_their_number() {
        let now = clock::now();
        let mut overcommit = OvercommitForShort::default();
        let mut threads = |in_short_tasks, overrunning| {
            let long = 2 + in_short_tasks;
            let sample = sample(now, long, long, in_short_tasks);
            overcommit.update(SaturationSample {
                overrunning,
                ..sample
            })
        };
        assert_eq!(threads(1, 1), 2, "as for any that is long");
        assert_eq!(threads(2, 1), 2);
        assert_eq!(threads(2, 2), 3);
        assert_eq!(threads(7, 7), 8);
        assert_eq!(threads(1, 0), 2, "the others have ended");
    }

    #[test]
    fn each_task_that_will_not_end_soon_has_computed_for_longer_the_more_there_are() {
        let of = |times: &[u32]| {
            count_overrunning(
                &mut times
                    .iter()
                    .map(|n| OVERCOMMIT_LASTS * *n)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(count_overrunning(&mut [OVERCOMMIT_LASTS - LONG]), 0);
        assert_eq!(of(&[1]), 1);
        assert_eq!(of(&[1, 9]), 1);
        assert_eq!(of(&[2, 9]), 2);
        assert_eq!(of(&[3, 2, 9, 3]), 3);
        assert_eq!(of(&[60; 50]), 50, "endless");
        // One begins after the other, and each takes 50 times as long: a second.
        let ends: Vec<_> = (0..50).collect();
        assert_eq!(of(&ends), 25);
        assert_eq!(of(&ends[..7]), 3);
    }

    #[test]
    fn long_jobs_that_go_on_after_they_were_blocked_leave_room_for_short_tasks() {
        let now = clock::now();
        let mut overcommit = OvercommitForShort::default();
        assert_eq!(
            overcommit.update(sample(now, 6, 6, 0)),
            5,
            "four too many, and one"
        );
        assert_eq!(
            overcommit.update(sample(now, 7, 7, 1)),
            6,
            "which turned out to be long"
        );
        assert_eq!(overcommit.update(sample(now, 9, 9, 3)), 6);
    }

    #[test]
    fn a_look_that_finds_nothing_makes_the_next_pause_longer() {
        let start = clock::now();
        let mut overcommit = OvercommitForShort::default();
        assert!(!overcommit.wakes(start, 0), "not while it is off");
        overcommit.update(sample(start, 2, 2, 0));
        // Whether one is woken after this number of pauses, with these tasks found until then.
        let mut wakes = |pauses, found| overcommit.wakes(start + LONG * pauses, found);
        assert!(wakes(0, 0));
        assert!(!wakes(1, 0));
        assert!(wakes(2, 0));
        assert!(!wakes(5, 0));
        assert!(wakes(6, 3), "four later; some were found");
        assert!(wakes(7, 3));
        assert!(!wakes(8, 3));
        assert!(wakes(9, 3));
    }

    #[test]
    fn pauses_do_not_grow_for_ever() {
        let mut now = clock::now();
        let mut overcommit = OvercommitForShort::default();
        overcommit.update(sample(now, 2, 2, 0));
        for _ in 0..20 {
            now += OVERCOMMIT_LASTS;
            assert!(overcommit.wakes(now, 0));
        }
    }
}
