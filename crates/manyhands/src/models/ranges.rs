//! A shared loop from its opening to its end: how runners take positions, leave them, and look again.
//!
//! Threads: the loop's owner, one or two helpers. Operations: those of `engine/sharing.rs`, of the slot and
//! of the owner's wait. A helper that leaves does so after its first block, with what it has in its range.
//! Property: the owner ends only when every position was run, unless the loop was stopped; each is run
//! once; and then what is left is the owner's alone. An owner that lets helpers in again is not left alone with the
//! rest: whatever helpers that come just then do, the slot goes on inviting.
//!
//! # The argument
//! Positions move in two ways. A claim, the split of a range, `take_abandoned` and `take_all` are exchanges of one word,
//! which fail on an old value. Only the store that follows a split is a plain store: it overwrites the thief's own range,
//! and is right because that range is empty. Its runner knows that, because no other thread ever adds to it: thieves only take. So
//! the runner's last load, which read an empty range, holds until its own store.
//!
//! A runner that takes a range over must not rely on a load that is older than the last runner's changes. The last
//! runner left with Release after all its stores. The new runner acquires with the exchange that made it the runner, so
//! it reads the last store, or what thieves made of it later. Without this pair the new runner may see the range empty
//! as it was before the last runner's store, steal elsewhere, and overwrite positions that no runner then runs.

use super::{Asleep, Count, Memory, Work, beside, check, help, join_all};
use crate::engine::ranges::Claim;
use crate::engine::sharing::{After, OWNER, Sharing};
use crate::runtime::fork_join::waiting;
use crate::runtime::{CallHeader, HelperSlot};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

/// A loop with two ranges: the owner's, and one that its helpers use in turn.
#[repr(C)]
struct Call<const LEN: usize> {
    open: CallHeader,
    frame: Memory,
    sharing: Sharing<'static>,
    work: [Work; LEN],
    helpers: Helpers,
}

/// What helpers do after a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Helpers {
    GoOn,
    Leave,
    /// As if the body had panicked.
    Stop,
    /// The owner sends them away after its first block, and shares again after its second.
    AreSentAway,
}

impl<const LEN: usize> Call<LEN> {
    fn run(&self, me: usize, claim: Claim) {
        let (start, end) = self.sharing.ranges.spend(me, claim);
        for position in start..end {
            self.frame.touch();
            self.work[position as usize].run();
        }
    }

    unsafe fn help(open: *const CallHeader) {
        // SAFETY: a pointer to the whole call, and the model keeps calls to its end.
        let call = unsafe { &*open.cast::<Self>() };
        let Some(me) = call.sharing.attach() else {
            return;
        };
        call.sharing.run(me, 1, |claim| {
            call.run(me, claim);
            match call.helpers {
                Helpers::GoOn | Helpers::AreSentAway => GO_ON,
                Helpers::Leave => After::Leave,
                Helpers::Stop => After::Stop,
            }
        });
        call.frame.touch();
    }
}

const GO_ON: After = After::GoOn { max: 1 };

/// What outlives the call.
struct Place {
    slot: HelperSlot,
    parker: Parker,
}

struct Model<const LEN: usize> {
    call: Call<LEN>,
    place: &'static Place,
    /// To be freed at the end.
    place_owned: *mut Place,
}

// SAFETY: the pointer is only used at the end.
unsafe impl<const LEN: usize> Send for Model<LEN> {}
// SAFETY: as above.
unsafe impl<const LEN: usize> Sync for Model<LEN> {}

impl<const LEN: usize> Drop for Model<LEN> {
    fn drop(&mut self) {
        // SAFETY: made from a box by `new`, and nobody else has the model.
        drop(unsafe { Box::from_raw(self.place_owned) });
    }
}

impl<const LEN: usize> Model<LEN> {
    fn new(helpers: Helpers, is_near_the_front: bool) -> Arc<Self> {
        let place_owned = Box::into_raw(Box::new(Place {
            slot: HelperSlot::default(),
            parker: Parker::default(),
        }));
        // SAFETY: valid until the model is dropped.
        let place: &'static Place = unsafe { &*place_owned };
        let len = u32::try_from(LEN).unwrap();
        let mut sharing = Sharing::new(&place.slot, &place.parker, 2, len);
        sharing.is_near_the_front = is_near_the_front;
        let call = Call {
            open: CallHeader {
                help: Call::<LEN>::help,
            },
            frame: Memory::new(),
            sharing,
            work: Work::some(),
            helpers,
        };
        Arc::new(Self {
            call,
            place,
            place_owned,
        })
    }

    /// Owner: the loop from its opening to its end.
    fn own(&self) {
        self.own_after(|_| ());
    }

    /// The same; `first` comes between the opening and the owner's first block.
    fn own_after(&self, first: impl FnOnce(&Sharing<'_>)) {
        let (call, Place { slot, parker }) = (&self.call, self.place);
        let wait = || waiting::for_helpers(&mut Asleep(parker), slot, &|| false);
        let rest = Count::new();
        let work = || {
            first(&call.sharing);
            let mut blocks = 0;
            let run_all = || {
                call.sharing.run(OWNER, 1, |claim| {
                    call.run(OWNER, claim);
                    blocks += 1;
                    match (call.helpers, blocks) {
                        (Helpers::AreSentAway, 1) => call.sharing.send_helpers_away(),
                        (Helpers::AreSentAway, 2) => call.sharing.share_again(),
                        _ => {}
                    }
                    GO_ON
                });
            };
            call.sharing.run_to_end(run_all, wait, |claim| {
                let (start, end) = call.sharing.ranges.spend(OWNER, claim);
                rest.add((end - start) as usize);
            });
        };
        // SAFETY: the model keeps the call to its end, and `frame` tells if it should not have.
        unsafe { slot.open_during((&raw const *call).cast(), work, wait) };
        if call.helpers != Helpers::Stop {
            assert_eq!(
                rest.now(),
                0,
                "the owner has ended before the loop was over"
            );
            assert!(call.work.iter().all(Work::is_done), "a position is lost");
        }
        call.frame.free();
    }
}

/// Starts a helper.
fn helper<const LEN: usize>(model: &Arc<Model<LEN>>, slot: u16) -> thread::JoinHandle<()> {
    beside(model, move |model| {
        help(&model.place.slot, &model.place.parker, slot, || ());
    })
}

fn run<const LEN: usize, const COUNT: usize>(helpers: Helpers) {
    run_with::<LEN, COUNT>(helpers, false);
}

fn run_with<const LEN: usize, const COUNT: usize>(helpers: Helpers, is_near_the_front: bool) {
    check(move || {
        let model = Model::<LEN>::new(helpers, is_near_the_front);
        let threads: [_; COUNT] =
            std::array::from_fn(|number| helper(&model, u16::try_from(number).unwrap() + 1));
        model.own();
        join_all(threads);
    });
}

#[test]
fn what_a_helper_leaves_in_its_range_is_run() {
    run::<4, 1>(Helpers::Leave);
}

#[test]
fn what_a_helper_leaves_in_its_range_is_run_by_the_runner_that_takes_it_over() {
    run::<3, 2>(Helpers::Leave);
}

#[test]
fn what_a_helper_leaves_near_the_front_is_run() {
    run_with::<3, 1>(Helpers::Leave, true);
}

#[test]
fn an_owner_and_a_helper_share_every_position() {
    run::<4, 1>(Helpers::GoOn);
}

#[test]
fn what_helpers_leave_that_are_sent_away_is_run() {
    run::<3, 1>(Helpers::AreSentAway);
}

#[test]
fn a_helper_that_comes_while_the_owner_is_alone_loses_nothing() {
    run::<3, 2>(Helpers::AreSentAway);
}

/// Helpers that come meanwhile dismiss the others while the owner is alone, or run a block and leave.
#[test]
fn the_invitation_of_an_owner_that_was_alone_stands() {
    check(|| {
        let model = Model::<4>::new(Helpers::Leave, false);
        model.own_after(|sharing| {
            let helpers = [1, 2].map(|slot| helper(&model, slot));
            sharing.send_helpers_away();
            sharing.share_again();
            join_all(helpers);
            assert!(
                model.place.slot.is_inviting() || sharing.ranges.left() == 0,
                "positions are left, and no helper would come"
            );
        });
    });
}

#[test]
fn what_is_left_of_a_stopped_loop_is_the_owners() {
    run::<4, 1>(Helpers::Stop);
}
