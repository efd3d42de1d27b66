//! Channels: sending, receiving, giving up and closing, for each kind.
//!
//! Threads: two or three, each with an end. Operations: the blocking forms, for one item and for many, which are
//! the futures driven by a parker; waits until the channel is ready; futures that are polled once and dropped; closing by
//! hand and by dropping; a weak sender that becomes one again.
//! Property: each item is received once, or comes back to its sender, or is dropped with the channel; those
//! of one sender in order. No receiver sleeps while there is an item, no sender while there is room, and no waiter
//! for either: that would be a deadlock here. A channel is closed when its last sender is gone, and not before.

use super::{beside, check, join_all, poll_once};
use crate::channel::{self, Receiver, SendError, Sender, TryRecvError, TrySendError};
use loom::thread;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Waker};

type Ends = (Sender<u32>, Receiver<u32>);

/// Two items from one thread to another, then the end.
fn passes_in_order(ends: fn() -> Ends) {
    check(move || {
        let (sender, receiver) = ends();
        let producer = thread::spawn(move || {
            sender.send_blocking(1).unwrap();
            sender.send_blocking(2).unwrap();
        });
        assert_eq!(receiver.recv_blocking(), Ok(1));
        assert_eq!(receiver.recv_blocking(), Ok(2));
        assert!(receiver.recv_blocking().is_err());
        producer.join().unwrap();
    });
}

#[test]
fn an_unbounded_channel_passes_in_order() {
    passes_in_order(channel::unbounded);
}

#[test]
fn a_bounded_channel_passes_in_order() {
    passes_in_order(|| channel::bounded(1));
}

#[test]
fn a_rendezvous_channel_passes_in_order() {
    passes_in_order(|| channel::bounded(0));
}

#[test]
fn a_prioritized_channel_passes_in_order() {
    passes_in_order(|| channel::ChannelOptions::new().prioritized());
}

/// One thread sends to two, one item each.
fn serves_two_receivers(ends: fn() -> Ends) {
    check(move || {
        let (sender, receiver) = ends();
        let other = receiver.clone();
        let consumer = thread::spawn(move || other.recv_blocking().unwrap());
        let producer = thread::spawn(move || {
            sender.send_blocking(1).unwrap();
            sender.send_blocking(2).unwrap();
        });
        let sum = receiver.recv_blocking().unwrap() + consumer.join().unwrap();
        assert_eq!(sum, 3);
        producer.join().unwrap();
    });
}

#[test]
fn two_receivers_of_a_bounded_channel_get_an_item_each() {
    serves_two_receivers(|| channel::bounded(1));
}

#[test]
fn two_receivers_of_a_rendezvous_channel_get_an_item_each() {
    serves_two_receivers(|| channel::bounded(0));
}

/// Two threads send to one.
fn serves_two_senders(ends: fn() -> Ends) {
    check(move || {
        let (sender, receiver) = ends();
        let producers = [(sender.clone(), 1), (sender, 2)]
            .map(|(sender, item)| thread::spawn(move || sender.send_blocking(item).unwrap()));
        let sum = receiver.recv_blocking().unwrap() + receiver.recv_blocking().unwrap();
        assert_eq!(sum, 3);
        assert!(receiver.recv_blocking().is_err());
        join_all(producers);
    });
}

#[test]
fn two_senders_of_a_bounded_channel_get_room() {
    serves_two_senders(|| channel::bounded(1));
}

#[test]
fn two_senders_of_a_rendezvous_channel_meet_the_receiver() {
    serves_two_senders(|| channel::bounded(0));
}

/// Two places of sixteen are free: so little room calls for one sender only, which sees to the other.
#[test]
fn a_sender_that_gets_room_tells_the_next() {
    check(|| {
        let (sender, receiver) = channel::bounded(16);
        (0..16).for_each(|_| sender.send_blocking(0).unwrap());
        let producers = [sender.clone(), sender.clone()]
            .map(|sender| thread::spawn(move || sender.send_blocking(1).unwrap()));
        assert_eq!(
            (receiver.recv_blocking(), receiver.recv_blocking()),
            (Ok(0), Ok(0))
        );
        join_all(producers);
        // Kept until here, because dropping it would notify the waiters once more.
        drop(sender);
    });
}

/// One thread sends two items together into a channel that holds one, another receives them as they come.
#[test]
fn many_pass_in_order_through_little_room() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let producer = thread::spawn(move || {
            let mut items = VecDeque::from([1, 2]);
            assert_eq!(sender.send_many_blocking(&mut items), Ok(()));
            assert!(items.is_empty());
        });
        let mut received = Vec::new();
        while receiver.recv_many_blocking(&mut received, 2).is_ok() {}
        assert_eq!(received, [1, 2]);
        producer.join().unwrap();
    });
}

/// Two items go in together; both waiting receivers are notified, though one step brought both.
#[test]
fn a_send_of_many_tells_every_receiver_that_waits() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        let consumers = [receiver.clone(), receiver]
            .map(|receiver| thread::spawn(move || (receiver.recv_blocking(), receiver)));
        let mut items = VecDeque::from([1, 2]);
        assert_eq!(sender.send_many_blocking(&mut items), Ok(()));
        // The ends are kept, because dropping one would notify the waiters once more.
        let received = consumers.map(|consumer| consumer.join().unwrap());
        let sum: u32 = received.iter().flat_map(|(item, _)| item).sum();
        assert_eq!(sum, 3);
        drop(sender);
    });
}

/// A send of many that is given up has sent from the front, and leaves the rest with its caller.
#[test]
fn a_send_of_many_that_is_given_up_leaves_the_rest() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let fickle = thread::spawn(move || {
            let mut items = VecDeque::from([1, 2, 3]);
            let result = poll_once(sender.send_many(&mut items));
            assert_eq!(result.is_some(), items.is_empty());
            items
        });
        let mut received: Vec<u32> = receiver.iter().collect();
        received.extend(fickle.join().unwrap());
        assert_eq!(received, [1, 2, 3]);
    });
}

/// A send of many meets the end of the channel; what was not sent comes back, what was is received.
#[test]
fn a_send_of_many_into_a_closing_channel_leaves_the_rest() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let producer = thread::spawn(move || {
            let mut items = VecDeque::from([1, 2]);
            let result = sender.send_many_blocking(&mut items);
            assert_eq!(result.is_ok(), items.is_empty());
            items
        });
        receiver.close();
        let mut received: Vec<u32> = receiver.iter().collect();
        received.extend(producer.join().unwrap());
        assert_eq!(received, [1, 2]);
    });
}

/// A receive of many makes the room that two senders wait for; both are notified, though one step made it.
#[test]
fn a_receive_of_many_tells_every_sender_that_waits() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (0..2).for_each(|_| sender.send_blocking(0).unwrap());
        let producers = [sender.clone(), sender.clone()]
            .map(|sender| thread::spawn(move || sender.send_blocking(1).unwrap()));
        let mut received = Vec::new();
        assert!(receiver.recv_many_blocking(&mut received, 2).is_ok());
        join_all(producers);
        assert_eq!(received, [0, 0]);
        // Kept until here, because dropping it would notify the waiters once more.
        drop(sender);
    });
}

/// A receive of many that is given up takes nothing; its notification goes to the other receiver.
#[test]
fn a_receive_of_many_that_is_given_up_takes_nothing() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        let fickle = receiver.clone();
        let steady = thread::spawn(move || {
            let mut items = Vec::new();
            (receiver.recv_many_blocking(&mut items, 2), items)
        });
        let given_up = thread::spawn(move || {
            let mut items = Vec::new();
            let result = poll_once(fickle.recv_many(&mut items, 2));
            (result, items, fickle)
        });
        sender.send_blocking(1).unwrap();
        // The end is kept, because dropping it would notify the waiters once more.
        let (result, items, kept) = given_up.join().unwrap();
        if result.is_some() {
            assert_eq!(items, [1]);
            drop(sender);
            assert!(steady.join().unwrap().0.is_err());
        } else {
            assert!(items.is_empty());
            assert_eq!(steady.join().unwrap(), (Ok(1), vec![1]));
        }
        drop(kept);
    });
}

/// An item goes round between two threads that take it as newcomers, one of them more often: the other comes too late
/// until it has precedence, and both end.
#[test]
fn receivers_that_are_put_off_come_to_their_turn() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        sender.send_blocking(1).unwrap();
        let take_turns = |(sender, receiver): Ends, turns: u32| {
            for _ in 0..turns {
                let mut items = Vec::new();
                assert_eq!(receiver.recv_many_blocking(&mut items, 1), Ok(1));
                sender.send_blocking(items[0]).unwrap();
            }
            (sender, receiver)
        };
        let ends = (sender.clone(), receiver.clone());
        let other = thread::spawn(move || take_turns(ends, 1));
        // The ends are kept, because dropping one would notify the waiters once more.
        let kept = take_turns((sender, receiver), 3);
        drop((other.join().unwrap(), kept));
    });
}

/// As above, for the room of a channel.
#[test]
fn senders_that_are_put_off_come_to_their_turn() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let take_turns = |(sender, receiver): Ends, turns: u32| {
            for _ in 0..turns {
                assert_eq!(sender.send_many_blocking(&mut VecDeque::from([1])), Ok(()));
                assert_eq!(receiver.try_recv(), Ok(1));
            }
            (sender, receiver)
        };
        let ends = (sender.clone(), receiver.clone());
        let other = thread::spawn(move || take_turns(ends, 1));
        let kept = take_turns((sender, receiver), 3);
        drop((other.join().unwrap(), kept));
    });
}

/// A receiver waits beside one that may come too late, and is polled without having been notified. It is put off or takes
/// an item, and gives up at the end; the other one gets an item.
#[test]
fn a_receiver_that_is_polled_without_being_notified_keeps_nothing_from_a_late_one() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let ends = (sender.clone(), receiver.clone());
        let other = thread::spawn(move || (ends.1.recv_blocking(), ends));
        let mut waits = receiver.recv();
        let mut cx = Context::from_waker(Waker::noop());
        for item in 1..3 {
            let _ = sender.try_send(item);
            let _ = receiver.try_recv();
            if Pin::new(&mut waits).poll(&mut cx).is_ready() {
                waits = receiver.recv();
            }
        }
        let _ = sender.try_send(3);
        if Pin::new(&mut waits).poll(&mut cx).is_ready() {
            let _ = sender.try_send(4);
        }
        drop(waits);
        // The ends are kept, because dropping one would notify the waiters once more.
        let (received, kept) = other.join().unwrap();
        assert!(received.is_ok());
        drop((sender, receiver, kept));
    });
}

/// One receiver gives up; its notification goes to the other.
fn survives_a_receive_that_is_given_up(ends: fn() -> Ends) {
    check(move || {
        let (sender, receiver) = ends();
        let fickle = receiver.clone();
        let (item, given_up) = (
            thread::spawn(move || receiver.recv_blocking()),
            thread::spawn(move || (poll_once(fickle.recv()), fickle)),
        );
        sender.send_blocking(1).unwrap();
        // The end is kept, because dropping it would notify the waiters once more.
        let (received, kept) = given_up.join().unwrap();
        if let Some(received) = received {
            assert_eq!(received, Ok(1));
            drop(sender);
            assert!(item.join().unwrap().is_err());
        } else {
            assert_eq!(item.join().unwrap(), Ok(1));
        }
        drop(kept);
    });
}

#[test]
fn a_bounded_channel_survives_a_receive_that_is_given_up() {
    survives_a_receive_that_is_given_up(|| channel::bounded(1));
}

#[test]
fn a_rendezvous_channel_survives_a_receive_that_is_given_up() {
    survives_a_receive_that_is_given_up(|| channel::bounded(0));
}

/// One sender gives up; its notification of room goes to the other, and its item is nowhere.
#[test]
fn a_bounded_channel_survives_a_send_that_is_given_up() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        sender.send_blocking(0).unwrap();
        let fickle = sender.clone();
        let steady = thread::spawn(move || sender.send_blocking(1).unwrap());
        let given_up = thread::spawn(move || (poll_once(fickle.send(2)).is_some(), fickle));
        assert_eq!(receiver.recv_blocking(), Ok(0));
        // The end is kept, because dropping it would notify the waiters once more.
        let (is_sent, kept) = given_up.join().unwrap();
        if is_sent {
            let first = receiver.recv_blocking().unwrap();
            steady.join().unwrap();
            assert_eq!(first + receiver.recv_blocking().unwrap(), 3);
        } else {
            // Nothing else happens here that could notify the steady one of its room.
            steady.join().unwrap();
            assert_eq!(receiver.recv_blocking(), Ok(1));
        }
        drop(kept);
        assert!(receiver.recv_blocking().is_err());
    });
}

#[test]
fn a_rendezvous_with_a_sender_that_gives_up_takes_its_item_or_not() {
    check(|| {
        let (sender, receiver) = channel::bounded(0);
        let giver = thread::spawn(move || {
            let _ = poll_once(sender.send(1));
        });
        let received = receiver.try_recv();
        assert!(matches!(
            received,
            Ok(1) | Err(TryRecvError::Empty | TryRecvError::Closed(_))
        ));
        giver.join().unwrap();
        assert!(receiver.recv_blocking().is_err());
    });
}

/// All waiters are notified of the end, and items come back.
#[test]
fn closing_ends_every_wait() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        sender.send_blocking(1).unwrap();
        let producer = beside(&sender, |sender| sender.send_blocking(2));
        let closer = thread::spawn(move || assert!(sender.close()));
        let sent = producer.join().unwrap();
        closer.join().unwrap();
        assert_eq!(sent, Err(SendError(2)));
        assert_eq!(receiver.recv_blocking(), Ok(1));
        assert!(receiver.recv_blocking().is_err());
    });
}

#[test]
fn a_receiver_that_waits_hears_of_the_end() {
    check(|| {
        let (sender, receiver) = channel::unbounded::<u32>();
        let consumer = thread::spawn(move || receiver.recv_blocking());
        drop(sender);
        assert!(consumer.join().unwrap().is_err());
    });
}

#[test]
fn the_last_receiver_that_goes_gives_a_waiting_sender_its_item_back() {
    for ends in [|| channel::bounded(1), || channel::bounded(0)] {
        check(move || {
            let (sender, receiver) = ends();
            let _ = sender.try_send(0);
            let producer = thread::spawn(move || sender.send_blocking(1));
            drop(receiver);
            assert_eq!(producer.join().unwrap(), Err(SendError(1)));
        });
    }
}

#[test]
fn a_waiter_for_the_drain_is_notified_when_the_last_item_is_out() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        sender.send_blocking(1).unwrap();
        let consumer = beside(&receiver, |receiver| receiver.recv_blocking());
        let closer = thread::spawn(move || drop(sender));
        assert!(receiver.wait_drained_blocking().is_ok());
        assert_eq!(
            receiver.try_recv(),
            Err(channel::RecvError::default().into())
        );
        assert_eq!(consumer.join().unwrap(), Ok(1));
        closer.join().unwrap();
    });
}

#[test]
fn an_item_handed_to_a_receiver_that_goes_waits_for_the_next() {
    check(|| {
        let (sender, receiver) = channel::bounded(0);
        let giver = thread::spawn(move || match sender.try_send(1) {
            Ok(()) => true,
            Err(TrySendError::Full(1)) => false,
            Err(error) => panic!("{error}"),
        });
        let first = poll_once(receiver.recv());
        let is_given = giver.join().unwrap();
        let received = first.unwrap_or_else(|| receiver.recv_blocking());
        assert_eq!(received.is_ok(), is_given);
    });
}

/// One thread waits for an item without taking it, another one receives: both hear of the only item.
fn tells_who_only_waits_for_an_item(ends: fn() -> Ends) {
    check(move || {
        let (sender, receiver) = ends();
        let other = receiver.clone();
        let waiting = thread::spawn(move || (other.wait_ready_blocking(), other));
        let producer = thread::spawn(move || {
            sender.send_blocking(1).unwrap();
            sender
        });
        assert_eq!(receiver.recv_blocking(), Ok(1));
        // Too late for the item, the other one hears of the end only.
        drop(producer.join().unwrap());
        drop(waiting.join().unwrap());
    });
}

#[test]
fn a_wait_for_an_item_takes_nothing_from_a_receiver_of_a_bounded_channel() {
    tells_who_only_waits_for_an_item(|| channel::bounded(1));
}

#[test]
fn a_wait_for_an_item_takes_nothing_from_a_receiver_of_a_rendezvous_channel() {
    tells_who_only_waits_for_an_item(|| channel::bounded(0));
}

/// Two threads wait for the item of a third, one of them as a future that gives up; nobody takes it.
#[test]
fn all_that_wait_for_an_item_hear_of_it() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        let other = receiver.clone();
        let waiting = thread::spawn(move || (other.wait_ready_blocking(), other));
        let producer = thread::spawn(move || {
            sender.send_blocking(1).unwrap();
            sender
        });
        let _ = poll_once(receiver.wait_ready());
        assert!(receiver.wait_ready_blocking());
        // The ends are kept, because dropping one would notify the waiters once more.
        let (is_ready, kept) = waiting.join().unwrap();
        assert!(is_ready);
        assert_eq!(receiver.recv_blocking(), Ok(1));
        drop((producer.join().unwrap(), kept));
    });
}

/// A receive makes room, from the items that were moved aside; one thread waits for it and takes none, another one sends.
#[test]
fn a_wait_for_room_hears_of_it_and_takes_nothing_from_a_sender() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (0..2).for_each(|item| sender.send_blocking(item).unwrap());
        assert_eq!(receiver.recv_blocking(), Ok(0));
        sender.send_blocking(2).unwrap();
        let other = sender.clone();
        let waiting = thread::spawn(move || (other.wait_ready_blocking(), other));
        let producer = thread::spawn(move || {
            sender.send_blocking(3).unwrap();
            sender
        });
        assert_eq!(receiver.recv_blocking(), Ok(1));
        let kept = producer.join().unwrap();
        assert_eq!(receiver.recv_blocking(), Ok(2));
        // The ends are kept, because dropping one would notify the waiters once more.
        let (is_ready, also_kept) = waiting.join().unwrap();
        assert!(is_ready);
        drop((kept, also_kept));
    });
}

/// Receives from what was moved aside while nobody sends: the wait for room ends by these alone.
#[test]
fn a_wait_for_room_hears_of_a_receive_from_what_was_moved_aside() {
    check(|| {
        let (sender, receiver) = channel::bounded(2);
        (0..2).for_each(|item| sender.send_blocking(item).unwrap());
        assert_eq!(receiver.recv_blocking(), Ok(0));
        sender.send_blocking(2).unwrap();
        let waiting = thread::spawn(move || (sender.wait_ready_blocking(), sender));
        assert_eq!(receiver.recv_blocking(), Ok(1));
        let (is_ready, sender) = waiting.join().unwrap();
        assert!(is_ready && sender.try_send(3).is_ok());
    });
}

/// The last sender goes while a weak one becomes a sender: what that one sends arrives, or the channel was closed before.
#[test]
fn a_sender_that_was_weak_has_an_open_channel() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        let weak = sender.downgrade();
        let again = thread::spawn(move || {
            let sender = weak.upgrade();
            sender.map(|sender| sender.send_blocking(1))
        });
        drop(sender);
        let received = receiver.recv_blocking().is_ok();
        assert_eq!(again.join().unwrap(), received.then_some(Ok(())));
        assert!(receiver.recv_blocking().is_err());
    });
}
