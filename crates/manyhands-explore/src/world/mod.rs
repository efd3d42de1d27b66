//! One schedule: which thread runs, what time it is, what each thread waits for, and what is freed at the end.
//!
//! All choices come from one seed (`choice.rs`), so a seed repeats its schedule.
//!
//! # Time
//! A number of nanoseconds, the same for all threads. Each access, each turn of a spinning loop and each reading of
//! the clock takes some. A sleep with a limit ends when the time has come, like any other event. When all
//! threads sleep, time jumps to the first limit. Jumps are counted: a program that makes progress only because limits
//! pass has lost a wake-up, and fails when the jumps are longer than it declares. A program may name a thread that
//! it can do without ([`Terms::dispensable`]): in half of its schedules that thread's limits do not pass at all, so that its
//! sweeps hide no fault.
//!
//! # Threads
//! Everything here belongs to one thread of the system, on which the coroutines of one program run. Another thread
//! may explore another program.
//!
//! Unsafe: the values of a schedule are freed by pointer.

mod blocked;
mod choice;
mod failure;

pub(crate) use blocked::{Awaits, CLOCK, block, is_blocked, keep_time, unblock};
pub(crate) use choice::Chooser;
pub(crate) use failure::{fail, tell_of_signals};

use blocked::Blocked;
use choice::Style;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

/// A thread of the schedule, to be unblocked.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    id: usize,
    handle: shuttle::thread::Thread,
}

/// What a program may ask for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// The program's name, for the report.
    pub name: &'static str,
    /// The name of a thread whose sweeps the program does not need, if there is one.
    pub dispensable: Option<&'static str>,
    /// How long all jumps of time together may be.
    pub jumps_max: Duration,
}

/// Before the first schedule begins it is not active, and nothing else matters.
#[derive(Default)]
struct World {
    is_active: Cell<bool>,
    seed: Cell<u64>,
    random: Cell<u64>,
    style: Cell<Style>,
    has_ticks: Cell<bool>,
    current: Cell<usize>,
    /// Accesses until the next choice.
    until_choice: Cell<u64>,
    points: Cell<u64>,
    now: Cell<u64>,
    step_nanos: Cell<u64>,
    jumped: Cell<u64>,
    is_over: Cell<bool>,
    spins: Cell<u32>,
    next_deadline: Cell<u64>,
    /// How many starts of threads may be refused from now on.
    refusable: Cell<u64>,
    /// The thread that unwinds, while another one runs.
    unwinding: Cell<Option<usize>>,
    has_deferred: Cell<bool>,
    terms: Cell<Terms>,
    lists: RefCell<Lists>,
}

/// Data that changes rarely.
#[derive(Default)]
struct Lists {
    names: BTreeMap<usize, String>,
    blocked: BTreeMap<usize, Blocked>,
    limits: Vec<(u64, Thread)>,
    deferred: Vec<Thread>,
    run: Vec<u64>,
    ran_since: u64,
    globals: BTreeMap<usize, *const ()>,
    kept: Vec<(*mut (), Free)>,
    priorities: Vec<u64>,
    lowest: u64,
    changes: Vec<u64>,
    turn_end: u64,
}

/// Frees a value by pointer.
type Free = unsafe fn(*mut ());

thread_local! {
    static WORLD: World = World::default();
}

/// A point where another thread may be chosen to run.
#[inline]
pub fn point() {
    WORLD.with(|world| {
        if !world.is_active.get() {
            return;
        }
        let points = world.points.get() + 1;
        world.points.set(points);
        let now = world.now.get() + world.step_nanos.get();
        world.now.set(now);
        let until_choice = world.until_choice.get();
        if until_choice > 0 && now < world.next_deadline.get() && !world.has_deferred.get() {
            world.until_choice.set(until_choice - 1);
            return;
        }
        world.look_up();
    });
}

/// As [`point`], for a caller that has nothing to do.
pub fn yield_now() {
    WORLD.with(|world| {
        if world.is_active.get() {
            world.points.set(world.points.get() + 1);
            world.now.set(world.now.get() + YIELD_NANOS);
            world.look_up();
            if !panicking() {
                shuttle::thread::yield_now();
            }
        }
    });
}

/// A turn of a loop that waits for another thread. Once in some turns other threads run.
pub fn spin_loop() {
    WORLD.with(|world| {
        if !world.is_active.get() {
            return;
        }
        world.now.set(world.now.get() + SPIN_NANOS);
        let spins = world.spins.get() + 1;
        world.spins.set(spins % SPINS_A_YIELD);
        if spins == SPINS_A_YIELD {
            yield_now();
        }
    });
}

/// The time, which advances with each reading, sometimes by more than a little.
pub(crate) fn read_clock() -> u64 {
    WORLD.with(|world| {
        let delay = if world.one_in(DELAYS_APART) {
            world.below(DELAY_NANOS_MAX)
        } else {
            world.step_nanos.get()
        };
        world.now.set(world.now.get() + delay);
        world.now.get()
    })
}

/// The calling thread computes for this time.
pub fn compute(nanos: u64) {
    WORLD.with(|world| world.now.set(world.now.get() + nanos));
    point();
}

/// The time after `limit`.
pub(crate) fn deadline(limit: Duration) -> Option<u64> {
    let nanos = u64::try_from(limit.as_nanos()).ok()?;
    WORLD.with(|world| world.now.get().checked_add(nanos))
}

/// Whether that time has come.
pub(crate) fn has_come(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline| WORLD.with(|world| world.now.get() >= deadline))
}

/// A choice, true once in `count` times on average.
pub fn one_in(count: u64) -> bool {
    WORLD.with(|world| world.is_active.get() && world.one_in(count))
}

/// A number below `end`.
pub fn below(end: u64) -> u64 {
    WORLD.with(|world| world.below(end))
}

/// Each of the next `count` starts of threads is refused by chance, as a system refuses one that has too many.
pub fn refuse_some_starts(count: u64) {
    WORLD.with(|world| world.refusable.set(count));
}

/// Whether the start that the calling thread asks for is refused.
pub(crate) fn is_start_refused() -> bool {
    point();
    WORLD.with(|world| {
        let left = world.refusable.get();
        world.refusable.set(left.saturating_sub(1));
        left > 0 && world.one_in(2)
    })
}

/// The number of the calling thread.
pub(crate) fn current() -> usize {
    WORLD.with(|world| world.current.get())
}

/// The calling thread, for the thread that will unblock it.
pub(crate) fn this() -> Thread {
    Thread {
        id: current(),
        handle: shuttle::thread::current(),
    }
}

/// How long a thread has run. `None` if the thread does not exist (any more).
pub(crate) fn nanos_run(thread: usize) -> Option<u64> {
    WORLD.with(|world| {
        world.charge();
        world.lists.borrow().run.get(thread).copied()
    })
}

/// Whether the calling thread itself is unwinding, and not only another one that is suspended.
pub fn panicking() -> bool {
    std::thread::panicking()
        && WORLD.with(|world| {
            let unwinding = world.unwinding.get();
            unwinding.is_none_or(|thread| thread == world.current.get())
        })
}

/// The calling thread has started.
pub(crate) fn has_started() {
    WORLD.with(|world| world.until_choice.set(0));
    point();
}

/// The value of a static in this schedule.
pub(super) fn global(key: usize) -> Option<*const ()> {
    WORLD.with(|world| world.lists.borrow().globals.get(&key).copied())
}

pub(super) fn set_global(key: usize, value: *const ()) {
    WORLD.with(|world| world.lists.borrow_mut().globals.insert(key, value));
}

/// Keeps a value for this schedule.
pub(super) fn keep(value: *mut (), free: Free) {
    WORLD.with(|world| world.lists.borrow_mut().kept.push((value, free)));
}

/// Begins a schedule. No thread of the last one is left.
pub(crate) fn begin(seed: u64, terms: Terms) {
    WORLD.with(|world| {
        world.is_active.set(false);
        world.free();
        world.seed.set(seed);
        world.random.set(seed);
        world.terms.set(terms);
        world.choose_style();
        let is_ticking = terms.dispensable.is_none() || world.one_in(2);
        world.has_ticks.set(is_ticking);
        world.step_nanos.set([2, 10, 50][world.below(3) as usize]);
        world.until_choice.set(0);
        world.current.set(0);
        world.points.set(0);
        world.now.set(0);
        world.jumped.set(0);
        world.is_over.set(false);
        world.spins.set(0);
        world.next_deadline.set(u64::MAX);
        world.refusable.set(0);
        world.unwinding.set(None);
        world.has_deferred.set(false);
        world.is_active.set(true);
    });
}

/// The program has ended; threads that are still blocked are dropped.
pub(crate) fn end() {
    WORLD.with(|world| world.is_over.set(true));
}

/// After the last schedule.
pub(crate) fn leave() {
    WORLD.with(|world| {
        world.is_active.set(false);
        world.free();
    });
}

/// How many accesses this schedule has had so far.
pub(crate) fn points() -> u64 {
    WORLD.with(|world| world.points.get())
}

impl World {
    fn next_random(&self) -> u64 {
        // SplitMix64: Steele, Lea, Flood 2014.
        let state = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&self, end: u64) -> u64 {
        // The high half of a product: slightly uneven, which does not matter.
        ((u128::from(self.next_random()) * u128::from(end)) >> 64) as u64
    }

    fn one_in(&self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn look_up(&self) {
        if self.points.get() > POINTS_MAX {
            fail("does not end");
        }
        if panicking() {
            return;
        }
        self.wake_deferred();
        if self.now.get() >= self.next_deadline.get() {
            self.wake_due();
        }
        if self.until_choice.get() > 0 {
            self.until_choice.set(self.until_choice.get() - 1);
            return;
        }
        // Only a switch to another thread.
        shuttle::thread::sleep(Duration::ZERO);
    }

    /// Counts the time since the last time as the running thread's.
    fn charge(&self) {
        let mut lists = self.lists.borrow_mut();
        let (now, current) = (self.now.get(), self.current.get());
        if lists.run.len() <= current {
            lists.run.resize(current + 1, 0);
        }
        let since = std::mem::replace(&mut lists.ran_since, now);
        lists.run[current] += now - since;
    }

    /// Frees what the last schedule kept.
    fn free(&self) {
        let Lists { kept, .. } = self.lists.take();
        for (value, free) in kept.into_iter().rev() {
            // SAFETY: kept together with the function that frees it, and taken out of the list.
            unsafe { free(value) };
        }
    }
}

/// A schedule with more accesses is regarded as endless.
const POINTS_MAX: u64 = 5_000_000;
/// The duration of a turn of a spinning loop.
const SPIN_NANOS: u64 = 300;
const YIELD_NANOS: u64 = 300;
const SPINS_A_YIELD: u32 = 4;
/// Once in this number of readings the clock advances by more than a little.
const DELAYS_APART: u64 = 16;
const DELAY_NANOS_MAX: u64 = 20_000;
