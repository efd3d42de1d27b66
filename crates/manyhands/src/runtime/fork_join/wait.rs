//! Waiting without running anything unrelated.
//!
//! A waiter may run only what the awaited work itself has left open or exposed, on whatever slot it runs,
//! and what that in turn waits for. When there is nothing of that kind it spins briefly, then says that it
//! is blocked, so that another worker takes its place, and sleeps.
//!
//! So no foreign frame ever sits on top of a waiter: a lock held across a parallel call cannot be wanted
//! by the thread that holds it through the back door, and the depth of the stack is the program's own.
//!
//! Not here: the deque's and the slots' own protocols.
//!
//! Unsafe: a job taken by mistake is given back by pointer.

use crate::job::{Action, ExecutionId, Job, Latch, abort};
use crate::runtime::Rest;
use crate::runtime::current;
use crate::runtime::fork_join::executions::{Extent, Taken};
use crate::runtime::fork_join::helper_slot::HelperSlot;
use crate::runtime::fork_join::scope_closures::Closures;
use crate::runtime::sleep::waking;
use crate::runtime::worker::refused_starts;
use crate::runtime::worker::run_loop::{self, FoundWork};
use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::sync::{clock, process, spin_loop};
use std::time::Duration;

/// Waits on `slot` until `latch` is final, helping with what it waits for.
#[cold]
pub(crate) fn for_latch(slot: &'static WorkerSlot, latch: &Latch) {
    for_work(slot, &|| latch.is_final(), &|| latch.runner(), &|| {
        latch.fall_asleep(slot.number)
    });
}

/// Waits on `slot` until `is_over`, helping with the execution that `runner` names. `fall_asleep` is called
/// before the slot is parked; false means that what is waited for has happened.
#[cold]
pub(crate) fn for_work(
    slot: &'static WorkerSlot,
    is_over: &dyn Fn() -> bool,
    runner: &dyn Fn() -> ExecutionId,
    fall_asleep: &dyn Fn() -> bool,
) {
    let wait = Wait {
        is_over,
        help: &|| help(slot, runner()),
        fall_asleep: &|| Rest::long_if(fall_asleep()),
        is_asleep: &|| !is_over(),
    };
    wait.on(slot);
}

/// Waits on `slot` until `latch` is final, running nothing: for a thread that is unwinding, where a job
/// would find itself on a panicking thread.
#[cold]
pub(crate) fn for_latch_idly(slot: &'static WorkerSlot, latch: &Latch) {
    let wait = Wait {
        is_over: &|| latch.is_final(),
        help: &|| false,
        fall_asleep: &|| Rest::long_if(latch.fall_asleep(slot.number)),
        is_asleep: &|| !latch.is_final(),
    };
    wait.on(slot);
}

/// Waits on `slot` until nobody helps at the closed `helper_slot` any more, or a helper calls its owner back, helping
/// the helpers.
pub(crate) fn for_helpers(slot: &'static WorkerSlot, helper_slot: &HelperSlot) {
    if helper_slot.is_released() {
        return;
    }
    let wait = Wait {
        is_over: &|| helper_slot.is_released(),
        help: &|| helper_slot.helpers().any(|helper| help(slot, helper)),
        fall_asleep: &|| Rest::long_if(helper_slot.fall_asleep()),
        is_asleep: &|| !helper_slot.is_released(),
    };
    wait.on(slot);
}

/// Waits on `slot` until all `closures` of its scope have finished, running them with `run_own`, which says
/// whether there were any, and helping the helpers of `helper_slot`.
pub(crate) fn for_scope(
    slot: &'static WorkerSlot,
    closures: &Closures<Job>,
    helper_slot: &HelperSlot,
    run_own: &dyn Fn() -> bool,
) {
    let wait = Wait {
        is_over: &|| closures.is_over(),
        help: &|| run_own() || helper_slot.helpers().any(|helper| help(slot, helper)),
        fall_asleep: &|| closures.fall_asleep(slot.number),
        is_asleep: &|| closures.is_asleep(),
    };
    wait.on(slot);
}

/// A wait, by what it takes.
struct Wait<'a> {
    /// Whether what is waited for has happened.
    is_over: &'a dyn Fn() -> bool,
    /// Runs something that belongs to it; whether there was anything.
    help: &'a dyn Fn() -> bool,
    /// Tells those who are waited for that the thread is about to sleep.
    fall_asleep: &'a dyn Fn() -> Rest,
    /// Whether it is still to sleep: who is waited for wakes it when this has become false.
    is_asleep: &'a dyn Fn() -> bool,
}

impl Wait<'_> {
    fn on(&self, slot: &'static WorkerSlot) {
        let mut spins = 0_u32;
        // Since when it finds nothing; 0: it has not looked at the clock yet.
        let mut since = 0;
        while !(self.is_over)() {
            if spins < SPINS_BEFORE_HELPING {
                spins += 1;
                spin_loop();
                continue;
            }
            if (self.help)() {
                since = 0;
                continue;
            }
            let now = clock::ticks();
            if since == 0 {
                since = now.max(1);
            }
            // A counter that has jumped back ends the spin.
            if now.abs_diff(since) < clock::ticks_in(SPIN_NANOS) {
                (0..16).for_each(|_| spin_loop());
            } else {
                self.sleep(slot);
                // Who was roused and finds nothing is about to be roused again.
                since = 0;
            }
        }
        slot.set_awaiting(ExecutionId::UNKNOWN);
    }

    /// Parks until there is a reason to look again; while it sleeps another worker may run in its place.
    fn sleep(&self, slot: &'static WorkerSlot) {
        refuse_simulated(slot);
        expose_private(slot);
        let rest = (self.fall_asleep)();
        if rest == Rest::No {
            return;
        }
        let limit = (rest == Rest::Brief).then_some(BRIEF);
        let shared = slot.runtime_or_none();
        away(slot, || {
            rest.while_asleep(self.is_asleep, || {
                slot.counters.parked.bump();
                slot.park_until_timer(limit.into_iter().chain(refused_starts::patience()).min());
                refused_starts::try_again();
                if slot.fire_timers()
                    && let Some(shared) = shared
                {
                    // What was woken may be in this slot's queue, to which its occupant does not come now.
                    shared.wake_if_nobody_searches();
                }
            });
        });
    }
}

/// Calls `sleep`, which blocks `slot`'s thread in something that is not the runtime's; another worker may
/// run in its place meanwhile, and the monitor turns its wheel.
#[cold]
pub(crate) fn blocked<R>(slot: &'static WorkerSlot, sleep: impl FnOnce() -> R) -> R {
    refuse_simulated(slot);
    expose_private(slot);
    away(slot, || {
        slot.counters.parked.bump();
        sleep()
    })
}

/// Refuses a wait that nobody could end, because the calling thread is the only one of a simulation: for calls
/// that cannot unwind once they wait.
///
/// # Panics
/// In a simulation.
pub(crate) fn refuse_in_simulation() {
    if let Some(slot) = current::slot() {
        refuse_simulated(slot);
    }
}

fn refuse_simulated(slot: &'static WorkerSlot) {
    let shared = slot.runtime_or_none();
    assert!(
        !shared.is_some_and(|shared| shared.clock.is_virtual()),
        "a simulated task blocks the only thread: await instead"
    );
}

/// Nobody will answer demands here for a while.
fn expose_private(slot: &'static WorkerSlot) {
    if slot.deque.has_private(0) {
        slot.deque.expose(usize::MAX);
    }
}

/// Says that the thread of `slot` is blocked, for as long as `sleep` takes.
fn away<R>(slot: &'static WorkerSlot, sleep: impl FnOnce() -> R) -> R {
    if process::is_forked() {
        // Others may hold pointers to this stack, so it must not be unwound; and nobody comes to end the wait.
        abort(process::FORKED);
    }
    let _away = BlockingRegion::begin(slot);
    sleep()
}

/// A thread that has said it is blocked. One that says so again meanwhile counts once.
struct BlockingRegion(&'static WorkerSlot);

impl BlockingRegion {
    fn begin(slot: &'static WorkerSlot) -> Self {
        let times = slot.times_away.get();
        slot.times_away.set(times + 1);
        if times == 0 {
            // First, so that the monitor does not find it blocked as well.
            slot.set_occupant(SlotState::Waiting);
            slot.is_not_blocked();
            slot.hold.end();
            if let Some(shared) = slot.runtime_or_none() {
                // Before it counts as blocked: whoever comes in its place looks at this.
                shared.note_blocking_kind(slot);
                waking::begin_block(shared);
            }
        }
        Self(slot)
    }
}

impl Drop for BlockingRegion {
    fn drop(&mut self) {
        let slot = self.0;
        let times = slot.times_away.get() - 1;
        slot.times_away.set(times);
        if times == 0 {
            slot.set_occupant(SlotState::Running);
            if let Some(shared) = slot.runtime_or_none() {
                waking::end_block(shared);
            }
        }
    }
}

/// Runs one piece of what `execution` has to give, or of what it waits for. Returns whether it did.
fn help(slot: &'static WorkerSlot, execution: ExecutionId) -> bool {
    // Others may follow this to help us in turn. It must stand only while nothing runs on top of the wait.
    slot.set_awaiting(execution);
    let mut execution = execution;
    for _ in 0..CHAIN_MAX {
        let Some(runner) = execution.slot().and_then(WorkerSlot::by_number) else {
            return false;
        };
        if !runner.shares_runtime_with(slot) {
            return false;
        }
        let taken = runner
            .executions
            .take_part(execution, |from| steal_from(slot, runner, from));
        match taken {
            Taken::Part(found) => {
                slot.set_awaiting(ExecutionId::UNKNOWN);
                run_loop::perform(slot, found);
                return true;
            }
            Taken::Foreign(found) => {
                return_unperformed(found);
                return false;
            }
            Taken::Over => return false,
            Taken::Nothing => {}
        }
        let next = runner.awaiting();
        // What the runner waits for belongs to `execution` only if that was still running when we asked.
        if !runner.executions.is_running(execution) {
            return false;
        }
        execution = next;
    }
    false
}

/// Takes something from `runner` at or above the given places.
fn steal_from(slot: &WorkerSlot, runner: &'static WorkerSlot, from: Extent) -> Option<FoundWork> {
    let slots = runner.slots.get(from.slots_from..).unwrap_or_default();
    if let Some(pin) = slots.iter().find_map(HelperSlot::try_enter) {
        return Some(FoundWork::Call(pin, runner));
    }
    if let Some(job) = runner.deque.steal(from.deque_from) {
        slot.counters.stolen.bump();
        return Some(FoundWork::Job(job));
    }
    if runner.deque.has_private(from.deque_from) {
        runner.deque.demand();
    }
    None
}

/// Gives back what turned out not to belong to the awaited work.
fn return_unperformed(found: FoundWork) {
    match found {
        FoundWork::Job(job) => {
            // SAFETY: 1. and 2.: taken from a deque just now, and not performed.
            unsafe { Job::perform(job, Action::GiveBack) };
        }
        FoundWork::Call(pin, owner) => {
            if pin.unpin() {
                owner.parker.unpark();
            }
        }
    }
}

/// Rounds of a plain spin before anything more expensive: most waits of a balanced split end here.
const SPINS_BEFORE_HELPING: u32 = 64;
/// How long a waiter that finds nothing to help with stays awake.
const SPIN_NANOS: u64 = 25_000;
/// The sleep of who waits for another thread's next step, which is due unless that has lost its processor.
const BRIEF: Duration = Duration::from_micros(200);
/// How many waiting runners are followed.
const CHAIN_MAX: u32 = 8;
