//! By hand: as many parts as there are processors, a new thread for each but the first, results put together in the end.

use std::collections;
use std::ops::Range;
use std::thread;

use hashbrown::HashMap;

use crate::shapes::Shapes;
use crate::shapes::plain::Plain;

#[derive(Debug)]
pub(crate) struct Halves;

/// What `work` makes of each part of the indices below `len`, in order.
fn of_parts<R: Send>(len: usize, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let part = part_len(len);
    let range = |from: usize| from..(from + part).min(len);
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (part..len)
            .step_by(part)
            .map(|from| scope.spawn(move || work(range(from))))
            .collect();
        let others = others
            .into_iter()
            .map(|thread| thread.join().expect("no body panics"));
        std::iter::once(work(range(0))).chain(others).collect()
    })
}

fn part_len(len: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    len.div_ceil(processors).max(1)
}

/// Both in order.
fn merged(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut values = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left, right);
    while let (Some((first, rest)), Some((other, others))) =
        (left.split_first(), right.split_first())
    {
        if first <= other {
            values.push(*first);
            left = rest;
        } else {
            values.push(*other);
            right = others;
        }
    }
    values.extend_from_slice(left);
    values.extend_from_slice(right);
    values
}

impl Shapes for Halves {
    fn for_each(len: usize, body: impl Fn(usize) + Send + Sync) {
        of_parts(len, |part| part.for_each(&body));
    }

    fn map(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> Vec<u64> {
        of_parts(len, |part| part.map(&body).collect::<Vec<_>>()).concat()
    }

    fn sum(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        let sums = of_parts(len, |part| part.map(&body).fold(0, u64::wrapping_add));
        sums.into_iter().fold(0, u64::wrapping_add)
    }

    fn filter(
        len: usize,
        body: impl Fn(usize) -> u64 + Send + Sync,
        is_kept: impl Fn(u64) -> bool + Send + Sync,
    ) -> Vec<u64> {
        let kept = |part: Range<usize>| -> Vec<u64> {
            part.map(&body).filter(|&value| is_kept(value)).collect()
        };
        of_parts(len, kept).concat()
    }

    fn find(len: usize, is_wanted: impl Fn(usize) -> bool + Send + Sync) -> Option<usize> {
        let firsts = of_parts(len, |mut part| part.find(|&index| is_wanted(index)));
        firsts.into_iter().flatten().next()
    }

    fn sort(values: &mut [u64]) {
        let part = part_len(values.len());
        thread::scope(|scope| {
            let mut parts = values.chunks_mut(part);
            let first = parts.next();
            for part in parts {
                scope.spawn(|| part.sort_unstable());
            }
            if let Some(first) = first {
                first.sort_unstable();
            }
        });
        let parts = values.chunks(part).map(<[u64]>::to_vec);
        let all = parts.reduce(|left, right| merged(&left, &right));
        values.copy_from_slice(&all.unwrap_or_default());
    }

    fn group(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> Vec<(u64, usize)> {
        let count = |part: Range<usize>| {
            let from = part.start;
            Plain::group(part.len(), |index| key(from + index))
        };
        let mut all: HashMap<u64, usize> = HashMap::new();
        for (key, count) in of_parts(len, count).into_iter().flatten() {
            *all.entry(key).or_insert(0) += count;
        }
        all.into_iter().collect()
    }

    fn table(
        len: usize,
        key: impl Fn(usize) -> u64 + Send + Sync,
    ) -> collections::HashMap<u64, usize> {
        let pairs = |part: Range<usize>| part.map(|index| (key(index), index)).collect::<Vec<_>>();
        of_parts(len, pairs).into_iter().flatten().collect()
    }
}
