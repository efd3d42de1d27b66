//! Loops for their results, in order, also with bodies that have their runner's state.
//!
//! Unsafe: several threads write results in place.

use crate::engine::{Consumer, Ending, Watch};
use crate::job::abort;
use crate::parallel::ordered_collect::OrderedCollect;
use crate::parallel::source::{Feed, Source};
use crate::parallel::{Both, Failures, Gathered, LocalOptions, LoopState, Options};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, get_mut, lock};
use std::mem::{self, needs_drop};
use std::ops::Range;
use std::ptr;

/// An unfinished vector of known length: writes each item to its entry. Drops the results written so far unless it is
/// finished.
pub(crate) struct Filling<R> {
    /// Has room for all, and only what was there before as long as it is unfinished.
    results: Vec<R>,
    /// The first entry.
    places: *mut R,
    /// How many entries were written.
    count: AtomicUsize,
    /// Those that were written, if that must be known.
    runs: Mutex<Vec<Range<usize>>>,
    /// Whether it must: results need dropping, or not all may be wanted.
    keeps_runs: bool,
}

// SAFETY: sharing it lets several threads write disjoint entries, which is sending them results.
unsafe impl<R: Send> Sync for Filling<R> {}

impl<R: Send> Consumer<R> for Filling<R> {
    /// The last entries without a gap that it has written.
    type Runner = Range<usize>;

    #[inline]
    fn start(&self) -> Range<usize> {
        0..0
    }

    #[inline]
    fn consume<I: Iterator<Item = R>>(
        &self,
        run: &mut Range<usize>,
        positions: Range<u64>,
        items: I,
    ) {
        let start = usize::try_from(positions.start).expect("a vector's positions fit");
        if run.end != start {
            self.finish(mem::replace(run, start..start));
        }
        // A copy, which no item that is written can change.
        let places = self.places;
        let mut block = Block { run, end: start };
        items.for_each(|item| {
            let place = places.wrapping_add(block.end);
            // SAFETY: the engine gives each position once, and there is room for all positions. So no other
            // thread touches this entry now.
            unsafe { place.write(item) };
            block.end += 1;
        });
    }

    #[inline]
    fn finish(&self, run: Range<usize>) {
        // Relaxed: a sum, read when all runners have left.
        self.count.fetch_add(run.len(), Ordering::Relaxed);
        if self.keeps_runs && !run.is_empty() {
            lock(&self.runs).push(run);
        }
    }

    #[inline]
    fn finish_only(&mut self, run: Range<usize>) {
        *self.count.get_mut() += run.len();
        if self.keeps_runs {
            get_mut(&mut self.runs).push(run);
        }
    }
}

/// Adds to a run what was written, also when a body panics.
struct Block<'a> {
    run: &'a mut Range<usize>,
    end: usize,
}

impl Drop for Block<'_> {
    #[inline]
    fn drop(&mut self) {
        self.run.end = self.end;
    }
}

impl<R> Filling<R> {
    pub(crate) fn new(len: usize) -> Self {
        Self::in_room(Vec::with_capacity(len), needs_drop::<R>())
    }

    /// Entries behind these results. Of the new ones only the first may be wanted.
    pub(crate) fn of_first(mut results: Vec<R>, len: usize) -> Self {
        results.reserve_exact(len);
        Self::in_room(results, true)
    }

    #[inline]
    fn in_room(mut results: Vec<R>, keeps_runs: bool) -> Self {
        Self {
            places: results.spare_capacity_mut().as_mut_ptr().cast(),
            results,
            count: AtomicUsize::new(0),
            runs: Mutex::new(Vec::new()),
            keeps_runs,
        }
    }

    /// The entry at this position.
    #[inline]
    pub(crate) fn place(&self, position: usize) -> *mut R {
        self.places.wrapping_add(position)
    }

    /// The finished vector. Ends the process unless all `len` entries were written. It is taken from its place: to move the whole of
    /// this takes as long as a short call.
    ///
    /// # Safety
    /// It was made by [`new`](Self::new), and driven over the positions up to `len`, each at most once.
    pub(crate) unsafe fn take_vec(&mut self, len: usize) -> Vec<R> {
        check_written(*self.count.get_mut(), len);
        if self.keeps_runs {
            get_mut(&mut self.runs).clear();
        }
        let mut results = mem::take(&mut self.results);
        // SAFETY: `len` entries were written, and by the caller's promise those are the first, for which there is room.
        unsafe { results.set_len(len) };
        results
    }

    /// What was there before and the first `len` entries; what was written behind them is dropped. Ends the process unless
    /// these were written.
    ///
    /// # Safety
    /// It was made by [`of_first`](Self::of_first), and no position was driven twice.
    pub(crate) unsafe fn into_first(mut self, len: usize) -> Vec<R> {
        let runs = mem::take(get_mut(&mut self.runs));
        let written = |run: &Range<usize>| run.end.min(len) - run.start.min(len);
        check_written(runs.iter().map(written).sum(), len);
        let mut results = mem::take(&mut self.results);
        // SAFETY: `len` entries were written, each once, all below `len`; so these are the first, for which there is room.
        unsafe { results.set_len(results.len() + len) };
        let unwanted = runs.into_iter().map(|run| run.start.max(len)..run.end);
        drop_written(self.places, unwanted);
        results
    }
}

impl<R> Drop for Filling<R> {
    fn drop(&mut self) {
        drop_written(self.places, mem::take(get_mut(&mut self.runs)));
    }
}

/// Drops the results of these runs of entries: each of them, also when another one panics.
fn drop_written<R>(places: *mut R, runs: impl IntoIterator<Item = Range<usize>>) {
    if !needs_drop::<R>() {
        return;
    }
    let written = runs.into_iter().map(|run| {
        let first = places.wrapping_add(run.start);
        Written(ptr::slice_from_raw_parts_mut(first, run.len()))
    });
    drop(written.collect::<Vec<_>>());
}

/// Results of an unfinished vector, to be dropped in place.
struct Written<R>(*mut [R]);

impl<R> Drop for Written<R> {
    fn drop(&mut self) {
        // SAFETY: within the capacity, written, and not handed out, because the runs of what was are cleared, or cut.
        unsafe { ptr::drop_in_place(self.0) };
    }
}

/// Ends the process unless this number of items was written. A function that hands out their memory calls this first:
/// even if a loop has lost an item through another fault, no caller reads memory that was not written.
#[inline]
pub(crate) fn check_written(written: usize, expected: usize) {
    if written != expected {
        abort("a parallel call would have handed out memory that it has not written");
    }
}

/// Gives a consumer what a body makes of each item, with its runner's state.
pub(crate) struct Mapping<'a, F, C, W, Init, Finish> {
    /// Returns `None` when there is no result and none need follow in this block.
    pub(crate) body: F,
    pub(crate) consumer: &'a mut C,
    pub(crate) watch: W,
    pub(crate) init: &'a Init,
    pub(crate) finish: &'a Finish,
}

impl<T, R, L, F, C, W, Init, Finish> Consumer<T> for Mapping<'_, F, C, W, Init, Finish>
where
    F: Fn(u64, T, &mut L) -> Option<R> + Sync,
    C: Consumer<R>,
    W: Watch,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
{
    type Runner = (C::Runner, L);

    #[inline]
    fn start(&self) -> Self::Runner {
        (self.consumer.start(), (self.init)())
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        (runner, local): &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let mut position = positions.start;
        let results = self.watch.limit(position, items).map_while(|item| {
            let result = (self.body)(position, item, local);
            position += 1;
            result
        });
        self.consumer.consume(runner, positions, results);
    }

    #[inline]
    fn finish(&self, (runner, local): Self::Runner) {
        self.consumer.finish(runner);
        (self.finish)(local);
    }

    #[inline]
    fn finish_only(&mut self, (runner, local): Self::Runner) {
        self.consumer.finish_only(runner);
        (self.finish)(local);
    }

    fn end(&self) -> u64 {
        self.watch.end()
    }

    fn note_panic(&self) {
        self.watch.note_panic();
    }
}

/// Runs `body` on every item and collects the results in order; `None` if some are missing.
#[track_caller]
pub(crate) fn collect<S: Source, R: Send, L, E: Ending>(
    source: S,
    local: &LocalOptions<Options<'_, E>, impl Fn() -> L + Sync, impl Fn(L) + Sync>,
    watch: impl Watch,
    body: impl Fn(u64, S::Item, &mut L) -> Option<R> + Sync,
) -> Option<Vec<R>> {
    let feed = source.into_feed();
    if let Some(len) = feed.len_hint() {
        let mut filling = Filling::new(len);
        let complete = local.give(feed, watch, body, &mut filling);
        // SAFETY: it was driven over `len` positions, each once.
        return complete.then(|| unsafe { filling.take_vec(len) });
    }
    let mut collecting = OrderedCollect::new(None);
    let complete = local.give(feed, watch, body, &mut collecting);
    complete.then(|| collecting.into_vec())
}

impl<E: Ending> Options<'_, E> {
    /// As [`map`](crate::parallel::map()), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Select")]
    #[track_caller]
    pub fn map<S: Source, R: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> R + Sync,
    ) -> E::Output<Vec<R>> {
        self.local(|| (), |()| ())
            .map(source, move |item, ()| body(item))
    }

    /// As [`try_map`](crate::parallel::try_map), with these options.
    ///
    /// Example: see [`Options::try_for_each`].
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    #[track_caller]
    pub fn try_map<S: Source, R: Send, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Result<R, Err> + Sync,
    ) -> Result<Vec<R>, Failures<Err>> {
        self.local(|| (), |()| ())
            .try_map(source, move |item, ()| body(item))
    }
}

impl<L, Init, Finish, E> LocalOptions<Options<'_, E>, Init, Finish>
where
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
{
    /// Gives a consumer what a body makes of each item, until the watch ends that. Whether it has not.
    #[inline]
    #[track_caller]
    pub(super) fn give<F: Feed, R>(
        &self,
        feed: F,
        watch: impl Watch,
        body: impl Fn(u64, F::Item, &mut L) -> Option<R> + Sync,
        consumer: &mut impl Consumer<R>,
    ) -> bool {
        let mut mapping = Mapping {
            body,
            consumer,
            watch,
            init: &self.init,
            finish: &self.finish,
        };
        let (plan, token) = (self.options.plan(), self.options.ending.token());
        feed.drive(&mut mapping, &plan, token);
        mapping.watch.end() == u64::MAX
    }

    /// As [`map`](crate::parallel::map()), with bodies that get their runner's state.
    ///
    /// # Panics
    /// As [`map`](crate::parallel::map()).
    ///
    /// # Examples
    /// A buffer for each runner:
    /// ```
    /// use manyhands::parallel;
    /// let with_buffer = parallel::Options::new().local(String::new, drop);
    /// let digits = with_buffer.map(0..200_u32, |n, buffer| {
    ///     buffer.clear();
    ///     buffer.push_str(&n.to_string());
    ///     buffer.len()
    /// });
    /// assert_eq!(digits.iter().sum::<usize>(), 490);
    /// ```
    #[doc(alias("map_init", "map_with"))]
    #[track_caller]
    pub fn map<S: Source, R: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item, &mut L) -> R + Sync,
    ) -> E::Output<Vec<R>> {
        let ending = self.options.ending;
        let results = collect(source, self, ending, move |_, item, local| {
            Some(body(item, local))
        });
        ending.conclude(results)
    }

    /// As [`map`](Self::map), with bodies that can fail.
    ///
    /// # Errors
    /// Every error that a body returned and every panic, by position; a cancellation.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let counting = parallel::Options::new().degree_of_parallelism(1)?.local(|| 0, drop);
    /// let at_most_2 = |text: &&str, count: &mut u32| {
    ///     *count += 1;
    ///     if *count <= 2 { Ok(text.len()) } else { Err("too many") }
    /// };
    /// assert_eq!(counting.try_map(&["many", "hands"], at_most_2).unwrap(), [4, 5]);
    /// let failures = counting.try_map(&["make", "light", "work"], at_most_2).unwrap_err();
    /// assert_eq!(failures.errors().next(), Some((2, &"too many")));
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn try_map<S: Source, R: Send, Err: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item, &mut L) -> Result<R, Err> + Sync,
    ) -> Result<Vec<R>, Failures<Err>> {
        let (gathered, state) = (Gathered::new(), LoopState::new());
        let (ending, called) = (self.options.ending, self.called_here());
        let watch = Both(ending, &state);
        let results = gathered.around(|| {
            let results = collect(source, &called, watch, |position, item, local| {
                gathered.attempt(&state, position, || body(item, local))
            });
            // First: the compiler leaks what is returned if a drop panics after that.
            drop(body);
            results
        });
        gathered.conclude(results, ending.cancelled())
    }
}

#[cfg(test)]
mod tests {
    use super::Filling;
    use crate::engine::consumer::Consumer;
    use crate::engine::ending::assert_ends_process;
    use crate::job::catch;
    use std::panic::resume_unwind;
    use std::sync::Arc;

    /// A vector of three entries, of which this number are written.
    fn filled(places: u64) -> Vec<u64> {
        let mut filling = Filling::<u64>::new(3);
        let mut count = filling.start();
        filling.consume(&mut count, 0..places, 0..places);
        filling.finish(count);
        // SAFETY: each position was asked for once.
        unsafe { filling.take_vec(3) }
    }

    #[test]
    fn a_vector_is_returned_when_all_entries_were_written() {
        assert_eq!(filled(3), [0, 1, 2]);
    }

    /// Panics when it is dropped, if it is the one.
    struct Bomb {
        _counted: Arc<()>,
        is_live: bool,
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.is_live {
                resume_unwind(Box::new("blown"));
            }
        }
    }

    #[test]
    fn a_result_whose_drop_panics_keeps_no_run_from_being_dropped() {
        let counted = Arc::new(());
        for live in [0, 1, 3, 4, 6, 7] {
            let filling = Filling::<Bomb>::new(8);
            for start in [0, 3, 6] {
                let mut run = filling.start();
                let results = (start..start + 2).map(|at| Bomb {
                    _counted: Arc::clone(&counted),
                    is_live: at == live,
                });
                filling.consume(&mut run, start..start + 2, results);
                filling.finish(run);
            }
            assert_eq!(Arc::strong_count(&counted), 7);
            assert!(catch(|| drop(filling)).is_err());
            assert_eq!(Arc::strong_count(&counted), 1, "result {live} blew");
        }
    }

    #[test]
    fn of_first_entries_those_wanted_are_kept_and_the_others_dropped() {
        let counted = Arc::new(7);
        for wanted in 0..=3 {
            let before = vec![Arc::clone(&counted)];
            let filling = Filling::of_first(before, 8);
            for positions in [4..8_u64, 0..4] {
                let mut run = filling.start();
                let results = positions.clone().map(|_| Arc::clone(&counted));
                // One of each block has none, as where it has failed.
                filling.consume(&mut run, positions, results.take(3));
                filling.finish(run);
            }
            // SAFETY: each position was asked for once.
            let kept = unsafe { filling.into_first(wanted) };
            assert_eq!(kept.len(), 1 + wanted);
            assert_eq!(Arc::strong_count(&counted), 1 + kept.len());
        }
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn first_entries_one_of_which_was_not_written_end_the_process() {
        assert_ends_process(
            "parallel::map::tests::first_entries_one_of_which_was_not_written_end_the_process",
            "memory that it has not written",
            || {
                let filling = Filling::of_first(Vec::new(), 8);
                for positions in [0..2_u64, 3..5] {
                    let mut run = filling.start();
                    filling.consume(&mut run, positions.clone(), positions);
                    filling.finish(run);
                }
                // SAFETY: no position was asked for twice.
                drop(unsafe { filling.into_first(4) });
            },
        );
    }

    #[test]
    fn a_vector_with_an_entry_that_was_not_written_ends_the_process() {
        assert_ends_process(
            "parallel::map::tests::a_vector_with_an_entry_that_was_not_written_ends_the_process",
            "memory that it has not written",
            || drop(filled(2)),
        );
    }
}
