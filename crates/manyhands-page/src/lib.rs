//! The connections to a page. Where all places are taken, the oldest connection over which nobody has shown the page's token gives way.
//!
//! All who reach the page can connect, and on loopback those are all programs and users of the machine. Who is no browser of
//! those whom the page is for could keep all places: by asking nothing, by asking one letter at a time, or by not reading the
//! answers.
#![forbid(unsafe_code)]

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, yield_now},
    time::sleep,
};

/// Whether a request with the page's token has come over a connection. Each request has that of its connection among its
/// extensions.
///
/// Example: see [`serve`].
#[derive(Debug, Clone, Default)]
pub struct Trust(Arc<AtomicBool>);

impl Trust {
    /// From now on the connection gives way to no other.
    pub fn gain(&self) {
        // Relaxed: nothing else is read with it.
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_gained(&self) -> bool {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that is there, or has just ended.
struct Place {
    machine: IpAddr,
    trust: Trust,
    answering: JoinHandle<()>,
}

/// Answers on as many connections as there are places, for as long as it is polled.
///
/// # Examples
/// ```
/// use axum::{Extension, Router, routing::get};
/// use manyhands_page::{Trust, serve};
///
/// async fn index(Extension(trust): Extension<Trust>) -> &'static str {
///     // After the token was found to be right.
///     trust.gain();
///     "everything"
/// }
///
/// # async fn page() -> std::io::Result<()> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// serve(listener, Router::new().route("/", get(index))).await;
/// # Ok(())
/// # }
/// ```
pub async fn serve(listener: TcpListener, router: Router) {
    // The oldest first.
    let mut places = Vec::new();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Too many open files, perhaps, and no reason to spin.
            sleep(AFTER_FAILURE).await;
            continue;
        };
        let machine = machine_of(peer.ip());
        if !make_room(&mut places, machine) {
            continue;
        }
        let trust = Trust::default();
        let router = router.clone().layer(Extension(trust.clone()));
        places.push(Place {
            machine,
            trust,
            answering: tokio::spawn(answer(stream, router)),
        });
        // What it asks is read before it could give way to those that follow.
        yield_now().await;
    }
}

/// Whether there is a place for a connection from this machine, perhaps because another one has given way.
fn make_room(places: &mut Vec<Place>, machine: IpAddr) -> bool {
    places.retain(|place| !place.answering.is_finished());
    let is_of_it = |place: &&Place| place.machine == machine;
    // What comes from this machine can come through a tunnel or a proxy, for many people.
    let is_crowd =
        !machine.is_loopback() && places.iter().filter(is_of_it).count() >= OF_MACHINE_MAX;
    if !is_crowd && places.len() < CONNECTIONS_MAX {
        return true;
    }
    let gives_way = |place: &Place| !place.trust.is_gained() && (!is_crowd || is_of_it(&place));
    let Some(place) = places.iter().position(gives_way) else {
        return false;
    };
    places.remove(place).answering.abort();
    true
}

/// What counts as one machine: an address of version 4, however it is written, or a network of 64 bits of version 6, in which
/// a machine chooses its addresses.
fn machine_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = u128::MAX << 64;
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & network))
        }
        address => address,
    }
}

async fn answer(stream: TcpStream, router: Router) {
    end_if_unread(&stream);
    let service = TowerToHyperService::new(router);
    let mut builder = http1::Builder::new();
    let serving = builder
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    // Those of a browser end in many ways, and it asks again.
    let _ = serving.await;
}

/// Has the system end a connection whose peer takes none of an answer; only Linux does.
fn end_if_unread(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    // Without it the connection stays as long as it would elsewhere.
    let _ = nix::sys::socket::setsockopt(
        stream,
        nix::sys::socket::sockopt::TcpUserTimeout,
        &UNREAD_MS_MAX,
    );
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// How many connections a page has at the same time.
pub const CONNECTIONS_MAX: usize = 128;
const OF_MACHINE_MAX: usize = CONNECTIONS_MAX / 4;
#[cfg(target_os = "linux")]
const UNREAD_MS_MAX: u32 = if cfg!(test) { 1_000 } else { 30_000 };
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Its words are checked as documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
