//! A runtime's end beside a wake from outside.
//!
//! Threads: one that wakes the only waiting task, from outside; one that ends the runtime. Operations: get the
//! right to queue the task, push and notify under a keep-alive guard; close the registry, drop the queued tasks until
//! no guard is left, free the runtime.
//! Property: the runtime is not touched after its end, and the end comes.

use super::{Count, Flag, Memory, Work, beside, check};
use crate::job::{TaskKey, TaskRegistry};
use crate::queue::TaskQueue;
use loom::sync::Arc;
use std::ptr;

struct Model {
    registry: TaskRegistry,
    runtime: Memory,
    injector: TaskQueue<Work>,
    task: Work,
    /// In place of the state word: whether a thread has the right to queue the task already.
    is_queued: Flag,
    /// A word that a notification reads, which may come late.
    rings: Count,
}

impl Model {
    fn may_queue(&self) -> bool {
        !self.is_queued.set()
    }

    fn push(&self) {
        self.runtime.touch();
        self.injector.push(self.task.unqueued());
    }
}

impl Model {
    /// The waking thread.
    fn wake(&self, place: TaskKey) {
        if self.may_queue() {
            self.registry.with_runtime(place.shard(), |_| {
                self.push();
                self.rings.add(1);
                self.runtime.touch();
            });
        }
    }

    /// The thread that ends the runtime.
    fn end(&self, place: TaskKey) {
        self.registry.close(|_| {
            if self.may_queue() {
                self.push();
            }
        });
        self.registry.until_deserted(|| {
            if let Some(run) = self.injector.take(1) {
                Work::taken(run.split_first().0).run();
                self.registry.take_out(place);
            }
        });
        // Makes loom try the end before the notification and after it.
        self.rings.add(1);
        self.runtime.free();
    }
}

#[test]
fn a_runtime_ends_after_the_last_visit() {
    check(|| {
        let model = Arc::new(Model {
            registry: TaskRegistry::default(),
            runtime: Memory::new(),
            injector: TaskQueue::default(),
            task: Work::new(0),
            is_queued: Flag::new(),
            rings: Count::new(),
        });
        let place = model.registry.register(ptr::without_provenance_mut(64), 0);
        let place = place.expect("the registry is open");
        let ender = beside(&model, move |model| model.end(place));
        model.wake(place);
        ender.join().expect("the model fails at once");
        assert!(model.task.is_done());
    });
}
