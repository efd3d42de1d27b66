//! Waiting without running anything unrelated.
//!
//! A waiter may run only work that the awaited execution has left open or exposed, on any slot, and work that this
//! execution in turn waits for. If there is none, the waiter spins briefly. Then it declares that it blocks, so that
//! another worker may run in its place, and sleeps.
//!
//! So no unrelated frame is ever on top of a waiter. A thread that holds a lock across a parallel call cannot run
//! unrelated work that wants the same lock, and the program alone determines the depth of the stack.
//!
//! Not here: the steps of a wait (`waiting.rs`), and the deque's and the slots' own protocols.

use crate::job::{ExecutionId, Job, OnDrop, RunPermit, abort};
use crate::recording;
use crate::runtime::fork_join::executions::Taken;
use crate::runtime::fork_join::scope_closures::Closures;
use crate::runtime::fork_join::waiting::{self, Waiter};
pub(crate) use crate::runtime::fork_join::waiting::{AfterWait, Stolen};
use crate::runtime::policy::{CHAIN_MAX, INTERVAL_MIN, SPINS, WAKE_NANOS_FIRST};
use crate::runtime::{
    FoundWork, HelperSlot, OccupiedSlot, Rest, SlotState, WorkerSlot, current, ending,
    refused_starts, run_loop, waking,
};
use crate::sync::{clock, process, spin_loop};

/// Waits on `slot` until `is_over`, helping with the execution that `runner` names. `fall_asleep` is called
/// before the slot is parked; false means that the wait is over.
pub(crate) fn for_work(
    slot: &'static OccupiedSlot,
    is_over: &dyn Fn() -> bool,
    runner: &dyn Fn() -> ExecutionId,
    fall_asleep: &dyn Fn() -> bool,
) {
    let help = || help(slot, runner());
    waiting::for_work(&mut OnSlot::new(slot), is_over, &help, fall_asleep);
}

/// As [`for_work`], for the work of a task, which perhaps only a worker may run.
///
/// # Panics
/// If there is no worker and the system refuses to start one ([`refused_starts::panic_if_given_up`]).
pub(crate) fn for_task(
    slot: &'static OccupiedSlot,
    is_over: &dyn Fn() -> bool,
    runner: &dyn Fn() -> ExecutionId,
    fall_asleep: &dyn Fn() -> bool,
) {
    let ends = || is_over() || refused_starts::is_given_up();
    while !is_over() {
        for_work(slot, &ends, runner, fall_asleep);
        if !is_over() {
            refused_starts::panic_if_given_up();
        }
    }
}

/// Owner of a stolen fork, on `slot`: waits until it was run, and its latch is final, helping with it; or takes it back. It may
/// have been passed on in another runtime than that of `slot`.
pub(crate) fn for_stolen(slot: &'static OccupiedSlot, stolen: &Stolen<'_, Job>) -> AfterWait {
    let help = || help(slot, stolen.latch.runner());
    waiting::for_fork(&mut OnSlot::new(slot), slot.number, stolen, &help)
}

/// As [`for_stolen`], running nothing: for a thread that unwinds, because jobs must not run on a panicking thread.
pub(crate) fn for_stolen_idly(slot: &'static OccupiedSlot, stolen: &Stolen<'_, Job>) -> AfterWait {
    waiting::for_fork(&mut OnSlot::new(slot), slot.number, stolen, &|| false)
}

/// Waits on `slot`, helping the helpers, until no helper is in the closed `helper_slot` any more, or one recalls its
/// owner.
pub(crate) fn for_helpers(slot: &'static OccupiedSlot, helper_slot: &HelperSlot) {
    if helper_slot.is_released() {
        return;
    }
    let help = || helper_slot.helpers().any(|helper| help(slot, helper));
    waiting::for_helpers(&mut OnSlot::new(slot), helper_slot, &help);
}

/// Waits on `slot` until all `closures` of its scope have finished. Meanwhile it runs them with `run_own`, which
/// returns whether there were any, and helps the helpers of `helper_slot`.
pub(crate) fn for_scope(
    slot: &'static OccupiedSlot,
    closures: &Closures<Job>,
    helper_slot: &HelperSlot,
    run_own: &dyn Fn() -> bool,
) {
    let help = || run_own() || helper_slot.helpers().any(|helper| help(slot, helper));
    waiting::for_scope(&mut OnSlot::new(slot), slot.number, closures, &help);
}

/// A waiting thread on its slot.
struct OnSlot {
    slot: &'static OccupiedSlot,
    spins: u32,
    /// Since when there was nothing to help with; 0: the clock has not been read yet.
    since: u64,
}

impl OnSlot {
    fn new(slot: &'static OccupiedSlot) -> Self {
        Self {
            slot,
            spins: 0,
            since: 0,
        }
    }
}

impl Drop for OnSlot {
    fn drop(&mut self) {
        self.slot.set_awaiting(ExecutionId::UNKNOWN);
    }
}

impl Waiter for OnSlot {
    #[inline]
    fn spin(&mut self) -> bool {
        let spins = self.spins < SPINS;
        if spins {
            self.spins += 1;
            spin_loop();
        }
        spins
    }

    fn has_helped(&mut self) {
        self.since = 0;
    }

    fn linger(&mut self) -> bool {
        let now = clock::ticks();
        if self.since == 0 {
            self.since = now.max(1);
        }
        // Half as long as a wake takes. A counter that has jumped back ends the spin.
        let lingers = now.abs_diff(self.since) < clock::ticks_in(WAKE_NANOS_FIRST / 2);
        if lingers {
            (0..SPINS / 4).for_each(|_| spin_loop());
        } else {
            // A thread that was woken and finds nothing will soon be woken again, so it spins anew.
            self.since = 0;
        }
        lingers
    }

    fn prepare_to_sleep(&self) {
        refuse_simulated(self.slot);
        expose_private(self.slot);
    }

    /// Parks. Meanwhile another worker may run in its place.
    fn sleep(&self, rest: Rest, is_asleep: &dyn Fn() -> bool) {
        let slot = self.slot;
        let limit = (rest == Rest::Brief).then_some(INTERVAL_MIN);
        let shared = slot.runtime_or_none();
        declare_blocked(slot, || {
            rest.while_asleep(is_asleep, || {
                slot.counters.parked.bump();
                let limit = limit.into_iter().chain(refused_starts::retry_pause()).min();
                slot.parker.park_timeout(slot.time_to_sleep(limit));
                refused_starts::try_again();
                if slot.fire_timers()
                    && let Some(shared) = shared
                {
                    // The woken task may be in this slot's queue, which its occupant does not serve now.
                    shared.wake_if_nobody_searches();
                }
            });
        });
    }
}

/// Calls `sleep`, which blocks `slot`'s thread outside the runtime. Meanwhile another worker may run in its place, and
/// the monitor advances its wheel.
pub(crate) fn blocked<R>(slot: &'static OccupiedSlot, sleep: impl FnOnce() -> R) -> R {
    refuse_simulated(slot);
    expose_private(slot);
    declare_blocked(slot, || {
        slot.counters.parked.bump();
        sleep()
    })
}

/// Refuses a wait that no thread could end, because the calling thread is the only one of a simulation. For calls
/// that cannot unwind once they wait.
///
/// # Panics
/// In a simulation.
pub(crate) fn refuse_in_simulation() {
    if let Some(slot) = current::slot() {
        refuse_simulated(slot);
    }
}

fn refuse_simulated(slot: &'static OccupiedSlot) {
    let shared = slot.runtime_or_none();
    assert!(
        !shared.is_some_and(|shared| shared.clock.is_virtual()),
        "a simulated task blocks the only thread: await instead"
    );
}

/// Exposes all private work, because the slot's thread will answer no demands while it sleeps.
fn expose_private(slot: &'static OccupiedSlot) {
    if slot.deque.has_private(0) {
        slot.deque.expose(usize::MAX);
    }
}

/// Declares that the thread of `slot` is blocked, for as long as `sleep` takes.
fn declare_blocked<R>(slot: &'static OccupiedSlot, sleep: impl FnOnce() -> R) -> R {
    if process::is_forked() {
        // Other threads may hold pointers to this stack, so it must not be unwound; and after a fork no thread is
        // left to end the wait.
        abort(process::FORKED);
    }
    if let Some(shared) = slot.runtime_or_none() {
        ending::discard_if_ended(shared);
    }
    // A wait inside another one counts nothing more.
    let times = slot.blocking_depth.get();
    slot.blocking_depth.set(times + 1);
    if times == 0 {
        // First, so that the monitor does not detect it as blocked as well.
        slot.set_occupant(SlotState::Waiting);
        slot.is_not_blocked();
        slot.steal_grace.end();
        if let Some(shared) = slot.runtime_or_none() {
            // Before it counts as blocked: the worker that runs in its place reads this.
            shared.note_blocking_kind(slot);
            waking::begin_block(shared);
            waking::block_in_short_task(shared, &slot.in_short_task);
        }
    }
    let _region = OnDrop(|| {
        slot.blocking_depth.set(times);
        if times == 0 {
            slot.set_occupant(SlotState::Running);
            if let Some(shared) = slot.runtime_or_none() {
                waking::end_block(shared);
            }
        }
    });
    let _recorded = recording::thread_blocks();
    sleep()
}

/// Runs one piece of the work of `execution`, or of the execution that it waits for. Returns whether it did.
fn help(slot: &'static OccupiedSlot, mut execution: ExecutionId) -> bool {
    // Other waiters may follow this to help this thread in turn. It must be set only while nothing runs on top of the
    // wait.
    slot.set_awaiting(execution);
    for _ in 0..CHAIN_MAX {
        let Some(runner) = execution.slot().and_then(WorkerSlot::by_number) else {
            return false;
        };
        if !slot.shares_runtime_with(runner) {
            return false;
        }
        let steal = |from| FoundWork::steal(slot, runner, from);
        match runner.executions.take_part(execution, steal) {
            Taken::Part(found) => {
                slot.set_awaiting(ExecutionId::UNKNOWN);
                run_loop::perform(slot, found, RunPermit::new());
                return true;
            }
            Taken::Foreign(found) => {
                pass_on(runner, found);
                return false;
            }
            Taken::Over => return false,
            Taken::Nothing => {}
        }
        let next = runner.awaiting();
        // What the runner waits for belongs to `execution` only if that was still running when `next` was read.
        if !runner.executions.is_running(execution) {
            return false;
        }
        execution = next;
    }
    false
}

/// Passes on work of `owner` that turned out not to belong to the awaited execution; see `unowned_forks.rs`.
fn pass_on(owner: &WorkerSlot, found: FoundWork) {
    match found {
        FoundWork::Job(fork) => {
            // Another runtime than the waiter's, if the slot has been left and taken since the waiter looked. Until the
            // push the owner stays where it is; after that, only this keeps the runtime.
            let shared = owner.runtime().to_arc();
            shared.unowned_forks.push(fork.into_raw());
            owner.parker.unpark();
            shared.wake_if_nobody_searches();
        }
        FoundWork::Call(guard, owner) => {
            if guard.leave() {
                owner.parker.unpark();
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::pass_on;
    use crate::runtime::current;
    use crate::runtime::worker::search::FoundWork;
    use crate::runtime::worker::slot::WorkerSlot;
    use crate::{Runtime, join, task};
    use std::sync::mpsc::{self, Sender};
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Calls `call` in a pool whose only thread is busy until the gate, which `call` gets, is dropped.
    fn beside_a_busy_worker(call: impl FnOnce(Sender<()>)) {
        let runtime = Runtime::builder().workers(1).max_threads(1).build();
        let runtime = runtime.expect("the numbers are right");
        let ((begin, has_begun), (open, gate)) = (mpsc::channel(), mpsc::channel());
        let busy = runtime.install(|| {
            task::run(move || {
                begin.send(()).expect("it is waited for");
                gate.recv_timeout(LIMIT).expect_err("the gate opens");
            })
        });
        has_begun.recv_timeout(LIMIT).expect("the task begins");
        {
            let _entered = runtime.enter();
            call(open);
        }
        busy.join().expect("the gate was opened");
    }

    /// The slot of a join's owner, whose second half can be stolen.
    fn owner_of_exposed() -> &'static WorkerSlot {
        let slot = current::slot().expect("a join has one");
        slot.deque.expose(1);
        slot
    }

    /// Takes the second half of a join as a waiter does that then must not run it.
    fn take_by_mistake(owner: &WorkerSlot) {
        let fork = owner.deque.steal(0).expect("it is still there");
        // SAFETY: taken just now.
        pass_on(owner, unsafe { FoundWork::fork(fork) });
    }

    #[test]
    fn a_fork_that_was_taken_by_mistake_is_run_while_its_owner_is_in_the_first_half() {
        beside_a_busy_worker(|open| {
            let (answer, answered) = mpsc::channel();
            let first = move || {
                take_by_mistake(owner_of_exposed());
                drop(open);
                answered.recv_timeout(LIMIT)
            };
            let (seen, ()) = join(first, move || answer.send(()).expect("it is waited for"));
            assert_eq!(seen, Ok(()), "nobody has run the second half");
        });
    }

    #[test]
    fn an_owner_takes_back_what_nobody_else_can_run() {
        beside_a_busy_worker(|open| {
            let first = || take_by_mistake(owner_of_exposed());
            assert_eq!(join(first, || 7), ((), 7));
            drop(open);
        });
    }

    #[test]
    fn an_owner_takes_back_what_a_thread_of_another_runtime_has_taken() {
        let other = Runtime::builder().workers(1).build();
        let other = other.expect("the number is right");
        beside_a_busy_worker(|open| {
            let first = || {
                let owner = owner_of_exposed();
                let take = || {
                    take_by_mistake(owner);
                    let slot = current::slot().expect("a worker has one");
                    slot.runtime().unowned_forks.is_empty()
                };
                other.install(|| task::run(take).join())
            };
            let (taken, second) = join(first, || 7);
            assert!(taken.expect("it was there"), "it is not that runtime's");
            assert_eq!(second, 7);
            drop(open);
        });
    }
}
