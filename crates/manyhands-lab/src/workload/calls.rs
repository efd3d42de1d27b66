//! Items that each wait for somebody else, 10 to 50 ms: some of them at once, or all.
//!
//! Each function returns the same checksum of the items that have ended. All arms wait the same
//! times, which follow from an item's number and nothing else.

use crate::meter::item_ended;
use manyhands::{channel, parallel, task, time};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

/// A loop whose items block their thread, this many at once.
#[expect(clippy::disallowed_methods, reason = "the blocked thread is the point")]
pub(crate) fn blocking(at_once: usize) -> impl Fn(usize) -> u64 {
    move |n| {
        let sum = AtomicU64::new(0);
        let limited = parallel::Options::new()
            .degree_of_parallelism(at_once)
            .expect("a plan has at least one at once");
        limited.for_each(0..n, |index| {
            thread::sleep(Duration::from_millis(millis(index)));
            item_ended();
            sum.fetch_add(mark(index), Ordering::Relaxed);
        });
        sum.into_inner()
    }
}

/// An async loop, this many items at once.
pub(crate) fn limited(at_once: usize) -> impl Fn(usize) -> u64 {
    move |n| {
        let limited = parallel::AsyncOptions::new()
            .degree_of_parallelism(at_once)
            .expect("a plan has at least one at once");
        task::block_on(limited.map_async(0..n, item)).iter().sum()
    }
}

/// An async loop that finds how many items to have at once.
pub(crate) fn found(n: usize) -> u64 {
    task::block_on(parallel::map_async(0..n, item)).iter().sum()
}

/// A task for each item, all at once; what ends goes through one channel.
pub(crate) fn through_channel(n: usize) -> u64 {
    let (sender, receiver) = channel::unbounded();
    for index in 0..n {
        let sender = sender.clone();
        let call = async move {
            let ended = item(index).await;
            sender
                .send(ended)
                .await
                .expect("the receiver waits for all");
        };
        drop(task::spawn(call));
    }
    drop(sender);
    task::block_on(async {
        let mut sum = 0;
        while let Ok(ended) = receiver.recv().await {
            sum += ended;
        }
        sum
    })
}

/// Two channels, one after the other, which is a pipeline here: the first half of every wait begins at once, and of the second
/// half a limited number runs at a time. What ends is given as it does.
pub(crate) fn two_channels(at_once: usize) -> impl Fn(usize) -> u64 {
    move |n| {
        let ended = parallel::pipeline(0..n)
            .stage_unordered(n, |index| async move {
                time::sleep(half(index)).await;
                index
            })
            .stage_unordered(at_once, |index| async move {
                time::sleep(half(index)).await;
                item_ended();
                mark(index)
            });
        task::block_on(ended.to_vec()).iter().sum()
    }
}

/// Half of an item's wait.
fn half(index: usize) -> Duration {
    Duration::from_millis(millis(index)) / 2
}

/// The arm of [`two_channels`] that has four second halves at a time.
pub(crate) const TWO_CHANNELS: &str = "two channels @ 4";

/// How long an item waits: 10 to 49 ms, drawn by its number.
pub(crate) fn millis(index: usize) -> u64 {
    10 + scrambled(index as u64) % 40
}

/// The output function of SplitMix64 (Steele, Lea and Flood, 2014).
fn scrambled(index: u64) -> u64 {
    let seed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let once = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

async fn item(index: usize) -> u64 {
    time::sleep(Duration::from_millis(millis(index))).await;
    item_ended();
    mark(index)
}

/// What an item adds to the checksum: no two items can stand for each other.
fn mark(index: usize) -> u64 {
    (index as u64 + 1).pow(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_ten_to_fifty_milliseconds_and_of_all_lengths() {
        let waits: Vec<u64> = (0..1_000).map(millis).collect();
        assert!(waits.iter().all(|wait| (10..50).contains(wait)));
        let mean = waits.iter().sum::<u64>() as f64 / 1_000.0;
        assert!((28.5..30.5).contains(&mean), "{mean}");
        let expected = (Some(&10), Some(&49));
        assert_eq!((waits.iter().min(), waits.iter().max()), expected);
    }

    #[test]
    fn no_arm_ends_before_its_longest_wait_nor_four_at_once_before_their_share() {
        const N: usize = 9;
        let longest = (0..N).map(millis).max().unwrap();
        let share = (0..N).map(millis).sum::<u64>() / 4;
        let check = |arm: &dyn Fn(usize) -> u64, least: u64| {
            let start = time::now();
            assert_eq!(arm(N), 285, "the sum of the first nine squares");
            let took = time::now() - start;
            assert!(took >= Duration::from_millis(least), "{took:?}");
        };
        check(&blocking(4), share.max(longest));
        check(&limited(4), share.max(longest));
        check(&limited(40), longest);
        check(&found, longest);
        check(&through_channel, longest);
        check(&two_channels(4), (share / 2).max(longest));
    }
}
