//! Loops for their results whose bodies have their runner's state.
//!
//! The body is a part of the source here: what it makes of each item is what the source gives. So results are kept as
//! those of any other loop are (`map.rs`).

use crate::engine::Plan;
use crate::engine::consumer::{Consumer, Ending};
use crate::job::catch;
use crate::parallel::control::{Both, LoopState};
use crate::parallel::failure::{Failures, Gathered};
use crate::parallel::map::collect;
use crate::parallel::options::{LocalOptions, Options};
use crate::parallel::source::{Feed, Source};
use std::ops::Range;

/// What a body makes of the items of `S`, which is a source, or feeds a loop.
struct Mapped<'a, S, F, Init, Finish> {
    items: S,
    body: F,
    init: &'a Init,
    finish: &'a Finish,
}

impl<'a, S, R, L, F, Init, Finish> Source for Mapped<'a, S, F, Init, Finish>
where
    S: Source,
    F: Fn(S::Item, &mut L) -> R + Sync,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
{
    type Item = R;
    type Feed = Mapped<'a, S::Feed, F, Init, Finish>;

    fn into_feed(self) -> Self::Feed {
        Mapped {
            items: self.items.into_feed(),
            body: self.body,
            init: self.init,
            finish: self.finish,
        }
    }
}

impl<S, R, L, F, Init, Finish> Feed for Mapped<'_, S, F, Init, Finish>
where
    S: Feed,
    F: Fn(S::Item, &mut L) -> R + Sync,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
{
    type Item = R;

    fn drive<C: Consumer<R>>(self, consumer: &mut C, plan: &Plan<'_>) {
        let (items, mut mapping) = self.before(consumer);
        items.drive(&mut mapping, plan);
    }

    fn drive_leaves<C: Consumer<R>>(self, consumer: &C, plan: &Plan<'_>) {
        let (items, mapping) = self.before(consumer);
        items.drive_leaves(&mapping, plan);
    }

    fn len_hint(&self) -> Option<usize> {
        self.items.len_hint()
    }
}

impl<'a, S, F, Init, Finish> Mapped<'a, S, F, Init, Finish> {
    /// What feeds the loop, and the body in front of this consumer.
    fn before<C>(self, consumer: &'a C) -> (S, Mapping<'a, C, F, Init, Finish>) {
        let mapping = Mapping {
            consumer,
            body: self.body,
            init: self.init,
            finish: self.finish,
        };
        (self.items, mapping)
    }
}

/// Passes on what the body makes of each item.
struct Mapping<'a, C, F, Init, Finish> {
    consumer: &'a C,
    body: F,
    init: &'a Init,
    finish: &'a Finish,
}

impl<T, R, L, C, F, Init, Finish> Consumer<T> for Mapping<'_, C, F, Init, Finish>
where
    C: Consumer<R>,
    F: Fn(T, &mut L) -> R + Sync,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
{
    type Runner = (C::Runner, L);

    fn start(&self) -> Self::Runner {
        (self.consumer.start(), (self.init)())
    }

    fn consume<I: Iterator<Item = T>>(
        &self,
        (runner, local): &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let results = items.map(|item| (self.body)(item, local));
        self.consumer.consume(runner, positions, results);
    }

    fn finish(&self, (runner, local): Self::Runner) {
        self.consumer.finish(runner);
        (self.finish)(local);
    }

    fn end(&self) -> u64 {
        self.consumer.end()
    }

    fn pass(&self, end: u64) {
        self.consumer.pass(end);
    }

    fn note_panic(&self) {
        self.consumer.note_panic();
    }
}

impl<L, Init, Finish, E> LocalOptions<Options<'_, E>, Init, Finish>
where
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
{
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
    #[doc(alias = "map_init")]
    #[doc(alias = "map_with")]
    #[track_caller]
    pub fn map<S: Source, R: Send>(
        &self,
        source: S,
        body: impl Fn(S::Item, &mut L) -> R + Sync,
    ) -> E::Output<Vec<R>> {
        let (options, ending) = (&self.options, self.options.ending());
        let results = self.mapped(source, body);
        ending.conclude(collect(results, options, ending, |_, result| Some(result)))
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
        let (options, ending) = (&self.options, self.options.ending());
        let results = self.mapped(source, |item, local: &mut L| catch(|| body(item, local)));
        let watch = Both(ending, &state);
        let results = collect(results, options, watch, |position, result| {
            let result = gathered.sort_out(position, result);
            if result.is_none() {
                state.note_failure();
            }
            result
        });
        gathered.conclude(results, ending.cancelled())
    }

    fn mapped<S, F>(&self, source: S, body: F) -> Mapped<'_, S, F, Init, Finish> {
        Mapped {
            items: source,
            body,
            init: &self.init,
            finish: &self.finish,
        }
    }
}
