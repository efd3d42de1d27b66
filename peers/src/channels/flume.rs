//! flume, on threads and in async code.

use flume::{Receiver, Sender};

use crate::channels::{Async, Blocking, Ends};

#[derive(Debug)]
pub(crate) struct Flume;

impl Ends for Flume {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
        match capacity {
            Some(capacity) => flume::bounded(capacity),
            None => flume::unbounded(),
        }
    }

    fn share(receiver: &Receiver<u64>) -> Option<Receiver<u64>> {
        Some(receiver.clone())
    }
}

impl Blocking for Flume {
    fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send(item);
    }

    fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().ok()
    }
}

impl Async for Flume {
    async fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send_async(item).await;
    }

    async fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv_async().await.ok()
    }
}
