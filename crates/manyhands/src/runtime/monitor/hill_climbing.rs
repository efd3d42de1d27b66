//! Hill climbing: tries which number of threads gives the highest throughput, as a function of samples.
//!
//! As in .NET's thread pool (E. Fuentes, "Optimizing concurrency levels in the .NET ThreadPool: a case study of
//! controller design and implementation", 2008), as many threads run as the estimate of the best number says, then some
//! more, in turn. If more threads give more throughput, the throughput follows. There a filter finds this wave in
//! the history of samples. Here each sample with more threads is compared with the one before it, so what changes slowly
//! cancels out. The mean of the latest pairs is the slope of the hill: the estimate moves up where one more thread pays and
//! down where it does not. Noise goes in both directions, and the steeper the slope, the faster the estimate moves.
//!
//! Samples have different lengths, so that several processes on one machine do not fall into step.
//!
//! The climber is a pure function: it takes time, completions and whether a processor was free, and returns the number of
//! threads. Not here: adding threads (`sweep.rs`).

use crate::runtime::{RuntimeInner, ThreadChangeReason};
use crate::sync::{clock, processor_load};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The samples of one runtime.
pub(super) struct HillClimbingSampler {
    climber: HillClimber,
    /// When the last sample was taken, and what had been completed by then.
    last: (Instant, u64),
}

impl HillClimbingSampler {
    /// Takes the first reading.
    pub(super) fn begin(shared: &RuntimeInner, now: Instant) -> Self {
        let settings = &shared.settings;
        Self {
            climber: HillClimber::new(settings.workers, settings.threads_max),
            last: (now, shared.completed()),
        }
    }

    /// How many threads more than the workers may run now.
    pub(super) fn extra(&self) -> usize {
        self.climber.threads - self.climber.min
    }

    /// Takes a sample if one is due.
    pub(super) fn sample(&mut self, shared: &RuntimeInner, now: Instant) {
        let (last, before) = self.last;
        let elapsed = now.saturating_duration_since(last);
        if elapsed < length_after(last.saturating_duration_since(clock::first())) {
            return;
        }
        let completed = shared.completed();
        self.last = (now, completed);
        if elapsed > 2 * SAMPLE_MAX {
            // The monitor has slept, because there was no work.
            return;
        }
        let threads = self.climber.threads;
        let reason = self.climber.climb(Sample {
            elapsed,
            completed: completed.saturating_sub(before),
            are_taken: processor_load::all_are_taken(),
        });
        if self.climber.threads != threads {
            shared.note_change(self.climber.threads, reason);
        }
    }
}

/// How long the sample is that begins when this time has passed. Processes begin at different moments, and the difference
/// doubles with each sample.
fn length_after(passed: Duration) -> Duration {
    let span = (SAMPLE_MAX - SAMPLE_MIN).as_nanos();
    SAMPLE_MIN + Duration::from_nanos_u128(passed.as_nanos() % span)
}

/// What was counted since the last sample.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// How long it took.
    elapsed: Duration,
    /// Pieces of work that ended meanwhile.
    completed: u64,
    /// No processor was free at its end.
    are_taken: bool,
}

impl Sample {
    /// Pieces a second.
    fn throughput(self) -> f64 {
        self.completed as f64 / self.elapsed.as_secs_f64()
    }
}

/// The climber.
struct HillClimber {
    min: usize,
    max: usize,
    /// The estimate of the best number.
    best: f64,
    /// How many threads should run until the next sample.
    threads: usize,
    /// The sample with as many threads as the estimate says, until there is the one with more.
    fewer: Option<Sample>,
    /// What the latest pairs have shown: the gain in throughput, as part of that in threads.
    gains: VecDeque<f64>,
}

impl HillClimber {
    /// Begins at `min` threads. `max` is at least that.
    fn new(min: usize, max: usize) -> Self {
        debug_assert!(0 < min && min <= max, "limits are validated by the builder");
        Self {
            min,
            max,
            best: min as f64,
            threads: min,
            fewer: None,
            gains: VecDeque::new(),
        }
    }

    /// Takes a sample into account. Returns why the number of threads changes, if it does: because the wave goes on, or because
    /// the estimate has moved, since throughput followed the wave or did not.
    fn climb(&mut self, sample: Sample) -> ThreadChangeReason {
        let before = whole(self.best);
        self.threads = if let Some(fewer) = self.fewer.take() {
            self.compare(fewer, sample);
            whole(self.best)
        } else {
            self.fewer = Some(sample);
            self.max.min(before + self.wave())
        };
        if whole(self.best) == before {
            ThreadChangeReason::HillClimbingProbe
        } else {
            ThreadChangeReason::HillClimbing
        }
    }

    /// How many threads more than the estimate run in every other sample.
    fn wave(&self) -> usize {
        whole(self.best / 8.0).max(1)
    }

    /// Moves the estimate by what a sample with more threads and the one before it show.
    fn compare(&mut self, fewer: Sample, more: Sample) {
        let threads = rise(whole(self.best) as f64, self.threads as f64);
        let gain = rise(fewer.throughput(), more.throughput()) / threads;
        if !gain.is_finite() {
            // Nothing was completed, or there may be no more threads.
            return;
        }
        if self.gains.len() == PAIRS {
            self.gains.pop_front();
        }
        self.gains.push_back(gain.clamp(-1.0, 1.0));
        let slope = self.gains.iter().sum::<f64>() / self.gains.len() as f64;
        let wish = slope - COST_OF_A_THREAD;
        let elapsed = fewer.elapsed + more.elapsed;
        // The square weakens small wishes, so that the estimate stays at the top of the hill.
        let step = wish * wish.abs() * THREADS_PER_SECOND * elapsed.as_secs_f64();
        // Where no processor is free, more threads would only get what others lose.
        if step < 0.0 || !(fewer.are_taken || more.are_taken) {
            self.best += step;
        }
        let top = self.max.saturating_sub(self.wave()).max(self.min);
        self.best = self.best.clamp(self.min as f64, top as f64);
    }
}

/// How much more `to` is than `from`, as part of both.
fn rise(from: f64, to: f64) -> f64 {
    (to - from) / (to + from)
}

#[expect(clippy::cast_possible_truncation, reason = "a small count")]
fn whole(count: f64) -> usize {
    count.round() as usize
}

/// Pairs of samples that are remembered.
const PAIRS: usize = 16;
/// One more thread must bring this part of a proportional gain in throughput.
const COST_OF_A_THREAD: f64 = 0.15;
/// How fast it climbs where the slope is steep.
const THREADS_PER_SECOND: f64 = 4.0;
const SAMPLE_MIN: Duration = Duration::from_millis(10);
/// One of more than twice this contains time without work, and is ignored.
pub(super) const SAMPLE_MAX: Duration = Duration::from_millis(200);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{HillClimber, Sample, length_after};
    use std::time::Duration;

    const MIN: usize = 4;
    const MAX: usize = 100;
    const CORES: f64 = 4.0;

    /// Pieces a second, and the load, by the number of threads.
    type Workload = fn(f64) -> (f64, f64);

    /// Each piece computes for a millisecond; more threads than processors get in each other's way a little.
    fn computing(threads: f64) -> (f64, f64) {
        let overload = (threads - CORES).max(0.0);
        (
            1_000.0 * threads.min(CORES) / (1.0 + 0.01 * overload),
            (threads / CORES).min(1.0),
        )
    }

    /// Each piece computes for a millisecond and blocks for nine.
    fn blocking(threads: f64) -> (f64, f64) {
        let at_work = (threads / 10.0).min(CORES);
        (1_000.0 * at_work, at_work / CORES)
    }

    /// All pieces want one lock.
    fn contending(threads: f64) -> (f64, f64) {
        (1_000.0 - threads, 1.0 / CORES)
    }

    struct World {
        climber: HillClimber,
        /// Since the process began.
        passed: Duration,
        random: u64,
        /// How far throughput varies, as a part of it.
        noise: f64,
    }

    impl World {
        fn new(seed: u64, noise: f64) -> Self {
            Self {
                climber: HillClimber::new(MIN, MAX),
                passed: Duration::from_nanos(seed),
                random: seed,
                noise,
            }
        }

        /// Simulates `seconds`; returns the mean number of threads in the second half.
        fn live(&mut self, seconds: f64, workload: Workload) -> f64 {
            let (mut passed, mut sum, mut time) = (0.0, 0.0, 0.0);
            while passed < seconds {
                let elapsed = length_after(self.passed);
                self.passed += elapsed;
                let threads = self.climber.threads as f64;
                let (rate, load) = workload(threads);
                let strayed = rate * (1.0 + self.noise * (self.next_random() * 2.0 - 1.0));
                let completed = super::whole(strayed * elapsed.as_secs_f64()) as u64;
                passed += elapsed.as_secs_f64();
                if passed > seconds / 2.0 {
                    sum += threads * elapsed.as_secs_f64();
                    time += elapsed.as_secs_f64();
                }
                self.climber.climb(Sample {
                    elapsed,
                    completed,
                    are_taken: load > 0.95,
                });
                let threads = self.climber.threads;
                assert!((MIN..=MAX).contains(&threads), "{threads}");
            }
            sum / time
        }

        fn next_random(&mut self) -> f64 {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.random >> 40) as f64 / f64::from(1_u32 << 24)
        }
    }

    /// The mean number of threads after two minutes of each, for many seeds.
    fn settles(noise: f64, workload: Workload) -> Vec<f64> {
        (1..=20)
            .map(|seed| World::new(seed, noise).live(120.0, workload))
            .collect()
    }

    #[test]
    fn computing_settles_near_the_number_of_processors() {
        for threads in settles(0.02, computing) {
            assert!(threads < CORES + 2.0, "{threads}");
        }
    }

    #[test]
    fn undetected_blocking_makes_it_climb() {
        for threads in settles(0.02, blocking) {
            assert!((25.0..60.0).contains(&threads), "{threads}");
        }
    }

    #[test]
    fn it_comes_down_again_when_the_blocking_is_over() {
        for seed in 1..=20 {
            let mut world = World::new(seed, 0.02);
            let high = world.live(60.0, blocking);
            let low = world.live(240.0, computing);
            assert!(high > 20.0 && low < CORES + 4.0, "{high} then {low}");
        }
    }

    #[test]
    fn threads_that_only_contend_are_not_added() {
        for threads in settles(0.02, contending) {
            assert!(threads < MIN as f64 + 2.0, "{threads}");
        }
    }

    #[test]
    fn noise_does_not_make_it_wander() {
        for threads in settles(0.3, contending) {
            assert!(threads < MIN as f64 * 2.0, "{threads}");
        }
    }

    #[test]
    fn samples_are_of_different_lengths() {
        let mut begin = Duration::from_nanos(1);
        let lengths = [(); 20].map(|()| {
            let length = length_after(begin);
            begin += length;
            length
        });
        let shortest_to_longest = super::SAMPLE_MIN..=super::SAMPLE_MAX;
        assert!(
            lengths
                .iter()
                .all(|length| shortest_to_longest.contains(length))
        );
        assert!(lengths.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// As `contending`, in pieces that take a few samples each.
    fn contending_in_long_pieces(threads: f64) -> (f64, f64) {
        let (rate, load) = contending(threads);
        (rate / 300.0, load)
    }

    #[test]
    fn a_few_long_pieces_are_no_reason_to_climb() {
        for threads in settles(0.02, contending_in_long_pieces) {
            assert!(threads < MIN as f64 * 2.0, "{threads}");
        }
    }

    #[test]
    fn with_no_room_between_the_limits_it_stays() {
        let mut climber = HillClimber::new(3, 3);
        for completed in [100, 5_000, 20].repeat(20) {
            let sample = Sample {
                elapsed: Duration::from_millis(100),
                completed,
                are_taken: false,
            };
            climber.climb(sample);
            assert_eq!(climber.threads, 3);
        }
    }
}
