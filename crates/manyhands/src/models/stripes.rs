//! A stripe of a shared loop that one runner leaves and another takes over.
//!
//! Threads: the loop's owner, two runners that share one stripe. Operations: sit down, claim, steal, stand up; at the
//! end the owner takes what nobody claimed.
//! Property: every position is run exactly once.
//!
//! # The argument
//! Positions move in two ways. A claim, the halving in `steal` and `take_all` are exchanges of one word, which nobody
//! can do on an old value. Only the store that follows a halving is none: it overwrites the thief's own stripe, and is
//! right because that is empty. Its runner knows that, because nobody else ever adds to it: thieves only take. So the
//! runner's last look, which found the stripe empty, holds until its own store.
//!
//! A runner that takes a stripe over must not rely on a look at a word that the last runner has changed since. That one
//! stood up with Release after all its stores; who sits down acquires with the exchange that made it the runner; so it
//! looks at the last store, or at what thieves made of it later. Without this pair the newcomer may see the stripe empty
//! as it was before the last runner's store, steal elsewhere, and overwrite positions that then nobody runs.

use super::{Work, check};
use crate::parallel::engine::stripes::Stripes;
use loom::sync::Arc;
use loom::thread;

/// A loop with two stripes: the owner's, and one that its helpers use in turn.
struct Loop<const LEN: usize> {
    stripes: Stripes,
    work: [Work; LEN],
}

impl<const LEN: usize> Loop<LEN> {
    fn new() -> Arc<Self> {
        let len = u32::try_from(LEN).unwrap();
        Arc::new(Self {
            stripes: Stripes::new(2, len),
            work: Work::some(),
        })
    }

    fn run(&self, (start, end): (u32, u32)) {
        for position in start..end {
            self.work[position as usize].run();
        }
    }

    /// Claims one position, as in `parallel/engine/shared.rs`; false when nothing is left.
    fn run_next(&self, runner: usize) -> bool {
        loop {
            if let Some(claimed) = self.stripes.claim(runner, 1) {
                self.run(claimed);
                return true;
            }
            if !self.stripes.steal(runner) {
                return false;
            }
        }
    }

    /// A helper's part: runs so many positions and leaves.
    fn help(&self, positions: usize) {
        if let Some(me) = self.stripes.sit_down() {
            let _ = (0..positions).all(|_| self.run_next(me));
            self.stripes.stand_up(me);
        }
    }

    /// The owner's, when all have left.
    fn end(&self) {
        for stripe in 0..self.stripes.count() {
            self.run(self.stripes.take_all(stripe));
        }
        assert!(self.work.iter().all(Work::is_done), "a position is lost");
    }
}

fn helper<const LEN: usize>(shared: &Arc<Loop<LEN>>, positions: usize) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || shared.help(positions))
}

#[test]
fn what_a_runner_leaves_in_its_stripe_is_run_by_who_takes_it_over() {
    check(|| {
        let shared = Loop::<6>::new();
        let helpers = [1, 2].map(|positions| helper(&shared, positions));
        for helper in helpers {
            helper.join().unwrap();
        }
        shared.end();
    });
}

#[test]
fn an_owner_and_two_runners_in_turn_share_every_position() {
    check(|| {
        let shared = Loop::<4>::new();
        let helpers = [1, 1].map(|positions| helper(&shared, positions));
        shared.run_next(0);
        for helper in helpers {
            helper.join().unwrap();
        }
        shared.end();
    });
}
