//! User code runs outside a channel's lock: it may use the channel itself. A comparison does not, and may panic.

use crate::support::{LIMIT_SECS, blow, message_of, of_threads, on, panics_of, within};
use crate::user_code::on_clone;
use manyhands::channel::{self, ChannelOptions, Receiver, Sender, WhenFull};
use manyhands::task;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};

/// An item that reads its own channel when it is dropped.
struct Looks {
    own: Sender<Self>,
    dropped: Arc<AtomicUsize>,
}

impl PartialEq for Looks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Looks {}

impl PartialOrd for Looks {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Looks {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        assert!(self.own.len() <= 3);
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// Drops of items: by the last receiver, of one that was received, of one that comes back.
fn drops(ends: fn() -> (Sender<Looks>, Receiver<Looks>)) {
    within(LIMIT_SECS, move || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = ends();
        let item = || Looks {
            own: sender.clone(),
            dropped: Arc::clone(&dropped),
        };
        for _ in 0..3 {
            assert!(sender.try_send(item()).is_ok());
        }
        drop(receiver.recv_blocking());
        drop(receiver);
        assert!(sender.try_send(item()).is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), 4);
    });
}

#[test]
fn items_may_use_their_channel_when_they_are_dropped() {
    drops(|| channel::bounded(3));
    drops(channel::unbounded);
    drops(|| ChannelOptions::new().prioritized());
}

/// A waker that reads the channel when it is woken and when it is dropped.
struct Rings {
    sender: Sender<u32>,
    woken: Arc<AtomicUsize>,
}

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        assert!(self.sender.len() <= 1);
        self.woken.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        assert!(self.sender.len() <= 1);
    }
}

#[test]
fn wakers_may_use_the_channel_when_they_are_woken_and_when_they_are_dropped() {
    within(LIMIT_SECS, || {
        for ends in [
            || channel::bounded(1),
            || channel::bounded(0),
            channel::unbounded,
        ] {
            let (sender, receiver) = ends();
            let woken = Arc::new(AtomicUsize::new(0));
            let waker = || {
                Waker::from(Arc::new(Rings {
                    sender: sender.clone(),
                    woken: Arc::clone(&woken),
                }))
            };
            let mut receiving = receiver.recv();
            for waker in [waker(), waker()] {
                // The second replaces the first one, which is dropped.
                let mut context = Context::from_waker(&waker);
                assert!(Pin::new(&mut receiving).poll(&mut context).is_pending());
            }
            assert!(sender.try_send(1).is_ok());
            assert_eq!(woken.load(Ordering::SeqCst), 1);
            drop(receiving);
            let mut receiving = receiver.recv();
            let mut context = Context::from_waker(Waker::noop());
            let _ = Pin::new(&mut receiving).poll(&mut context);
            drop(receiving);
            // Given up with a registered waker.
            let waker = waker();
            let mut receiving = receiver.recv();
            let _ = Pin::new(&mut receiving).poll(&mut Context::from_waker(&waker));
            drop(waker);
            drop(receiving);
        }
    });
}

/// Polls what has to wait, with a waker whose clone waits for a task that looks at the channel.
#[track_caller]
fn clone_waits<F: Future>(waiting: F, look: impl FnOnce() + Send + 'static) {
    let (clone, is_cloned) = mpsc::channel();
    let waker = on_clone(move || {
        in_a_task(look);
        clone.send(()).unwrap();
    });
    let polled = pin!(waiting).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    assert_eq!(is_cloned.try_recv(), Ok(()), "it is kept, so it is cloned");
}

#[test]
fn a_clone_of_a_waker_waits_for_a_task_that_uses_the_channel() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        for capacity in [0, 1] {
            let (sender, receiver) = channel::bounded(capacity);
            let look = || {
                let sender = sender.clone();
                move || assert!(sender.len() <= 1)
            };
            clone_waits(receiver.recv(), look());
            clone_waits(receiver.recv_many(&mut Vec::new(), 2), look());
            clone_waits(receiver.wait_ready(), look());
            clone_waits(sender.wait_closed(), look());
            clone_waits(receiver.wait_drained(), look());
            (0..capacity).for_each(|n| sender.try_send(n).unwrap());
            clone_waits(sender.send(7), look());
            clone_waits(sender.send_many(&mut VecDeque::from([7])), look());
            clone_waits(sender.wait_ready(), look());
        }
        let (sender, mut receiver) = channel::broadcast::<u32>(1);
        let looks = sender.clone();
        clone_waits(receiver.recv(), move || assert!(looks.is_empty()));
        let (sender, mut receiver) = channel::watch(0);
        let looks = sender.clone();
        clone_waits(receiver.changed(), move || assert_eq!(*looks.latest(), 0));
        drop(sender);
    });
}

#[test]
fn what_comes_while_a_waker_is_cloned_ends_the_wait() {
    within(LIMIT_SECS, || {
        let (sender, receiver) = channel::bounded(1);
        let waker = on_clone(move || sender.try_send(7).unwrap());
        let polled = pin!(receiver.recv()).poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Ready(Ok(7)));
        let (sender, receiver) = channel::bounded(1);
        sender.try_send(1).unwrap();
        let receives = receiver.clone();
        let waker = on_clone(move || assert_eq!(receives.try_recv(), Ok(1)));
        let polled = pin!(sender.send(2)).poll(&mut Context::from_waker(&waker));
        assert_eq!((polled, receiver.try_recv()), (Poll::Ready(Ok(())), Ok(2)));
    });
}

/// Waits for a task of the current runtime that does this.
fn in_a_task(work: impl FnOnce() + Send + 'static) {
    task::spawn(async move { work() }).join().unwrap();
}

/// An item that does something when it is cloned.
struct Acts(Arc<dyn Fn() + Send + Sync>);

impl Clone for Acts {
    fn clone(&self) -> Self {
        (self.0)();
        Self(Arc::clone(&self.0))
    }
}

#[test]
fn closures_and_clones_of_items_wait_for_tasks_that_use_the_channel() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let own = Arc::new(Mutex::new(None::<Sender<u32>>));
        let looks = Arc::clone(&own);
        let options = ChannelOptions::new().capacity(1);
        let (sender, receiver) = options
            .when_full(WhenFull::DropOldest)
            .on_drop(move |_| {
                let own = looks.lock().unwrap().clone().unwrap();
                in_a_task(move || assert_eq!(own.len(), 1));
            })
            .fifo();
        *own.lock().unwrap() = Some(sender.clone());
        (1..=2).for_each(|n| sender.try_send(n).unwrap());
        assert_eq!(receiver.try_recv(), Ok(2));
        *own.lock().unwrap() = None;

        let (sender, mut receiver) = channel::watch(0);
        let look = || {
            let sender = sender.clone();
            in_a_task(move || assert_eq!(*sender.latest() / 2, 0));
        };
        let modify = |value: &mut u32| {
            look();
            *value += 1;
        };
        sender.send_modify(modify).unwrap();
        let wanted = receiver.wait_for_blocking(|value| {
            look();
            *value == 1
        });
        assert!(wanted.is_ok());

        let (sender, mut receiver) = channel::broadcast(1);
        let mut other = receiver.clone();
        let looks = sender.clone();
        let item = Acts(Arc::new(move || {
            let looks = looks.clone();
            in_a_task(move || assert!(looks.len() <= 1));
        }));
        assert!(sender.send(item).is_ok());
        assert!(receiver.try_recv().is_ok() && other.try_recv().is_ok());
    });
}

/// An item that panics when it is compared with a bad one.
#[derive(Debug, PartialEq, Eq)]
struct Compared(u32);

const BAD: u32 = 13;

impl PartialOrd for Compared {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Compared {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if [self.0, other.0].contains(&BAD) {
            blow("a bad item");
        }
        self.0.cmp(&other.0)
    }
}

/// A waker that says that it was woken.
struct Says(mpsc::Sender<()>);

impl Wake for Says {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

#[test]
fn what_was_sent_before_a_comparison_panics_is_received() {
    within(LIMIT_SECS, || {
        let (sender, receiver) = ChannelOptions::new().prioritized();
        let (say, is_woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Says(say)));
        let mut receiving = receiver.recv();
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut receiving).poll(&mut context).is_pending());
        let mut items = VecDeque::from([1, BAD, 2].map(Compared));
        let panics = panics_of(|| sender.send_many_blocking(&mut items));
        assert_eq!(message_of(&panics[0]), "a bad item");
        assert_eq!(is_woken.try_recv(), Ok(()));
        assert_eq!(items, [Compared(2)]);
        let polled = Pin::new(&mut receiving).poll(&mut context);
        assert_eq!(polled, Poll::Ready(Ok(Compared(1))));
        assert_eq!(sender.send_many_blocking(&mut items), Ok(()));
        assert_eq!(receiver.try_recv(), Ok(Compared(2)));
    });
}

#[test]
fn what_falls_out_before_a_comparison_panics_is_passed_on() {
    let (lose, lost) = mpsc::channel();
    let options = ChannelOptions::new().capacity(2);
    let (sender, receiver) = options
        .when_full(WhenFull::DropOldest)
        .on_drop(move |item| lose.send(item).unwrap())
        .prioritized();
    let send = |n| sender.try_send(Compared(n)).unwrap();
    [1, 2].into_iter().for_each(send);
    assert_eq!(panics_of(|| send(BAD)).len(), 1);
    assert_eq!(lost.try_recv(), Ok(Compared(1)));
    send(3);
    let left = [receiver.try_recv(), receiver.try_recv()];
    assert_eq!(left, [Ok(Compared(2)), Ok(Compared(3))]);
}

#[test]
fn a_comparison_and_what_falls_out_may_both_panic() {
    let options = ChannelOptions::new().capacity(2);
    let (sender, receiver) = options
        .when_full(WhenFull::DropOldest)
        .on_drop(|_| blow("on drop"))
        .prioritized();
    let send = |n| sender.try_send(Compared(n)).unwrap();
    [1, 2].into_iter().for_each(send);
    let panics = panics_of(|| send(BAD));
    let messages: Vec<_> = panics.iter().map(message_of).collect();
    assert_eq!(messages, ["a bad item", "on drop"]);
    assert_eq!(receiver.try_recv(), Ok(Compared(2)));
}

/// A reason that asks its own channel when it is dropped.
struct Asks {
    is_closed: Box<dyn Fn() -> bool + Send + Sync>,
    dropped: Arc<AtomicUsize>,
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too late")
    }
}

impl Error for Asks {}

impl Drop for Asks {
    fn drop(&mut self) {
        assert!((self.is_closed)());
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_reason_that_comes_too_late_may_use_its_channel_when_it_is_dropped() {
    within(LIMIT_SECS, || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let reason = |is_closed: Box<dyn Fn() -> bool + Send + Sync>| Asks {
            is_closed,
            dropped: Arc::clone(&dropped),
        };
        let (sender, _receiver) = channel::unbounded::<u32>();
        let (to_all, _listener) = channel::broadcast::<u32>(1);
        let (value, _watcher) = channel::watch(0);
        assert!(sender.close() && to_all.close() && value.close());
        let own = sender.clone();
        assert!(!sender.close_with(reason(Box::new(move || own.is_closed()))));
        let own = to_all.clone();
        assert!(!to_all.close_with(reason(Box::new(move || own.is_closed()))));
        let own = value.clone();
        assert!(!value.close_with(reason(Box::new(move || own.is_closed()))));
        assert_eq!(dropped.load(Ordering::SeqCst), 3);
    });
}
