//! The items of an iterator, taken by one runner at a time; and the caller's way through them alone, straight from the iterator,
//! in blocks that grow from one item while bodies are quick.
//!
//! Not here: how a loop over them begins (`beginning.rs`), and how runners share it (`shared_pull.rs`).

use crate::engine::{Consumer, Rate, RateProbe, Runner, SharingPlan, cost, pays_to_share};
use crate::job::{Payload, catch};
use crate::parallel::source::to_usize;
use crate::recording::{LoopObserver, RunnerObserver, RunsAlone};
use crate::runtime::CallerThread;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock;
use std::{mem, vec};

/// The iterator and its position.
pub(super) struct Pull<I: Iterator> {
    /// `None` when it has ended, or panicked.
    iterator: Option<I>,
    pub(super) next: u64,
    /// Items that were taken, and not run yet, with the position of the first of each list.
    pub(super) taken: Vec<(u64, vec::IntoIter<I::Item>)>,
    /// To take the items takes longer than to run them.
    pub(super) is_slow: bool,
}

/// How many items are pulled at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// One, then as many as take about as long as a block; this many at most.
    UpTo(usize),
    /// A leaf, whose length depends on its position alone; this many at most.
    Leaf(usize),
}

/// How a loop runs.
#[derive(Clone, Copy)]
pub(super) struct How<'a, O> {
    pub(super) plan: &'a SharingPlan<'a>,
    pub(super) chunk: Chunk,
    pub(super) observer: O,
    /// A panic lets no more items begin.
    pub(super) stopped: &'a AtomicBool,
}

impl Chunk {
    /// How many items are pulled at this position, where `size` would be right.
    pub(super) fn at(self, position: u64, size: u64) -> usize {
        let (size, most) = match self {
            Self::UpTo(most) => (size, most),
            Self::Leaf(most) => ((position / LEAVES_BEFORE).clamp(1, LEAF_LEN_MAX), most),
        };
        to_usize(size.min(most as u64))
    }

    /// The items of a part of so many.
    pub(super) fn part_of(self, block: usize) -> usize {
        match self {
            Self::UpTo(_) => block.div_ceil(PARTS),
            Self::Leaf(_) => block,
        }
    }
}

impl<I: Iterator<Item: Send> + Send> Pull<I> {
    pub(super) fn new(iterator: Option<I>) -> Self {
        Self {
            iterator,
            next: 0,
            taken: Vec::new(),
            is_slow: false,
        }
    }

    /// Takes the first item, before anything else is done.
    pub(super) fn first(&mut self) -> Option<I::Item> {
        let first = self.iterator.as_mut()?.next()?;
        self.next = 1;
        Some(first)
    }

    /// Whether the iterator may have more than `most` items, as far as it says.
    pub(super) fn may_exceed(&self, most: usize) -> bool {
        let iterator = self.iterator.as_ref();
        iterator.is_some_and(|items| items.size_hint().1.is_none_or(|len| len > most))
    }
}

impl<I: Iterator> Pull<I> {
    /// Runs what was taken, and then items straight from the iterator until it ends, or for so long that the rest is better
    /// shared: then true. It is never if there is a reason to run `alone`.
    pub(super) fn run_alone<C: Consumer<I::Item>>(
        &mut self,
        runner: &mut Runner<'_, I::Item, C>,
        (mut probe, alone): (RateProbe, Option<RunsAlone>),
        how: How<'_, impl LoopObserver>,
    ) -> bool {
        let (consumer, observer, chunks) = (runner.consumer, how.observer, how.chunk);
        let mut part = observer.caller_alone();
        self.run_taken(runner, &mut part);
        let Some(iterator) = &mut self.iterator else {
            return false;
        };
        let mut because = alone.unwrap_or(RunsAlone::TooShort);
        let mut look_at = 0;
        let mut chunk = Vec::new();
        let thread = CallerThread::current().filter(|_| alone.is_none());
        let monitor_looks = || thread.map_or(0, |thread| thread.looks());
        // Relaxed: seen a block late.
        while self.next < consumer.end() && !how.stopped.load(Ordering::Relaxed) {
            let block = chunks.at(self.next, probe.block);
            let parts = (block, chunks.part_of(block));
            // Nobody knows how much is left: as much again is assumed.
            let spent = probe.spent();
            let looks = spent > 0 && alone.is_none() && spent >= look_at && pays_to_share(spent);
            // Then the block goes on: its items are no longer what they were.
            let cut_at = monitor_looks() + 2;
            let is_cut = || monitor_looks() >= cut_at;
            let (done, mut has_ended);
            // No leaf is empty.
            if looks || matches!(chunks, Chunk::Leaf(_)) {
                let begun = clock::ticks();
                chunk.extend(iterator.by_ref().take(block));
                let taken = chunk.len();
                if taken == 0 {
                    break;
                }
                let taking = Rate::of(clock::ticks().saturating_sub(begun), taken as u64);
                // The others have taken as long; their bodies may not.
                let can_share = cost::can_share(probe.spent(), taking.ticks_for(self.next));
                if looks && can_share && taken == block && iterator.size_hint().1 != Some(0) {
                    self.taken.push((self.next, chunk.into_iter()));
                    self.next += taken as u64;
                    return true;
                }
                if looks && !can_share {
                    because = RunsAlone::SourceSlow;
                    self.is_slow = true;
                    look_at = 2 * probe.spent();
                }
                let mut items = chunk.drain(..);
                (done, has_ended) = run_parts(runner, self.next, &mut items, parts, |_| is_cut());
                if is_cut() && !has_ended && items.len() > 0 {
                    part.block(done);
                    let rest: Vec<_> = items.collect();
                    self.taken.push((self.next + done, rest.into_iter()));
                    self.next += taken as u64;
                    if taken < block {
                        // It has ended, and is not asked again.
                        self.iterator = None;
                    }
                    return true;
                }
                has_ended |= taken < block;
            } else {
                (done, has_ended) = run_parts(runner, self.next, iterator, parts, |_| is_cut());
            }
            self.next += done;
            part.block(done);
            probe.measure(done, 0);
            if has_ended {
                break;
            }
            if is_cut() {
                probe.block = 1;
            }
        }
        drop(part);
        probe.end(self.next);
        observer.alone(because);
        false
    }

    fn run_taken<C: Consumer<I::Item>>(
        &mut self,
        runner: &mut Runner<'_, I::Item, C>,
        part: &mut impl RunnerObserver,
    ) {
        for (first, taken) in mem::take(&mut self.taken) {
            let count = taken.len() as u64;
            let consumer = runner.consumer;
            consumer.consume(runner.state(), first..first + count, taken);
            part.block(count);
        }
    }

    /// Moves up to `max` items into `chunk`, those that were taken before others, of which none is pulled that lies beyond `end`:
    /// the iterator may wait for an item that will never be sent. Returns the position of the first.
    pub(super) fn fill(
        &mut self,
        chunk: &mut Vec<I::Item>,
        max: usize,
        end: u64,
    ) -> Result<u64, Payload> {
        if let Some((next, items)) = self.taken.last_mut() {
            let first = *next;
            chunk.extend(items.take(max));
            *next += chunk.len() as u64;
            if items.len() == 0 {
                self.taken.pop();
            }
            return Ok(first);
        }
        let first = self.next;
        if first >= end {
            return Ok(first);
        }
        // Taken out, so that a panic leaves none behind: the iterator is then dropped, once.
        let Some(mut iterator) = self.iterator.take() else {
            return Ok(first);
        };
        self.iterator = catch(|| {
            chunk.extend(iterator.by_ref().take(max));
            // An iterator that has ended is dropped here, where its destructor may panic.
            (chunk.len() == max).then_some(iterator)
        })?;
        self.next += chunk.len() as u64;
        Ok(first)
    }
}

/// Runs up to `most` items from this position on, in parts, until `is_over` between two of them, after so many items. Returns how
/// many it has taken, and whether there are no more, or the consumer wants none.
#[inline]
pub(super) fn run_parts<T, C: Consumer<T>>(
    runner: &mut Runner<'_, T, C>,
    first: u64,
    items: &mut impl Iterator<Item = T>,
    (most, part_len): (usize, usize),
    mut is_over: impl FnMut(u64) -> bool,
) -> (u64, bool) {
    let consumer = runner.consumer;
    let mut done = 0;
    while done < most && first + (done as u64) < consumer.end() {
        let (begin, count) = (first + done as u64, part_len.min(most - done));
        let mut taken = 0;
        let part = items.by_ref().take(count).inspect(|_| taken += 1);
        consumer.consume(runner.state(), begin..begin + count as u64, part);
        done += taken;
        if taken < count {
            return (done as u64, true);
        }
        if is_over(done as u64) {
            break;
        }
    }
    (done as u64, false)
}

/// Most items pulled at once.
pub(super) const CHUNK_MAX: usize = 1024;
/// A leaf of a deterministic reduction is at most one part in so many of the items before it, so that few heavy ones are divided;
const LEAVES_BEFORE: u64 = 128;
/// and at most so many items.
const LEAF_LEN_MAX: u64 = 256;
/// Items that were expected to be short, and are not, are run in so many parts: between two of them the others may go to another
/// runner.
const PARTS: usize = 256;
