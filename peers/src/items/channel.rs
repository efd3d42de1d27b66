//! An unbounded crossbeam channel of boxed closures and `CONSUMERS` threads that run them.
//!
//! With two consumers the caller is a third thread while it spawns; with one, two threads in all.
//! A boxed closure without captures takes no memory, so a queued item is two words.

use std::thread;

use crossbeam_channel::Sender;

use crate::items::Items;
use crate::tally;

type Closure = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(crate) struct Channel<const CONSUMERS: usize>(Sender<Closure>);

impl<const CONSUMERS: usize> Items for Channel<CONSUMERS> {
    fn new() -> Result<Self, String> {
        let (sender, receiver) = crossbeam_channel::unbounded::<Closure>();
        for _ in 0..CONSUMERS {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.iter().for_each(|closure| closure()));
        }
        Ok(Self(sender))
    }

    fn outside(&mut self, count: usize) {
        send(&self.0, count);
    }

    fn inside(&mut self, count: usize) {
        let sender = self.0.clone();
        let _ = self.0.send(Box::new(move || send(&sender, count)));
    }
}

fn send(sender: &Sender<Closure>, count: usize) {
    for _ in 0..count {
        // The consumers live as long as the process.
        let _ = sender.send(Box::new(tally::count));
    }
    tally::all_handed_over();
}
