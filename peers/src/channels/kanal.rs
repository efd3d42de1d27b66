//! kanal, whose blocking and async ends have types of their own.

use kanal::{AsyncReceiver, AsyncSender, Receiver, Sender};

use crate::channels::{Async, Blocking, Ends};

#[derive(Debug)]
pub(crate) struct Kanal;

impl Ends for Kanal {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
        match capacity {
            Some(capacity) => kanal::bounded(capacity),
            None => kanal::unbounded(),
        }
    }

    fn share(receiver: &Receiver<u64>) -> Option<Receiver<u64>> {
        Some(receiver.clone())
    }
}

impl Blocking for Kanal {
    fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send(item);
    }

    fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().ok()
    }
}

#[derive(Debug)]
pub(crate) struct KanalAsync;

impl Ends for KanalAsync {
    type Sender = AsyncSender<u64>;
    type Receiver = AsyncReceiver<u64>;

    fn channel(capacity: Option<usize>) -> (AsyncSender<u64>, AsyncReceiver<u64>) {
        match capacity {
            Some(capacity) => kanal::bounded_async(capacity),
            None => kanal::unbounded_async(),
        }
    }

    fn share(receiver: &AsyncReceiver<u64>) -> Option<AsyncReceiver<u64>> {
        Some(receiver.clone())
    }
}

impl Async for KanalAsync {
    async fn send(sender: &AsyncSender<u64>, item: u64) {
        let _ = sender.send(item).await;
    }

    async fn recv(receiver: &mut AsyncReceiver<u64>) -> Option<u64> {
        receiver.recv().await.ok()
    }
}
