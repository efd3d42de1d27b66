//! A runtime's end beside a wake from outside.
//!
//! Threads: one that wakes the only waiting task, from outside; one that ends the runtime. Operations, as in
//! `runtime/current.rs` and `runtime/shared.rs`: get the right to queue the task, visit, push, ring, leave;
//! close the home, drop what is queued until the home is deserted, free the runtime.
//! Property: the runtime is not touched after its end, and the end comes.

use super::{Memory, Work, check};
use crate::job::{Home, Place};
use crate::queue::TaskQueue;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::spin_loop;
use loom::sync::Arc;
use loom::thread;
use std::ptr;

struct Model {
    home: Home,
    runtime: Memory,
    injector: TaskQueue<Work>,
    task: Work,
    /// Stands for the state word: whether somebody has the right to queue the task already.
    is_queued: AtomicBool,
    /// Stands for the counts of `idle.rs`.
    rings: AtomicU32,
}

impl Model {
    fn may_queue(&self) -> bool {
        // AcqRel: as the state's exchange.
        !self.is_queued.swap(true, Ordering::AcqRel)
    }

    fn push(&self) {
        self.runtime.touch();
        // SAFETY: the model keeps the task, and it is in no queue.
        unsafe { self.injector.push(self.task.as_ptr()) };
    }
}

impl Model {
    /// The one who wakes.
    fn wake(&self, place: Place) {
        if self.may_queue() {
            let visit = self.home.visit(place.shard());
            self.push();
            // SeqCst: as the look at the counts.
            self.rings.fetch_add(1, Ordering::SeqCst);
            self.runtime.touch();
            drop(visit);
        }
    }

    /// The one who ends the runtime.
    fn end(&self, place: Place) {
        self.home.close(|_| {
            if self.may_queue() {
                self.push();
            }
        });
        loop {
            if let Some(run) = self.injector.take(1) {
                Work::at(run.first).run();
                self.home.take_out(place);
            }
            if self.home.is_deserted() {
                break;
            }
            spin_loop();
        }
        // SeqCst: as above; makes loom try the end before the ring and after it.
        self.rings.fetch_add(1, Ordering::SeqCst);
        self.runtime.free();
    }
}

#[test]
fn a_runtime_ends_after_the_last_visit() {
    check(|| {
        let model = Arc::new(Model {
            home: Home::new(),
            runtime: Memory::new(),
            injector: TaskQueue::new(),
            task: Work::new(0),
            is_queued: AtomicBool::new(false),
            rings: AtomicU32::new(0),
        });
        let place = model.home.register(ptr::without_provenance_mut(64), 0);
        let place = place.expect("the home is open");
        let ender = thread::spawn({
            let model = Arc::clone(&model);
            move || model.end(place)
        });
        model.wake(place);
        ender.join().expect("the model fails at once");
        assert!(model.task.is_done());
    });
}
