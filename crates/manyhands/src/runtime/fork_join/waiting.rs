//! How a thread waits: it looks, helps, lingers, says that it sleeps, sleeps, and looks again.
//!
//! The runtime and the models run the same steps: their waiting threads are [`Waiter`]s, which say how they spin and
//! sleep.
//!
//! Not here: what a waiter may run (`wait.rs`), and the words on which it sleeps (`helper_slot.rs`, `scope_closures.rs`,
//! `job/latch.rs`).

use crate::job::{Latch, SlotNumber};
use crate::queue::Linked;
use crate::runtime::HelperSlot;
use crate::runtime::fork_join::scope_closures::{Closures, Rest};
use crate::runtime::fork_join::unowned_forks::UnownedForks;

/// A thread that waits.
pub(crate) trait Waiter {
    /// Spins, before it looks for something to run; `false` when it has done so for long enough.
    fn spin(&mut self) -> bool;

    /// It has run something.
    fn has_helped(&mut self);

    /// It has found nothing to run: lets some time pass; `false` when it is to sleep.
    fn linger(&mut self) -> bool;

    /// It is about to say that it sleeps.
    fn prepare_to_sleep(&self);

    /// It has said that it sleeps: does so by `rest`, while `is_asleep`.
    fn sleep(&self, rest: Rest, is_asleep: &dyn Fn() -> bool);
}

/// Waits until `is_over`, and calls `help` for something to run. `fall_asleep` is called before the thread sleeps; false
/// means that what is waited for has happened.
pub(crate) fn for_work(
    waiter: &mut impl Waiter,
    is_over: &dyn Fn() -> bool,
    help: &dyn Fn() -> bool,
    fall_asleep: &dyn Fn() -> bool,
) {
    let fall_asleep = || Rest::long_if(fall_asleep());
    wait(waiter, is_over, help, &fall_asleep, &|| !is_over());
}

/// What the owner of a stolen fork waits for.
pub(crate) struct Stolen<'a, T> {
    pub(crate) fork: *mut T,
    /// Final when a thief has run it.
    pub(crate) latch: &'a Latch,
    /// Where a thief puts it that must not run it.
    pub(crate) unowned_forks: &'a UnownedForks<T>,
}

/// How the wait for a stolen fork has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum AfterWait {
    /// A thief has run it.
    Done,
    /// A thief has passed it on, and the owner has it again.
    TakenBack,
}

/// The owner of a stolen fork, on `slot`, waits until it was run, or takes it back.
pub(crate) fn for_fork<T>(
    waiter: &mut impl Waiter,
    slot: SlotNumber,
    stolen: &Stolen<'_, T>,
    help: &dyn Fn() -> bool,
) -> AfterWait {
    let Stolen {
        fork,
        latch,
        unowned_forks,
    } = *stolen;
    let is_over = || latch.is_final() || unowned_forks.has(fork);
    loop {
        for_work(waiter, &is_over, help, &|| latch.fall_asleep(slot));
        if latch.is_final() {
            return AfterWait::Done;
        }
        // Else a worker was quicker.
        if unowned_forks.take_back(fork) {
            return AfterWait::TakenBack;
        }
    }
}

/// The owner of the closed `slot` waits until nobody helps there any more, or a helper calls it back.
pub(crate) fn for_helpers(waiter: &mut impl Waiter, slot: &HelperSlot, help: &dyn Fn() -> bool) {
    let is_over = || slot.is_released();
    for_work(waiter, &is_over, help, &|| slot.fall_asleep());
}

/// The owner of a scope, on `slot`, waits until all its closures have finished.
pub(crate) fn for_scope<J: Linked>(
    waiter: &mut impl Waiter,
    slot: SlotNumber,
    closures: &Closures<J>,
    help: &dyn Fn() -> bool,
) {
    let is_over = || closures.is_over();
    let fall_asleep = || closures.fall_asleep(slot);
    let is_asleep = || closures.is_asleep();
    wait(waiter, &is_over, help, &fall_asleep, &is_asleep);
}

/// Waits until `is_over`. `help` runs something that belongs to what is waited for, and says whether there was anything;
/// `fall_asleep` announces to those waited for that the thread is about to sleep. The thread that it waits for wakes it when it
/// `is_asleep` no longer.
fn wait(
    waiter: &mut impl Waiter,
    is_over: &dyn Fn() -> bool,
    help: &dyn Fn() -> bool,
    fall_asleep: &dyn Fn() -> Rest,
    is_asleep: &dyn Fn() -> bool,
) {
    while !is_over() {
        if waiter.spin() {
            continue;
        }
        if help() {
            waiter.has_helped();
        } else if !waiter.linger() {
            waiter.prepare_to_sleep();
            let rest = fall_asleep();
            if rest != Rest::No {
                waiter.sleep(rest, is_asleep);
            }
        }
    }
}
