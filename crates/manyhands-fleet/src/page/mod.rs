//! The page: what plans and agents do, live, and what they have brought, for a browser.
//!
//! It reads the server's folder and changes nothing, so it can be started and ended at any time, beside the server or
//! without it. Who may see it is decided in `access.rs`, who may keep a connection in `manyhands-page`, and how many pages
//! may be live in `live.rs`.
//!
//! # Threads
//! tokio's thread answers requests; what reads the database or draws runs on its threads for blocking work.

mod access;
mod live;
mod view;

use crate::{FleetError, price::Prices, time::pause};
use access::{Access, Admission};
use axum::{
    Extension, Router,
    extract::{Path as Parts, Query, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{
        Html, IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use futures_util::stream;
use live::{Live, Looker};
use manyhands_lab::{console::Companion, run::Interrupt};
use manyhands_page::Trust;
use serde::Deserialize;
use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{task::spawn_blocking, time::sleep};

/// A page that has its port and is not served yet.
///
/// # Examples
/// ```
/// use manyhands_fleet::{page::{Page, Setup}, server::Database};
/// use manyhands_lab::{console, run::Interrupt};
/// use std::{io::{Read, Write}, net::TcpStream, thread};
///
/// let folder = tempfile::tempdir()?;
/// let database = folder.path().join("fleet.sqlite");
/// Database::open(&database)?;
/// let setup = Setup { database, names: Vec::new(), token: None, prices: None, companion: console::alone };
/// let page = Page::bind("127.0.0.1:0".parse()?, setup)?;
/// let (address, stop) = (page.address(), Interrupt::default());
/// let answer = thread::scope(|scope| {
///     let serving = scope.spawn(|| page.run(&stop));
///     let mut connection = TcpStream::connect(address)?;
///     write!(connection, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
///     let mut answer = String::new();
///     connection.read_to_string(&mut answer)?;
///     stop.set();
///     serving.join().unwrap()?;
///     Ok::<_, Box<dyn std::error::Error>>(answer)
/// })?;
/// assert!(answer.contains("No plan yet"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Page {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
}

/// What a page shows, and to whom.
///
/// Example: see [`Page`].
#[derive(Debug, Clone)]
pub struct Setup {
    /// The server's database.
    pub database: PathBuf,
    /// Names, beside its address, by which the page is asked for.
    pub names: Vec<String>,
    /// What a request must bring; needed beyond this machine.
    pub token: Option<String>,
    /// With them there are charts of dollars.
    pub prices: Option<Prices>,
    /// What stands beside the findings of a report.
    pub companion: Companion,
}

#[derive(Clone)]
struct Shared {
    database: PathBuf,
    prices: Option<Arc<Prices>>,
    companion: Companion,
    access: Access,
    live: Arc<Live>,
    stop: Interrupt,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Shared");
        shown
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// Takes the port.
    ///
    /// # Errors
    /// [`FleetError::Arguments`] if the page would be open to other machines, [`FleetError::Page`] if the port cannot be
    /// had.
    pub fn bind(address: SocketAddr, setup: Setup) -> Result<Self, FleetError> {
        let failed = |error| FleetError::Page { address, error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // With port 0 the system has chosen one.
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            shared: Shared {
                access: Access::new(address, &setup.names, setup.token.as_deref())?,
                database: setup.database,
                prices: setup.prices.map(Arc::new),
                companion: setup.companion,
                live: Arc::new(Live::new()),
                stop: Interrupt::default(),
            },
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until it is asked to end.
    ///
    /// # Errors
    /// [`FleetError::Page`] if the system refuses what that needs.
    pub fn run(self, stop: &Interrupt) -> Result<(), FleetError> {
        let address = self.address;
        let failed = |error| FleetError::Page { address, error };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fleet page")
            .enable_all()
            .build()
            .map_err(failed)?;
        let shared = Shared {
            stop: stop.clone(),
            ..self.shared
        };
        let serving = async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            manyhands_page::serve(listener, router(shared)).await;
            Ok(())
        };
        let serving = runtime.spawn(serving);
        while !stop.is_set() && !serving.is_finished() {
            pause(LOOK_AGAIN, stop);
        }
        if !serving.is_finished() {
            // Answers that are under way end with it; nothing is changed by them.
            runtime.shutdown_timeout(ENDING);
            return Ok(());
        }
        match runtime.block_on(serving) {
            Ok(ended) => ended.map_err(failed),
            Err(error) => Err(failed(io::Error::other(error))),
        }
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/events", get(events))
        .route("/live.js", get(script))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route("/plan/{plan}", get(plan))
        .route("/plan/{plan}/events", get(plan_events))
        .route("/plan/{plan}/{file}", get(file))
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// A token in the address, by which a browser gets in the first time.
#[derive(Deserialize)]
struct Asked {
    token: Option<String>,
}

/// Lets in who may see the page, and says what a browser may do with it.
async fn guard(
    State(shared): State<Shared>,
    Query(asked): Query<Asked>,
    Extension(trust): Extension<Trust>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let host = text(headers, header::HOST);
    let token = asked.token.as_deref().or_else(|| token(headers));
    let admission = shared.access.admit(host, token);
    if admission == Admission::Granted {
        trust.gain();
    }
    let mut response = match admission {
        Admission::OtherHost => (
            StatusCode::MISDIRECTED_REQUEST,
            "This page has another name.\n",
        )
            .into_response(),
        Admission::NoToken => {
            (StatusCode::UNAUTHORIZED, "This page needs its token.\n").into_response()
        }
        // The address with the token is not kept, nor shown.
        Admission::Open | Admission::Granted => match &asked.token {
            Some(token) => entered(request.uri(), token),
            None => next.run(request).await,
        },
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = text(headers, header::AUTHORIZATION).and_then(|text| text.strip_prefix("Bearer "));
    bearer.or_else(|| {
        let mut cookies = text(headers, header::COOKIE)?.split(';');
        cookies.find_map(|cookie| cookie.trim().strip_prefix(COOKIE))
    })
}

/// Gives the browser the token for later requests.
fn entered(uri: &Uri, token: &str) -> Response {
    let cookie = format!("{COOKIE}{token}; HttpOnly; SameSite=Strict; Path=/");
    let path = uri.path().to_owned();
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response();
    // A token that was admitted is made of letters and digits, or no header is made of it.
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

async fn index(State(shared): State<Shared>) -> Response {
    shown(move || view::index(&shared.database, shared.prices.as_deref())).await
}

async fn plan(State(shared): State<Shared>, Parts(plan): Parts<String>) -> Response {
    shown(move || view::plan(&shared.database, &plan, shared.prices.as_deref())).await
}

async fn script() -> Response {
    let script = include_str!("../../templates/live.js");
    ([(header::CONTENT_TYPE, "text/javascript")], script).into_response()
}

/// A download of a plan, or the report of one of its agents.
async fn file(
    State(shared): State<Shared>,
    Parts((plan, name)): Parts<(String, String)>,
) -> Response {
    let kind = match name.rsplit_once('.').map(|(_, kind)| kind) {
        Some("csv") => "text/csv; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "text/html; charset=utf-8",
    };
    let found = spawn_blocking(move || {
        let prices = shared.prices.as_deref();
        view::file(&shared.database, (&plan, &name), prices, shared.companion)
    });
    match found.await {
        Ok(Ok(Some(bytes))) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Ok(Ok(None)) => (StatusCode::NOT_FOUND, "There is no such file.\n").into_response(),
        Ok(Err(error)) => failed(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The live part of the first page.
async fn events(State(shared): State<Shared>) -> Response {
    changes(shared, None)
}

/// The live part of the page of a plan.
async fn plan_events(State(shared): State<Shared>, Parts(plan): Parts<String>) -> Response {
    changes(shared, Some(plan))
}

/// A part of a page, each time that it has changed.
fn changes(shared: Shared, plan: Option<String>) -> Response {
    let Some(looker) = shared.live.look_at(plan) else {
        // Its connection is a place for others.
        let again = [(header::RETRY_AFTER, "10"), (header::CONNECTION, "close")];
        let text = "Too many pages are live already.\n";
        return (StatusCode::SERVICE_UNAVAILABLE, again, text).into_response();
    };
    let next = |(shared, looker, before): (Shared, Looker, Option<Arc<str>>)| async move {
        while !shared.stop.is_set() {
            let now = looker.now(&shared).await;
            if let Some(now) = now
                && before.as_ref() != Some(&now)
            {
                let event = Event::default().data(&*now);
                return Some((Ok::<_, Infallible>(event), (shared, looker, Some(now))));
            }
            sleep(live::EVERY).await;
        }
        None
    };
    Sse::new(stream::unfold((shared, looker, None), next))
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// A page that is made by a thread for blocking work.
async fn shown(make: impl FnOnce() -> Result<String, FleetError> + Send + 'static) -> Response {
    match spawn_blocking(make).await {
        Ok(Ok(page)) => Html(page).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn failed(error: &FleetError) -> Response {
    let status = match error {
        FleetError::UnknownPlan { .. } => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, format!("{error}\n")).into_response()
}

const COOKIE: &str = "manyhands-fleet=";
/// The page loads nothing from elsewhere, stands in no other page, and is not kept.
const HEADERS: [(header::HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; style-src 'unsafe-inline'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const ENDING: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
