//! Channels between threads and tasks: bounded, unbounded, rendezvous, prioritised, and those that drop.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::World;
use futures::StreamExt;
use manyhands::channel::{self, Receiver, Sender, WhenFull};
use manyhands::{task, time};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "unbounded",
        step: |random, _| run(random, None),
    },
    Kind {
        name: "bounded",
        step: |random, _| {
            let capacity = 1 + random.length(20);
            run(random, Some(capacity));
        },
    },
    Kind {
        name: "rendezvous",
        step: |random, _| run(random, Some(0)),
    },
    Kind {
        name: "dropping when full",
        step: dropping,
    },
    Kind {
        name: "prioritised",
        step: prioritised,
    },
    Kind {
        name: "closed early, with a reason",
        step: closed_early,
    },
    Kind {
        name: "futures that give up",
        step: give_up,
    },
    Kind {
        name: "drained",
        step: drained,
    },
];

/// Senders and receivers as tasks; each item must be received once, those of a sender in order.
fn run(random: &mut Random, capacity: Option<usize>) {
    let tally = Tally::new();
    let (senders, receivers, each) = (1 + random.below(3), 1 + random.below(3), random.below(150));
    let (sender, receiver) = match capacity {
        None => channel::unbounded(),
        Some(0) => channel::bounded(0),
        Some(count) => channel::bounded(count),
    };
    let visits = Arc::new(Visits::new(senders * each));
    let mut tasks = Vec::new();
    for index in 0..senders {
        let (sender, tally, random) = (
            sender.clone(),
            Arc::clone(&tally),
            Random::new(random.next()),
        );
        let numbers = index * each..(index + 1) * each;
        tasks.push(match index % 2 {
            0 => task::run(move || send_all(&sender, numbers, &tally, random)),
            _ => task::spawn(send_all_async(sender, numbers, tally, random)),
        });
    }
    for index in 0..receivers {
        let (receiver, visits) = (receiver.clone(), Arc::clone(&visits));
        let random = Random::new(random.next());
        tasks.push(match index % 2 {
            0 => task::spawn(receive_all_async(receiver, visits, each, random)),
            _ => task::run(move || receive_all(&receiver, &visits, each, random)),
        });
    }
    drop((sender, receiver));
    for task in tasks {
        task.join().expect("it does not panic");
    }
    visits.assert_all();
    tally.assert_none_left();
}

fn send_all(
    sender: &Sender<Thing>,
    numbers: std::ops::Range<u64>,
    tally: &Arc<Tally>,
    mut random: Random,
) {
    let mut numbers = numbers.map(|number| tally.make(number));
    while let Some(thing) = numbers.next() {
        match random.below(4) {
            0 => sender.send_blocking(thing).expect("a receiver is open"),
            1 => {
                let mut batch: VecDeque<_> = [thing]
                    .into_iter()
                    .chain(numbers.by_ref().take(3))
                    .collect();
                sender
                    .send_many_blocking(&mut batch)
                    .expect("a receiver is open");
                assert!(batch.is_empty());
            }
            2 => {
                if let Err(error) = sender.try_send(thing) {
                    assert!(error.is_full());
                    sender
                        .send_blocking(error.into_inner())
                        .expect("a receiver is open");
                }
            }
            _ => {
                if let Err(error) = sender.send_timeout_blocking(thing, Duration::from_micros(20)) {
                    sender
                        .send_blocking(error.into_inner())
                        .expect("a receiver is open");
                }
            }
        }
    }
}

async fn send_all_async(
    sender: Sender<Thing>,
    numbers: std::ops::Range<u64>,
    tally: Arc<Tally>,
    mut random: Random,
) {
    let mut numbers = numbers.map(|number| tally.make(number));
    while let Some(thing) = numbers.next() {
        if random.is_one_in(3) {
            let mut batch: VecDeque<_> = [thing]
                .into_iter()
                .chain(numbers.by_ref().take(3))
                .collect();
            sender
                .send_many(&mut batch)
                .await
                .expect("a receiver is open");
            assert!(batch.is_empty());
        } else {
            sender.send(thing).await.expect("a receiver is open");
        }
    }
}

/// Records what was received, and checks that each sender's items came in order.
struct Log {
    visits: Arc<Visits>,
    each: u64,
    last: Vec<Option<u64>>,
}

impl Log {
    fn new(visits: Arc<Visits>, each: u64) -> Self {
        let last = vec![None; SENDERS_MAX];
        Self { visits, each, last }
    }

    fn note(&mut self, thing: &Thing) {
        let number = thing.number();
        let sender = usize::try_from(number / self.each).expect("small");
        let last = self.last[sender].replace(number);
        assert!(last < Some(number), "out of order: {last:?}, {number}");
        self.visits.visit(number);
    }
}

fn receive_all(receiver: &Receiver<Thing>, visits: &Arc<Visits>, each: u64, mut random: Random) {
    let mut log = Log::new(Arc::clone(visits), each);
    let mut batch = Vec::new();
    loop {
        match random.below(5) {
            0 => match receiver.recv_blocking() {
                Ok(thing) => batch.push(thing),
                Err(_) => return,
            },
            1 => {
                if receiver.recv_many_blocking(&mut batch, 5).is_err() {
                    return;
                }
            }
            2 => batch.extend(receiver.try_recv()),
            3 => batch.extend(receiver.recv_timeout_blocking(Duration::from_micros(30))),
            _ => batch.extend(receiver.iter().take(2)),
        }
        batch.drain(..).for_each(|thing| log.note(&thing));
    }
}

async fn receive_all_async(
    receiver: Receiver<Thing>,
    visits: Arc<Visits>,
    each: u64,
    mut random: Random,
) {
    let mut log = Log::new(visits, each);
    let mut batch = Vec::new();
    loop {
        match random.below(4) {
            0 => match receiver.recv().await {
                Ok(thing) => batch.push(thing),
                Err(_) => return,
            },
            1 => {
                if receiver.recv_many(&mut batch, 5).await.is_err() {
                    return;
                }
            }
            2 => {
                let received = time::timeout(Duration::from_micros(30), receiver.recv()).await;
                batch.extend(received.ok().and_then(Result::ok));
            }
            _ => match receiver.clone().into_stream().next().await {
                Some(thing) => batch.push(thing),
                None => return,
            },
        }
        batch.drain(..).for_each(|thing| log.note(&thing));
    }
}

const SENDERS_MAX: usize = 3;

fn dropping(random: &mut Random, _: &World) {
    let tally = Tally::new();
    let (fallen, kept) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let (len, capacity) = (random.below(200), 1 + random.length(8));
    let when_full = random.pick(&[
        WhenFull::DropNewest,
        WhenFull::DropOldest,
        WhenFull::DropThis,
    ]);
    let count = Arc::clone(&fallen);
    let (sender, receiver) = channel::ChannelOptions::new()
        .capacity(capacity)
        .when_full(when_full)
        .on_drop(move |thing: Thing| {
            thing.number();
            count.fetch_add(1, Ordering::Relaxed);
        })
        .fifo();
    let sending = task::run({
        let tally = Arc::clone(&tally);
        move || {
            (0..len).for_each(|number| {
                sender
                    .send_blocking(tally.make(number))
                    .expect("a receiver is open");
            });
        }
    });
    let mut last = None;
    for thing in &receiver {
        assert!(last < Some(thing.number()), "in order");
        last = Some(thing.number());
        kept.fetch_add(1, Ordering::Relaxed);
    }
    sending.join().expect("it does not panic");
    assert_eq!(
        kept.into_inner() + fallen.load(Ordering::Relaxed),
        len,
        "received or fallen out"
    );
    tally.assert_none_left();
}

fn prioritised(random: &mut Random, _: &World) {
    let tally = Tally::new();
    let len = random.below(200);
    let (sender, receiver) = match random.below(3) {
        0 => channel::ChannelOptions::new()
            .capacity(usize::try_from(len + 1).expect("small"))
            .prioritized(),
        _ => channel::ChannelOptions::new().prioritized(),
    };
    let tasks: Vec<_> = (0..2)
        .map(|half| {
            let (sender, tally) = (sender.clone(), Arc::clone(&tally));
            task::run(move || {
                for number in (0..len).rev().filter(|number| number % 2 == half) {
                    sender
                        .send_blocking(tally.make(number))
                        .expect("a receiver is open");
                }
            })
        })
        .collect();
    let early = random.below(len + 1);
    let visits = Visits::new(len);
    (0..early).for_each(|_| visits.visit(receiver.recv_blocking().expect("there is one").number()));
    for task in tasks {
        task.join().expect("it does not panic");
    }
    drop(sender);
    let rest: Vec<u64> = receiver.iter().map(|thing| thing.number()).collect();
    assert!(rest.is_sorted(), "the smallest first, when all are there");
    rest.into_iter().for_each(|number| visits.visit(number));
    visits.assert_all();
    tally.assert_none_left();
}

fn closed_early(random: &mut Random, _: &World) {
    let (tally, received) = (Tally::new(), AtomicU64::new(0));
    let (sender, receiver) = channel::bounded(1 + random.length(5));
    let (tasks, closes_at) = (1 + random.below(4), random.below(100));
    let tasks: Vec<_> = (0..tasks)
        .map(|index| {
            let (sender, tally) = (sender.clone(), Arc::clone(&tally));
            task::spawn(async move {
                let mut sent = 0_u64;
                while sender.send(tally.make(index)).await.is_ok() {
                    sent += 1;
                }
                let reason = sender.wait_closed().await;
                assert_eq!(reason.expect_err("there is one").to_string(), "enough");
                sent
            })
        })
        .collect();
    drop(sender);
    while received.fetch_add(1, Ordering::Relaxed) < closes_at {
        receiver.recv_blocking().expect("a sender is open").number();
    }
    assert!(receiver.close_with("enough"));
    let rest = receiver.iter().count() as u64;
    let error = receiver.recv_blocking().expect_err("it is closed");
    assert_eq!(error.reason().expect("there is one").to_string(), "enough");
    let sent: u64 = tasks
        .into_iter()
        .map(|task| task.join().expect("it does not panic"))
        .sum();
    assert_eq!(sent, closes_at + rest, "sent is received");
    tally.assert_none_left();
}

fn give_up(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(100));
    let (sender, receiver) = channel::bounded(1 + random.length(3));
    let receiving = task::spawn({
        let mut random = Random::new(random.next());
        async move {
            let mut received = 0_u64;
            loop {
                if random.is_one_in(2) {
                    let polled = poll_once(receiver.recv());
                    received += u64::from(matches!(polled, Some(Ok(_))));
                    task::yield_now().await;
                } else if receiver.recv().await.is_ok() {
                    received += 1;
                } else {
                    return received;
                }
            }
        }
    });
    let mut sent = 0;
    for number in 0..len {
        let thing = tally.make(number);
        if random.is_one_in(2) {
            sent += u64::from(matches!(poll_once(sender.send(thing)), Some(Ok(()))));
        } else {
            task::block_on(sender.send(thing)).expect("a receiver is open");
            sent += 1;
        }
    }
    drop(sender);
    assert_eq!(receiving.join().expect("it does not panic"), sent);
    tally.assert_none_left();
}

fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

fn drained(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(60));
    let (sender, receiver) = channel::unbounded();
    (0..len).for_each(|number| {
        sender
            .send_blocking(tally.make(number))
            .expect("a receiver is open");
    });
    let waiting = {
        let sender = sender.clone();
        task::spawn(async move { sender.wait_drained().await.is_ok() })
    };
    assert!(sender.close() && !sender.close());
    assert!(sender.send_blocking(tally.make(len)).is_err());
    let receiving = task::run(move || receiver.iter().count() as u64);
    sender.wait_drained_blocking().expect("there is no reason");
    assert_eq!(receiving.join().expect("it does not panic"), len);
    assert!(waiting.join().expect("it does not panic"));
    tally.assert_none_left();
}
