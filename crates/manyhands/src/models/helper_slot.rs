//! The slot in which a call is left open: helpers come and go, the owner waits for the last.
//!
//! Threads: an owner, one or two helpers. Operations, all of them the runtime's: the owner keeps a call open and
//! waits for its helpers; a helper pins, takes part, dismisses, and wakes the owner.
//! Property: no helper touches a call after its owner has left it, also when the slot holds the next call
//! by then; what helpers wrote is visible to the owner; the owner always wakes.

use super::{Asleep, Flag, Memory, Work, beside, check, help, join_all};
use crate::runtime::fork_join::waiting;
use crate::runtime::{CallHeader, HelperSlot};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

/// One open call: a single piece of work, for the first thread that takes it.
#[repr(C)]
struct Call {
    open: CallHeader,
    frame: Memory,
    taken: Flag,
    work: Work,
}

impl Call {
    fn new() -> Self {
        Self {
            open: CallHeader { help: Self::help },
            frame: Memory::new(),
            taken: Flag::new(),
            work: Work::new(0),
        }
    }

    fn take_part(&self) {
        self.frame.touch();
        if !self.taken.set() {
            self.work.run();
        }
        self.frame.touch();
    }

    unsafe fn help(open: *const CallHeader) {
        // SAFETY: the pointer is to the whole call, and the model keeps calls to its end.
        unsafe { &*open.cast::<Self>() }.take_part();
    }
}

struct Model<const CALLS: usize> {
    slot: HelperSlot,
    calls: [Call; CALLS],
    parker: Parker,
}

impl<const CALLS: usize> Model<CALLS> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            slot: HelperSlot::default(),
            calls: std::array::from_fn(|_| Call::new()),
            parker: Parker::default(),
        })
    }

    /// Owner: one call from its opening to its end.
    fn call(&self, number: usize, takes_part: bool) {
        let call = &self.calls[number];
        let work = || {
            if takes_part {
                call.take_part();
            }
        };
        let wait = || waiting::for_helpers(&mut Asleep(&self.parker), &self.slot, &|| false);
        // SAFETY: the model keeps calls to its end, and `frame` tells if it should not have.
        unsafe { self.slot.open_during((&raw const *call).cast(), work, wait) };
        if takes_part {
            assert!(call.work.is_done());
        }
        call.frame.free();
    }
}

/// Starts a helper.
fn helper<const CALLS: usize>(model: &Arc<Model<CALLS>>, slot: u16) -> thread::JoinHandle<()> {
    beside(model, move |model| {
        help(&model.slot, &model.parker, slot, || model.slot.dismiss());
    })
}

#[test]
fn a_helper_never_outstays_the_call() {
    check(|| {
        let model = Model::<1>::new();
        let helper = helper(&model, 1);
        model.call(0, true);
        helper.join().unwrap();
    });
}

#[test]
fn the_last_of_two_helpers_wakes_the_owner() {
    check(|| {
        let model = Model::<1>::new();
        let helpers = [1, 2].map(|slot| helper(&model, slot));
        model.call(0, false);
        join_all(helpers);
    });
}

#[test]
fn a_helper_that_meets_the_next_call_helps_that() {
    check(|| {
        let model = Model::<2>::new();
        let helper = helper(&model, 1);
        model.call(0, true);
        model.call(1, true);
        helper.join().unwrap();
    });
}
