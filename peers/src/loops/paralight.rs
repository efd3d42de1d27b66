//! paralight with its work-stealing strategy, the one it recommends when items may be uneven.
//!
//! A paralight pool runs one loop at a time, so the other loop of the busy state has a second pool.

use paralight::prelude::{
    CpuPinningPolicy, ExactParallelSourceExt, IntoExactParallelRefMutSource,
    IntoExactParallelRefSource, IntoExactParallelSource, ParallelIteratorExt, RangeStrategy,
    ThreadCount, ThreadPool, ThreadPoolBuilder, ZipableSource,
};

use crate::loops::Loops;

pub(crate) struct Paralight(ThreadPool);

impl Loops for Paralight {
    type Background = Self;

    fn new() -> Result<Self, String> {
        let builder = ThreadPoolBuilder {
            num_threads: ThreadCount::AvailableParallelism,
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Ok(Self(builder.build()))
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        (0..len)
            .into_par_iter()
            .with_thread_pool(&mut self.0)
            .for_each(body);
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        (y.par_iter_mut(), x.par_iter())
            .zip_eq()
            .with_thread_pool(&mut self.0)
            .for_each(move |(y, x)| *y += scale * x);
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.par_iter().with_thread_pool(&mut self.0).sum()
    }
}
