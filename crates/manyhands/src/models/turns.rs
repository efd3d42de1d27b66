//! Turns at an iterator, from which helpers stay away that would wait for long.
//!
//! Threads: an owner, one or two helpers. Operations, all of them the library's: a runner begins and ends a turn; a
//! helper that finds it taken dismisses others and leaves; the thread that ends a turn invites helpers that have left.
//! Property: turns exclude each other; when all turns have ended, helpers are invited, also if all have left.

use super::{beside, check};
use crate::parallel::source::turns::Turns;
use crate::runtime::HelperSlot;
use crate::sync::MutexGuard;
use loom::sync::Arc;

struct Model {
    slot: HelperSlot,
    turns: Turns<usize>,
}

impl Model {
    fn new() -> Arc<Self> {
        let slot = HelperSlot::default();
        slot.reopen();
        let turns = Turns::new(0);
        Arc::new(Self { slot, turns })
    }

    /// Owner: waits for its turn.
    fn own(&self) {
        self.take(self.turns.begin());
    }

    /// Helper: returns whether it had a turn. One that may not leave waits, where those of the library look again.
    fn help(&self) -> bool {
        let turn = self.turns.try_begin();
        let (dismiss, invite) = (|| self.slot.dismiss(), || self.slot.invite());
        if turn.is_none() && self.turns.leave(dismiss, invite) {
            return false;
        }
        self.take(turn.unwrap_or_else(|| self.turns.begin()));
        true
    }

    fn take(&self, mut turn: MutexGuard<'_, usize>) {
        *turn += 1;
        self.turns.end(turn, || self.slot.invite());
    }
}

fn run(helpers: usize) {
    check(move || {
        let model = Model::new();
        let helping = |_| beside(&model, |model| model.help());
        let helpers: Vec<_> = (0..helpers).map(helping).collect();
        model.own();
        let had_turns = helpers.into_iter().map(|helper| helper.join().unwrap());
        let turns = 1 + had_turns.filter(|had| *had).count();
        assert_eq!(*model.turns.begin(), turns);
        assert!(model.slot.is_inviting(), "helpers stay away for ever");
    });
}

#[test]
fn a_helper_that_has_left_is_invited_again() {
    run(1);
}

#[test]
fn two_helpers_that_have_left_are_invited_again() {
    run(2);
}
