//! Programs of channels: each message arrives once, in order, and each waiting thread or task is woken.

use super::{outside, pool, programs};
use crate::{channel, task};
use manyhands_explore::compute;
use std::time::Duration;

programs! {
    /// Tasks and threads send and receive through a channel with little room.
    channel_between_tasks_and_threads(NotNeeded) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (sender, receiver) = channel::bounded::<u32>(1);
        let its = sender.clone();
        let task = task::spawn(async move {
            for i in 0..3 {
                its.send(i).await.unwrap();
            }
        });
        let thread = outside(move || {
            for i in 10..13 {
                sender.send_blocking(i).unwrap();
            }
        });
        let its = receiver.clone();
        let taker = task::spawn(async move {
            let mut items = Vec::new();
            while let Ok(item) = its.recv().await {
                items.push(item);
            }
            items
        });
        let mut items: Vec<u32> = receiver.iter().collect();
        drop(receiver);
        items.extend(taker.join().unwrap());
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 10, 11, 12]);
        task.join().unwrap();
        thread.join().unwrap();
    }

    /// Tasks give up on both sides of a channel, which a sender and a receiver still use.
    rendezvous(NotNeeded) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (sender, receiver) = channel::bounded::<u32>(0);
        let giving_up = task::spawn({
            let receiver = receiver.clone();
            async move { receiver.recv().await }
        });
        let sending = task::spawn(async move {
            for i in 0..3 {
                sender.send(i).await.unwrap();
            }
        });
        compute(3_000);
        giving_up.abort();
        let taken = giving_up.join();
        let mut items: Vec<u32> = receiver.iter().collect();
        if let Ok(Ok(item)) = taken {
            items.push(item);
        }
        items.sort_unstable();
        // The message may have been dropped with the task that had it.
        assert!(items.len() >= 2 && items.iter().all(|item| *item < 3), "{items:?}");
        sending.join().unwrap();
    }

    /// Each listener hears every message.
    broadcasts(NotNeeded) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (sender, receiver) = channel::broadcast::<u32>(4);
        let listeners: Vec<_> = (0..2)
            .map(|_| {
                let mut receiver = receiver.clone();
                task::spawn(async move {
                    let mut sum = 0;
                    while let Ok(item) = receiver.recv().await {
                        sum += item;
                    }
                    sum
                })
            })
            .collect();
        drop(receiver);
        for i in 1..=3 {
            sender.send(i).unwrap();
        }
        drop(sender);
        for listener in listeners {
            assert_eq!(listener.join().unwrap(), 6);
        }
    }

    /// A receiver with a time limit is woken by a message or by the timer.
    channel_with_limits(Needed) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (sender, receiver) = channel::bounded::<u32>(1);
        let task = task::spawn(async move {
            crate::time::sleep(Duration::from_millis(2)).await;
            sender.send(1).await.unwrap();
        });
        let mut waits = 0;
        let item = loop {
            match receiver.recv_timeout_blocking(Duration::from_millis(1)) {
                Ok(item) => break item,
                Err(channel::TryRecvError::Empty) => waits += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(waits < 1000, "waits too long");
        };
        assert_eq!(item, 1);
        task.join().unwrap();
    }
}
