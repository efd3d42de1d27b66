//! forte has no loops: ranges are halved with `Worker::join` down to single items, slices down to
//! 1,024 elements, the same way as for chili.
//!
//! Version 1.0.0-alpha.4: later ones require Rust 1.96. Its pool starts empty, and
//! `resize_to_available` leaves it empty on two CPUs, so it is given one worker less than there
//! are CPUs; the caller is the other.

use forte::{ThreadPool, Worker};

use crate::loops::Loops;

static POOL: ThreadPool = ThreadPool::new();

#[derive(Debug)]
pub(crate) struct Forte;

impl Loops for Forte {
    type Background = Self;

    fn new() -> Result<Self, String> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        POOL.resize_to((cpus - 1).max(1));
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        if len > 0 {
            POOL.with_worker(|worker| for_range(worker, 0, len, &body));
        }
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        POOL.with_worker(|worker| saxpy(worker, scale, x, y));
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        POOL.with_worker(|worker| sum(worker, values))
    }
}

fn for_range<B: Fn(usize) + Sync>(worker: &Worker, low: usize, high: usize, body: &B) {
    if high - low == 1 {
        body(low);
        return;
    }
    let middle = low.midpoint(high);
    worker.join(
        |worker| for_range(worker, low, middle, body),
        |worker| for_range(worker, middle, high, body),
    );
}

fn saxpy(worker: &Worker, scale: f32, x: &[f32], y: &mut [f32]) {
    if x.len() <= LEAF_LEN {
        for (y, x) in y.iter_mut().zip(x) {
            *y += scale * x;
        }
        return;
    }
    let middle = x.len() / 2;
    let (x_low, x_high) = x.split_at(middle);
    let (y_low, y_high) = y.split_at_mut(middle);
    worker.join(
        |worker| saxpy(worker, scale, x_low, y_low),
        |worker| saxpy(worker, scale, x_high, y_high),
    );
}

fn sum(worker: &Worker, values: &[u64]) -> u64 {
    if values.len() <= LEAF_LEN {
        return values.iter().sum();
    }
    let (low, high) = values.split_at(values.len() / 2);
    let (low, high) = worker.join(|worker| sum(worker, low), |worker| sum(worker, high));
    low + high
}

/// Elements of a slice that are not split further: a few hundred nanoseconds.
const LEAF_LEN: usize = 1_024;
