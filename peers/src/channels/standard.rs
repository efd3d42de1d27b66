//! The standard library's channel, on threads. Its two senders have different types.

use std::sync::mpsc::{self, Receiver, SyncSender};

use crate::channels::{Blocking, Ends};

#[derive(Debug)]
pub(crate) struct Standard;

/// With a limit or without.
#[derive(Clone, Debug)]
pub(crate) enum Sender {
    Bounded(SyncSender<u64>),
    Unbounded(mpsc::Sender<u64>),
}

impl Ends for Standard {
    type Sender = Sender;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender, Receiver<u64>) {
        match capacity {
            Some(capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                (Sender::Bounded(sender), receiver)
            }
            None => {
                let (sender, receiver) = mpsc::channel();
                (Sender::Unbounded(sender), receiver)
            }
        }
    }

    fn share(_: &Receiver<u64>) -> Option<Receiver<u64>> {
        None
    }
}

impl Blocking for Standard {
    fn send(sender: &Sender, item: u64) {
        let _ = match sender {
            Sender::Bounded(sender) => sender.send(item),
            Sender::Unbounded(sender) => sender.send(item),
        };
    }

    fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().ok()
    }
}
