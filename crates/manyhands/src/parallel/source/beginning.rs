//! The beginning of a loop over an iterator: the caller runs the first item, and goes on with the rest. If that item takes long,
//! the monitor gives the rest to a worker meanwhile.
//!
//! For the engine this is a call of two positions, which its caller begins alone.
//!
//! Not here: how the rest is run (`pull.rs`), and how the monitor opens a call (`engine/unshared.rs`).
//!
//! Unsafe: either part is taken out of the caller's frame, once.

use crate::call_site::CallSiteProfile;
use crate::engine::{Consumer, Indexed, Rate, RateProbe, Runner, SharingPlan, cost, run_short};
use crate::parallel::source::pull::{Chunk, Pull};
use crate::recording::{LoopObserver, RunnerObserver, RunsAlone, Unobserved};
use crate::sync::atomic::{AtomicBool, Ordering};
use std::cell::UnsafeCell;
use std::iter;
use std::ops::Range;

/// Runs all items, of which there may be several.
pub(super) fn begin<I, C, O>(
    mut pull: Pull<I>,
    consumer: &C,
    site: &CallSiteProfile,
    (plan, chunk, observer): (&SharingPlan<'_>, Chunk, O),
) where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    if consumer.end() == 0 {
        return;
    }
    let probe = RateProbe::begin(Rate::UNKNOWN);
    let Some(first) = pull.first() else {
        return observer.alone(RunsAlone::TooShort);
    };
    let mut beginning = Beginning {
        first: UnsafeCell::new(Some(first)),
        rest: UnsafeCell::new((pull, Some(probe))),
        is_first_done: AtomicBool::new(false),
        consumer,
        site,
        plan,
        chunk,
        observer,
    };
    run_short(
        &FirstAndRest,
        &mut beginning,
        plan.degree,
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
    plan: &'a SharingPlan<'a>,
    chunk: Chunk,
    observer: O,
}

// SAFETY: the first item and the rest are sent to the one thread that runs them.
unsafe impl<I, C, O> Sync for Beginning<'_, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Sync,
    O: Sync,
{
}

impl<'a, I, C, O> Consumer<()> for Beginning<'a, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    type Runner = Runner<'a, I::Item, C>;

    #[inline]
    fn start(&self) -> Self::Runner {
        Runner::new(self.consumer)
    }

    #[inline]
    fn consume<P: Iterator<Item = ()>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        _items: P,
    ) {
        if positions.start == 0 {
            let mut part = self.observer.caller_alone();
            // SAFETY: the engine gives each position to one runner, so nobody else is here.
            let first = unsafe { &mut *self.first.get() }.take();
            self.consumer
                .consume(runner.state(), 0..1, first.into_iter());
            part.block(1);
            // Relaxed: a thread that runs the rest meanwhile is another one, or reads this late.
            self.is_first_done.store(true, Ordering::Relaxed);
        }
        if positions.end == 2 {
            // SAFETY: as above.
            let (pull, probe) = unsafe { &mut *self.rest.get() };
            if let Some(probe) = probe.take() {
                self.go_on(runner, pull, probe);
            }
        }
    }

    #[inline]
    fn finish(&self, runner: Self::Runner) {
        runner.finish();
    }

    fn note_panic(&self) {
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
    fn go_on(&self, runner: &mut Runner<'_, I::Item, C>, pull: &mut Pull<I>, mut probe: RateProbe) {
        probe.measure(1, 0);
        let first_took = probe.spent();
        let mut plan = *self.plan;
        // Relaxed: see `consume`.
        if !self.is_first_done.load(Ordering::Relaxed) {
            // One runner is the caller.
            plan.degree = plan.degree.map(|degree| degree - 1);
        }
        pull.go_on(runner, (probe, None), (&plan, self.chunk, self.observer));
        if !pull.is_slow && cost::is_worth_a_wake(first_took) {
            self.site.share_next(cost::BACKOFF_MAX);
        }
    }
}
