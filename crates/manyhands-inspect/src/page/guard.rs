//! Which requests are answered.
//!
//! Only those of this machine reach the server at all. Other pages in the same browser do too: so the name in `Host` must
//! be ours, which a name that was bound to this address later is not, `Origin` must be ours if it is there, and what
//! is about the program needs the token in a header, which no other page can send without being asked first. What changes
//! something is a `POST`; it needs permission when the page is begun, and an `Origin`, which browsers always send with it.

use crate::page::assets::ASSETS;
use crate::page::hold::Hold;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use manyhands_page::Trust;
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// What a request must have.
pub(super) struct Guard {
    port: u16,
    hosts: [String; 2],
    token: String,
    hold: Hold,
}

impl Guard {
    /// With a new token.
    pub(super) fn new(port: u16, hold: Hold) -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let mut token = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self {
            port,
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token,
            hold,
        })
    }

    /// What to open in a browser. What follows the `#` stays there.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }

    /// Why a request is not answered.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        let names_another = request.uri().host().is_some();
        if names_another || !self.is_for_us(headers) {
            return Some((
                StatusCode::FORBIDDEN,
                "this page is served under its own address only",
            ));
        }
        let is_change = CHANGES.contains(&request.uri().path());
        let may_have = match *request.method() {
            Method::GET | Method::HEAD => !is_change,
            Method::POST => is_change,
            _ => false,
        };
        if !may_have {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "not with this method"));
        }
        let has_body = headers.contains_key(TRANSFER_ENCODING)
            || headers
                .get(CONTENT_LENGTH)
                .is_some_and(|length| length != "0");
        if has_body {
            return Some((StatusCode::PAYLOAD_TOO_LARGE, "a request has no body"));
        }
        let target = request.uri().path_and_query();
        if target.is_some_and(|target| target.as_str().len() > TARGET_BYTES_MAX) {
            return Some((StatusCode::URI_TOO_LONG, "the address is too long"));
        }
        let size: usize = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if size > HEADER_BYTES_MAX {
            return Some((
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "the header is too long",
            ));
        }
        let is_asset = ASSETS
            .iter()
            .any(|asset| asset.path == request.uri().path());
        if !is_asset && !self.has_token(headers) {
            return Some((StatusCode::UNAUTHORIZED, "the token is missing or wrong"));
        }
        if is_change && !headers.contains_key(ORIGIN) {
            return Some((
                StatusCode::FORBIDDEN,
                "what changes something comes from this page only",
            ));
        }
        if is_change && !self.hold.is_allowed() {
            return Some((
                StatusCode::FORBIDDEN,
                "this page can only be read: it was begun without --control",
            ));
        }
        None
    }

    /// Whether a request was made for this address, and not by the page of another one.
    fn is_for_us(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        if !self.hosts.iter().any(|ours| host == ours.as_str()) {
            return false;
        }
        let is_ours = |origin: &HeaderValue| {
            let origin = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://"));
            origin.is_some_and(|origin| origin.as_bytes() == host.as_bytes())
        };
        let same_site = |site: &HeaderValue| site == "same-origin" || site == "none";
        headers.get_all(ORIGIN).iter().all(is_ours)
            && headers.get_all(FETCH_SITE).iter().all(same_site)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION);
        let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.is_some_and(|given| self.token.as_bytes().ct_eq(given).into())
    }
}

/// Refuses a request, or passes it on. All answers say what a browser may do with them.
pub(super) async fn check(
    State(guard): State<Arc<Guard>>,
    Extension(trust): Extension<Trust>,
    request: Request,
    next: Next,
) -> Response {
    if guard.has_token(request.headers()) {
        trust.gain();
    }
    let mut response = match guard.refusal(&request) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The paths of requests that change something: what the pages show, or a task.
pub(super) const CHANGES: [&str; 3] = ["/hold", "/release", "/poll"];
const HEADERS: [(HeaderName, &str); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const TARGET_BYTES_MAX: usize = 256;
const HEADER_BYTES_MAX: usize = 8 << 10;
