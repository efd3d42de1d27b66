//! One call as its driver sees it: the chunks that were cut from its range, and how long the next one is to be.

use super::Patience;
use crate::{
    broadcast::Sent,
    wire::{Attempt, Bytes, JobId},
};
use std::{collections::VecDeque, ops::Range, sync::Arc, time::Duration};

/// What a call asks for.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) function: String,
    pub(crate) captures: Bytes,
    /// The broadcast values among them.
    pub(crate) values: Vec<Arc<Sent>>,
    pub(crate) range: Range<u64>,
    /// Time for all of it.
    pub(crate) limit: Option<Duration>,
    pub(crate) patience: Patience,
}

/// A call that has not ended.
///
/// The chunks cut so far are adjacent, begin where the range begins, and never change; what is behind the last of them is
/// cut later. A chunk that is not done is handed out, or waits in `returned`, or both when it was handed out twice.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) function: String,
    pub(crate) captures: Bytes,
    pub(crate) values: Vec<Arc<Sent>>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) submitted: Duration,
    pub(crate) patience: Patience,
    /// What was not cut yet.
    rest: Range<u64>,
    chunks: Vec<Chunk>,
    /// Chunks to be handed out again.
    returned: VecDeque<u32>,
    done_len: usize,
    pace: Pace,
}

/// A part of the range, handed out and answered as one.
#[derive(Debug, Clone)]
struct Chunk {
    range: Range<u64>,
    /// How often it was handed out.
    attempts: u32,
    /// At how many workers it is now.
    copies: u32,
    /// How many workers died while they ran it.
    deaths: u32,
    /// How often a body of it has panicked.
    panics: u32,
    is_done: bool,
    handed_out: Duration,
}

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The first for its chunk, and so the chunk's.
    Accepted(Range<u64>),
    /// The chunk has one already, or was never handed out like that.
    Dropped,
}

/// What a worker is about to get.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) chunk: u32,
    pub(crate) number: u32,
    pub(crate) range: Range<u64>,
    pub(crate) is_suspect: bool,
}

impl Job {
    pub(crate) fn new(spec: Spec, now: Duration) -> Self {
        Self {
            function: spec.function,
            captures: spec.captures,
            values: spec.values,
            deadline: spec.limit.map(|limit| now.saturating_add(limit)),
            submitted: now,
            patience: spec.patience,
            rest: spec.range,
            chunks: Vec::new(),
            returned: VecDeque::new(),
            done_len: 0,
            pace: Pace::default(),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty() && self.done_len == self.chunks.len()
    }

    /// The next chunk for a worker that holds nothing, or something.
    pub(crate) fn next(&mut self, now: Duration, worker: Load, workers: u64) -> Option<Next> {
        let place = self
            .returned_for(worker)
            .or_else(|| self.cut(workers))
            .or_else(|| self.straggler(now, worker))?;
        let chunk = self.chunks.get_mut(place as usize)?;
        chunk.attempts += 1;
        chunk.copies += 1;
        chunk.handed_out = now;
        Some(Next {
            chunk: place,
            number: chunk.attempts,
            range: chunk.range.clone(),
            is_suspect: chunk.deaths > 0,
        })
    }

    /// A chunk that came back. One whose worker died may have killed it: it goes to a worker that holds nothing else, so
    /// that the next death is surely its own.
    fn returned_for(&mut self, worker: Load) -> Option<u32> {
        let chunks = &self.chunks;
        self.returned.retain(|place| {
            let chunk = chunks.get(*place as usize);
            chunk.is_some_and(|chunk| !chunk.is_done)
        });
        let suits = |place: &u32| {
            let chunk = chunks.get(*place as usize);
            worker == Load::Nothing || chunk.is_some_and(|chunk| chunk.deaths == 0)
        };
        let at = self.returned.iter().position(suits)?;
        self.returned.remove(at)
    }

    /// Cuts a chunk from the rest.
    fn cut(&mut self, workers: u64) -> Option<u32> {
        let left = self.rest.end.saturating_sub(self.rest.start);
        if left == 0 {
            return None;
        }
        let place = u32::try_from(self.chunks.len()).ok()?;
        // Numbers of chunks end before ranges do: the last one takes all that is left.
        let len = if place == u32::MAX {
            left
        } else {
            self.pace.next_len(left, workers)
        };
        let end = self.rest.start + len;
        self.chunks.push(Chunk {
            range: self.rest.start..end,
            attempts: 0,
            copies: 0,
            deaths: 0,
            panics: 0,
            is_done: false,
            handed_out: Duration::ZERO,
        });
        self.rest.start = end;
        Some(place)
    }

    /// A chunk that takes much longer than others did, for a second worker.
    fn straggler(&self, now: Duration, worker: Load) -> Option<u32> {
        if worker != Load::Nothing {
            return None;
        }
        let is_late = |chunk: &Chunk| {
            let expected = self.pace.slowest(chunk.range.end - chunk.range.start);
            let late = expected.map(|expected| (expected * LATE_FACTOR).max(LATE_MIN));
            let since = now.saturating_sub(chunk.handed_out);
            late.is_some_and(|late| since > late)
        };
        let is_wanted = |chunk: &Chunk| {
            !chunk.is_done && chunk.copies == 1 && chunk.deaths == 0 && is_late(chunk)
        };
        let at = self.chunks.iter().position(is_wanted)?;
        u32::try_from(at).ok()
    }

    /// Takes the answer of an attempt. The first one of a chunk counts, also if its worker was given up meanwhile: bodies
    /// may run more than once, and any run of a chunk is as good as another.
    pub(crate) fn answer(&mut self, attempt: Attempt) -> Verdict {
        let chunk = self.chunks.get_mut(attempt.chunk as usize);
        let known = chunk.filter(|chunk| (1..=chunk.attempts).contains(&attempt.number));
        match known {
            Some(chunk) if !chunk.is_done => {
                chunk.is_done = true;
                self.done_len += 1;
                Verdict::Accepted(chunk.range.clone())
            }
            _ => Verdict::Dropped,
        }
    }

    pub(crate) fn learn(&mut self, range: &Range<u64>, took: Duration, bytes: usize) {
        self.pace.learn(range.end - range.start, took, bytes);
    }

    /// The attempt is at no worker any more.
    pub(crate) fn give_back(&mut self, attempt: Attempt) {
        self.release(attempt);
        let chunk = self.chunks.get(attempt.chunk as usize);
        if chunk.is_some_and(|chunk| !chunk.is_done && chunk.copies == 0) {
            self.returned.push_back(attempt.chunk);
        }
    }

    /// A body of this has panicked. Returns whether it is run again.
    pub(crate) fn panicked(&mut self, attempt: Attempt) -> bool {
        let chunk = self.chunks.get_mut(attempt.chunk as usize);
        let Some(chunk) = chunk.filter(|chunk| chunk.panics < self.patience.retries) else {
            return false;
        };
        chunk.panics += 1;
        self.give_back(attempt);
        true
    }

    /// A worker died while it ran this. Returns the chunk and how many did so, if these were too many.
    pub(crate) fn died(&mut self, attempt: Attempt) -> Option<(Range<u64>, u32)> {
        let chunk = self.chunks.get_mut(attempt.chunk as usize)?;
        chunk.deaths += 1;
        let is_over = !chunk.is_done && chunk.deaths >= self.patience.deaths_max;
        is_over.then(|| (chunk.range.clone(), chunk.deaths))
    }

    /// The attempt was answered: its worker does not hold it any more.
    pub(crate) fn release(&mut self, attempt: Attempt) {
        if let Some(chunk) = self.chunks.get_mut(attempt.chunk as usize) {
            chunk.copies = chunk.copies.saturating_sub(1);
        }
    }
}

/// What a worker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Nothing,
    Something,
}

/// One handing out that a worker has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) attempt: Attempt,
    /// For how long it is extended.
    pub(crate) length: Duration,
    pub(crate) until: Duration,
    pub(crate) is_suspect: bool,
}

impl Lease {
    pub(crate) fn is_of(&self, job: JobId) -> bool {
        self.attempt.job == job
    }
}

/// How long items take, and how long the next chunk is to be.
#[derive(Debug, Clone, Default)]
struct Pace {
    /// Recent items with their time and bytes; older ones count for half with each chunk.
    items: u64,
    nanos: u64,
    bytes: u64,
    /// The longest chunk that was answered.
    longest_len: u64,
    /// The slowest: items, and the time they took.
    slowest: Option<(u64, Duration)>,
}

impl Pace {
    fn learn(&mut self, len: u64, took: Duration, bytes: usize) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.items = (self.items / 2).saturating_add(len);
        self.nanos = (self.nanos / 2).saturating_add(nanos);
        self.bytes = (self.bytes / 2).saturating_add(bytes as u64);
        self.longest_len = self.longest_len.max(len);
        let is_slower = self.slowest.is_none_or(|(items, time)| {
            took.as_nanos() * u128::from(items) > time.as_nanos() * u128::from(len)
        });
        if is_slower {
            self.slowest = Some((len, took));
        }
    }

    /// Single items until one was answered. Then as many as take a quarter of what is left for each worker, between
    /// [`CHUNK_MIN`] and [`CHUNK_MAX`], with results of about [`CHUNK_BYTES`], and not much more than ever before.
    fn next_len(&self, left: u64, workers: u64) -> u64 {
        if self.longest_len == 0 {
            return 1;
        }
        let of_nanos = |nanos: u128| of_rate(nanos, self.items, self.nanos);
        let left_nanos = u128::from(left) * u128::from(self.nanos) / u128::from(self.items.max(1));
        let share = left_nanos / u128::from(workers.max(1) * PARTS_LEFT);
        let by_time = of_nanos(share.clamp(CHUNK_MIN.as_nanos(), CHUNK_MAX.as_nanos()));
        let by_bytes = of_rate(CHUNK_BYTES, self.items, self.bytes);
        let by_growth = self.longest_len.saturating_mul(GROWTH);
        by_time.min(by_bytes).min(by_growth).clamp(1, left.max(1))
    }

    /// How long this many items take at the slowest rate that was seen.
    fn slowest(&self, len: u64) -> Option<Duration> {
        let (items, took) = self.slowest?;
        let nanos = took.as_nanos() * u128::from(len) / u128::from(items.max(1));
        Some(Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX)))
    }
}

/// How many items have this much of what recent ones had `per` of.
fn of_rate(amount: u128, items: u64, per: u64) -> u64 {
    let items = amount * u128::from(items) / u128::from(per.max(1));
    items.try_into().unwrap_or(u64::MAX)
}

/// A chunk takes this long at least, where there are enough items: a hundred times what handing it out costs.
const CHUNK_MIN: Duration = Duration::from_millis(20);
const CHUNK_MAX: Duration = Duration::from_secs(1);
/// Bytes of a chunk's results, about.
const CHUNK_BYTES: u128 = 1 << 20;
/// Into how many chunks for each worker the rest is cut.
const PARTS_LEFT: u64 = 4;
/// A chunk is at most this many times the longest before it.
const GROWTH: u64 = 8;
/// A chunk is late after this many times what the slowest items took, and not before [`LATE_MIN`].
const LATE_FACTOR: u32 = 2;
const LATE_MIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn job(range: Range<u64>) -> Job {
        let spec = Spec {
            function: "f".to_owned(),
            captures: Bytes::default(),
            values: Vec::new(),
            range,
            limit: None,
            patience: Patience::DEFAULT,
        };
        Job::new(spec, Duration::ZERO)
    }

    fn attempt(next: &Next) -> Attempt {
        Attempt {
            job: JobId(1),
            chunk: next.chunk,
            number: next.number,
        }
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn chunks_are_adjacent_and_cover_the_range_whatever_the_pace() {
        for nanos_per_item in [0, 1, 1_000, 50_000_000, u64::MAX / 2] {
            let mut job = job(3..1_000_003);
            let mut end = 3;
            let mut count = 0;
            while let Some(next) = job.next(NOW, Load::Something, 2) {
                assert_eq!(next.range.start, end);
                assert!(next.range.end > next.range.start);
                end = next.range.end;
                count += 1;
                assert_ne!(job.answer(attempt(&next)), Verdict::Dropped);
                let len = next.range.end - next.range.start;
                let took = Duration::from_nanos(nanos_per_item.saturating_mul(len));
                job.learn(&next.range, took, 8);
                if count > 5_000 {
                    break;
                }
            }
            if nanos_per_item < 1_000_000 {
                assert_eq!(end, 1_000_003, "{nanos_per_item}");
                assert!(job.is_done() && count < 100, "{count} chunks");
            } else {
                let lens = (end - 3) / count;
                let len_max = 1_000_000_000 / nanos_per_item;
                assert!(lens <= len_max.max(1), "a second at most: {lens} items");
            }
        }
    }

    #[test]
    fn chunks_get_longer_until_they_take_long_enough_and_shorter_at_the_end() {
        let mut job = job(0..1_000);
        let mut lens = Vec::new();
        while let Some(next) = job.next(NOW, Load::Something, 2) {
            let len = next.range.end - next.range.start;
            lens.push(len);
            job.answer(attempt(&next));
            job.learn(&next.range, Duration::from_millis(10 * len), 8);
        }
        // A hundred items take a second; a fourth of the rest for each of two workers is at first more than that.
        assert_eq!(&lens[..3], [1, 8, 64]);
        assert!((95..=100).contains(lens.iter().max().unwrap()), "{lens:?}");
        let last = lens.len() - 1;
        assert!(
            lens[last] <= 2 && lens[last - 3..].is_sorted_by(|a, b| a >= b),
            "{lens:?}"
        );
    }

    #[test]
    fn results_with_many_bytes_keep_chunks_short() {
        let mut job = job(0..1_000_000);
        let first = job.next(NOW, Load::Nothing, 1).unwrap();
        job.learn(&first.range, Duration::ZERO, 1 << 18);
        let next = job.next(NOW, Load::Nothing, 1).unwrap();
        assert_eq!(next.range, 1..5, "four times a quarter of a megabyte");
    }

    #[test]
    fn a_chunk_is_answered_once_and_only_by_attempts_that_there_were() {
        let mut job = job(0..1);
        let first = job.next(NOW, Load::Nothing, 1).unwrap();
        job.give_back(attempt(&first));
        let second = job.next(NOW, Load::Nothing, 1).unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        for number in [0, 3] {
            let chunk = 0;
            let invented = Attempt {
                number,
                chunk,
                ..attempt(&first)
            };
            assert_eq!(job.answer(invented), Verdict::Dropped, "{number}");
        }
        let elsewhere = Attempt {
            chunk: 1,
            ..attempt(&first)
        };
        assert_eq!(job.answer(elsewhere), Verdict::Dropped);
        assert_eq!(
            job.answer(attempt(&first)),
            Verdict::Accepted(0..1),
            "late, and first"
        );
        assert_eq!(job.answer(attempt(&second)), Verdict::Dropped);
        assert!(job.is_done());
    }

    #[test]
    fn a_chunk_that_may_kill_waits_for_a_worker_that_holds_nothing() {
        let mut job = job(0..2);
        let first = job.next(NOW, Load::Nothing, 1).unwrap();
        assert_eq!(job.died(attempt(&first)), None);
        job.give_back(attempt(&first));
        let other = job.next(NOW, Load::Something, 1).unwrap();
        assert_eq!(other.range, 1..2);
        assert_eq!(job.next(NOW, Load::Something, 1), None);
        let again = job.next(NOW, Load::Nothing, 1).unwrap();
        assert!(again.is_suspect && again.range == (0..1));
    }

    #[test]
    fn a_late_chunk_goes_to_a_second_worker_and_not_to_a_third() {
        let mut job = job(0..2);
        let slow = job.next(NOW, Load::Nothing, 2).unwrap();
        let fast = job.next(NOW, Load::Nothing, 2).unwrap();
        let seconds = Duration::from_secs;
        assert_eq!(
            job.next(seconds(9), Load::Nothing, 2),
            None,
            "no pace is known"
        );
        job.answer(attempt(&fast));
        job.release(attempt(&fast));
        job.learn(&fast.range, seconds(1), 8);
        assert_eq!(job.next(seconds(2), Load::Nothing, 2), None, "not late");
        let copy = job.next(seconds(3), Load::Nothing, 2).unwrap();
        assert_eq!((copy.chunk, copy.number), (slow.chunk, 2));
        assert_eq!(job.next(seconds(99), Load::Nothing, 2), None);
    }
}
