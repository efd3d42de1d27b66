//! manyhands, on threads and in async code.

use manyhands::channel::{self, Receiver, Sender};

use crate::channels::{Async, Blocking, Ends};

#[derive(Debug)]
pub(crate) struct Manyhands;

impl Ends for Manyhands {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
        match capacity {
            Some(capacity) => channel::bounded(capacity),
            None => channel::unbounded(),
        }
    }

    fn share(receiver: &Receiver<u64>) -> Option<Receiver<u64>> {
        Some(receiver.clone())
    }
}

impl Blocking for Manyhands {
    fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send_blocking(item);
    }

    fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv_blocking().ok()
    }
}

impl Async for Manyhands {
    async fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send(item).await;
    }

    async fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().await.ok()
    }
}
