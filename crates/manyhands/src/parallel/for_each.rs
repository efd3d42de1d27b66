//! Loops for their effects: plain, with control, with state for each runner, with bodies that fail.

use crate::engine::HelperPolicy;
use crate::engine::consumer::{Consumer, Ending, Watch};
use crate::job::catch;
use crate::parallel::control::{Both, Control, LoopState, Outcome};
use crate::parallel::failure::{Failures, Gathered};
use crate::parallel::options::{LocalOptions, Options};
use crate::parallel::source::{Drive, Feed, IndexRange, Integer, Source};
use std::ops::Range;

/// Calls the body for each item.
struct ForEach<F, E> {
    body: F,
    ending: E,
}

impl<T, F: Fn(T) + Sync, E: Ending> Consumer<T> for ForEach<F, E> {
    type Runner = ();

    fn start(&self) {}

    #[inline]
    fn consume<I: Iterator<Item = T>>(&self, _runner: &mut (), positions: Range<u64>, items: I) {
        self.ending
            .limit(positions.start, items)
            .for_each(&self.body);
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        self.ending.end()
    }
}

/// Calls the body with a control and the runner's state.
struct Controlled<'a, F, Init, Finish, E, Idx> {
    body: F,
    init: &'a Init,
    finish: &'a Finish,
    state: LoopState,
    ending: E,
    first: Idx,
}

impl<T, L, F, Init, Finish, E, Idx> Consumer<T> for Controlled<'_, F, Init, Finish, E, Idx>
where
    F: Fn(T, u64, &Control<'_, Idx>, &mut L) + Sync,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
    Idx: Integer,
{
    type Runner = L;

    fn start(&self) -> L {
        (self.init)()
    }

    fn consume<I: Iterator<Item = T>>(&self, local: &mut L, positions: Range<u64>, items: I) {
        let watch = Both(self.ending, &self.state);
        for (item, position) in watch.limit(positions.start, items).zip(positions) {
            let control = self
                .state
                .control(position, self.first, self.ending.token());
            (self.body)(item, position, &control, local);
        }
    }

    fn finish(&self, local: L) {
        (self.finish)(local);
    }

    fn end(&self) -> u64 {
        Both(self.ending, &self.state).end()
    }

    fn note_panic(&self) {
        self.state.note_failure();
    }
}

impl<E: Ending> Options<'_, E> {
    /// As [`for_range`](crate::parallel::for_range), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Parallel.For")]
    #[track_caller]
    pub fn for_range<R: IndexRange>(
        &self,
        range: R,
        body: impl Fn(R::Index) + Sync,
    ) -> E::Output<()> {
        self.for_each(range, body)
    }

    /// As [`for_each`](crate::parallel::for_each()), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Parallel.ForEach")]
    #[track_caller]
    pub fn for_each<S: Source>(&self, source: S, body: impl Fn(S::Item) + Sync) -> E::Output<()> {
        let ending = self.ending();
        source
            .into_feed()
            .drive(&ForEach { body, ending }, &self.plan());
        ending.conclude(Some(()))
    }

    /// A loop over a few long items, which helpers may join before the first. Returns whether it was completed, not
    /// cancelled.
    #[track_caller]
    pub(super) fn for_each_at_once<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item) + Sync,
    ) -> bool {
        let ending = self.ending();
        let mut plan = self.plan();
        plan.sharing.helpers = HelperPolicy::AtOnce;
        source.into_feed().drive(&ForEach { body, ending }, &plan);
        ending.cancelled().is_none()
    }

    /// A loop whose bodies may break or stop it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let outcome = parallel::options().for_range_with_control(0..1000, |i, control| {
    ///     if i == 500 {
    ///         control.stop();
    ///     }
    /// });
    /// assert!(outcome.is_stopped() && !outcome.is_completed());
    /// ```
    #[doc(alias = "Parallel.For")]
    #[track_caller]
    pub fn for_range_with_control<R: IndexRange>(
        &self,
        range: R,
        body: impl Fn(R::Index, &Control<'_, R::Index>) + Sync,
    ) -> E::Output<Outcome<R::Index>> {
        self.local(|| (), |()| ())
            .for_range(range, |i, control, ()| body(i, control))
    }

    /// A loop whose bodies may break or stop it. Break indices count items from the source's start.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let words = ["many", "hands", "", "light"];
    /// let outcome = parallel::options().for_each_with_control(&words, |word, control| {
    ///     if word.is_empty() {
    ///         control.break_at_current();
    ///     }
    /// });
    /// assert_eq!(outcome.lowest_break(), Some(2));
    /// ```
    #[doc(alias = "Parallel.ForEach")]
    #[track_caller]
    pub fn for_each_with_control<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_, u64>) + Sync,
    ) -> E::Output<Outcome<u64>> {
        self.local(|| (), |()| ())
            .for_each(source, |item, control, ()| body(item, control))
    }

    /// As [`try_for_range`](crate::parallel::try_for_range), with these options.
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let one_by_one = parallel::options().degree_of_parallelism(1);
    /// let below_3 = |n| if n < 3 { Ok(n) } else { Err("too many") };
    ///
    /// assert_eq!(one_by_one.try_map(0..3, below_3).unwrap(), [0, 1, 2]);
    /// let failures = one_by_one.try_for_range(0..10, |n| below_3(n).map(drop)).unwrap_err();
    /// assert_eq!(failures.errors().collect::<Vec<_>>(), [(3, &"too many")]);
    /// let failures = one_by_one.try_for_each(&[1, 7, 9], |n| below_3(*n).map(drop)).unwrap_err();
    /// assert_eq!(failures.errors().collect::<Vec<_>>(), [(1, &"too many")]);
    /// ```
    #[track_caller]
    pub fn try_for_range<R: IndexRange, Err: Send>(
        &self,
        range: R,
        body: impl Fn(R::Index) -> Result<(), Err> + Sync,
    ) -> Result<(), Failures<Err>> {
        self.try_for_each(range, body)
    }

    /// As [`try_for_each`](crate::parallel::try_for_each), with these options.
    ///
    /// Example: see [`Options::try_for_range`].
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    #[track_caller]
    pub fn try_for_each<S: Source, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Result<(), Err> + Sync,
    ) -> Result<(), Failures<Err>> {
        self.local(|| (), |()| ())
            .try_for_each(source, |item, _, ()| body(item))
            .map(drop)
    }
}

impl<L, Init, Finish, E> LocalOptions<'_, Init, Finish, E>
where
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
{
    /// A loop over indices whose bodies get a control and their runner's state.
    ///
    /// # Panics
    /// As [`for_each`](crate::parallel::for_each()).
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let total = AtomicU64::new(0);
    /// let add = |part| { total.fetch_add(part, Ordering::Relaxed); };
    /// parallel::options().local(|| 0, add).for_range(0..1000_u64, |i, _control, part| *part += i);
    /// assert_eq!(total.into_inner(), 499_500);
    /// ```
    #[track_caller]
    pub fn for_range<R: IndexRange>(
        &self,
        range: R,
        body: impl Fn(R::Index, &Control<'_, R::Index>, &mut L) + Sync,
    ) -> E::Output<Outcome<R::Index>> {
        let first = range.first();
        let body = |i, _, control: &Control<'_, _>, local: &mut L| body(i, control, local);
        let outcome = self.run(range, first, body);
        self.options.ending().conclude(Some(outcome))
    }

    /// A loop over items whose bodies get a control and their runner's state.
    ///
    /// # Panics
    /// As [`for_each`](crate::parallel::for_each()).
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::Mutex;
    ///
    /// let longest = Mutex::new(0);
    /// let keep = |mine: usize| {
    ///     let mut longest = longest.lock().unwrap();
    ///     *longest = mine.max(*longest);
    /// };
    /// let words = ["many", "hands", "make", "light", "work"];
    /// parallel::options().local(|| 0, keep).for_each(&words, |word, _control, mine| {
    ///     *mine = word.len().max(*mine);
    /// });
    /// assert_eq!(longest.into_inner().unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn for_each<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_, u64>, &mut L) + Sync,
    ) -> E::Output<Outcome<u64>> {
        let body = |item, _, control: &Control<'_, _>, local: &mut L| body(item, control, local);
        let outcome = self.run(source, 0, body);
        self.options.ending().conclude(Some(outcome))
    }

    /// As [`for_range`](Self::for_range), with bodies that can fail.
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let total = AtomicU64::new(0);
    /// let add = |part| { total.fetch_add(part, Ordering::Relaxed); };
    /// let options = parallel::options().degree_of_parallelism(1).local(|| 0, add);
    /// let outcome = options.try_for_range(1..=100, |n, _control, part| {
    ///     *part += n;
    ///     Ok::<(), &str>(())
    /// });
    /// assert!(outcome.unwrap().is_completed());
    /// let outcome = options.try_for_each(&[5, 50, 500], |n, _control, part| {
    ///     *part += n;
    ///     if *n < 500 { Ok(()) } else { Err("too much") }
    /// });
    /// assert_eq!(outcome.unwrap_err().errors().next(), Some((2, &"too much")));
    /// assert_eq!(total.into_inner(), 5_605); // the state of a runner that fails is finished, too
    /// ```
    #[track_caller]
    pub fn try_for_range<R: IndexRange, Err: Send>(
        &self,
        range: R,
        body: impl Fn(R::Index, &Control<'_, R::Index>, &mut L) -> Result<(), Err> + Sync,
    ) -> Result<Outcome<R::Index>, Failures<Err>> {
        let first = range.first();
        self.try_run(range, first, body)
    }

    /// As [`for_each`](Self::for_each), with bodies that can fail.
    ///
    /// Example: see [`LocalOptions::try_for_range`].
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    #[track_caller]
    pub fn try_for_each<S: Source, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_, u64>, &mut L) -> Result<(), Err> + Sync,
    ) -> Result<Outcome<u64>, Failures<Err>> {
        self.try_run(source, 0, body)
    }

    #[track_caller]
    fn run<S: Drive, Idx: Integer>(
        &self,
        source: S,
        first: Idx,
        body: impl Fn(S::Item, u64, &Control<'_, Idx>, &mut L) + Sync,
    ) -> Outcome<Idx> {
        let controlled = Controlled {
            body,
            init: &self.init,
            finish: &self.finish,
            state: LoopState::new(),
            ending: self.options.ending(),
            first,
        };
        source.into_feed().drive(&controlled, &self.options.plan());
        controlled.state.outcome(first)
    }

    #[track_caller]
    fn try_run<S: Drive, Idx: Integer, Err: Send>(
        &self,
        source: S,
        first: Idx,
        body: impl Fn(S::Item, &Control<'_, Idx>, &mut L) -> Result<(), Err> + Sync,
    ) -> Result<Outcome<Idx>, Failures<Err>> {
        let gathered = Gathered::new();
        let outcome = self.run(source, first, |item, position, control, local| {
            let result = catch(|| body(item, control, local));
            if gathered.sort_out(position, result).is_none() {
                control.note_failure();
            }
        });
        gathered.conclude(Some(outcome), self.options.ending().cancelled())
    }
}
