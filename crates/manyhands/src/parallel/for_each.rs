//! Loops for their effects: plain, with control, with state for each runner, with bodies that fail.

use crate::engine::{Consumer, Ending, HelperPolicy};
use crate::parallel::source::{Feed, Source};
use crate::parallel::{
    Both, Control, Failures, Gathered, LocalOptions, LoopState, Options, Outcome,
};
use std::ops::Range;

/// Calls the body for each item.
pub(crate) struct ForEach<F, E = ()> {
    body: F,
    ending: E,
}

impl<F> ForEach<F> {
    pub(crate) fn new(body: F) -> Self {
        Self { body, ending: () }
    }
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

    fn end(&self) -> u64 {
        self.ending.end()
    }
}

impl<E: Ending> Options<'_, E> {
    /// As [`for_each`](crate::parallel::for_each()), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Parallel.ForEach")]
    #[track_caller]
    pub fn for_each<S: Source>(&self, source: S, body: impl Fn(S::Item) + Sync) -> E::Output<()> {
        let ending = self.ending;
        let feed = source.into_feed();
        let token = ending.token();
        feed.drive(&mut ForEach { body, ending }, &self.plan(), token);
        ending.conclude(Some(()))
    }

    /// A loop over a few items that may wait for one another and are expected to be long, until the calls of the site have been
    /// short. Returns whether it was completed, not cancelled.
    #[track_caller]
    pub(super) fn for_each_few<S: Source>(&self, source: S, body: impl Fn(S::Item) + Sync) -> bool {
        let ending = self.ending;
        let mut plan = self.plan();
        plan.sharing.helpers = HelperPolicy::MayWait;
        let feed = source.into_feed();
        feed.drive(&mut ForEach { body, ending }, &plan, None);
        ending.cancelled().is_none()
    }

    /// The same for what bodies make of the items, in order; `None` if it was cancelled.
    #[track_caller]
    pub(super) fn map_few<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        body: impl Fn(T) -> R + Sync,
    ) -> Option<Vec<R>> {
        let mut results = Vec::new();
        results.resize_with(items.len(), || None);
        let places: Vec<_> = items.into_iter().zip(&mut results).collect();
        if !self.for_each_few(places, |(item, place)| *place = Some(body(item))) {
            return None;
        }
        results.into_iter().collect()
    }

    /// A loop whose bodies may break or stop it. Break indices count items from the source's start.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let words = ["many", "hands", "", "light"];
    /// let outcome = parallel::Options::new().for_each_with_control(&words, |word, control| {
    ///     if word.is_empty() {
    ///         control.break_at_current();
    ///     }
    /// });
    /// assert_eq!(outcome.lowest_break(), Some(2));
    /// ```
    #[doc(alias("Parallel.For", "Parallel.ForEach"))]
    #[track_caller]
    pub fn for_each_with_control<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_>) + Sync,
    ) -> E::Output<Outcome> {
        self.local(|| (), |()| ())
            .for_each(source, move |item, control, ()| body(item, control))
    }

    /// As [`try_for_each`](crate::parallel::try_for_each), with these options.
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let one_by_one = parallel::Options::new().degree_of_parallelism(1)?;
    /// let below_3 = |n| if n < 3 { Ok(n) } else { Err("too many") };
    ///
    /// assert_eq!(one_by_one.try_map(0..3, below_3).unwrap(), [0, 1, 2]);
    /// let failures = one_by_one.try_for_each(0..10, |n| below_3(n).map(drop)).unwrap_err();
    /// assert_eq!(failures.errors().collect::<Vec<_>>(), [(3, &"too many")]);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn try_for_each<S: Source, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Result<(), Err> + Sync,
    ) -> Result<(), Failures<Err>> {
        self.local(|| (), |()| ())
            .try_for_each(source, move |item, _, ()| body(item))
            .map(drop)
    }
}

impl<L, Init, Finish, E> LocalOptions<Options<'_, E>, Init, Finish>
where
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
{
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
    /// parallel::Options::new().local(|| 0, keep).for_each(&words, |word, _control, mine| {
    ///     *mine = word.len().max(*mine);
    /// });
    /// assert_eq!(longest.into_inner().unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn for_each<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_>, &mut L) + Sync,
    ) -> E::Output<Outcome> {
        let outcome = self.run(source, body);
        self.options.ending.conclude(Some(outcome))
    }

    /// As [`for_each`](Self::for_each), with bodies that can fail.
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
    /// let options = parallel::Options::new().degree_of_parallelism(1)?.local(|| 0, add);
    /// let outcome = options.try_for_each(&[5, 50, 500], |n, _control, part| {
    ///     *part += n;
    ///     if *n < 500 { Ok(()) } else { Err("too much") }
    /// });
    /// assert_eq!(outcome.unwrap_err().errors().next(), Some((2, &"too much")));
    /// assert_eq!(total.into_inner(), 555); // the state of a runner that fails is finished, too
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn try_for_each<S: Source, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_>, &mut L) -> Result<(), Err> + Sync,
    ) -> Result<Outcome, Failures<Err>> {
        let (gathered, called) = (Gathered::new(), self.called_here());
        let outcome = gathered.around(|| {
            let outcome = called.run(source, |item, control, local| {
                let body = || body(item, control, local);
                gathered.attempt(control.state, control.position, body);
            });
            // First: the compiler leaks what is returned if a drop panics after that.
            drop(body);
            outcome
        });
        gathered.conclude(Some(outcome), self.options.ending.cancelled())
    }

    #[track_caller]
    fn run<S: Source>(
        &self,
        source: S,
        body: impl Fn(S::Item, &Control<'_>, &mut L) + Sync,
    ) -> Outcome {
        let (ending, state) = (self.options.ending, LoopState::new());
        let body = |position, item, local: &mut L| {
            let control = Control {
                state: &state,
                position,
                token: ending.token(),
            };
            body(item, &control, local);
            Some(())
        };
        let (feed, watch) = (source.into_feed(), Both(ending, &state));
        self.give(feed, watch, body, &mut ForEach::new(drop));
        state.outcome()
    }
}
