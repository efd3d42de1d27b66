//! tokio's mpsc. Its four ends have different types.

use tokio::sync::mpsc;

use crate::channels::{Async, Ends};

#[derive(Debug)]
pub(crate) struct Tokio;

/// With a limit or without.
#[derive(Clone, Debug)]
pub(crate) enum Sender {
    Bounded(mpsc::Sender<u64>),
    Unbounded(mpsc::UnboundedSender<u64>),
}

/// With a limit or without.
#[derive(Debug)]
pub(crate) enum Receiver {
    Bounded(mpsc::Receiver<u64>),
    Unbounded(mpsc::UnboundedReceiver<u64>),
}

impl Ends for Tokio {
    type Sender = Sender;
    type Receiver = Receiver;

    fn channel(capacity: Option<usize>) -> (Sender, Receiver) {
        match capacity {
            Some(capacity) => {
                let (sender, receiver) = mpsc::channel(capacity);
                (Sender::Bounded(sender), Receiver::Bounded(receiver))
            }
            None => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Sender::Unbounded(sender), Receiver::Unbounded(receiver))
            }
        }
    }

    fn share(_: &Receiver) -> Option<Receiver> {
        None
    }
}

impl Async for Tokio {
    async fn send(sender: &Sender, item: u64) {
        let _ = match sender {
            Sender::Bounded(sender) => sender.send(item).await,
            Sender::Unbounded(sender) => sender.send(item),
        };
    }

    async fn recv(receiver: &mut Receiver) -> Option<u64> {
        match receiver {
            Receiver::Bounded(receiver) => receiver.recv().await,
            Receiver::Unbounded(receiver) => receiver.recv().await,
        }
    }
}
