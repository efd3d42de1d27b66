//! `ThreadPool::execute` on as many threads as there are CPUs.

use std::thread;

use threadpool::ThreadPool;

use crate::items::Items;
use crate::tally;

#[derive(Debug)]
pub(crate) struct Threads(ThreadPool);

impl Items for Threads {
    fn new() -> Result<Self, String> {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self(ThreadPool::new(cpus)))
    }

    fn outside(&mut self, count: usize) {
        execute(&self.0, count);
    }

    fn inside(&mut self, count: usize) {
        let pool = self.0.clone();
        self.0.execute(move || execute(&pool, count));
    }
}

fn execute(pool: &ThreadPool, count: usize) {
    for _ in 0..count {
        pool.execute(tally::count);
    }
    tally::all_handed_over();
}
