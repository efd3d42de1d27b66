//! A network between an agent and its server that can be cut: a relay of TCP connections on loopback.
//!
//! A cable that is pulled out is a relay that holds back every byte: nothing comes through, no connection ends, and when
//! it is plugged in again what was sent arrives, as TCP sees to. A router that forgets its connections is one that ends
//! them. Cables of network namespaces, which need a user with the right to make them, are in `networks.rs`; a relay that
//! knows what it passes on is in `shuffler.rs`.

use crate::machines::rest;
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A relay; it ends with this value.
pub(crate) struct Relay {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// What all connections of a relay share.
#[derive(Default)]
pub(crate) struct Shared {
    is_cut: AtomicBool,
    is_over: AtomicBool,
    /// Bytes that came while it was cut.
    held: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
}

/// One direction of a connection.
pub(crate) struct Way {
    /// Reading from it ends after [`STEP`].
    pub(crate) from: TcpStream,
    pub(crate) to: TcpStream,
    /// Even towards the server, odd from it.
    pub(crate) number: u64,
    shared: Arc<Shared>,
}

impl Relay {
    /// A relay to a port of this machine.
    pub(crate) fn to(port: u16) -> Self {
        Self::carrying(port, copy)
    }

    /// One that passes things on in a way of its own, on a thread for each direction of a connection.
    pub(crate) fn carrying(port: u16, carry: impl Fn(&mut Way) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        let carry: Arc<Carry> = Arc::new(carry);
        Self {
            port: listener.local_addr().unwrap().port(),
            accepting: Some(thread::spawn(move || {
                accept(&listener, port, &accepting, &carry);
            })),
            shared,
        }
    }

    /// Nothing comes through any more.
    pub(crate) fn cut(&self) {
        self.shared.is_cut.store(true, Ordering::SeqCst);
    }

    /// Everything comes through, also what was held back.
    pub(crate) fn mend(&self) {
        self.shared.is_cut.store(false, Ordering::SeqCst);
    }

    /// Ends all connections.
    pub(crate) fn drop_connections(&self) {
        for connection in self.shared.connections.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Bytes that came while it was cut.
    pub(crate) fn held(&self) -> u64 {
        self.shared.held.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.drop_connections();
        if let Some(accepting) = self.accepting.take() {
            // Its panic would be one of the test's own.
            let _ = accepting.join();
        }
    }
}

type Carry = dyn Fn(&mut Way) + Send + Sync;

fn accept(listener: &TcpListener, port: u16, shared: &Arc<Shared>, carry: &Arc<Carry>) {
    let mut carrying: Vec<JoinHandle<()>> = Vec::new();
    while !shared.is_over.load(Ordering::SeqCst) {
        let is_cut = shared.is_cut.load(Ordering::SeqCst);
        let accepted = if is_cut { None } else { listener.accept().ok() };
        let Some((near, _)) = accepted else {
            rest(STEP);
            continue;
        };
        // Without a server behind it, the connection just ends.
        let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else {
            continue;
        };
        for (from, to) in [(&near, &far), (&far, &near)] {
            from.set_nonblocking(false).unwrap();
            from.set_read_timeout(Some(STEP)).unwrap();
            let mut way = Way {
                from: from.try_clone().unwrap(),
                to: to.try_clone().unwrap(),
                number: carrying.len() as u64,
                shared: Arc::clone(shared),
            };
            let carry = Arc::clone(carry);
            carrying.push(thread::spawn(move || {
                carry(&mut way);
                // The other end may have ended first.
                let _ = (
                    way.from.shutdown(Shutdown::Both),
                    way.to.shutdown(Shutdown::Both),
                );
            }));
        }
        shared.connections.lock().unwrap().extend([near, far]);
    }
    for one in carrying {
        // As above.
        let _ = one.join();
    }
}

impl Way {
    /// What comes next, or nothing if nothing has come for [`STEP`]; `None` when one of the two has ended.
    pub(crate) fn read<'bytes>(&mut self, bytes: &'bytes mut [u8]) -> Option<&'bytes [u8]> {
        if self.shared.is_over.load(Ordering::SeqCst) {
            return None;
        }
        match self.from.read(bytes) {
            Ok(0) => None,
            Ok(count) => Some(&bytes[..count]),
            Err(error) if is_silence(&error) => Some(&[]),
            Err(_) => None,
        }
    }
}

/// Passes bytes on until one of the two ends.
fn copy(way: &mut Way) {
    let mut bytes = [0; 4 << 10];
    while let Some(read) = way.read(&mut bytes) {
        if read.is_empty() {
            continue;
        }
        let shared = &way.shared;
        if shared.is_cut.load(Ordering::SeqCst) {
            shared.held.fetch_add(read.len() as u64, Ordering::SeqCst);
        }
        while shared.is_cut.load(Ordering::SeqCst) && !shared.is_over.load(Ordering::SeqCst) {
            rest(STEP);
        }
        if way.to.write_all(read).is_err() {
            break;
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

const STEP: Duration = Duration::from_millis(20);
