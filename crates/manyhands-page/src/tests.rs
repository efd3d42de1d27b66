//! Who keeps connections, and does not ask or read.

use super::*;
use axum::routing::get;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream as Client};
use tokio::runtime::{Builder, Runtime};

/// A page that trusts who asks for `/trusted`.
fn page() -> (Runtime, SocketAddr) {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let trusted = async |Extension(trust): Extension<Trust>| {
        trust.gain();
        "everything"
    };
    let router = Router::new()
        .route("/", get(async || "something"))
        .route("/trusted", get(trusted));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(serve(listener, router));
    (runtime, address)
}

fn connect(address: SocketAddr) -> Client {
    let client = Client::connect(address).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.set_write_timeout(Some(LIMIT)).unwrap();
    client
}

/// Whether a request is answered.
fn is_answered(mut client: &Client, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.1\r\nHost: page\r\n\r\n");
    let mut answer = [0; 4096];
    let read = client
        .write_all(request.as_bytes())
        .and_then(|()| client.read(&mut answer));
    read.is_ok_and(|count| answer[..count].starts_with(b"HTTP/1.1 200"))
}

/// Whether the page has ended the connection, or does as long as this may wait.
fn is_ended(client: &mut Client) -> bool {
    match client.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn of_those_who_keep_connections_the_oldest_without_the_token_gives_way() {
    let (_runtime, address) = page();
    let trusted = connect(address);
    assert!(is_answered(&trusted, "/trusted"));
    let strange = |number: usize| {
        let mut client = connect(address);
        // By itself one would end after half a minute.
        client.set_read_timeout(Some(LIMIT / 6)).unwrap();
        // Some have been answered, and some ask with a head that never ends.
        if number.is_multiple_of(2) {
            assert!(is_answered(&client, "/"));
        } else {
            client.write_all(b"GET / HTTP/1.1\r\nx: ").unwrap();
        }
        client
    };
    let mut strangers: Vec<_> = (0..2 * CONNECTIONS_MAX).map(strange).collect();
    assert!(is_answered(&connect(address), "/"));
    let (first, last) = strangers.split_at_mut(CONNECTIONS_MAX + 2);
    assert!(first.iter_mut().all(is_ended), "they keep their places");
    for client in last {
        client.set_nonblocking(true).unwrap();
        assert!(!is_ended(client), "it would have had a place");
    }
    assert!(is_answered(&trusted, "/trusted"), "it was ended");
}

#[test]
fn who_has_shown_the_token_does_not_give_way() {
    let (_runtime, address) = page();
    let all: Vec<_> = (0..CONNECTIONS_MAX).map(|_| connect(address)).collect();
    assert!(all.iter().all(|client| is_answered(client, "/trusted")));
    assert!(is_ended(&mut connect(address)));
    assert!(all.iter().all(|client| is_answered(client, "/trusted")));
    drop(all);
    assert!(
        (0..TRIES).any(|_| is_answered(&connect(address), "/")),
        "a connection that has ended keeps its place"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_connection_whose_answers_nobody_reads_is_ended() {
    let (_runtime, address) = page();
    let mut unread = connect(address);
    assert!(is_answered(&unread, "/trusted"));
    let requests = "GET / HTTP/1.1\r\nHost: page\r\n\r\n".repeat(10_000);
    // At last the page takes no more, because it cannot answer.
    let error = loop {
        if let Err(error) = unread.write_all(requests.as_bytes()) {
            break error;
        }
    };
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it keeps its place");
}

/// How many places connections from these addresses have at the end, by machine, where none gives way but for its own.
fn taken(addresses: &[&str], times: usize) -> Vec<usize> {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _in_runtime = runtime.enter();
    let mut places = Vec::new();
    for address in addresses.iter().cycle().take(times) {
        let machine = machine_of(address.parse().unwrap());
        assert!(make_room(&mut places, machine));
        places.push(Place {
            machine,
            trust: Trust::default(),
            answering: tokio::spawn(std::future::pending()),
        });
    }
    let mut machines: Vec<IpAddr> = places.iter().map(|place| place.machine).collect();
    machines.sort_unstable();
    machines.chunk_by(IpAddr::eq).map(<[_]>::len).collect()
}

#[test]
fn another_machine_has_a_quarter_of_the_places() {
    let twice = 2 * CONNECTIONS_MAX;
    assert_eq!(taken(&["192.0.2.7"], twice), [OF_MACHINE_MAX]);
    let two = ["192.0.2.7", "192.0.2.8"];
    assert_eq!(taken(&two, twice), [OF_MACHINE_MAX; 2]);
    // One machine has many addresses of version 6, and one of version 4 is the same in both ways of writing.
    let own = ["2001:db8::1", "2001:db8::2:3", "2001:db8::ffff:0:0:4"];
    assert_eq!(taken(&own, twice), [OF_MACHINE_MAX]);
    let others = ["2001:db8::1", "2001:db8:0:1::1"];
    assert_eq!(taken(&others, twice), [OF_MACHINE_MAX; 2]);
    let both = ["192.0.2.7", "::ffff:192.0.2.7"];
    assert_eq!(taken(&both, twice), [OF_MACHINE_MAX]);
    for own in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(taken(&[own], twice), [CONNECTIONS_MAX], "{own}");
    }
}

const LIMIT: Duration = Duration::from_secs(30);
/// The end of a connection is seen a moment later.
const TRIES: usize = 10_000;
