//! A loop over an iterator, and its beginning.
//!
//! The caller begins alone, and opens the loop to helpers when that pays; at once where the first item of an earlier call was
//! long. Runners then take turns at the iterator (`turns.rs`): each pulls a chunk in its turn, and runs the bodies after it. A
//! helper waits for its turn about as long as a wake takes, and then leaves until the turn has ended: the iterator may wait,
//! also for a task of the same pool.
//!
//! If the first item takes long, the monitor gives the rest to a worker meanwhile. For the engine both are a call of two positions,
//! which its caller begins alone.
//!
//! Not here: the iterator as a source (`iterator.rs`), how items are taken and run (`pull.rs`, `shared_pull.rs`), and how the monitor
//! opens a call (`engine/unshared.rs`).
//!
//! Unsafe: either part is taken out of the caller's frame, once.

use crate::call_site::CallSiteProfile;
use crate::engine::{
    Consumer, Indexed, Plan, Rate, RateProbe, Runner, SharingPlan, cost, run_short,
};
use crate::parallel::source::pull::{Chunk, How, Pull};
use crate::parallel::source::shared_pull::share;
use crate::recording::{self, LoopObserver, RunnerObserver, RunsAlone, Unobserved};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::{iter, mem};

/// What the caller does first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It runs items alone until sharing pays.
    Probe,
    /// It opens the loop to helpers.
    Share,
}

/// Runs all items, recorded if recording is open.
pub(super) fn run_all<I, C>(iterator: I, consumer: &C, plan: &Plan<'_>, how: (First, Chunk))
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
{
    let pull = Pull::new(Some(iterator));
    if recording::is_open() {
        recording::during_loop::<C>(None, plan.site, |record| {
            run(pull, consumer, &plan.sharing, how, record);
            consumer.end()
        });
    } else {
        run(pull, consumer, &plan.sharing, how, Unobserved);
    }
}

fn run<I, C, O>(
    mut pull: Pull<I>,
    consumer: &C,
    plan: &SharingPlan<'_>,
    (first, chunk): (First, Chunk),
    observer: O,
) where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    let mut runner = Runner::new(consumer);
    let how = How {
        plan,
        chunk,
        observer,
        stopped: &AtomicBool::new(false),
    };
    match first {
        First::Share => share(pull, &mut runner, how),
        First::Probe if plan.degree == Some(1) || !pull.may_exceed(1) => {
            let alone = (plan.degree == Some(1)).then_some(RunsAlone::OneAllowed);
            let probe = RateProbe::begin(Rate::UNKNOWN);
            go_on(&mut pull, &mut runner, (probe, alone), how);
        }
        First::Probe => {
            let site = CallSiteProfile::of(run::<I, C, O> as *const () as usize);
            if !site.must_be_shared() {
                return begin(pull, consumer, site, how);
            }
            let begun = clock::ticks();
            share(pull, &mut runner, how);
            if !cost::is_worth_a_wake(clock::ticks().saturating_sub(begun)) {
                site.share_next(0);
            }
        }
    }
    runner.finish();
}

/// Runs the rest: alone, until sharing pays, or to its end if there is a reason for that.
fn go_on<I, C, O>(
    pull: &mut Pull<I>,
    runner: &mut Runner<'_, I::Item, C>,
    alone: (RateProbe, Option<RunsAlone>),
    how: How<'_, O>,
) where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    if pull.run_alone(runner, alone, how) {
        share(mem::replace(pull, Pull::new(None)), runner, how);
    }
}

/// Runs all items, of which there may be several.
fn begin<I, C, O>(mut pull: Pull<I>, consumer: &C, site: &CallSiteProfile, how: How<'_, O>)
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    if consumer.end() == 0 {
        return;
    }
    let probe = RateProbe::begin(Rate::UNKNOWN);
    let Some(first) = pull.first() else {
        return how.observer.alone(RunsAlone::TooShort);
    };
    let mut beginning = Beginning {
        first: UnsafeCell::new(Some(first)),
        rest: UnsafeCell::new((pull, Some(probe))),
        is_first_done: AtomicBool::new(false),
        consumer,
        site,
        how,
    };
    run_short(
        &FirstAndRest,
        &mut beginning,
        how.plan.degree,
        (site, Unobserved),
    );
}

/// The positions of the first item and of the rest, which the consumer has.
struct FirstAndRest;

// SAFETY: nothing is given.
unsafe impl Indexed for FirstAndRest {
    type Item = ();

    #[inline]
    fn len(&self) -> u64 {
        2
    }

    #[inline]
    unsafe fn block(&self, _start: u64, _end: u64) -> impl Iterator<Item = ()> {
        iter::empty()
    }
}

/// What is run.
struct Beginning<'a, I: Iterator, C, O> {
    first: UnsafeCell<Option<I::Item>>,
    /// With what the caller has measured, until it is begun.
    rest: UnsafeCell<(Pull<I>, Option<RateProbe>)>,
    is_first_done: AtomicBool,
    consumer: &'a C,
    site: &'a CallSiteProfile,
    how: How<'a, O>,
}

// SAFETY: the first item and the rest are sent to the one thread that runs them.
unsafe impl<I, C, O> Sync for Beginning<'_, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Sync,
    O: Sync,
{
}

/// What a thread has of the loop.
struct Own<'a, T, C: Consumer<T>> {
    runner: Runner<'a, T, C>,
    is_caller: bool,
    /// It is the caller, and has run the rest alone until sharing pays.
    shares_rest: bool,
}

impl<'a, I, C, O> Consumer<()> for Beginning<'a, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    type Runner = Own<'a, I::Item, C>;

    #[inline]
    fn start(&self) -> Self::Runner {
        Own {
            runner: Runner::new(self.consumer),
            is_caller: false,
            shares_rest: false,
        }
    }

    #[inline]
    fn consume<P: Iterator<Item = ()>>(
        &self,
        own: &mut Self::Runner,
        positions: Range<u64>,
        _items: P,
    ) {
        if positions.start == 0 {
            own.is_caller = true;
            let mut part = self.how.observer.caller_alone();
            // SAFETY: the engine gives each position to one runner, so nobody else is here.
            let first = unsafe { &mut *self.first.get() }.take();
            self.consumer
                .consume(own.runner.state(), 0..1, first.into_iter());
            part.block(1);
            // Relaxed: a thread that runs the rest meanwhile is another one, or reads this late.
            self.is_first_done.store(true, Ordering::Relaxed);
        }
        if positions.end == 2 {
            // SAFETY: as above.
            let (pull, probe) = unsafe { &mut *self.rest.get() };
            if let Some(probe) = probe.take() {
                self.run_rest(own, pull, probe);
            }
        }
    }

    /// The caller has left the call of the two, at which the monitor looks again and again, before it shares the rest.
    #[inline]
    fn finish(&self, mut own: Self::Runner) {
        if own.shares_rest {
            // SAFETY: this thread has run the position of the rest, so nobody else is here.
            let (pull, _) = unsafe { &mut *self.rest.get() };
            let rest = mem::replace(pull, Pull::new(None));
            share(rest, &mut own.runner, self.how);
        }
        own.runner.finish();
    }

    fn note_panic(&self) {
        // Relaxed: the rest may see it a chunk late.
        self.how.stopped.store(true, Ordering::Relaxed);
        self.consumer.note_panic();
    }
}

impl<I, C, O> Beginning<'_, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    /// Runs the rest. If the first item was long, or still runs, the site's next calls are shared at once.
    fn run_rest(&self, own: &mut Own<'_, I::Item, C>, pull: &mut Pull<I>, mut probe: RateProbe) {
        probe.measure(1, 0);
        let first_took = probe.spent();
        if own.is_caller {
            own.shares_rest = pull.run_alone(&mut own.runner, (probe, None), self.how);
        } else {
            let mut plan = *self.how.plan;
            // Relaxed: see `consume`.
            if !self.is_first_done.load(Ordering::Relaxed) {
                // One runner is the caller.
                plan.degree = plan.degree.map(|degree| degree - 1);
            }
            let how = How {
                plan: &plan,
                ..self.how
            };
            go_on(pull, &mut own.runner, (probe, None), how);
        }
        if !pull.is_slow && cost::is_worth_a_wake(first_took) {
            self.site.share_next(cost::BACKOFF_MAX);
        }
    }
}
