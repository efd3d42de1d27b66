//! A network between an agent and its server that can be cut: a relay of TCP connections on loopback.
//!
//! A cable that is pulled out is a relay that holds back every byte: nothing comes through, no connection ends, and when
//! it is plugged in again what was sent arrives, as TCP sees to. A router that forgets its connections is one that ends
//! them. Namespaces of the system's network would need a user with the right to make them.

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

#[derive(Default)]
struct Shared {
    is_cut: AtomicBool,
    is_over: AtomicBool,
    /// Bytes that came while it was cut.
    held: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
}

impl Relay {
    /// A relay to a port of this machine.
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        Self {
            port: listener.local_addr().unwrap().port(),
            accepting: Some(thread::spawn(move || accept(&listener, port, &accepting))),
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

fn accept(listener: &TcpListener, port: u16, shared: &Arc<Shared>) {
    let mut copying: Vec<JoinHandle<()>> = Vec::new();
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
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let shared = Arc::clone(shared);
            copying.push(thread::spawn(move || copy(from, to, &shared)));
        }
        shared.connections.lock().unwrap().extend([near, far]);
    }
    for one in copying {
        // As above.
        let _ = one.join();
    }
}

/// Passes bytes on until one of the two ends.
fn copy(mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut bytes = [0; 4 << 10];
    while !shared.is_over.load(Ordering::SeqCst) {
        let count = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if is_silence(&error) => continue,
            Err(_) => break,
        };
        if shared.is_cut.load(Ordering::SeqCst) {
            shared.held.fetch_add(count as u64, Ordering::SeqCst);
        }
        while shared.is_cut.load(Ordering::SeqCst) && !shared.is_over.load(Ordering::SeqCst) {
            rest(STEP);
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The other one may have ended first.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

const STEP: Duration = Duration::from_millis(20);
