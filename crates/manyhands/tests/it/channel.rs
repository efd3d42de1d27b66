//! Channels: order, limits, giving up, closing, what is dropped, and both ways of waiting at once.

use crate::support::{on_runtime, receive, within};
use futures::executor::block_on;
use futures::future::{Either, FutureExt, select};
use futures::{StreamExt, select_biased};
use manyhands::channel::{self, Receiver, SendError, Sender, TryRecvError, TrySendError, WhenFull};
use manyhands::task;
use std::collections::VecDeque;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

type Ends<T> = (Sender<T>, Receiver<T>);

/// One of each kind.
fn kinds() -> [(&'static str, Ends<u64>); 5] {
    [
        ("unbounded", channel::unbounded()),
        ("bounded(1)", channel::bounded(1)),
        ("bounded(7)", channel::bounded(7)),
        ("rendezvous", channel::bounded(0)),
        ("prioritized", channel::ChannelOptions::new().prioritized()),
    ]
}

/// Polls once; whether the future is still waiting.
fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    future.poll_unpin(&mut cx).is_pending()
}

/// Counts its wakes.
#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl CountingWaker {
    fn wakes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Polls once with a counting waker.
fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Arc<CountingWaker>) {
    let waker = Waker::from(Arc::clone(waker));
    assert!(
        future
            .poll_unpin(&mut Context::from_waker(&waker))
            .is_pending()
    );
}

#[test]
fn closing_is_true_once_and_the_drain_is_waited_for() {
    let (sender, receiver) = channel::unbounded();
    sender.send_blocking(1).unwrap();
    let mut drained = sender.wait_drained();
    assert!(is_pending(&mut drained));
    assert!(sender.close());
    assert!(!sender.close() && !receiver.close());
    let waker = Arc::new(CountingWaker::default());
    poll_with(&mut drained, &waker);
    assert_eq!(waker.wakes(), 0);
    assert_eq!(receiver.recv_blocking(), Ok(1));
    assert_eq!(waker.wakes(), 1);
    assert!(block_on(drained).is_ok());
    assert!(receiver.wait_drained_blocking().is_ok());
}

#[test]
fn after_closing_with_a_reason_items_come_first_and_then_the_reason() {
    let (sender, receiver) = channel::bounded(4);
    sender.send_blocking(1).unwrap();
    assert!(sender.close_with("no more"));
    assert!(!sender.close_with("too late"));
    assert_eq!(sender.send_blocking(2), Err(SendError(2)));
    assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    assert_eq!(block_on(receiver.recv()), Ok(1));
    let reasons = [
        receiver
            .recv_blocking()
            .unwrap_err()
            .source()
            .unwrap()
            .to_string(),
        receiver
            .try_recv()
            .unwrap_err()
            .source()
            .unwrap()
            .to_string(),
        block_on(receiver.recv())
            .unwrap_err()
            .reason()
            .unwrap()
            .to_string(),
        sender.wait_drained_blocking().unwrap_err().to_string(),
        sender.wait_closed_blocking().unwrap_err().to_string(),
    ];
    assert!(reasons.iter().all(|reason| reason == "no more"));
}

#[test]
fn a_receive_that_is_given_up_takes_nothing_and_passes_the_word_on() {
    for (kind, (sender, receiver)) in kinds() {
        let (first, second) = (
            Arc::new(CountingWaker::default()),
            Arc::new(CountingWaker::default()),
        );
        let mut given_up = receiver.recv();
        let mut steady = receiver.recv();
        poll_with(&mut given_up, &first);
        poll_with(&mut steady, &second);
        assert_eq!(sender.try_send(1), Ok(()), "{kind}");
        assert_eq!((first.wakes(), second.wakes()), (1, 0), "{kind}");
        drop(given_up);
        assert_eq!(second.wakes(), 1, "{kind}");
        assert_eq!(block_on(steady), Ok(1), "{kind}");
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "{kind}");
    }
}

#[test]
fn a_send_that_is_given_up_leaves_nothing_and_passes_the_word_on() {
    let (sender, receiver) = channel::bounded(1);
    sender.send_blocking(0).unwrap();
    let (first, second) = (
        Arc::new(CountingWaker::default()),
        Arc::new(CountingWaker::default()),
    );
    let mut given_up = sender.send(1);
    let mut steady = sender.send(2);
    poll_with(&mut given_up, &first);
    poll_with(&mut steady, &second);
    assert_eq!(receiver.recv_blocking(), Ok(0));
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    drop(given_up);
    assert_eq!(second.wakes(), 1);
    assert_eq!(block_on(steady), Ok(()));
    assert_eq!(receiver.recv_blocking(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn one_to_one_passes_a_hundred_thousand_in_order() {
    for (kind, (sender, receiver)) in kinds() {
        within(60, move || {
            let count = if kind == "rendezvous" { 5_000 } else { 100_000 };
            let producer =
                thread::spawn(move || (0..count).try_for_each(|n| sender.send_blocking(n)));
            assert!(receiver.iter().eq(0..count), "{kind}");
            producer.join().unwrap().unwrap();
        });
    }
}

#[test]
fn many_to_many_loses_and_doubles_nothing_and_keeps_each_sender_s_order() {
    for (kind, (sender, receiver)) in kinds() {
        within(60, move || many_to_many(kind, sender, receiver));
    }
}

/// Two senders and two receivers that block, and as many that do not; items are `sender * EACH + n`.
fn many_to_many(kind: &str, sender: Sender<u64>, receiver: Receiver<u64>) {
    const EACH: u64 = 2_000;
    let producers: Vec<_> = (0..4)
        .map(|id| {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut items = id * EACH..(id + 1) * EACH;
                if id % 2 == 0 {
                    items
                        .try_for_each(|item| sender.send_blocking(item))
                        .unwrap();
                } else {
                    block_on(async {
                        for item in items {
                            sender.send(item).await.unwrap();
                        }
                    });
                }
            })
        })
        .collect();
    drop(sender);
    let consumers: Vec<_> = (0..4)
        .map(|id| {
            let receiver = receiver.clone();
            thread::spawn(move || -> Vec<u64> {
                if id % 2 == 0 {
                    receiver.iter().collect()
                } else {
                    block_on(receiver.into_stream().collect())
                }
            })
        })
        .collect();
    drop(receiver);
    producers
        .into_iter()
        .for_each(|producer| producer.join().unwrap());
    let received: Vec<Vec<u64>> = consumers
        .into_iter()
        .map(|consumer| consumer.join().unwrap())
        .collect();
    for sender in 0..4 {
        for items in &received {
            let own = items.iter().filter(|item| *item / EACH == sender);
            assert!(own.is_sorted(), "{kind}");
        }
    }
    let mut all = received.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..4 * EACH), "{kind}");
}

#[test]
fn a_peek_takes_nothing_and_the_count_is_exact() {
    for (kind, (sender, receiver)) in kinds()
        .into_iter()
        .filter(|(kind, _)| *kind != "rendezvous")
    {
        assert_eq!(
            receiver.peek(u64::clone),
            Err(TryRecvError::Empty),
            "{kind}"
        );
        sender.send_blocking(5).unwrap();
        assert_eq!(receiver.peek(|item| item + 1), Ok(6), "{kind}");
        assert_eq!((sender.len(), receiver.len()), (1, 1), "{kind}");
        assert_eq!(receiver.recv_blocking(), Ok(5), "{kind}");
        assert!(sender.is_empty() && receiver.is_empty(), "{kind}");
    }
}

#[test]
fn a_peek_does_not_see_what_waits_for_room() {
    let (sender, receiver) = channel::bounded(1);
    assert_eq!(sender.try_send(1), Ok(()));
    let mut first = sender.send(2);
    let mut second = sender.send(3);
    assert!(is_pending(&mut first) && is_pending(&mut second));
    assert_eq!(receiver.try_recv(), Ok(1));
    // The first has been notified of the room, and the second waits.
    assert_eq!(receiver.peek(u32::clone), Err(TryRecvError::Empty));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(block_on(first), Ok(()));
    assert_eq!(receiver.peek(u32::clone), Ok(2));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(block_on(second), Ok(()));
    assert_eq!(receiver.try_recv(), Ok(3));
}

#[test]
fn each_way_of_dropping_leaves_the_right_items_and_tells_of_the_others() {
    for (when_full, left, lost) in [
        (WhenFull::DropNewest, [1, 2, 5], [3, 4]),
        (WhenFull::DropOldest, [3, 4, 5], [1, 2]),
        (WhenFull::DropThis, [1, 2, 3], [4, 5]),
    ] {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&dropped);
        let (sender, receiver) = channel::ChannelOptions::new()
            .capacity(3)
            .when_full(when_full)
            .on_drop(move |item: u32| log.lock().unwrap().push(item))
            .fifo();
        sender.send_blocking(1).unwrap();
        assert_eq!(sender.try_send(2), Ok(()));
        block_on(sender.send(3)).unwrap();
        sender
            .send_many_blocking(&mut VecDeque::from([4, 5]))
            .unwrap();
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<u32>>(), left, "{when_full:?}");
        assert_eq!(*dropped.lock().unwrap(), lost, "{when_full:?}");
    }
}

#[test]
fn the_callback_may_use_the_channel() {
    let (report, reports) = mpsc::channel();
    let back: Arc<Mutex<Option<Receiver<u32>>>> = Arc::default();
    let inside = Arc::clone(&back);
    let (sender, receiver) = channel::ChannelOptions::new()
        .capacity(1)
        .when_full(WhenFull::DropOldest)
        .on_drop(move |lost: u32| {
            let receiver = inside.lock().unwrap().take().unwrap();
            report.send((lost, receiver.try_recv())).unwrap();
        })
        .fifo();
    *back.lock().unwrap() = Some(receiver);
    sender.send_blocking(1).unwrap();
    sender.send_blocking(2).unwrap();
    assert_eq!(receive(&reports), (1, Ok(2)));
}

#[test]
fn a_rendezvous_holds_nothing_and_skips_a_waiter_that_gave_up() {
    let (sender, receiver) = channel::bounded(0);
    assert_eq!((sender.len(), sender.capacity()), (0, Some(0)));
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let mut given_up = sender.send(1);
    let mut steady = sender.send(2);
    assert!(is_pending(&mut given_up) && is_pending(&mut steady));
    assert_eq!(sender.len(), 0);
    drop(given_up);
    assert_eq!(receiver.peek(u32::clone), Ok(2));
    assert!(is_pending(&mut steady));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(block_on(steady), Ok(()));
}

#[test]
fn a_send_meets_a_receiver_that_waits() {
    let (sender, receiver) = channel::bounded(0);
    let mut waiting = receiver.recv();
    assert!(is_pending(&mut waiting));
    assert_eq!(sender.try_send(1), Ok(()));
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(block_on(waiting), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_rendezvous_drops_what_is_sent_and_never_what_is_on_its_way() {
    for when_full in [
        WhenFull::DropNewest,
        WhenFull::DropOldest,
        WhenFull::DropThis,
    ] {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&dropped);
        let (sender, receiver) = channel::ChannelOptions::new()
            .capacity(0)
            .when_full(when_full)
            .on_drop(move |item: u32| log.lock().unwrap().push(item))
            .fifo();
        sender.send_blocking(1).unwrap();
        let mut waiting = receiver.recv();
        assert!(is_pending(&mut waiting));
        sender.send_blocking(2).unwrap();
        sender.send_blocking(3).unwrap();
        assert_eq!(block_on(waiting), Ok(2), "{when_full:?}");
        assert_eq!(*dropped.lock().unwrap(), [1, 3], "{when_full:?}");
    }
}

#[test]
fn the_smallest_comes_first_and_the_older_of_equals() {
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Urgency(u32);
    let (sender, receiver) = channel::ChannelOptions::new().capacity(6).prioritized();
    for n in [5, 1, 4, 1, 3, 1] {
        sender.send_blocking(Urgency(n)).unwrap();
    }
    assert!(sender.try_send(Urgency(0)).unwrap_err().is_full());
    drop(sender);
    let order: Vec<u32> = receiver.iter().map(|Urgency(n)| n).collect();
    assert_eq!(order, [1, 1, 1, 3, 4, 5]);
}

#[test]
fn batches_pass_in_order_through_little_room() {
    for capacity in [0, 1, 3, 100] {
        within(60, move || {
            let (sender, receiver) = channel::bounded(capacity);
            let producer = thread::spawn(move || {
                let mut items: VecDeque<u32> = (0..100).collect();
                sender.send_many_blocking(&mut items).unwrap();
                block_on(sender.send_many(&mut (100..200).collect())).unwrap();
                items.is_empty()
            });
            let mut received = Vec::new();
            while receiver.recv_many_blocking(&mut received, 7).is_ok() {}
            assert!(received.into_iter().eq(0..200), "{capacity}");
            assert!(producer.join().unwrap());
        });
    }
}

#[test]
fn a_batch_that_is_given_up_keeps_what_was_not_sent() {
    let (sender, receiver) = channel::bounded(2);
    let mut items = VecDeque::from([1, 2, 3, 4]);
    assert!(is_pending(&mut sender.send_many(&mut items)));
    assert_eq!(items, [3, 4]);
    assert!(is_pending(&mut sender.send_many(&mut items)));
    receiver.close();
    assert_eq!(sender.send_many_blocking(&mut items), Err(SendError(())));
    assert_eq!(items, [3, 4]);
    let mut received = Vec::new();
    assert_eq!(receiver.try_recv_many(&mut received, 9), Ok(2));
    assert_eq!(receiver.recv_many_blocking(&mut received, 0), Ok(0));
}

#[test]
fn one_batch_wakes_as_many_receivers_as_it_has_items() {
    let (sender, receiver) = channel::unbounded();
    let wakers = [(); 3].map(|()| Arc::new(CountingWaker::default()));
    let mut waiting: Vec<_> = wakers.iter().map(|_| receiver.recv()).collect();
    for (future, waker) in waiting.iter_mut().zip(&wakers) {
        poll_with(future, waker);
    }
    sender
        .send_many_blocking(&mut VecDeque::from([1, 2]))
        .unwrap();
    assert_eq!(wakers.map(|waker| waker.wakes()), [1, 1, 0]);
}

#[test]
fn senders_are_notified_of_a_little_room_one_by_one_and_of_an_empty_channel_all_at_once() {
    let (sender, receiver) = channel::bounded(32);
    (0..32).for_each(|n| sender.send_blocking(n).unwrap());
    let wakers = [(); 12].map(|()| Arc::new(CountingWaker::default()));
    let mut waiting: Vec<_> = wakers.iter().map(|_| sender.send(32)).collect();
    for (future, waker) in waiting.iter_mut().zip(&wakers) {
        poll_with(future, waker);
    }
    let wakes_after = |received: usize| {
        (0..received).for_each(|_| assert!(receiver.recv_blocking().is_ok()));
        wakers.iter().map(|waker| waker.wakes()).sum::<usize>()
    };
    assert_eq!([1, 3, 1, 26, 1].map(wakes_after), [1, 1, 2, 8, 12]);
    // Each is notified once, and gets its room.
    assert!(waiting.into_iter().all(|future| block_on(future).is_ok()));
}

#[test]
fn waiting_ends_when_the_time_is_over() {
    within(60, || {
        for capacity in [0, 1] {
            let (sender, receiver) = channel::bounded(capacity);
            let _ = sender.try_send(0);
            let late = sender.send_timeout_blocking(1, Duration::from_millis(2));
            assert_eq!(late, Err(TrySendError::Full(1)));
            let _ = receiver.try_recv();
            let late = receiver.recv_timeout_blocking(Duration::from_millis(2));
            assert_eq!(late, Err(TryRecvError::Empty));
            sender.close();
            let closed = receiver.recv_timeout_blocking(Duration::MAX);
            assert!(matches!(closed, Err(TryRecvError::Closed(_))));
        }
    });
}

#[test]
fn blocked_threads_are_woken_by_what_they_wait_for() {
    within(60, || {
        for (kind, (sender, receiver)) in kinds() {
            let consumer =
                thread::spawn(move || receiver.recv_timeout_blocking(Duration::from_secs(20)));
            assert_eq!(
                sender.send_timeout_blocking(9, Duration::from_secs(20)),
                Ok(()),
                "{kind}"
            );
            assert_eq!(consumer.join().unwrap(), Ok(9), "{kind}");
        }
    });
}

#[test]
fn the_last_end_closes_and_what_is_inside_is_dropped() {
    let item = Arc::new(());
    for (sender, receiver) in [channel::unbounded(), channel::bounded(3)] {
        let (sender_too, receiver_too) = (sender.clone(), receiver.clone());
        sender.send_blocking(Arc::clone(&item)).unwrap();
        drop(receiver);
        sender.send_blocking(Arc::clone(&item)).unwrap();
        drop(sender);
        assert!(!sender_too.is_closed());
        assert_eq!(Arc::strong_count(&item), 3);
        drop(receiver_too);
        assert_eq!(Arc::strong_count(&item), 1);
        assert!(sender_too.is_closed());
        assert!(
            sender_too.wait_closed_blocking().is_ok() && sender_too.wait_drained_blocking().is_ok()
        );
        assert!(sender_too.send_blocking(Arc::clone(&item)).is_err());
    }
}

#[test]
fn a_sender_that_waits_gets_its_item_back_when_the_channel_is_closed() {
    for capacity in [0, 1] {
        within(60, move || {
            let (sender, receiver) = channel::bounded(capacity);
            let _ = sender.try_send(0);
            let mut waiting = sender.send(1);
            assert!(is_pending(&mut waiting));
            assert!(receiver.close());
            assert_eq!(block_on(waiting), Err(SendError(1)));
        });
    }
}

#[test]
fn futures_can_be_selected_over_and_tried_again() {
    let (numbers, letters) = (channel::unbounded(), channel::unbounded());
    letters.0.send_blocking('a').unwrap();
    let (mut number, mut letter) = (numbers.1.recv(), letters.1.recv());
    block_on(async {
        select_biased! {
            _ = number => panic!("there is none"),
            found = letter => assert_eq!(found, Ok('a')),
        }
        numbers.0.send_blocking(1).unwrap();
        select_biased! {
            found = number => assert_eq!(found, Ok(1)),
            _ = letter => panic!("this one is over"),
            complete => panic!("not yet"),
        }
    });
    letters.0.send_blocking('b').unwrap();
    let found = block_on(select(numbers.1.recv(), letters.1.recv()));
    assert!(matches!(found, Either::Right((Ok('b'), _))));
}

#[test]
fn a_stream_ends_with_the_channel() {
    let (sender, receiver) = channel::bounded(2);
    let producer = thread::spawn(move || (0..50).try_for_each(|n| sender.send_blocking(n)));
    let sum = receiver
        .into_stream()
        .fold(0, |sum, n| async move { sum + n });
    assert_eq!(block_on(sum), 1225);
    producer.join().unwrap().unwrap();
}

#[test]
fn a_dropped_task_may_own_an_end_of_the_channel_it_waits_for() {
    /// Drops an end when the waker is dropped.
    struct Holder(#[expect(dead_code, reason = "held")] Mutex<Option<Sender<u32>>>);

    impl Wake for Holder {
        fn wake(self: Arc<Self>) {}
    }

    within(60, || {
        let (sender, receiver) = channel::unbounded::<u32>();
        let waker = Waker::from(Arc::new(Holder(Mutex::new(Some(sender)))));
        let mut waiting = receiver.recv();
        assert!(
            waiting
                .poll_unpin(&mut Context::from_waker(&waker))
                .is_pending()
        );
        drop(waker);
        // The old waker, and with it the last sender, is dropped while the new one replaces it.
        assert!(is_pending(&mut waiting) || receiver.is_closed());
        assert!(receiver.is_closed());
        assert!(block_on(waiting).is_err());
    });
}

#[test]
fn a_worker_that_blocks_in_a_channel_lets_another_run() {
    on_runtime(1, |runtime| {
        let (sender, receiver) = channel::bounded(0);
        let (waiting, sending) = runtime.install(|| {
            (
                task::run(move || receiver.recv_blocking()),
                task::run(move || sender.send_blocking(3)),
            )
        });
        // The one worker runs either first, and blocks until the other has a thread too.
        assert_eq!(sending.join().unwrap(), Ok(()));
        assert_eq!(waiting.join().unwrap(), Ok(3));
    });
}

#[test]
fn what_a_worker_has_forked_can_be_taken_while_it_blocks_in_a_channel() {
    on_runtime(2, |runtime| {
        runtime.install(|| {
            let (sender, receiver) = channel::unbounded();
            let (received, sent) =
                manyhands::join(|| receiver.recv_blocking(), || sender.send_blocking(3));
            assert_eq!((received, sent), (Ok(3), Ok(())));
        });
    });
}
