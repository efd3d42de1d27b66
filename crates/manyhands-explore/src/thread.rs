//! Threads: coroutines of the scheduler.

use crate::lock::plain;
use crate::world::{self, Awaits, Thread};
use std::any::Any;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Plain};
use std::time::Duration;

pub use shuttle::thread::{ThreadId, current};
pub use world::{panicking, yield_now};

/// As the standard library's.
#[derive(Debug, Default)]
#[must_use]
pub struct Builder(shuttle::thread::Builder);

impl Builder {
    pub fn new() -> Self {
        Self(shuttle::thread::Builder::new())
    }

    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Stacks are all of one size.
    pub fn stack_size(self, _size: usize) -> Self {
        self
    }

    /// A thread that ends in a panic ends the exploration: no thread here may panic.
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if world::is_start_refused() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let end = Arc::new(End::default());
        let its_end = Arc::clone(&end);
        let inner = self.0.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(f));
            // Relaxed: all run on one thread of the system.
            its_end.has_come.store(true, Ordering::Relaxed);
            let waiters = std::mem::take(&mut *plain(its_end.waiters.lock()));
            waiters.into_iter().for_each(world::unblock);
            result
                .unwrap_or_else(|payload| world::fail(&format!("panicked: {}", text_of(&*payload))))
        })?;
        world::has_started();
        Ok(JoinHandle { inner, end })
    }
}

/// As the standard library's.
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: shuttle::thread::JoinHandle<T>,
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    has_come: AtomicBool,
    waiters: Plain<Vec<Thread>>,
}

impl<T> JoinHandle<T> {
    pub fn thread(&self) -> &shuttle::thread::Thread {
        self.inner.thread()
    }

    pub fn is_finished(&self) -> bool {
        world::point();
        // Relaxed: as above.
        self.end.has_come.load(Ordering::Relaxed)
    }

    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        // Relaxed: as above.
        while !self.end.has_come.load(Ordering::Relaxed) {
            plain(self.end.waiters.lock()).push(world::this());
            world::block(Awaits::End, None);
        }
        self.inner.join()
    }
}

/// Sleeps for this duration.
pub fn sleep(duration: Duration) {
    let deadline = world::deadline(duration);
    while !world::has_come(deadline) {
        world::block(Awaits::Time, deadline);
    }
}

/// The message of a panic.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("something that is no text")
}
