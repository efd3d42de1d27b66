//! async-channel.

use ::async_channel::{Receiver, Sender};

use crate::channels::{Async, Ends};

#[derive(Debug)]
pub(crate) struct AsyncChannel;

impl Ends for AsyncChannel {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
        match capacity {
            Some(capacity) => ::async_channel::bounded(capacity),
            None => ::async_channel::unbounded(),
        }
    }

    fn share(receiver: &Receiver<u64>) -> Option<Receiver<u64>> {
        Some(receiver.clone())
    }
}

impl Async for AsyncChannel {
    async fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send(item).await;
    }

    async fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().await.ok()
    }
}
