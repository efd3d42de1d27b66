//! crossbeam-channel, on threads.

use crossbeam_channel::{Receiver, Sender};

use crate::channels::{Blocking, Ends};

#[derive(Debug)]
pub(crate) struct Crossbeam;

impl Ends for Crossbeam {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn channel(capacity: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
        match capacity {
            Some(capacity) => crossbeam_channel::bounded(capacity),
            None => crossbeam_channel::unbounded(),
        }
    }

    fn share(receiver: &Receiver<u64>) -> Option<Receiver<u64>> {
        Some(receiver.clone())
    }
}

impl Blocking for Crossbeam {
    fn send(sender: &Sender<u64>, item: u64) {
        let _ = sender.send(item);
    }

    fn recv(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().ok()
    }
}
