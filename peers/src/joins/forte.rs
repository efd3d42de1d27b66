//! `Worker::join` on a static pool of one worker less than there are CPUs; the caller is the other.
//!
//! Version 1.0.0-alpha.4: later ones require Rust 1.96.

use forte::{ThreadPool, Worker};

use crate::joins::{Joins, hash, tree::Node};

static POOL: ThreadPool = ThreadPool::new();

#[derive(Debug)]
pub(crate) struct Forte;

impl Joins for Forte {
    fn new() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        POOL.resize_to((cpus - 1).max(1));
        Self
    }

    fn fib(&mut self, index: u32) -> u64 {
        POOL.with_worker(|worker| fib(worker, index))
    }

    fn sum(&mut self, tree: &Node) -> u64 {
        POOL.with_worker(|worker| sum(worker, tree))
    }

    fn invoke(&mut self) -> u64 {
        let two = |worker: &Worker| worker.join(|_| hash(), |_| hash());
        let ((a, b), (c, d)) = POOL.with_worker(|worker| worker.join(two, two));
        a + b + c + d
    }
}

fn fib(worker: &Worker, index: u32) -> u64 {
    if index < 2 {
        return u64::from(index);
    }
    let (one, two) = worker.join(
        |worker| fib(worker, index - 1),
        |worker| fib(worker, index - 2),
    );
    one + two
}

fn sum(worker: &Worker, node: &Node) -> u64 {
    let (left, right) = worker.join(
        |worker| node.left.as_deref().map_or(0, |node| sum(worker, node)),
        |worker| node.right.as_deref().map_or(0, |node| sum(worker, node)),
    );
    node.value + left + right
}
