//! Waiting until a channel is ready, without receiving or sending.

use crate::support::{of_threads, within};
use futures::executor::block_on;
use futures::future::FutureExt;
use manyhands::channel::{self, Receiver, Sender, TrySendError, WhenFull};
use manyhands::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

#[test]
fn a_channel_is_readable_while_it_has_items_and_until_they_are_gone_for_good() {
    let (sender, receiver) = channel::unbounded();
    assert_eq!(receiver.wait_ready().now_or_never(), None);
    let mut waiting = receiver.wait_ready();
    assert!((&mut waiting).now_or_never().is_none());
    sender.send_blocking(1).unwrap();
    assert_eq!(waiting.now_or_never(), Some(true));
    assert_eq!((receiver.len(), receiver.wait_ready_blocking()), (1, true));
    drop(sender);
    assert_eq!(receiver.wait_ready().now_or_never(), Some(true));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.wait_ready().now_or_never(), Some(false));
}

#[test]
fn a_channel_is_writable_while_it_has_room_and_until_it_is_closed() {
    let (sender, receiver) = channel::bounded(2);
    assert!(sender.wait_ready_blocking() && sender.is_empty());
    assert_eq!((sender.try_send(1), sender.try_send(2)), (Ok(()), Ok(())));
    let mut waiting = sender.wait_ready();
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(waiting.now_or_never(), Some(true));
    assert_eq!(sender.try_send(3), Ok(()));
    let mut waiting = sender.wait_ready();
    assert!((&mut waiting).now_or_never().is_none());
    receiver.close();
    assert_eq!(waiting.now_or_never(), Some(false));
    // A full channel that drops items never lets a sender wait.
    let (sender, _receiver) = channel::ChannelOptions::new()
        .capacity(1)
        .when_full(WhenFull::DropOldest)
        .fifo();
    assert_eq!(
        (sender.try_send(1), sender.wait_ready().now_or_never()),
        (Ok(()), Some(true))
    );
}

#[test]
fn a_rendezvous_is_met_only_by_who_receives_or_sends() {
    let (sender, receiver) = channel::bounded(0);
    let mut readable = receiver.wait_ready();
    let mut writable = sender.wait_ready();
    assert!((&mut readable).now_or_never().is_none());
    assert!((&mut writable).now_or_never().is_none());
    // Who only waits for an item receives none.
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let mut receiving = receiver.recv();
    assert!((&mut receiving).now_or_never().is_none());
    assert_eq!(writable.now_or_never(), Some(true));
    assert_eq!(sender.try_send(2), Ok(()));
    assert_eq!(receiving.now_or_never(), Some(Ok(2)));
    let mut sending = sender.send(3);
    assert!((&mut sending).now_or_never().is_none());
    assert_eq!(readable.now_or_never(), Some(true));
    assert_eq!(receiver.try_recv(), Ok(3));
    assert_eq!(sending.now_or_never(), Some(Ok(())));
}

/// Counts its wakes.
#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_item_wakes_all_that_wait_for_it_and_the_receiver_that_takes_it() {
    let (sender, receiver) = channel::bounded(4);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let mut waiting: Vec<_> = (0..3).map(|_| receiver.wait_ready()).collect();
    let mut receiving = receiver.recv();
    assert!(
        waiting
            .iter_mut()
            .all(|ready| ready.poll_unpin(&mut cx).is_pending())
    );
    assert!(receiving.poll_unpin(&mut cx).is_pending());
    // One gives up, before and after it was notified.
    drop(waiting.pop());
    sender.try_send(1).unwrap();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 3);
    drop(waiting.pop());
    assert_eq!(receiving.now_or_never(), Some(Ok(1)));
    // It was notified of the item that is gone, and is not kept waiting for another one.
    assert_eq!(waiting.pop().unwrap().now_or_never(), Some(true));
    assert!(receiver.wait_ready().now_or_never().is_none());
    // Nobody is left behind in the channel.
    drop(waiting);
    sender.try_send(2).unwrap();
    assert_eq!(
        (wakes.0.load(Ordering::Relaxed), Arc::strong_count(&wakes)),
        (3, 2)
    );
}

#[test]
fn room_in_what_a_receiver_has_moved_aside_is_heard_of() {
    let (sender, receiver) = channel::bounded(4);
    (0..4).for_each(|n| sender.try_send(n).unwrap());
    // The other three are moved aside for receivers.
    assert_eq!(receiver.try_recv(), Ok(0));
    sender.try_send(4).unwrap();
    for n in 1..4 {
        let mut waiting = sender.wait_ready();
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(receiver.try_recv(), Ok(n));
        assert_eq!(waiting.now_or_never(), Some(true));
        sender.try_send(n + 4).unwrap();
    }
}

const ITEMS: u64 = if cfg!(miri) { 30 } else { 5_000 };

/// Sends the items, and makes each only when there is room; or in the usual ways.
async fn produce(sender: Sender<u64>, first: u64, waits: bool) {
    let mut items = (first..ITEMS).step_by(2);
    while waits && sender.wait_ready().await {
        let Some(mut item) = items.next() else { return };
        while let Err(TrySendError::Full(back)) = sender.try_send(item) {
            item = back;
            assert!(sender.wait_ready().await);
        }
    }
    for item in items {
        sender.send(item).await.unwrap();
    }
}

/// Receives until the end, after it has heard of an item; or in the usual way.
async fn consume(receiver: Receiver<u64>, waits: bool) -> u64 {
    let mut sum = 0;
    while waits && receiver.wait_ready().await {
        while let Ok(item) = receiver.try_recv() {
            sum += item;
        }
    }
    while let Ok(item) = receiver.recv().await {
        sum += item;
    }
    sum
}

/// Two senders and two receivers, one of each of which waits for the channel only to be ready.
fn passes_everything(ends: fn() -> (Sender<u64>, Receiver<u64>)) {
    let ((sender, receiver), its) = (ends(), of_threads(1));
    let entered = its.enter();
    let producers = [0, 1].map(|first| task::spawn(produce(sender.clone(), first, first == 0)));
    drop(sender);
    let waits = consume(receiver.clone(), true);
    let consumer = thread::spawn(move || block_on(waits));
    let sum = task::block_on(consume(receiver, false)) + consumer.join().unwrap();
    assert_eq!(sum, (0..ITEMS).sum::<u64>());
    for producer in producers {
        producer.join().unwrap();
    }
    drop(entered);
}

#[test]
fn everything_passes_although_some_wait_without_taking() {
    within(120, || {
        passes_everything(|| channel::bounded(0));
        passes_everything(|| channel::bounded(1));
        passes_everything(|| channel::bounded(16));
        passes_everything(channel::unbounded);
        passes_everything(|| channel::ChannelOptions::new().prioritized());
    });
}

#[test]
fn threads_wait_until_a_channel_is_ready() {
    within(60, || {
        let (sender, receiver) = channel::bounded(1);
        let producer = thread::spawn(move || {
            for item in 0..ITEMS {
                assert!(sender.wait_ready_blocking());
                // Nobody else sends.
                assert_eq!(sender.try_send(item), Ok(()));
            }
        });
        let mut next = 0;
        while receiver.wait_ready_blocking() {
            assert_eq!(receiver.try_recv(), Ok(next));
            next += 1;
        }
        assert_eq!(next, ITEMS);
        producer.join().unwrap();
    });
}
