//! Hill climbing: tries which number of threads gives the highest throughput, as a function of samples.
//!
//! The method is that of .NET's thread pool (E. Fuentes, "Optimizing concurrency levels in the .NET ThreadPool:
//! a case study of controller design and implementation", 2008). The number of threads follows a square wave
//! of known period above the estimate of the best number. If more threads give more throughput, the throughput
//! follows the wave. A Goertzel filter extracts that frequency from the history of samples, for threads and for
//! throughput. The ratio of the two is the slope of the hill; the amplitude at the neighbouring frequencies is
//! noise. The estimate moves up where one more thread pays and down where it does not. The more the wave stands out
//! from the noise, the faster it moves.
//!
//! Samples have random lengths, so that several processes on one machine do not fall into step.
//!
//! The climber is a pure function: it takes time, completions and processor load, and returns the number of threads
//! and the length of the next sample. Not here: adding threads (`sweep.rs`).

use crate::runtime::{RuntimeInner, ThreadChangeReason};
use crate::sync::clock;
use crate::sync::processor_load::ProcessorTicks;
use std::f64::consts::TAU;
use std::time::{Duration, Instant};

/// The samples of one runtime.
pub(super) struct HillClimbingSampler {
    climber: HillClimber,
    last: Reading,
    due_after: Duration,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    completed: u64,
    processors: Option<ProcessorTicks>,
}

impl HillClimbingSampler {
    /// Takes the first reading.
    pub(super) fn begin(shared: &RuntimeInner, now: Instant) -> Self {
        let settings = &shared.settings;
        let seed = u64::try_from(now.duration_since(clock::first()).as_nanos());
        let mut climber =
            HillClimber::new(settings.workers, settings.threads_max, seed.unwrap_or(1));
        Self {
            last: Reading::take(shared, now),
            due_after: climber.sample_length(),
            climber,
        }
    }

    /// How many threads more than the workers may run now.
    pub(super) fn extra(&self) -> usize {
        self.climber.threads - self.climber.min
    }

    /// Takes a sample if one is due.
    pub(super) fn sample(&mut self, shared: &RuntimeInner, now: Instant) {
        let elapsed = now.saturating_duration_since(self.last.at);
        if elapsed < self.due_after {
            return;
        }
        let reading = Reading::take(shared, now);
        let last = std::mem::replace(&mut self.last, reading);
        if elapsed > 2 * SAMPLE_MAX {
            // The monitor has slept, because there was no work.
            return;
        }
        let before = self.climber.threads;
        let load = reading.processors.zip(last.processors);
        let (reason, next_after) = self.climber.climb(Sample {
            elapsed,
            completed: reading.completed.saturating_sub(last.completed),
            load: load.map_or(0.0, |(now, before)| now.load_since(before)),
        });
        self.due_after = next_after;
        if self.climber.threads != before {
            shared.note_change(self.climber.threads, reason);
        }
    }
}

impl Reading {
    fn take(shared: &RuntimeInner, at: Instant) -> Self {
        let finished = shared.all_slots().map(|slot| slot.counters.finished.read());
        Self {
            at,
            completed: finished.sum(),
            processors: ProcessorTicks::now(),
        }
    }
}

/// What was counted since the last sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sample {
    /// How long it took.
    elapsed: Duration,
    /// Pieces of work that ended meanwhile.
    completed: u64,
    /// The part of the allowed processors that any process used; 1 is all.
    load: f64,
}

/// The climber.
struct HillClimber {
    min: usize,
    max: usize,
    /// The estimate of the best number.
    best: f64,
    /// How far the wave rises above it.
    magnitude: usize,
    /// How many threads should run until the next sample.
    threads: usize,
    history: Vec<Point>,
    /// The position in the wave, in samples.
    phase: usize,
    /// Noise of the throughput, smoothed, as part of its mean.
    noise: Option<f64>,
    /// Collected since the last sample that was long enough.
    pending: Sample,
    random: u64,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    threads: f64,
    throughput: f64,
}

impl HillClimber {
    /// Begins at `min` threads. `max` is at least that, and `seed` any number.
    fn new(min: usize, max: usize, seed: u64) -> Self {
        debug_assert!(0 < min && min <= max, "limits are validated by the builder");
        Self {
            min,
            max,
            best: min as f64,
            magnitude: 1,
            threads: min,
            history: Vec::new(),
            phase: 0,
            noise: None,
            pending: Sample::default(),
            random: seed,
        }
    }

    /// Takes a sample into account. Returns why the number of threads changes, if it does, and when to take the next sample.
    /// It changes because the wave goes on, or because the estimate has moved: throughput followed the wave or did not.
    fn climb(&mut self, sample: Sample) -> (ThreadChangeReason, Duration) {
        let pending = &mut self.pending;
        pending.elapsed += sample.elapsed;
        pending.completed += sample.completed;
        pending.load = pending.load.max(sample.load);
        // Each thread may have completed one piece more or less, which may be too much of so few pieces.
        let uncertain = self.threads.saturating_sub(1) as f64;
        let is_too_coarse = uncertain > COARSE_MAX * self.pending.completed as f64;
        if is_too_coarse && self.pending.elapsed < 5 * SAMPLE_MAX {
            return (ThreadChangeReason::HillClimbingProbe, SAMPLE_MIN);
        }
        let sample = std::mem::take(&mut self.pending);
        let seconds = sample.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        if self.history.len() == 8 * PERIOD {
            self.history.remove(0);
        }
        self.history.push(Point {
            threads: self.threads as f64,
            throughput: sample.completed as f64 / seconds,
        });
        let before = self.best;
        if let Some(wish) = self.slope() {
            self.move_estimate(wish, sample.elapsed, sample.load);
        }
        let reason = if self.best.round() == before.round() {
            ThreadChangeReason::HillClimbingProbe
        } else {
            ThreadChangeReason::HillClimbing
        };
        self.phase = (self.phase + 1) % PERIOD;
        self.threads = self.wave();
        (reason, self.sample_length())
    }

    /// Whole periods that the history holds, if that is more than one.
    fn periods(&self) -> Option<&[Point]> {
        let len = self.history.len() / PERIOD * PERIOD;
        (len > PERIOD).then(|| &self.history[self.history.len() - len..])
    }

    /// How throughput follows the wave, less the cost of a thread, as far as that is certain. `None` while that is unknown.
    fn slope(&mut self) -> Option<f64> {
        let periods = self.periods()?;
        let of = |value: fn(&Point) -> f64| {
            let mean = periods.iter().map(value).sum::<f64>() / periods.len() as f64;
            // Relative to the mean, so that a wave of a tenth is a tenth for threads and throughput alike.
            let parts: Vec<f64> = periods.iter().map(|point| value(point) / mean).collect();
            (mean > 0.0).then_some(parts)
        };
        let threads = of(|point| point.threads)?;
        let throughput = of(|point| point.throughput)?;
        let at = periods.len() / PERIOD;
        let (thread_wave, wave) = (goertzel(&threads, at), goertzel(&throughput, at));
        let beside = goertzel(&throughput, at - 1).abs();
        let noise = if at < periods.len() / 2 {
            beside.max(goertzel(&throughput, at + 1).abs())
        } else {
            beside
        };
        let before = self.noise.unwrap_or(noise);
        let smoothed = before + NOISE_SMOOTHING * (noise - before);
        self.noise = Some(smoothed);
        if thread_wave.abs() < f64::EPSILON {
            return None;
        }
        let ratio = wave.over(thread_wave) - COST_OF_A_THREAD;
        let noise = smoothed.max(noise);
        // How far the wave stands out from the noise.
        let confidence = (thread_wave.abs() / noise / SIGNAL_TO_NOISE).min(1.0);
        Some(ratio.clamp(-1.0, 1.0) * confidence)
    }

    /// Moves the estimate, and makes the wave as high as the noise demands.
    fn move_estimate(&mut self, wish: f64, elapsed: Duration, load: f64) {
        // The square weakens small wishes, so that the estimate stays at the top of the hill.
        let step = wish * wish.abs() * THREADS_PER_SECOND * elapsed.as_secs_f64();
        if step < 0.0 || load < LOAD_MAX {
            self.best += step;
        }
        let noise = self.noise.unwrap_or(0.0);
        let height = 0.5 + self.best * noise * SIGNAL_TO_NOISE * 2.0;
        let room = (self.max - self.min).max(1) as f64;
        self.magnitude = whole(height.clamp(1.0, MAGNITUDE_MAX.min(room)));
        let top = (self.max as f64 - self.magnitude as f64).max(self.min as f64);
        self.best = self.best.clamp(self.min as f64, top);
    }

    /// The number of threads for the next sample.
    fn wave(&self) -> usize {
        let is_up = self.phase >= PERIOD / 2;
        let threads = whole(self.best) + if is_up { self.magnitude } else { 0 };
        threads.clamp(self.min, self.max)
    }

    /// A random length between the shortest and the longest.
    fn sample_length(&mut self) -> Duration {
        // Xorshift, George Marsaglia 2003; any start but 0.
        let mut x = self.random | 1 << 63;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random = x;
        let span = SAMPLE_MAX - SAMPLE_MIN;
        SAMPLE_MIN + span.mul_f64((x >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// A wave's height and phase, as the parts of a complex number.
#[derive(Debug, Clone, Copy)]
struct Wave(f64, f64);

impl Wave {
    fn abs(self) -> f64 {
        self.0.hypot(self.1)
    }

    /// The real part of the quotient: how far `self` follows `other`.
    fn over(self, other: Self) -> f64 {
        (self.0 * other.0 + self.1 * other.1) / other.abs().powi(2)
    }
}

/// The wave with `cycles` periods within `values`, after Gerald Goertzel 1958.
fn goertzel(values: &[f64], cycles: usize) -> Wave {
    let len = values.len() as f64;
    let angle = TAU * cycles as f64 / len;
    let coefficient = 2.0 * angle.cos();
    let (mut last, mut before) = (0.0, 0.0);
    for value in values {
        (last, before) = (value + coefficient * last - before, last);
    }
    let real = last - before * angle.cos();
    Wave(real / len, before * angle.sin() / len)
}

#[expect(clippy::cast_possible_truncation, reason = "a small count")]
fn whole(count: f64) -> usize {
    count.round() as usize
}

/// Samples of one period of the wave; those of eight are remembered.
const PERIOD: usize = 4;
const MAGNITUDE_MAX: f64 = 20.0;
/// One more thread must bring this part of a proportional gain in throughput.
const COST_OF_A_THREAD: f64 = 0.15;
/// A wave this many times as high as the noise has full confidence.
const SIGNAL_TO_NOISE: f64 = 3.0;
const NOISE_SMOOTHING: f64 = 0.1;
/// How fast it climbs where the slope is steep.
const THREADS_PER_SECOND: f64 = 4.0;
/// No climbing while the processors are this busy.
const LOAD_MAX: f64 = 0.95;
/// In a sample that counts, the pieces still under way are at most this part of those completed.
const COARSE_MAX: f64 = 0.15;
/// As long is the next sample after one that was too coarse.
const SAMPLE_MIN: Duration = Duration::from_millis(10);
/// One of more than twice this contains time without work, and is ignored. What was collected for five times as long counts even
/// if it is coarse.
pub(super) const SAMPLE_MAX: Duration = Duration::from_millis(200);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{HillClimber, Sample};
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
        /// When the next sample is taken.
        next_after: Duration,
        random: u64,
        /// How far throughput varies, as a part of it.
        noise: f64,
    }

    impl World {
        fn new(seed: u64, noise: f64) -> Self {
            Self {
                climber: HillClimber::new(MIN, MAX, seed),
                next_after: Duration::from_millis(50),
                random: seed,
                noise,
            }
        }

        /// Simulates `seconds`; returns the mean number of threads in the second half.
        fn live(&mut self, seconds: f64, workload: Workload) -> f64 {
            let (mut passed, mut sum, mut time) = (0.0, 0.0, 0.0);
            while passed < seconds {
                let elapsed = self.next_after;
                let threads = self.climber.threads as f64;
                let (rate, load) = workload(threads);
                let strayed = rate * (1.0 + self.noise * (self.next_random() * 2.0 - 1.0));
                let completed = super::whole(strayed * elapsed.as_secs_f64()) as u64;
                passed += elapsed.as_secs_f64();
                if passed > seconds / 2.0 {
                    sum += threads * elapsed.as_secs_f64();
                    time += elapsed.as_secs_f64();
                }
                (_, self.next_after) = self.climber.climb(Sample {
                    elapsed,
                    completed,
                    load,
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
        let mut climber = HillClimber::new(MIN, MAX, 1);
        let sample = Sample {
            elapsed: Duration::from_millis(50),
            completed: 1_000,
            load: 0.5,
        };
        let lengths: Vec<Duration> = (0..20).map(|_| climber.climb(sample).1).collect();
        assert!(
            lengths
                .iter()
                .all(|length| (super::SAMPLE_MIN..=super::SAMPLE_MAX).contains(length))
        );
        assert!(lengths.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_sample_that_is_too_coarse_is_added_to_the_next() {
        let mut climber = HillClimber::new(MIN, MAX, 1);
        let little = Sample {
            elapsed: Duration::from_millis(10),
            completed: 1,
            load: 0.5,
        };
        let (_, next_after) = climber.climb(little);
        assert_eq!((climber.threads, next_after), (MIN, super::SAMPLE_MIN));
        assert!(climber.history.is_empty());
        let enough = Sample {
            completed: 30,
            ..little
        };
        climber.climb(enough);
        assert_eq!(climber.history.len(), 1);
        assert!((climber.history[0].throughput - 31.0 / 0.02).abs() < 1e-6);
    }

    #[test]
    fn with_no_room_between_the_limits_it_stays() {
        let mut climber = HillClimber::new(3, 3, 9);
        for completed in [100, 5_000, 20].repeat(20) {
            let sample = Sample {
                elapsed: Duration::from_millis(100),
                completed,
                load: 0.1,
            };
            let _ = climber.climb(sample);
            assert_eq!(climber.threads, 3);
        }
    }
}
