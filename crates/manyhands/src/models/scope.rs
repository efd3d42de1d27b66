//! The end of a scope: its count, its latch and the pins on its slot, with the real queue between.
//!
//! Threads: an owner, one or two helpers. Operations, as in `runtime/scope.rs`: open, spawn, finish one,
//! run what is queued, wait for the latch, close, wait for the helpers; pin, run what is queued, finish
//! one, dismiss, unpin, wake.
//! Property: every closure is run exactly once before the scope ends, what it wrote is visible then, and
//! the last access of whoever finished last comes before the end.

use super::{Memory, Work, check};
use crate::job::{ExecutionId, Latch};
use crate::queue::TaskQueue;
use crate::runtime::{OpenCall, OpenSlot};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Parker, spin_loop};
use loom::sync::Arc;
use loom::thread;

#[repr(C)]
struct Model<const CLOSURES: usize> {
    open: OpenCall,
    frame: Memory,
    queue: TaskQueue<Work>,
    unfinished: AtomicUsize,
    latch: Latch,
    closures: [Work; CLOSURES],
    /// What follows outlives the scope.
    slot: OpenSlot,
    parker: Parker,
}

const SEAT: u16 = 7;

impl<const CLOSURES: usize> Model<CLOSURES> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            open: OpenCall::new(Self::help),
            frame: Memory::new(),
            queue: TaskQueue::new(),
            unfinished: AtomicUsize::new(1),
            latch: Latch::new(),
            closures: Work::some(),
            slot: OpenSlot::new(),
            parker: Parker::new(),
        })
    }

    /// Owner: a scope that spawns every closure, from its opening to its end.
    fn scope(&self) {
        // SAFETY: the model keeps the call to its end, and `frame` tells if it should not have.
        unsafe { self.slot.open(&raw const self.open) };
        self.slot.dismiss();
        (0..CLOSURES).for_each(|number| self.spawn(number));
        self.finish_one();
        self.run_queued();
        if !self.latch.is_final() && self.latch.fall_asleep(SEAT) {
            while !self.latch.is_final() {
                self.parker.park();
            }
        }
        self.slot.close();
        if !self.slot.is_drained() && self.slot.fall_asleep() {
            while !self.slot.is_drained() {
                self.parker.park();
            }
        }
        assert!(self.closures.iter().all(Work::is_done));
        self.frame.free();
    }

    fn spawn(&self, number: usize) {
        self.frame.touch();
        // Relaxed: as in `Scope::spawn`.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.closures[number].prepare();
        // SAFETY: 1. closures live as long as the model; 2. each is spawned once.
        unsafe { self.queue.push(self.closures[number].as_ptr()) };
        self.slot.invite();
    }

    /// Owner: runs closures until none is left.
    fn run_queued(&self) {
        while !self.queue.is_empty() {
            if !self.run_one() {
                spin_loop();
            }
        }
    }

    fn run_one(&self) -> bool {
        let taken = self.queue.take(1);
        if let Some(run) = &taken {
            Work::at(run.first).run();
            self.finish_one();
        }
        taken.is_some()
    }

    fn finish_one(&self) {
        self.frame.touch();
        // AcqRel: as in `Scope::finish_one`.
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.frame.touch();
            // SAFETY: the model keeps the latch to its end.
            if let Some(seat) = unsafe { Latch::set(&raw const self.latch) } {
                assert_eq!(seat, SEAT);
                self.parker.unpark();
            }
        }
    }

    /// Where the queue is in another's hands the real helper spins; this one leaves, because loom lets two
    /// that spin take turns for ever.
    unsafe fn help(open: *const OpenCall) {
        // SAFETY: the head is the model's first field.
        let scope = unsafe { &*open.cast::<Self>() };
        loop {
            while scope.run_one() {}
            scope.slot.dismiss();
            scope.frame.touch();
            if scope.queue.is_empty() || !scope.run_one() {
                return;
            }
            scope.slot.invite();
        }
    }
}

/// Starts a helper, as in `runtime/worker.rs`.
fn helper<const CLOSURES: usize>(
    model: &Arc<Model<CLOSURES>>,
    seat: u16,
) -> thread::JoinHandle<()> {
    let model = Arc::clone(model);
    thread::spawn(move || {
        if let Some(pin) = model.slot.try_pin() {
            pin.help(ExecutionId::new(seat, 0, 1));
            if pin.unpin() {
                model.parker.unpark();
            }
        }
    })
}

#[test]
fn a_scope_ends_after_the_last_access_of_its_helper() {
    check(|| {
        let model = Model::<1>::new();
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn every_closure_of_a_scope_is_run_before_its_end() {
    check(|| {
        let model = Model::<2>::new();
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn two_helpers_and_the_owner_share_a_scope() {
    check(|| {
        let model = Model::<1>::new();
        let helpers = [1, 2].map(|seat| helper(&model, seat));
        model.scope();
        for helper in helpers {
            helper.join().unwrap();
        }
    });
}
