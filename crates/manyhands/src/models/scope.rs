//! The end of a scope: its count, its latch and the pins on its slot, with the real queue between.
//!
//! Threads: an owner, one or two helpers. Operations, all of them the
//! runtime's own: those of `Closures`, of the slot and of the owner's waits. The owner opens, spawns, settles the body, runs what is
//! queued, and sleeps; then it closes and waits for the helpers. A helper pins, runs what is queued, perhaps
//! leaves although there is more.
//! Property: every closure is run exactly once before the scope ends, what it wrote is visible then, the last
//! access of the thread that finished last comes before the end, and the owner does not sleep while it could run
//! something.

use super::{Asleep, Flag, Memory, Work, beside, check, help, join_all};
use crate::runtime::fork_join::waiting;
use crate::runtime::{CallHeader, Closures, HelperSlot, Spawner};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;
use std::ptr;

#[repr(C)]
struct Model<const COUNT: usize> {
    open: CallHeader,
    frame: Memory,
    closures: Closures<Work>,
    works: [Work; COUNT],
    /// The first closure spawns the last one, which the body leaves to it.
    spawns_inside: bool,
    helper: Helper,
    /// Set when the last closure has run, for the helper's closure.
    has_run: Flag,
    inside: Parker,
    /// What follows outlives the scope.
    slot: HelperSlot,
    parker: Parker,
}

/// When a helper goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Helper {
    /// When it finds nothing.
    Stays,
    /// After one closure, because a task waits.
    Leaves,
    /// When it finds nothing; and the closure that it runs waits for the one that it spawns.
    Waits,
}

const SLOT: u16 = 7;
/// Closures that are run between two looks.
const TOGETHER_MAX: usize = 2;

impl<const COUNT: usize> Model<COUNT> {
    fn new(helper: Helper) -> Arc<Self> {
        Self::with_spawns(helper, false)
    }

    fn with_spawns(helper: Helper, spawns_inside: bool) -> Arc<Self> {
        Arc::new(Self {
            open: CallHeader { help: Self::help },
            frame: Memory::new(),
            closures: Closures::new(),
            works: Work::some(),
            spawns_inside,
            helper,
            has_run: Flag::new(),
            inside: Parker::default(),
            slot: HelperSlot::default(),
            parker: Parker::default(),
        })
    }

    /// Owner: a scope that spawns every closure, from its opening to its end.
    fn scope(&self) {
        let mut waiter = Asleep(&self.parker);
        // SAFETY: the model keeps the call to its end, and `frame` tells if it should not have.
        unsafe {
            self.slot.open_during(
                (&raw const *self).cast(),
                || self.run_to_end(),
                || waiting::for_helpers(&mut waiter, &self.slot, &|| false),
            );
        }
        assert!(self.works.iter().all(Work::is_done));
        self.frame.free();
    }

    fn run_to_end(&self) {
        self.slot.dismiss();
        let spawned = COUNT - usize::from(self.spawns_inside);
        (0..spawned).for_each(|number| self.spawn(number, Spawner::Owner));
        self.closures.settle_body();
        let run_own =
            || self.closures.is_any_queued() && self.run_some(TOGETHER_MAX, Spawner::Owner);
        waiting::for_scope(&mut Asleep(&self.parker), SLOT, &self.closures, &run_own);
    }

    fn spawn(&self, number: usize, spawner: Spawner) {
        self.frame.touch();
        self.works[number].prepare();
        let sleeper = self.closures.push(self.works[number].unqueued(), spawner);
        self.frame.touch();
        self.slot.invite();
        sleeper.into_iter().for_each(|slot| self.wake(slot));
    }

    fn run_some(&self, max: usize, runner: Spawner) -> bool {
        let run = |work| self.run(Work::taken(work), runner);
        self.closures.run_queued(max, run, |slot| self.wake(slot))
    }

    fn run(&self, work: &Work, runner: Spawner) {
        work.run();
        if self.spawns_inside && ptr::eq(work, &raw const self.works[0]) {
            self.spawn(COUNT - 1, runner);
            let waits = self.helper == Helper::Waits && runner == Spawner::Other;
            while waits && !self.has_run.is_set() {
                self.inside.park();
            }
        } else if self.helper == Helper::Waits {
            self.has_run.set();
            self.inside.unpark();
        }
    }

    fn wake(&self, slot: u16) {
        assert_eq!(slot, SLOT);
        self.parker.unpark();
    }

    /// Where the queue is in another's hands the real helper spins; this one leaves, because loom lets two
    /// that spin take turns for ever.
    unsafe fn help(open: *const CallHeader) {
        // SAFETY: the head is the model's first field.
        let scope = unsafe { &*open.cast::<Self>() };
        if scope.helper == Helper::Leaves {
            scope.run_some(1, Spawner::Other);
        } else {
            while scope.run_some(TOGETHER_MAX, Spawner::Other) {}
            scope.slot.dismiss();
        }
        scope.frame.touch();
        let sleeper = scope.closures.leave(&scope.slot);
        sleeper.into_iter().for_each(|slot| scope.wake(slot));
    }
}

/// Starts a helper.
fn helper<const COUNT: usize>(model: &Arc<Model<COUNT>>, slot: u16) -> thread::JoinHandle<()> {
    beside(model, move |model| {
        help(&model.slot, &model.parker, slot, || ());
    })
}

#[test]
fn a_scope_ends_after_the_last_access_of_its_helper() {
    check(|| {
        let model = Model::<1>::new(Helper::Stays);
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn every_closure_of_a_scope_is_run_before_its_end() {
    check(|| {
        let model = Model::<2>::new(Helper::Stays);
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn what_a_closure_spawns_is_run_before_the_end_too() {
    check(|| {
        let model = Model::<2>::with_spawns(Helper::Stays, true);
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn the_owner_runs_what_a_helper_leaves_behind() {
    check(|| {
        let model = Model::<2>::with_spawns(Helper::Leaves, true);
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn the_owner_runs_what_a_closure_spawns_and_waits_for() {
    check(|| {
        let model = Model::<2>::with_spawns(Helper::Waits, true);
        let helper = helper(&model, 1);
        model.scope();
        helper.join().unwrap();
    });
}

#[test]
fn two_helpers_and_the_owner_share_a_scope() {
    check(|| {
        let model = Model::<1>::new(Helper::Stays);
        let helpers = [1, 2].map(|slot| helper(&model, slot));
        model.scope();
        join_all(helpers);
    });
}
