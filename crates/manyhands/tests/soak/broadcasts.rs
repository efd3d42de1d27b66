//! Channels whose receivers each receive every item, or the latest.

use crate::counted::{Tally, Thing};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::World;
use futures::StreamExt;
use manyhands::channel::broadcast::{Receiver, RecvError, Sender, TryRecvError as NotYet};
use manyhands::channel::{self, TryRecvError};
use manyhands::task;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "broadcast",
        step: all_get_all,
    },
    Kind {
        name: "broadcast, streams",
        step: streams,
    },
    Kind {
        name: "watch",
        step: watch,
    },
    Kind {
        name: "watch, streams",
        step: watch_streams,
    },
];

/// What a receiver received: numbers in order, and how many it lost, which are the missing ones.
#[derive(Debug, Default)]
struct Got {
    next: u64,
    received: u64,
}

impl Got {
    fn item(&mut self, number: u64) {
        assert_eq!(
            number, self.next,
            "in order, but for what was reported as lost"
        );
        self.next += 1;
        self.received += 1;
    }

    fn lost(&mut self, count: u64) {
        self.next += count;
    }
}

/// What the tasks give, one after the other.
fn ends<T>(tasks: Vec<task::JoinHandle<T>>) -> impl Iterator<Item = T> {
    let tasks = tasks.into_iter();
    tasks.map(|task| task.join().expect("it does not panic"))
}

#[track_caller]
fn assert_all_are(numbers: impl Iterator<Item = u64>, expected: u64, why: &str) {
    for number in numbers {
        assert_eq!(number, expected, "{why}");
    }
}

fn send_all(
    random: &mut Random,
    sender: Sender<Thing>,
    tally: &Arc<Tally>,
    len: u64,
) -> task::JoinHandle<()> {
    let (tally, mut random) = (Arc::clone(tally), Random::new(random.next()));
    task::spawn(async move {
        for number in 0..len {
            let _ = sender.send(tally.make(number));
            if random.is_one_in(3) {
                task::yield_now().await;
            }
        }
    })
}

fn all_get_all(random: &mut Random, _: &World) {
    let (tally, len, receivers) = (Tally::new(), random.below(150), random.below(5));
    let (sender, first) = channel::broadcast(1 + random.length(30));
    let tasks: Vec<_> = (0..receivers)
        .map(|index| {
            let mut receiver = if index % 2 == 0 {
                sender.subscribe()
            } else {
                first.clone()
            };
            if index % 3 == 0 {
                task::run(move || receive_blocking(&mut receiver))
            } else {
                task::spawn(async move {
                    let mut got = Got::default();
                    loop {
                        match receiver.recv().await {
                            Ok(thing) => got.item(thing.number()),
                            Err(RecvError::Lagged(count)) => got.lost(count),
                            Err(RecvError::Closed(_)) => return got,
                        }
                    }
                })
            }
        })
        .collect();
    drop(first);
    let sending = send_all(random, sender, &tally, len);
    let got = ends(tasks).map(|got| got.next);
    assert_all_are(got, len, "all were received or reported as lost");
    sending.join().expect("it does not panic");
    tally.assert_none_left();
}

fn receive_blocking(receiver: &mut Receiver<Thing>) -> Got {
    let mut got = Got::default();
    loop {
        match receiver.recv_timeout_blocking(Duration::from_micros(50)) {
            Ok(thing) => got.item(thing.number()),
            Err(NotYet::Empty) => {}
            Err(NotYet::Lagged(count)) => got.lost(count),
            Err(NotYet::Closed(_)) => return got,
        }
    }
}

fn streams(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(150));
    let (sender, receiver) = channel::broadcast::<Thing>(1 + random.length(30));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = receiver.clone().into_stream();
            task::spawn(async move {
                let mut got = Got::default();
                while let Some(item) = stream.next().await {
                    match item {
                        Ok(thing) => got.item(thing.number()),
                        Err(RecvError::Lagged(count)) => got.lost(count),
                        Err(RecvError::Closed(_)) => unreachable!("a stream ends then"),
                    }
                }
                got
            })
        })
        .collect();
    drop(receiver);
    let sending = send_all(random, sender, &tally, len);
    let got = ends(tasks).map(|got| got.next);
    assert_all_are(got, len, "all were received or reported as lost");
    sending.join().expect("it does not panic");
    tally.assert_none_left();
}

fn watch(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), 1 + random.below(100));
    let (sender, receiver) = channel::watch(tally.make(0));
    let tasks: Vec<_> = (0..random.below(4))
        .map(|index| {
            let mut receiver = receiver.clone();
            if index % 2 == 0 {
                task::run(move || {
                    let mut last = 0;
                    loop {
                        match receiver.changed_timeout_blocking(Duration::from_micros(80)) {
                            Ok(thing) => last = later(last, &thing),
                            Err(TryRecvError::Empty) => {}
                            Err(TryRecvError::Closed(_)) => return last,
                        }
                    }
                })
            } else {
                task::spawn(async move {
                    let mut last = 0;
                    while let Ok(thing) = receiver.changed().await {
                        last = later(last, &thing);
                    }
                    last
                })
            }
        })
        .collect();
    for number in 1..=len {
        sender.send(tally.make(number)).expect("a receiver is open");
        assert_eq!(sender.latest().number(), number);
    }
    drop(sender);
    assert_all_are(ends(tasks), len, "the last is always seen");
    assert_eq!(receiver.latest().number(), len);
    drop(receiver);
    tally.assert_none_left();
}

fn later(last: u64, thing: &Thing) -> u64 {
    assert!(thing.number() > last, "only what is new");
    thing.number()
}

fn watch_streams(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), 1 + random.below(100));
    let (sender, receiver) = channel::watch(tally.make(0));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = receiver.clone().into_stream();
            task::spawn(async move {
                let mut last = 0;
                while let Some(thing) = stream.next().await {
                    last = later(last, &thing);
                }
                last
            })
        })
        .collect();
    drop(receiver);
    let is_sent_by_task = random.is_one_in(2);
    let send = {
        let tally = Arc::clone(&tally);
        move || {
            for number in 1..=len {
                let _ = sender.send(tally.make(number));
            }
            // Dropping it closes the channel.
            drop(sender);
        }
    };
    if is_sent_by_task {
        task::run(send).join().expect("it does not panic");
    } else {
        send();
    }
    assert_all_are(ends(tasks), len, "the last is always seen");
    tally.assert_none_left();
}
