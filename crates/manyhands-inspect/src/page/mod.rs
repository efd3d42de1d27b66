//! A page in the browser that shows a program while it runs. Only with the feature `page`.
//!
//! The server listens on the loopback address only. A request for anything about the program needs the token, which
//! is in the address that is printed, behind the `#`, and so in no request: the page's script sends it in a header.
//! The program is asked only while somebody looks.
//!
//! Not here: which requests are refused (`guard.rs`), how long connections may stay (`manyhands-page`), and what the page looks like (`assets/`).

mod assets;
mod guard;
mod hold;
mod looks;
mod methods;
mod one_at_a_time;
mod poll;
mod threads;

use crate::error::Error;
use crate::looker::{Looked, Looker};
use crate::page::assets::{ASSETS, Asset};
use crate::page::guard::{CHANGES, Guard};
use crate::page::hold::Hold;
use crate::page::looks::Looks;
use crate::page::one_at_a_time::OneAtATime;
use crate::page::threads::{EVERY, Threads, asking};
use crate::record::record_timeline;
use crate::view::View;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How a page is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSettings {
    /// The port on the loopback address; 0 for any that is free.
    pub port: u16,
    /// How often the program is asked while somebody looks.
    pub every: Duration,
    /// At most this number of tasks and of channels.
    pub tasks_max: usize,
    /// Whether a user may hold all pages, for which the program is only not asked any more; and may have single tasks
    /// polled, if the program allows it.
    pub control: bool,
}

/// Serves the page of the program that listens at `socket`, until an error ends it. `announce` gets the address to open,
/// with the token, and what the program does when it is looked at first.
///
/// # Errors
/// When nobody listens at the socket, or the port is taken.
pub fn serve_page(
    socket: PathBuf,
    settings: &PageSettings,
    announce: impl FnOnce(&str, &View),
) -> Result<(), Error> {
    // The first look before anything is announced: the path may be wrong.
    let mut looker = Looker::connect(socket.clone(), settings.tasks_max, settings.every)?;
    let first = looker.look()?;
    let process = looker.process();
    let port = settings.port;
    let not_served = move |cause| Error::Page { port, cause };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(not_served)?.block_on(async {
        let hold = Hold::new(settings.control);
        let timeline = {
            let (socket, tasks_max) = (socket.clone(), settings.tasks_max);
            move |()| record_timeline(socket.clone(), tasks_max, TIMELINE, TIMELINE_EVERY)
        };
        let polled = {
            let socket = socket.clone();
            move |task: String| poll::poll(&socket, &task)
        };
        let on_request = OnRequest {
            threads: Threads::begin(EVERY, hold.clone(), move || asking(socket)),
            timelines: OneAtATime::new(hold.clone(), timeline),
            polls: OneAtATime::new(hold.clone(), polled),
        };
        let look = move |show: &mut dyn FnMut(Looked)| looker.look_sparingly(show);
        let server = Server::bind(settings, process, hold, look, on_request).await;
        let server = server.map_err(not_served)?;
        announce(&server.address(), &first);
        server.run().await;
        Ok(())
    })
}

/// A page that can be asked for.
struct Server {
    listener: TcpListener,
    guard: Arc<Guard>,
    looks: Arc<Looks>,
    on_request: OnRequest,
}

/// What is not looked at again and again.
struct OnRequest {
    threads: Threads,
    timelines: OneAtATime<()>,
    polls: OneAtATime<String>,
}

impl Server {
    async fn bind(
        settings: &PageSettings,
        process: u32,
        hold: Hold,
        look: impl FnMut(&mut dyn FnMut(Looked)) -> Result<(), Error> + Send + 'static,
        on_request: OnRequest,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            guard: Arc::new(Guard::new(port, hold.clone())?),
            looks: Looks::begin(settings.every, process, hold, look),
            on_request,
        })
    }

    /// What to open in a browser.
    fn address(&self) -> String {
        self.guard.address()
    }

    async fn run(self) {
        let guarded = axum::middleware::from_fn_with_state(Arc::clone(&self.guard), guard::check);
        let mut router = Router::new();
        for Asset { path, kind, text } in ASSETS {
            router = router.route(path, get(async move || ([(CONTENT_TYPE, kind)], text)));
        }
        let [hold_path, release_path, poll_path] = CHANGES;
        let router = router
            .route(hold_path, post(hold))
            .route(release_path, post(release))
            .route("/view", get(view))
            .route("/events", get(events))
            .route("/methods", get(methods))
            .with_state(self.looks)
            .merge(
                Router::new()
                    .route("/threads", get(threads_now))
                    .with_state(self.on_request.threads),
            )
            .merge(
                Router::new()
                    .route("/timeline", get(timeline))
                    .with_state(self.on_request.timelines),
            )
            .merge(
                Router::new()
                    .route(poll_path, post(poll_task))
                    .with_state(self.on_request.polls),
            )
            .layer(guarded);
        manyhands_page::serve(self.listener, router).await;
    }
}

const JSON: [(HeaderName, &str); 2] = [
    (CONTENT_TYPE, "application/json"),
    (CACHE_CONTROL, "no-store"),
];

/// What its threads run now, as JSON.
async fn threads_now(State(threads): State<Threads>) -> Response {
    match threads.look().await {
        Some(shown) => (JSON, shown.to_string()).into_response(),
        None => too_many(),
    }
}

/// What the program does in the next seconds, as a trace for Perfetto.
async fn timeline(State(timelines): State<OneAtATime<()>>) -> Response {
    match timelines.ask(()).await {
        Ok(trace) => (JSON, trace).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Where a task waits that is polled once more for that, as text.
async fn poll_task(State(polls): State<OneAtATime<String>>, RawQuery(query): RawQuery) -> Response {
    let Some(task) = query.as_deref().and_then(poll::task_of) else {
        return (StatusCode::BAD_REQUEST, "no task of this number").into_response();
    };
    match polls.ask(task).await {
        Ok(text) => text.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// What the program does now, as JSON.
async fn view(State(looks): State<Arc<Looks>>) -> Response {
    match looks.subscribe() {
        Some(mut seen) => (JSON, seen.next().await.to_string()).into_response(),
        None => too_many(),
    }
}

/// The same, again and again.
async fn events(State(looks): State<Arc<Looks>>) -> Response {
    let Some(seen) = looks.subscribe() else {
        return too_many();
    };
    let next = |mut seen: looks::Seen| async move {
        let event = Event::default().data(&*seen.next().await);
        Some((Ok::<_, Infallible>(event), seen))
    };
    Sse::new(futures_util::stream::unfold(seen, next))
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// The functions that the tasks of the last look are in, as JSON.
async fn methods(State(looks): State<Arc<Looks>>) -> impl IntoResponse {
    (JSON, looks.methods().to_string())
}

/// All pages hold still, and the program is not asked.
async fn hold(State(looks): State<Arc<Looks>>) -> StatusCode {
    looks.hold();
    StatusCode::NO_CONTENT
}

/// All pages go on.
async fn release(State(looks): State<Arc<Looks>>) -> StatusCode {
    looks.release();
    StatusCode::NO_CONTENT
}

fn too_many() -> Response {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "too many pages look already",
    )
        .into_response()
}

/// How long a timeline is, and how much lies between two of its looks.
const TIMELINE: Duration = Duration::from_secs(5);
const TIMELINE_EVERY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
