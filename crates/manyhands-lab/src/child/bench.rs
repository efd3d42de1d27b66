//! A case at one size, warmed and timed: the only code that runs arms.
//!
//! A pilot fixes for each arm how many calls make a sample long enough for the clock. A block times the arms one after the
//! other; resetting, counters and checksums stay outside the timed region. What a block means is decided elsewhere.

use super::{
    copies::Copies,
    protocol::{Batch, Start, Taken},
};
use crate::{
    LabError,
    clock::{ClockCard, GRAINS_MIN, Stopwatch, rest},
    experiment::{Trial, Workload, agreement::Agreement},
    meter::Meter,
    record::{PoolState, Sample},
};
use manyhands::Runtime;
use std::{sync::Arc, time::Duration};

/// An open case.
pub(crate) struct Bench<'case> {
    arms: Vec<Arm>,
    trial: Box<dyn Trial + 'case>,
    agreement: Agreement,
    pool: PoolState,
    workers: Option<usize>,
    meter: Meter,
    copies: Option<Copies<'case>>,
}

/// What the pilot found out about an arm.
struct Arm {
    name: String,
    calls: u32,
    sample: Duration,
    /// Its first call, where that was so long that it counts.
    first: Option<Sample>,
}

impl<'case> Bench<'case> {
    /// Makes room for the results of one size; no arm runs yet.
    pub(crate) fn new(
        case: &'case dyn Workload,
        n: usize,
        start: &Start,
    ) -> Result<Self, LabError> {
        let title = format!("{} {}", start.experiment, start.case);
        let arm = |name| Arm {
            name,
            calls: 1,
            sample: Duration::ZERO,
            first: None,
        };
        let arms: Vec<Arm> = case.arms().into_iter().map(arm).collect();
        if arms.len() < 2 {
            return Err(LabError::TooFewArms { case: title });
        }
        Ok(Self {
            agreement: Agreement::new(title, n),
            arms,
            trial: case.open(n),
            pool: start.pool,
            workers: start.workers,
            meter: Meter::new(),
            copies: None,
        })
    }

    /// Counts what this pool does, too.
    pub(crate) fn with_pool(mut self, pool: Arc<Runtime>) -> Self {
        self.meter = Meter::new().with_pool(pool);
        self
    }

    /// Runs copies of every call beside it.
    pub(crate) fn with_copies(mut self, copies: Option<Copies<'case>>) -> Self {
        self.copies = copies;
        self
    }

    /// Warms every arm, compares their results and fixes how many calls make a sample. Launches begin
    /// with one arm after the other: what is called first in a process pays for what it finds cold.
    pub(crate) fn pilot(
        &mut self,
        launch: u32,
        batch: Batch,
        clock: ClockCard,
    ) -> Result<(), LabError> {
        let grains = Duration::try_from_secs_f64(GRAINS_MIN * clock.grain_nanos / 1e9);
        let grains = grains.unwrap_or(Duration::MAX);
        let target = batch.at_least.max(grains);
        if target > batch.at_most {
            return Err(self.too_short(0, grains));
        }
        let arms = self.arms.len();
        for place in 0..arms {
            let arm = (place + launch as usize) % arms;
            self.fix_calls(arm, target, batch)?;
            if self.arms[arm].sample < grains {
                return Err(self.too_short(arm, grains));
            }
        }
        Ok(())
    }

    /// The first call warms the arm, and decides only if it was long enough to be no accident.
    /// After that the shorter of two samples counts: a long one may have been disturbed.
    fn fix_calls(&mut self, arm: usize, target: Duration, batch: Batch) -> Result<(), LabError> {
        let first = self.sample(arm)?;
        let mut took = first.wall();
        // Whoever reads the program from the disk first is disturbed, and would disturb the whole block.
        let is_cold = first.meters.major_faults > Some(0);
        self.arms[arm].first = (took >= batch.first_counts && !is_cold).then_some(first);
        if took <= batch.at_most {
            took = self.wall(arm)?.min(self.wall(arm)?);
        }
        let calls_max = match self.pool {
            PoolState::Warm => CALLS_MAX,
            PoolState::Parked | PoolState::ColdPool | PoolState::ColdProcess => PARKED_CALLS_MAX,
        };
        let calls_max = calls_max.min(self.trial.calls_max(arm));
        while took < target && self.arms[arm].calls < calls_max {
            let missing = target.as_nanos() / took.as_nanos().max(1) + 1;
            let factor = u32::try_from(missing).unwrap_or(u32::MAX).min(GROWTH_MAX);
            let calls = self.arms[arm].calls.saturating_mul(factor);
            self.arms[arm].calls = calls.min(calls_max);
            took = self.wall(arm)?.min(self.wall(arm)?);
        }
        self.arms[arm].sample = took;
        Ok(())
    }

    /// Times every arm in this order, a permutation; the number after the last arm is the baseline again.
    pub(crate) fn block(&mut self, order: &[usize]) -> Result<Taken, LabError> {
        let mut by_place = Vec::with_capacity(order.len());
        for place in order {
            let arm = place % self.arms.len();
            let sample = match self.arms[arm].first.take() {
                Some(first) => first,
                None => {
                    self.settle(arm);
                    self.sample(arm)?
                }
            };
            by_place.push((*place, sample));
        }
        by_place.sort_unstable_by_key(|(place, _)| *place);
        Ok(Taken {
            samples: by_place.into_iter().map(|(_, sample)| sample).collect(),
            checksum: format!("{:016x}", self.agreement.checksum()),
        })
    }

    /// Times a single call of an arm that was not called before.
    pub(crate) fn first(&mut self, arm: usize) -> Result<Taken, LabError> {
        self.trial.reset();
        self.trial.prepare(arm, 1);
        let sample = self.timed(arm, 1);
        self.agreement
            .check(&self.arms[arm].name, self.trial.checksum())?;
        Ok(Taken {
            samples: vec![sample],
            checksum: format!("{:016x}", self.agreement.checksum()),
        })
    }

    /// Calls an arm once, unless a call is so long that it warms what it needs itself.
    fn call_if_short(&mut self, arm: usize) {
        if self.is_short(arm) {
            self.reset();
            self.call(arm);
        }
    }

    fn is_short(&self, arm: usize) -> bool {
        self.arms[arm].sample / self.arms[arm].calls <= REFRESH_MAX
    }

    /// Calls an arm before it is timed, as another arm or another process had the caches meanwhile. With a warm pool it runs
    /// for a while: its own threads wake, and what the arm before has left spinning, in whosever pool, goes to sleep.
    fn settle(&mut self, arm: usize) {
        let watch = Stopwatch::start();
        self.call_if_short(arm);
        if self.pool != PoolState::Warm {
            return;
        }
        while watch.elapsed() < PAUSE && self.is_short(arm) {
            self.call(arm);
        }
    }

    /// Makes room for the results of a call.
    pub(crate) fn reset(&mut self) {
        self.trial.reset();
    }

    /// Calls an arm once, not timed.
    pub(crate) fn call(&mut self, arm: usize) {
        self.trial.prepare(arm, 1);
        self.trial.call(arm, 1);
    }

    fn wall(&mut self, arm: usize) -> Result<Duration, LabError> {
        Ok(self.sample(arm)?.wall())
    }

    /// Times one sample of an arm and checks what it stored.
    fn sample(&mut self, arm: usize) -> Result<Sample, LabError> {
        let calls = self.arms[arm].calls;
        self.trial.reset();
        let sample = if self.pool == PoolState::Warm {
            self.trial.prepare(arm, calls);
            self.timed(arm, calls)
        } else {
            let mut sum = Sample::default();
            for call in 0..calls {
                let one = match self.pool {
                    PoolState::ColdPool => self.with_cold_pool(arm)?,
                    _ => self.parked(arm),
                };
                sum = if call == 0 { one } else { sum.and(&one) };
            }
            sum
        };
        let name = &self.arms[arm].name;
        self.agreement.check(name, self.trial.checksum())?;
        for checksum in self.copies.iter_mut().flat_map(Copies::take_checksums) {
            self.agreement.check(name, checksum)?;
        }
        Ok(sample)
    }

    /// Times a call on its own, after a pause in which the workers fall asleep.
    fn parked(&mut self, arm: usize) -> Sample {
        self.trial.prepare(arm, 1);
        rest(PAUSE);
        self.timed(arm, 1)
    }

    /// Times a call on its own, with a pool that has just been made for it and has no threads, and that
    /// goes outside of what is timed.
    fn with_cold_pool(&mut self, arm: usize) -> Result<Sample, LabError> {
        self.trial.prepare(arm, 1);
        let pool = super::pool(self.workers)?;
        let _entered = pool.enter();
        Ok(self.timed(arm, 1))
    }

    /// Counters are read outside of what is timed.
    fn timed(&mut self, arm: usize, calls: u32) -> Sample {
        let before = self.meter.read();
        let wall = if let Some(copies) = &mut self.copies {
            copies.call(self.trial.as_mut(), arm, calls)
        } else {
            let watch = Stopwatch::start();
            self.trial.call(arm, calls);
            watch.elapsed()
        };
        Sample {
            calls,
            wall_nanos: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            meters: self.meter.read().since(&before),
        }
    }

    fn too_short(&self, arm: usize, grains: Duration) -> LabError {
        LabError::TooShort {
            case: self.agreement.case.clone(),
            n: self.agreement.n,
            arm: self.arms[arm].name.clone(),
            sample: self.arms[arm].sample,
            needed: grains,
        }
    }
}

/// Calls of a warm sample: some 10 ms of calls that do nothing.
const CALLS_MAX: u32 = 1 << 24;
/// Calls of a sample with a pause before each.
const PARKED_CALLS_MAX: u32 = 16;
/// One disturbed or cold call must not make a sample ten times too long.
const GROWTH_MAX: u32 = 16;
/// Longer than workers look for work before they sleep.
const PAUSE: Duration = Duration::from_millis(2);
/// Longer calls warm the caches themselves.
const REFRESH_MAX: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Scale;
    use std::{cell::RefCell, collections::HashSet, rc::Rc, sync::Mutex};

    /// Three arms that write down how they are called and otherwise do nothing.
    #[derive(Default)]
    struct Recorder {
        calls: Rc<RefCell<Vec<(usize, u32)>>>,
        prepared: Option<(usize, u32)>,
    }

    impl Workload for Recorder {
        fn name(&self) -> &'static str {
            "recorded"
        }

        fn arms(&self) -> Vec<String> {
            ["a", "b", "c"].map(str::to_owned).to_vec()
        }

        fn sizes(&self, _: Scale) -> Vec<usize> {
            vec![1]
        }

        fn open(&self, _: usize) -> Box<dyn Trial + '_> {
            Box::new(Self {
                calls: Rc::clone(&self.calls),
                prepared: None,
            })
        }
    }

    impl Trial for Recorder {
        fn reset(&mut self) {}

        fn prepare(&mut self, arm: usize, times: u32) {
            self.prepared = Some((arm, times));
        }

        fn call(&mut self, arm: usize, times: u32) {
            let prepared = self.prepared.take();
            assert_eq!(prepared, Some((arm, times)), "each call is prepared");
            self.calls.borrow_mut().push((arm, times));
        }

        fn checksum(&self) -> u64 {
            7
        }
    }

    const FINE: ClockCard = ClockCard {
        cost_nanos: 1.0,
        grain_nanos: 0.001,
    };

    fn start(pool: PoolState) -> Start {
        Start {
            experiment: "X".to_owned(),
            case: "recorded".to_owned(),
            cpus: None,
            copies: None,
            workers: None,
            pool,
            batch: Batch::default(),
        }
    }

    #[test]
    fn a_block_takes_the_arms_in_the_order_asked_and_its_twin_is_the_baseline() {
        let recorder = Recorder::default();
        let mut bench = Bench::new(&recorder, 1, &start(PoolState::Warm)).unwrap();
        let taken = bench.block(&[2, 3, 0, 1]).unwrap();
        let arms: Vec<usize> = recorder
            .calls
            .borrow()
            .iter()
            .map(|(arm, _)| *arm)
            .collect();
        // Each is called a while before it is timed.
        let mut runs = arms.clone();
        runs.dedup();
        assert_eq!(runs, [2, 0, 1]);
        assert!(arms.len() > 8);
        assert_eq!(taken.samples.len(), 4);
        assert_eq!(taken.checksum, "0000000000000007");
    }

    #[test]
    fn calls_that_are_too_short_are_repeated_within_limits() {
        let recorder = Recorder::default();
        let mut bench = Bench::new(&recorder, 1, &start(PoolState::Warm)).unwrap();
        bench.pilot(0, Batch::default(), FINE).unwrap();
        // Calls that do nothing never fill a batch.
        let taken = bench.block(&[0, 1, 2]).unwrap();
        assert!(taken.samples.iter().all(|sample| sample.calls == CALLS_MAX));
        let last = recorder.calls.borrow().last().copied();
        assert_eq!(last, Some((2, CALLS_MAX)));
    }

    #[test]
    fn each_launch_calls_another_arm_first() {
        for (launch, expected) in [(0, [0, 1, 2]), (1, [1, 2, 0]), (5, [2, 0, 1])] {
            let recorder = Recorder::default();
            let mut bench = Bench::new(&recorder, 1, &start(PoolState::Parked)).unwrap();
            bench.pilot(launch, Batch::default(), FINE).unwrap();
            let calls = recorder.calls.borrow();
            let mut arms: Vec<usize> = calls.iter().map(|(arm, _)| *arm).collect();
            arms.dedup();
            assert_eq!(arms, expected, "launch {launch}");
        }
    }

    #[test]
    fn the_first_calls_count_if_they_are_long() {
        let recorder = Recorder::default();
        let mut bench = Bench::new(&recorder, 1, &start(PoolState::Parked)).unwrap();
        let long = Batch {
            at_least: Duration::ZERO,
            at_most: Duration::ZERO,
            first_counts: Duration::ZERO,
        };
        let clock = ClockCard {
            grain_nanos: 0.0,
            ..FINE
        };
        bench.pilot(0, long, clock).unwrap();
        let calls = || recorder.calls.borrow().len();
        assert_eq!(calls(), 3);
        assert_eq!(bench.block(&[3, 1, 0, 2]).unwrap().samples.len(), 4);
        // The baseline's second sample, after a call that warms it.
        assert_eq!(calls() - 3, 2);
        bench.block(&[0, 1, 2, 3]).unwrap();
        assert_eq!(calls() - 5, 8, "no call counts twice");
    }

    #[test]
    fn with_a_parked_pool_every_call_is_timed_on_its_own() {
        let recorder = Recorder::default();
        let mut bench = Bench::new(&recorder, 1, &start(PoolState::Parked)).unwrap();
        bench.pilot(0, Batch::default(), FINE).unwrap();
        let taken = bench.block(&[0, 1, 2]).unwrap();
        let is_capped = |sample: &Sample| sample.calls == PARKED_CALLS_MAX;
        assert!(taken.samples.iter().all(is_capped));
        assert!(recorder.calls.borrow().iter().all(|(_, times)| *times == 1));
    }

    #[test]
    fn a_cold_pool_is_a_new_one_for_every_call() {
        let pools = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::clone(&pools);
        let here = move |n: usize| {
            let name = manyhands::task::run(|| std::thread::current().id()).join();
            seen.lock().unwrap().insert(name.unwrap());
            n
        };
        let case = crate::Case::returning("c")
            .arm("one", here.clone())
            .arm("two", here);
        let start = Start {
            workers: Some(1),
            ..start(PoolState::ColdPool)
        };
        // What is not timed runs in this one.
        let warm = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let _entered = warm.enter();
        let mut bench = Bench::new(&case, 1, &start).unwrap();
        bench.block(&[0, 1, 2]).unwrap();
        assert_eq!(pools.lock().unwrap().len(), 3 + 1);
    }

    #[test]
    fn the_first_call_is_timed_alone() {
        let recorder = Recorder::default();
        let mut bench = Bench::new(&recorder, 1, &start(PoolState::ColdProcess)).unwrap();
        let taken = bench.first(1).unwrap();
        assert_eq!(*recorder.calls.borrow(), [(1, 1)]);
        assert_eq!((taken.samples.len(), taken.samples[0].calls), (1, 1));
    }

    #[test]
    fn a_clock_that_is_too_coarse_is_refused() {
        fn check(pool: PoolState, grain_nanos: f64) {
            let recorder = Recorder::default();
            let mut bench = Bench::new(&recorder, 1, &start(pool)).unwrap();
            let clock = ClockCard {
                grain_nanos,
                ..FINE
            };
            let error = bench.pilot(0, Batch::default(), clock).unwrap_err();
            assert!(matches!(error, LabError::TooShort { .. }), "{error}");
            assert!(error.to_string().contains("X recorded at n = 1"), "{error}");
        }
        // A sample would have to take a tenth of a second.
        check(PoolState::Warm, 1e6);
        // A clock that never moved.
        check(PoolState::Warm, 1e28);
        // Sixteen calls that do nothing do not take a tenth of a millisecond.
        check(PoolState::Parked, 1_000.0);
    }

    #[test]
    fn a_case_needs_two_arms() {
        let case = crate::Case::returning("alone").arm("only", |n| n);
        let error = Bench::new(&case, 1, &start(PoolState::Warm)).map(drop);
        assert!(matches!(error, Err(LabError::TooFewArms { .. })));
    }
}
