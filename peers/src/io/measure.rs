//! The child's side: one measurement of time and CPU time per round trip.

use std::io;
use std::net::SocketAddr;

use crate::io::{Net, Sockets};
use manyhands_lab::contest::{CostMeter, Sample};

/// Answers a case, a number of connections, with nanoseconds of wall time and of CPU time per round trip.
pub(crate) fn answer<N: Net>(net: &N, case: &str) -> Result<Sample, String> {
    let connections: usize = case.parse().map_err(|_| format!("no case '{case}'"))?;
    let rounds = ROUND_TRIPS / connections;
    // The first connections start the threads.
    exchange(net, connections, WARM_UP)?;
    let meter = CostMeter::start()?;
    let checksum = exchange(net, connections, rounds)?;
    let cost = meter.stop()?;
    let count = (rounds * connections) as f64;
    Ok(Sample {
        checksum,
        values: vec![cost.nanos / count, cost.cpu_nanos / count],
    })
}

/// This many connections, each with this many round trips; the sum of what came back.
fn exchange<N: Net>(net: &N, connections: usize, rounds: usize) -> Result<u64, String> {
    let all = all_connections(net.clone(), connections, rounds);
    let sum = net.block_on(net.spawn(all));
    sum.map_err(|error| format!("a connection failed: {error}"))
}

async fn all_connections<N: Net>(net: N, connections: usize, rounds: usize) -> io::Result<u64> {
    let (listener, address) = N::Sockets::listen()?;
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for _ in 0..connections {
        clients.push(net.spawn(ask::<N::Sockets>(address, rounds)));
        let stream = N::Sockets::accept(&listener).await?;
        servers.push(net.spawn(echo::<N::Sockets>(stream)));
    }
    let mut sum = 0;
    for client in clients {
        sum += client.await?;
    }
    for server in servers {
        server.await;
    }
    Ok(sum)
}

async fn ask<S: Sockets>(address: SocketAddr, rounds: usize) -> io::Result<u64> {
    let mut stream = S::connect(address).await?;
    let mut sum = 0;
    let mut message = [0; MESSAGE_BYTES];
    for number in (0..=u8::MAX).cycle().take(rounds) {
        message.fill(number);
        S::write(&mut stream, &message).await?;
        S::read(&mut stream, &mut message).await?;
        sum += u64::from(message[MESSAGE_BYTES - 1]);
    }
    Ok(sum)
}

/// Sends back what comes, until the other side closes.
async fn echo<S: Sockets>(mut stream: S::Stream) {
    let mut message = [0; MESSAGE_BYTES];
    while S::read(&mut stream, &mut message).await.is_ok() {
        if S::write(&mut stream, &message).await.is_err() {
            return;
        }
    }
}

const ROUND_TRIPS: usize = 20_000;
const WARM_UP: usize = 10;
const MESSAGE_BYTES: usize = 64;
