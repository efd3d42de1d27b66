//! Channels under very many cancellations: senders and receivers that block, that wait as futures, and that give up
//! after one poll. Every item counts itself when it is made and when it is dropped.

use crate::watchdog::Watchdog;
use manyhands::Runtime;
use manyhands::channel::{self, Receiver, Sender, TrySendError, WhenFull};
use std::collections::VecDeque;
use std::env;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Items that exist, and what was done with them.
#[derive(Debug, Default)]
struct Ledger {
    alive: AtomicI64,
    sent: AtomicU64,
    received: AtomicU64,
    fallen_out: AtomicU64,
}

/// A numbered item of one sender.
#[derive(Debug)]
struct Item {
    ledger: Arc<Ledger>,
    sender: usize,
    number: u64,
}

impl Item {
    fn new(ledger: &Arc<Ledger>, sender: usize, number: u64) -> Self {
        ledger.alive.fetch_add(1, Ordering::Relaxed);
        Self {
            ledger: Arc::clone(ledger),
            sender,
            number,
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.ledger.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A small generator, one for each thread.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("below a usize")
    }
}

/// Waits until the channel is ready, or gives up after one poll; false if it never will be again.
fn waits_until_ready(ready: impl Future<Output = bool> + Unpin, dice: &mut Dice) -> bool {
    match dice.below(2) {
        0 => poll_once(ready) != Some(false),
        _ => pollster::block_on(ready),
    }
}

/// Polls once and gives up.
fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the length of the test is a time"
)]
fn storms_of_cancellation_lose_and_double_nothing() {
    let seconds = env::var("MANYHANDS_STRESS_SECONDS").ok();
    let seconds = seconds
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(3);
    let seed = env::var("MANYHANDS_STRESS_SEED").ok();
    let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(0x5EED);
    let watchdog = Watchdog::new();
    let runtime = Arc::new(Runtime::builder().workers(1).build().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut round = seed;
    while Instant::now() < end {
        round += 1;
        watchdog.begin(
            format!("channels, MANYHANDS_STRESS_SEED={}", round - 1),
            &runtime,
        );
        storm(round);
    }
}

fn storm(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let ledger = Arc::new(Ledger::default());
    let fallen = Arc::clone(&ledger);
    let when_full = match dice.below(8) {
        0 => WhenFull::DropNewest,
        1 => WhenFull::DropOldest,
        2 => WhenFull::DropThis,
        _ => WhenFull::Wait,
    };
    let capacity = [0, 1, 2, 16, usize::MAX][dice.below(5)];
    let (sender, receiver) = channel::ChannelOptions::new()
        .capacity(capacity)
        .when_full(when_full)
        .on_drop(move |item: Item| {
            fallen.fallen_out.fetch_add(1, Ordering::Relaxed);
            drop(item);
        })
        .fifo();
    let (senders, receivers) = (1 + dice.below(3), 1 + dice.below(3));
    let is_closed_early = dice.below(4) == 0;
    thread::scope(|scope| {
        for id in 0..senders {
            let (sender, ledger) = (sender.clone(), Arc::clone(&ledger));
            let dice = Dice(seed + id as u64 + 1);
            scope.spawn(move || produce(&sender, &ledger, id, dice));
        }
        for id in 0..receivers {
            let (receiver, ledger) = (receiver.clone(), Arc::clone(&ledger));
            let dice = Dice(seed + 100 + id as u64);
            scope.spawn(move || consume(&receiver, &ledger, senders, dice));
        }
        drop(sender);
        if is_closed_early {
            thread::yield_now();
            receiver.close();
        }
        drop(receiver);
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(ledger.alive.load(Ordering::Relaxed), 0, "seed {seed}");
    assert_eq!(
        count(&ledger.sent),
        count(&ledger.received) + count(&ledger.fallen_out),
        "seed {seed}: {capacity} {when_full:?}"
    );
}

/// Sends in every way; counts the items that a send reported as sent.
fn produce(sender: &Sender<Item>, ledger: &Arc<Ledger>, id: usize, mut dice: Dice) {
    let sent = |count| ledger.sent.fetch_add(count, Ordering::Relaxed);
    for number in 0..300 {
        let item = || Item::new(ledger, id, number);
        // At a rendezvous one side has to receive or send.
        let may_only_wait = sender.capacity() != Some(0) && dice.below(8) == 0;
        if may_only_wait && !waits_until_ready(sender.wait_ready(), &mut dice) {
            assert!(sender.is_closed());
        }
        let is_open = match dice.below(6) {
            0 => sender.send_blocking(item()).map(|()| sent(1)).is_ok(),
            1 => pollster::block_on(sender.send(item()))
                .map(|()| sent(1))
                .is_ok(),
            2 => match sender.try_send(item()) {
                Ok(()) => sent(1) < u64::MAX,
                Err(error) => matches!(error, TrySendError::Full(_)),
            },
            3 => {
                let mut items = VecDeque::from([item(), item()]);
                let result = sender.send_many_blocking(&mut items);
                sent(2 - items.len() as u64);
                result.is_ok()
            }
            4 => match sender.send_timeout_blocking(item(), Duration::from_micros(50)) {
                Ok(()) => sent(1) < u64::MAX,
                Err(_) => !sender.is_closed(),
            },
            _ => give_up(sender, item(), sent),
        };
        if !is_open {
            return;
        }
    }
}

/// One poll of a send. From a rendezvous channel the item may have been received by the time it gives up, so
/// there it only tries.
fn give_up(sender: &Sender<Item>, item: Item, sent: impl Fn(u64) -> u64) -> bool {
    if sender.capacity() == Some(0) {
        return match sender.try_send(item) {
            Ok(()) => sent(1) < u64::MAX,
            Err(error) => error.is_full(),
        };
    }
    match poll_once(sender.send(item)) {
        Some(Ok(())) => sent(1) < u64::MAX,
        Some(Err(_)) => false,
        None => true,
    }
}

/// Receives in every way until the end; each sender's items must come in order.
fn consume(receiver: &Receiver<Item>, ledger: &Ledger, senders: usize, mut dice: Dice) {
    let mut last = vec![0; senders];
    let mut batch = Vec::new();
    loop {
        if dice.below(4) == 0 && !waits_until_ready(receiver.wait_ready(), &mut dice) {
            assert!(receiver.is_closed() && receiver.try_recv().is_err());
        }
        let is_open = match dice.below(6) {
            0 => receiver
                .recv_blocking()
                .map(|item| batch.push(item))
                .is_ok(),
            1 => pollster::block_on(receiver.recv())
                .map(|item| batch.push(item))
                .is_ok(),
            2 => receiver.recv_many_blocking(&mut batch, 3).is_ok(),
            3 => {
                batch.extend(
                    receiver
                        .recv_timeout_blocking(Duration::from_micros(50))
                        .ok(),
                );
                true
            }
            4 => {
                batch.extend(receiver.try_recv().ok());
                true
            }
            _ => {
                batch.extend(poll_once(receiver.recv()).and_then(Result::ok));
                true
            }
        };
        for item in batch.drain(..) {
            assert!(item.number >= last[item.sender], "out of order: {item:?}");
            last[item.sender] = item.number;
            ledger.received.fetch_add(1, Ordering::Relaxed);
        }
        if !is_open {
            return;
        }
    }
}
