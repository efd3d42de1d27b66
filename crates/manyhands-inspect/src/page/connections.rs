//! The places for connections to the page. Where all are taken, the oldest connection over which nobody has shown the token gives way.
//!
//! All programs and users of this machine can connect. Who is no browser of this user's could keep all places: by asking nothing,
//! by asking one letter at a time, or by not reading the answers.

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::sleep;

/// Whether a request with the token has come over a connection.
#[derive(Clone, Default)]
pub(super) struct Trust(Arc<AtomicBool>);

impl Trust {
    /// From now on the connection gives way to no other.
    pub(super) fn gain(&self) {
        // Relaxed: nothing else is read with it.
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_gained(&self) -> bool {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}

/// Answers on as many connections as there are places.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    // The oldest first.
    let mut places: VecDeque<(JoinHandle<()>, Trust)> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, perhaps, and no reason to spin.
            sleep(AFTER_FAILURE).await;
            continue;
        };
        places.retain(|(answering, _)| !answering.is_finished());
        if places.len() >= CONNECTIONS_MAX {
            let strange = places.iter().position(|(_, trust)| !trust.is_gained());
            let Some((answering, _)) = strange.and_then(|at| places.remove(at)) else {
                continue;
            };
            answering.abort();
        }
        let trust = Trust::default();
        let router = router.clone().layer(Extension(trust.clone()));
        places.push_back((tokio::spawn(answer(stream, router)), trust));
        // What it asks is read before it could give way to those that follow.
        yield_now().await;
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

/// More than eight pages have, of which each may ask for several things at once.
pub(super) const CONNECTIONS_MAX: usize = 128;
#[cfg(target_os = "linux")]
const UNREAD_MS_MAX: u32 = if cfg!(test) { 1_000 } else { 30_000 };
const AFTER_FAILURE: Duration = Duration::from_millis(200);
