//! Prefix sums, in place, with any associative operation.
//!
//! The slice is divided into one segment more than there are runners. Together they scan the first one and sum up the
//! others but the last; then they scan those others, each from the sum of all before it. So only the segments in the
//! middle are read twice.

use crate::engine::{Ending, Rate, RateProbe, pays_to_share};
use crate::parallel::Options;
use crate::parallel::sort::workers;
use crate::parallel::source::to_usize;
use crate::sync::clock;
use std::{iter, mem};

impl<E: Ending> Options<'_, E> {
    /// Replaces each item by the sum of all up to it, the item included, where `add` says what a sum is. Without options:
    /// [`par_inclusive_scan`](crate::query::ParSlice::par_inclusive_scan).
    ///
    /// `add` must be associative; it need not be commutative. How items are grouped may differ from call to
    /// call, so floating-point sums may differ in their last digits. A cancelled scan leaves some items scanned.
    ///
    /// About two calls of `add` for each item; short slices, one. Only a few items are copied.
    ///
    /// # Panics
    /// If `add` does; items not yet reached keep their values.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::Options::new().degree_of_parallelism(2)?;
    /// let mut numbers = [1, 2, 3, 4];
    /// options.inclusive_scan(&mut numbers, |a, b| a + b);
    /// assert_eq!(numbers, [1, 3, 6, 10]);
    /// assert_eq!(options.exclusive_scan(&mut numbers, 0, |a, b| a + b), 20);
    /// assert_eq!(numbers, [0, 1, 4, 10]);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn inclusive_scan<T: Clone + Send>(
        &self,
        items: &mut [T],
        add: impl Fn(&T, &T) -> T + Sync,
    ) -> E::Output<()> {
        if let Some((first, rest)) = items.split_first_mut() {
            let scan = |segment: &mut [T], sum: T| {
                let mut before = &sum;
                for item in segment {
                    *item = add(before, item);
                    before = item;
                }
                let last = before.clone();
                // First: the compiler leaks what is returned if a drop panics after that.
                drop(sum);
                last
            };
            scan_all(rest, || first.clone(), &scan, &add, &self.called_here());
        }
        self.ending.conclude(Some(()))
    }

    /// Replaces each item by the sum of `first` and all items before it; returns the sum of all. As
    /// [`inclusive_scan`](Self::inclusive_scan) otherwise. Without options:
    /// [`par_exclusive_scan`](crate::query::ParSlice::par_exclusive_scan).
    ///
    /// Example: see [`Options::inclusive_scan`].
    #[track_caller]
    pub fn exclusive_scan<T: Clone + Send>(
        &self,
        items: &mut [T],
        first: T,
        add: impl Fn(&T, &T) -> T + Sync,
    ) -> E::Output<T> {
        let scan = |segment: &mut [T], mut sum: T| {
            for item in segment {
                let next = add(&sum, item);
                *item = mem::replace(&mut sum, next);
            }
            sum
        };
        let sum = scan_all(items, || first, &scan, &add, &self.called_here());
        // First: the compiler leaks what is returned if a drop panics after that.
        drop(add);
        self.ending.conclude(sum)
    }
}

/// Scans all items from `first`, and returns the sum of all; `None` when the call was cancelled. `scan` scans one
/// segment. The caller scans alone until it pays to share the rest.
fn scan_all<T: Clone + Send, E: Ending>(
    items: &mut [T],
    first: impl FnOnce() -> T,
    scan: &(impl Fn(&mut [T], T) -> T + Sync),
    add: &(impl Fn(&T, &T) -> T + Sync),
    options: &Options<'_, E>,
) -> Option<T> {
    if options.ending.cancelled().is_some() {
        return None;
    }
    let _entered = options.runtime.map(|runtime| runtime.enter());
    let mut probe = RateProbe::begin(Rate::UNKNOWN);
    let (mut rest, mut sum) = (items, first());
    let runners = loop {
        let len = rest.len().min(to_usize(probe.block));
        let (block, behind) = mem::take(&mut rest).split_at_mut(len);
        sum = scan(block, sum);
        rest = behind;
        if rest.is_empty() {
            return Some(sum);
        }
        let left = probe.measure(len as u64, rest.len() as u64);
        // One item is one segment, the last, which nobody would scan.
        let are_several = rest.len() > 1;
        if are_several && left > clock::ticks_in(SHARED_NANOS_MIN) && pays_to_share(left) {
            let runners = options.runners(workers());
            if runners == 1 {
                return Some(scan(rest, sum));
            }
            break runners;
        }
    };
    let mut segments: Vec<_> = rest.chunks_mut(rest.len().div_ceil(runners + 1)).collect();
    let before = sums_before(&mut segments, sum, scan, add, options)?;
    let segments = segments.into_iter().skip(1).zip(before).collect();
    let mut sums = options.map_few(segments, |(segment, before)| scan(segment, before))?;
    let total = sums.pop();
    // First: the compiler leaks what is returned if a drop panics after that.
    drop(sums);
    total
}

/// Scans the first segment, and returns for each other one the sum of all before it.
fn sums_before<T: Clone + Send, E: Ending>(
    segments: &mut [&mut [T]],
    first: T,
    scan: &(impl Fn(&mut [T], T) -> T + Sync),
    add: &(impl Fn(&T, &T) -> T + Sync),
    options: &Options<'_, E>,
) -> Option<Vec<T>> {
    let (_, others) = segments.split_last_mut()?;
    let begins = iter::once(Some(first)).chain(iter::repeat_with(|| None));
    let others = others.iter_mut().zip(begins).collect();
    let mut before = options.map_few(others, |(segment, begin)| match begin {
        Some(begin) => scan(segment, begin),
        None => sum(segment, add),
    })?;
    for at in 1..before.len() {
        before[at] = add(&before[at - 1], &before[at]);
    }
    Some(before)
}

/// The sum of a segment, which is not empty.
fn sum<T: Clone>(segment: &[T], add: &impl Fn(&T, &T) -> T) -> T {
    let (first, rest) = segment.split_first().expect("no segment is empty");
    let mut sum = first.clone();
    for item in rest {
        sum = add(&sum, item);
    }
    sum
}

/// A shorter scan gains less than its second pass takes.
const SHARED_NANOS_MIN: u64 = 100_000;
