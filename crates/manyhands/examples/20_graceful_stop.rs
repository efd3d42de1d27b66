//! How to run: `cargo run --release --example 20_graceful_stop --features tokio`
//!
//! A server in the form of tokio's mini-redis: an accept loop, a limit to the number of connections, Ctrl-C, and a stop
//! that takes ten seconds at most. Its own clients set and get a value, and then it interrupts itself.

use manyhands::task::TaskTracker;
use manyhands::{Runtime, cancel, task, time};
use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Store = Arc<Mutex<HashMap<String, String>>>;

/// As many as there are clients here: Ctrl-C comes while the server waits until there may be another connection.
const CONNECTIONS_MAX: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::builder().tokio().build()?;
    let server = runtime.handle().spawn(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let clients = task::spawn(clients(listener.local_addr()?));
        let served = serve_until_interrupted(listener).await?;
        clients.await??;
        Ok::<_, io::Error>(served)
    });
    assert_eq!(server.join()??, 2);
    let report = runtime.shutdown_timeout_blocking(Duration::from_secs(1));
    assert!(report.unfinished.is_empty(), "{report:?}");
    Ok(())
}

/// Accepts connections until Ctrl-C, and gives those that are open ten seconds to end. Returns how many there were.
async fn serve_until_interrupted(listener: TcpListener) -> io::Result<usize> {
    let (stop, open) = (cancel::TokenSource::new(), TaskTracker::new());
    let (limit, store) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), Store::default());
    let mut interrupted = pin!(tokio::signal::ctrl_c());
    let mut served = 0;
    loop {
        tokio::select! {
            biased; // Ctrl-C is watched for from the first round on
            interrupted = &mut interrupted => break interrupted?,
            accepted = accept(&listener, &limit) => {
                let (stream, permit) = accepted?;
                open.spawn(serve(stream, Arc::clone(&store), stop.token(), permit));
                served += 1;
            }
        }
    }
    stop.cancel();
    open.close();
    time::timeout(Duration::from_secs(10), open.wait()).await?;
    Ok(served)
}

/// The next connection, as soon as there may be one more.
async fn accept(
    listener: &TcpListener,
    limit: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(limit).acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    Ok((listener.accept().await?.0, permit))
}

/// Answers `set KEY VALUE` and `get KEY`, a line each, until the client ends or the server does.
async fn serve(
    mut stream: TcpStream,
    store: Store,
    stop: cancel::Token,
    _permit: OwnedSemaphorePermit,
) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(line) = stop.run_until_cancelled(lines.next_line()).await {
        let Some(line) = line? else { break };
        let answer = answer(&line, &store);
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

fn answer(line: &str, store: &Store) -> String {
    let mut store = store
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["set", key, value] => store
            .insert(key.to_owned(), value.to_owned())
            .unwrap_or_default(),
        ["get", key] => store.get(key).cloned().unwrap_or_default(),
        _ => "what?".to_owned(),
    }
}

/// One client sets a value, the next one gets it; then Ctrl-C.
async fn clients(server: std::net::SocketAddr) -> io::Result<()> {
    let mut open = Vec::new();
    for (request, expected) in [("set color green\n", "\n"), ("get color\n", "green\n")] {
        let mut stream = BufReader::new(TcpStream::connect(server).await?);
        stream.write_all(request.as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        assert_eq!(line, expected);
        open.push(stream);
    }
    // Both connections are open still: the server ends them.
    let interrupt = || {
        let mut kill = Command::new("kill");
        kill.args(["-INT", &std::process::id().to_string()])
            .status()
    };
    task::run(move || task::blocking(interrupt)).await??;
    for mut stream in open {
        assert_eq!(stream.read_line(&mut String::new()).await?, 0, "the end");
    }
    Ok(())
}
