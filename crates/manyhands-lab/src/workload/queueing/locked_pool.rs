//! A thread pool as they once were: one queue, one lock. It exists to be compared with.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// Threads that run what is queued, oldest first, until the pool is dropped.
pub(super) struct LockedPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl LockedPool {
    /// Starts the threads.
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let start = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.run())
        };
        let threads = (0..threads).map(start).collect();
        Self { shared, threads }
    }

    /// Queues a closure.
    pub(super) fn queue(&self, work: impl FnOnce() + Send + 'static) {
        self.shared.lock().work.push_back(Box::new(work));
        self.shared.changed.notify_one();
    }
}

impl Drop for LockedPool {
    /// Runs what is still queued, and waits for it.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A closure that panicked has ended its thread; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Box<dyn FnOnce() + Send>>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread's life.
    fn run(&self) {
        while let Some(work) = self.next() {
            work();
        }
    }

    /// The oldest work, waited for; `None` when the pool is closed and nothing is left.
    fn next(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let is_idle = |queue: &mut Queue| queue.work.is_empty() && !queue.closed;
        let queue = self.changed.wait_while(self.lock(), is_idle);
        queue
            .unwrap_or_else(PoisonError::into_inner)
            .work
            .pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn everything_queued_is_run_before_the_pool_is_gone() {
        let (sender, receiver) = mpsc::channel();
        let pool = LockedPool::new(2);
        for number in 0..1_000 {
            let sender = sender.clone();
            pool.queue(move || sender.send(number).unwrap());
        }
        drop((pool, sender));
        let mut all: Vec<i32> = receiver.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1_000).collect::<Vec<_>>());
    }
}
