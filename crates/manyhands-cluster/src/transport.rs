//! Engines in crates of their own: they carry frames between a driver and workers that something else has started.
//!
//! A frame is bytes that mean something to this crate only. One may be lost, come twice or late: the driver knows
//! which chunks are missing and hands them out again. What comes in is judged before it is believed.
//!
//! The driver's side is a [`Transport`], which [`Cluster::over`](crate::Cluster::over) makes a cluster of; a worker's is
//! [`work`].
//!
//! # Examples
//! A worker in a thread of the same process:
//! ```
//! use manyhands_cluster::{Cluster, remote, transport::{self, Transport}};
//! use std::{sync::mpsc::{self, Sender}, thread};
//!
//! struct ToThread(Option<Sender<Vec<u8>>>);
//!
//! impl Transport for ToThread {
//!     fn send(&mut self, _: u64, frame: Vec<u8>) {
//!         if let Some(sender) = &self.0 {
//!             let _ = sender.send(frame);
//!         }
//!     }
//!
//!     fn end(&mut self) {
//!         self.0 = None;
//!     }
//! }
//!
//! let cluster = Cluster::over(|driver| {
//!     let (sender, frames) = mpsc::channel();
//!     thread::spawn(move || transport::work(frames, move |frame| driver.heard(0, &frame)));
//!     Ok(ToThread(Some(sender)))
//! })?;
//! let squares = cluster.map(0..4, remote!([] |i| -> u64 { i * i }))?;
//! assert_eq!(squares, [0, 1, 4, 9]);
//! # Ok::<(), manyhands_cluster::ClusterError>(())
//! ```

use crate::{
    ClusterError,
    driver::WorkerId,
    engine::{Carrier, hub},
    function,
    wire::{self, FromWorker, ToWorker},
    worker::serve::{End, Input, Link, Serving, hear_one},
};
use std::{
    fmt,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

/// What takes a driver's frames to its workers.
///
/// Example: see [the module](self).
pub trait Transport: Send + 'static {
    /// Sends a frame to the worker of this number. It must not wait for that worker, because others would wait with it.
    fn send(&mut self, worker: u64, frame: Vec<u8>);

    /// There will be no more frames: the cluster has no user any more, and its workers shall end.
    fn end(&mut self);
}

/// Where a [`Transport`] brings what workers say.
///
/// Example: see [the module](self).
pub struct ToDriver(Sender<hub::Input>);

impl ToDriver {
    pub(crate) fn new(to_hub: Sender<hub::Input>) -> Self {
        Self(to_hub)
    }

    /// A worker says this. The number is what the driver calls it by, and no other worker ever has it. What is no frame of
    /// a worker's is dropped.
    ///
    /// Example: see [the module](self).
    pub fn heard(&self, worker: u64, frame: &[u8]) {
        if let Ok(message) = wire::decode_message::<FromWorker>(frame) {
            // Without a hub nobody waits for this.
            let _ = self.0.send(hub::Input::Heard(WorkerId(worker), message));
        }
    }
}

impl fmt::Debug for ToDriver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToDriver").finish_non_exhaustive()
    }
}

/// A transport as the hub wants it.
pub(crate) struct Carried<T>(pub(crate) T);

impl<T: Transport> Carrier for Carried<T> {
    fn send(&mut self, worker: WorkerId, messages: Vec<ToWorker>) {
        // Captured values were measured before.
        if let Ok(frame) = wire::encode(&messages) {
            self.0.send(worker.0, frame);
        }
    }

    /// Nobody sees the end of a worker here but by its silence.
    fn left(&mut self, _: WorkerId, _: bool) {}

    fn end(&mut self) {
        self.0.end();
    }
}

/// Works for a driver, until the sender of `frames`, which are the driver's, is dropped. `say` takes frames to it. Chunks
/// run on the default runtime.
///
/// It blocks, and a body that runs when it returns goes on.
///
/// # Errors
/// [`ClusterError::DuplicateFunction`] if the program's functions cannot be told apart; [`ClusterError::Start`] if the system
/// refuses a thread, or does not let the program read its own file.
///
/// Example: see [the module](self).
pub fn work(frames: Receiver<Vec<u8>>, say: impl FnMut(Vec<u8>)) -> Result<(), ClusterError> {
    function::check()?;
    let end = begin(frames, say).unwrap_or_else(|end| end);
    match end {
        End::DriverGone => Ok(()),
        End::Failed(reason) => Err(ClusterError::Start { reason }),
    }
}

fn begin(frames: Receiver<Vec<u8>>, say: impl FnMut(Vec<u8>)) -> Result<End, End> {
    let (to, from) = mpsc::channel();
    let serving = Serving::new(Saying(say), to.clone(), None)?;
    let reader = thread::Builder::new().name("cluster reads".to_owned());
    reader.spawn(move || read(&frames, &to))?;
    Ok(serving.serve(&from))
}

fn read(frames: &Receiver<Vec<u8>>, to_main: &Sender<Input>) {
    // What is no message of ours is as good as lost.
    let said = frames
        .iter()
        .filter_map(|frame| wire::decode_message(&frame).ok());
    hear_one(said, to_main);
    // If the main thread has ended, it needs no word of this.
    let _ = to_main.send(Input::Ended);
}

struct Saying<S>(S);

impl<S: FnMut(Vec<u8>)> Link for Saying<S> {
    const SILENCE_MAX: Option<Duration> = None;

    fn say(&mut self, _: &str, message: &FromWorker) -> Result<(), End> {
        let frame = wire::encode(message).map_err(End::Failed)?;
        (self.0)(frame);
        Ok(())
    }

    fn refused(&mut self, _: String) -> Result<(), End> {
        // It stays, without work, until its driver ends: the driver counts those that it refuses.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Broadcast, Cluster, remote};
    use serde::{Deserialize, Deserializer, Serialize};
    use std::{
        sync::{Condvar, Mutex},
        thread,
    };

    struct ToThread(Option<Sender<Vec<u8>>>);

    impl Transport for ToThread {
        fn send(&mut self, _: u64, frame: Vec<u8>) {
            if let Some(sender) = &self.0 {
                drop(sender.send(frame));
            }
        }

        fn end(&mut self) {
            self.0 = None;
        }
    }

    /// Which threads have read values, and dropped what they have read.
    static NOTED: (Mutex<Vec<(&str, String)>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());

    fn note(what: &'static str) {
        let thread = thread::current().name().unwrap_or("another").to_owned();
        NOTED.0.lock().unwrap().push((what, thread));
        NOTED.1.notify_all();
    }

    #[derive(Serialize)]
    struct Slow {
        #[serde(skip)]
        is_read: bool,
    }

    impl<'de> Deserialize<'de> for Slow {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            note("read");
            <()>::deserialize(deserializer).map(|()| Self { is_read: true })
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            if self.is_read {
                note("dropped");
            }
        }
    }

    #[test]
    fn a_workers_main_thread_neither_reads_nor_drops_what_a_call_has_captured() {
        let cluster = Cluster::over(|driver| {
            let (sender, frames) = mpsc::channel();
            thread::spawn(move || work(frames, move |frame| driver.heard(0, &frame)));
            Ok(ToThread(Some(sender)))
        });
        let cluster = cluster.unwrap();
        let table = Broadcast::new(Slow { is_read: false });
        let value = Slow { is_read: false };
        let both = remote!([value: Slow, &table: Broadcast<Slow>] || -> bool { value.is_read && table.is_read });
        assert_eq!(cluster.call(both), Ok(true));
        drop(table);
        assert_eq!(cluster.call(remote!([] || -> u8 { 7 })), Ok(7));
        let limit = Duration::from_secs(60);
        let noted = NOTED.0.lock().unwrap();
        let waited = NOTED
            .1
            .wait_timeout_while(noted, limit, |noted| noted.len() < 4);
        let mut noted = waited.unwrap().0;
        noted.sort();
        let by_runner = |what| (what, "cluster runs".to_owned());
        let all = ["dropped", "dropped", "read", "read"].map(by_runner);
        assert_eq!(*noted, all);
    }
}
