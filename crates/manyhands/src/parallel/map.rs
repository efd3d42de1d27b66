//! Loops for their results, in order.
//!
//! Unsafe: several threads write results in place.

use crate::engine::consumer::{Consumer, Ending, Watch};
use crate::job::{abort, catch};
use crate::parallel::control::{Both, LoopState};
use crate::parallel::failure::{Failures, Gathered};
use crate::parallel::options::Options;
use crate::parallel::source::{Feed, Source};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, get_mut, lock};
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit, needs_drop};
use std::ops::Range;
use std::ptr;

/// Writes each item's result to its entry in a vector of known length.
pub(crate) struct IntoPlaces<'a, R, F, W> {
    /// Returns `None` when there is no result and none need follow in this block.
    body: F,
    watch: W,
    places: OutputPtr<R>,
    written: &'a mut Written<R>,
}

/// The first entry.
struct OutputPtr<R>(*mut R);

// SAFETY: sharing it lets several threads write disjoint entries, which is sending them results.
unsafe impl<R: Send> Sync for OutputPtr<R> {}

impl<T, R, F, W> Consumer<T> for IntoPlaces<'_, R, F, W>
where
    R: Send,
    F: Fn(u64, T) -> Option<R> + Sync,
    W: Watch,
{
    /// The last entries without a gap that it has written.
    type Runner = Range<usize>;

    #[inline]
    fn start(&self) -> Range<usize> {
        0..0
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        run: &mut Range<usize>,
        positions: Range<u64>,
        items: I,
    ) {
        let start = usize::try_from(positions.start).expect("a vector's positions fit");
        if run.end != start {
            self.written.add(mem::replace(run, start..start));
        }
        let mut block = Block { run, end: start };
        for item in self.watch.limit(positions.start, items) {
            let Some(result) = (self.body)(block.end as u64, item) else {
                break;
            };
            let place = self.places.0.wrapping_add(block.end);
            // SAFETY: the engine gives each position once, and positions are below the vector's capacity. So no other
            // thread touches this entry now.
            unsafe { place.write(result) };
            block.end += 1;
        }
    }

    #[inline]
    fn finish(&self, run: Range<usize>) {
        self.written.add(run);
    }

    #[inline]
    fn finish_only(&mut self, run: Range<usize>) {
        self.written.add_only(run);
    }

    fn end(&self) -> u64 {
        self.watch.end()
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

/// Which entries were written.
struct Written<R> {
    count: AtomicUsize,
    /// Those whose results need dropping.
    runs: Mutex<Vec<Range<usize>>>,
    of: PhantomData<fn() -> R>,
}

impl<R> Written<R> {
    #[inline]
    fn add(&self, run: Range<usize>) {
        // Relaxed: a sum, read when all runners have left.
        self.count.fetch_add(run.len(), Ordering::Relaxed);
        if needs_drop::<R>() && !run.is_empty() {
            lock(&self.runs).push(run);
        }
    }

    #[inline]
    fn add_only(&mut self, run: Range<usize>) {
        *self.count.get_mut() += run.len();
        if needs_drop::<R>() {
            get_mut(&mut self.runs).push(run);
        }
    }
}

/// An unfinished vector. Drops the results written so far unless it is finished.
pub(crate) struct Filling<R> {
    results: Vec<MaybeUninit<R>>,
    written: Written<R>,
}

impl<R> Filling<R> {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            results: Vec::with_capacity(len),
            written: Written {
                count: AtomicUsize::new(0),
                runs: Mutex::new(Vec::new()),
                of: PhantomData,
            },
        }
    }

    /// Writes what `body` returns for each position to its entry.
    pub(crate) fn writer<F, W>(&mut self, body: F, watch: W) -> IntoPlaces<'_, R, F, W> {
        IntoPlaces {
            body,
            watch,
            places: OutputPtr(self.results.as_mut_ptr().cast()),
            written: &mut self.written,
        }
    }

    /// The finished vector. Ends the process unless all `len` entries were written.
    ///
    /// # Safety
    /// The writer was driven over the positions up to `len`, each at most once.
    pub(crate) unsafe fn finish(mut self, len: usize) -> Vec<R> {
        check_written(*self.written.count.get_mut(), len);
        let mut results = ManuallyDrop::new(mem::take(&mut self.results));
        if needs_drop::<R>() {
            get_mut(&mut self.written.runs).clear();
        }
        let (start, capacity) = (results.as_mut_ptr().cast::<R>(), results.capacity());
        // SAFETY: the vector's own parts, its memory no longer owned by `results`; `MaybeUninit<R>` has the layout of
        // `R`; `len` entries hold results, and by the caller's promise those are the first.
        unsafe { Vec::from_raw_parts(start, len, capacity) }
    }
}

impl<R> Drop for Filling<R> {
    fn drop(&mut self) {
        if !needs_drop::<R>() {
            return;
        }
        let start = self.results.as_mut_ptr().cast::<R>();
        for range in get_mut(&mut self.written.runs).drain(..) {
            let results =
                ptr::slice_from_raw_parts_mut(start.wrapping_add(range.start), range.len());
            // SAFETY: within the capacity, written, and not handed out, because then the ranges were cleared.
            unsafe { ptr::drop_in_place(results) };
        }
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

/// Keeps each block's results with its first position, for sources of unknown length.
struct IntoBlocks<'a, R, F, W> {
    body: F,
    watch: W,
    blocks: &'a Mutex<Vec<(u64, Vec<R>)>>,
}

impl<T, R, F, W> Consumer<T> for IntoBlocks<'_, R, F, W>
where
    R: Send,
    F: Fn(u64, T) -> Option<R> + Sync,
    W: Watch,
{
    /// Adjacent blocks are kept together.
    type Runner = Vec<(u64, Vec<R>)>;

    fn start(&self) -> Self::Runner {
        Vec::new()
    }

    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let follows = runner
            .last()
            .is_some_and(|(start, block)| start + block.len() as u64 == positions.start);
        if !follows {
            runner.push((positions.start, Vec::new()));
        }
        let Some((_, block)) = runner.last_mut() else {
            return;
        };
        for (item, position) in self.watch.limit(positions.start, items).zip(positions) {
            let Some(result) = (self.body)(position, item) else {
                return;
            };
            block.push(result);
        }
    }

    fn finish(&self, runner: Self::Runner) {
        lock(self.blocks).extend(runner);
    }

    fn end(&self) -> u64 {
        self.watch.end()
    }
}

/// Runs `body` on every item and collects the results in order; `None` if some are missing.
#[track_caller]
pub(crate) fn collect<S: Source, R: Send>(
    source: S,
    options: &Options<'_, impl Ending>,
    watch: impl Watch,
    body: impl Fn(u64, S::Item) -> Option<R> + Sync,
) -> Option<Vec<R>> {
    let feed = source.into_feed();
    if let Some(len) = feed.len_hint() {
        let mut filling = Filling::new(len);
        let mut consumer = filling.writer(body, watch);
        feed.drive(&mut consumer, &options.plan());
        let complete = consumer.watch.end() == u64::MAX;
        // SAFETY: the writer was driven over `len` positions, each once.
        return complete.then(|| unsafe { filling.finish(len) });
    }
    let blocks = Mutex::new(Vec::new());
    let mut consumer = IntoBlocks {
        body,
        watch,
        blocks: &blocks,
    };
    feed.drive(&mut consumer, &options.plan());
    let complete = consumer.watch.end() == u64::MAX;
    let mut blocks = mem::take(&mut *lock(&blocks));
    blocks.sort_by_key(|(first, _)| *first);
    complete.then(|| blocks.into_iter().flat_map(|(_, block)| block).collect())
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
        let ending = self.ending();
        ending.conclude(collect(source, self, ending, |_, item| Some(body(item))))
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
        let (gathered, state) = (Gathered::new(), LoopState::new());
        let results = collect(
            source,
            self,
            Both(self.ending(), &state),
            |position, item| {
                let result = gathered.sort_out(position, catch(|| body(item)));
                if result.is_none() {
                    state.note_failure();
                }
                result
            },
        );
        gathered.conclude(results, self.ending().cancelled())
    }
}

#[cfg(test)]
mod tests {
    use super::Filling;
    use crate::engine::consumer::Consumer;
    use crate::engine::ending::assert_ends_process;

    /// A vector of three entries, of which this number are written.
    fn filled(places: u64) -> Vec<u64> {
        let mut filling = Filling::new(3);
        let writer = filling.writer(|_, item| Some(item), ());
        let mut count = writer.start();
        writer.consume(&mut count, 0..places, 0..places);
        Consumer::<u64>::finish(&writer, count);
        // SAFETY: each position was asked for once.
        unsafe { filling.finish(3) }
    }

    #[test]
    fn a_vector_is_returned_when_all_entries_were_written() {
        assert_eq!(filled(3), [0, 1, 2]);
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
