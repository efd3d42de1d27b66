//! The end of a scope: its count, its latch and the pins on its slot, with the real queue between.
//!
//! Threads: an owner, one or two helpers. Operations, as in `runtime/scope.rs`: open, spawn, settle the
//! body, run what is queued and count it off, wait for the latch, close, wait for the helpers; pin, run
//! what is queued, perhaps spawn one more, count it off, dismiss, unpin, wake.
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
use std::ptr;

#[repr(C)]
struct Model<const CLOSURES: usize> {
    open: OpenCall,
    frame: Memory,
    queue: TaskQueue<Work>,
    unfinished: AtomicUsize,
    latch: Latch,
    closures: [Work; CLOSURES],
    /// The first closure spawns the last one, which the body leaves to it.
    spawns_inside: bool,
    /// What follows outlives the scope.
    slot: OpenSlot,
    parker: Parker,
}

const SEAT: u16 = 7;
const BODY: usize = 1 << 20;

impl<const CLOSURES: usize> Model<CLOSURES> {
    fn new() -> Arc<Self> {
        Self::with_spawns(false)
    }

    fn with_spawns(spawns_inside: bool) -> Arc<Self> {
        Arc::new(Self {
            open: OpenCall::new(Self::help),
            frame: Memory::new(),
            queue: TaskQueue::new(),
            unfinished: AtomicUsize::new(BODY),
            latch: Latch::new(),
            closures: Work::some(),
            spawns_inside,
            slot: OpenSlot::new(),
            parker: Parker::new(),
        })
    }

    /// Owner: a scope that spawns every closure, from its opening to its end.
    fn scope(&self) {
        // SAFETY: the model keeps the call to its end, and `frame` tells if it should not have.
        unsafe { self.slot.open(&raw const self.open) };
        self.slot.dismiss();
        let spawned = CLOSURES - usize::from(self.spawns_inside);
        (0..spawned).for_each(|number| self.spawn(number));
        self.count_finished(BODY - spawned);
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
        self.closures[number].prepare();
        // SAFETY: 1. closures live as long as the model; 2. each is spawned once.
        unsafe { self.queue.push(self.closures[number].as_ptr()) };
        self.slot.invite();
    }

    /// Owner: runs closures until none is left.
    fn run_queued(&self) {
        while !self.queue.is_empty() {
            if !self.run_some() {
                spin_loop();
            }
        }
    }

    /// Runs closures until none can be taken just now; returns whether there was one.
    fn run_some(&self) -> bool {
        let mut finished = 0;
        while let Some(run) = self.queue.take(1) {
            self.run(Work::at(run.first));
            finished += 1;
        }
        self.count_finished(finished);
        finished > 0
    }

    fn run(&self, closure: &Work) {
        closure.run();
        if self.spawns_inside && ptr::eq(closure, &raw const self.closures[0]) {
            // Relaxed: as in `Scope::count_spawned`.
            self.unfinished.fetch_add(1, Ordering::Relaxed);
            self.spawn(CLOSURES - 1);
        }
    }

    fn count_finished(&self, count: usize) {
        self.frame.touch();
        // AcqRel: as in `Scope::count_finished`.
        if count > 0 && self.unfinished.fetch_sub(count, Ordering::AcqRel) == count {
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
            scope.run_some();
            scope.slot.dismiss();
            scope.frame.touch();
            if scope.queue.is_empty() || !scope.run_some() {
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
fn what_a_closure_spawns_is_run_before_the_end_too() {
    check(|| {
        let model = Model::<2>::with_spawns(true);
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
