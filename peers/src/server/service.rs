//! One connection of the service, the same for all contenders.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Answers `/heavy` with what `heavy` finds, and everything else at once, until the client goes.
pub(crate) async fn connection<H, F>(stream: TcpStream, heavy: H)
where
    H: Fn() -> F + Copy,
    F: Future<Output = u64>,
{
    let answer = |request: Request<Incoming>| async move {
        let text = match request.uri().path() {
            "/heavy" => heavy().await.to_string(),
            _ => "hello".to_owned(),
        };
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text))))
    };
    // An error is a client that went in the middle of something.
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}
