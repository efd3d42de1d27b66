//! Tasks that wait for sockets and timers of tokio, with the feature `tokio`.

use crate::support::{Source, assert_waits_at, until, waiting};
use manyhands::inspect::Task;
use manyhands::{Runtime, diagnostics, task, time};
use manyhands_inspect::Client;
use std::io::Write;
use std::net::TcpStream as BlockingStream;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

const HERE: Source = (file!(), include_str!("sockets.rs"));

/// The task of this name, as soon as it waits after more polls than these.
fn waiting_after(name: &str, polls: u64) -> Task {
    until(|| Some(waiting(name)).filter(|task| task.polls > polls))
}

/// For how long it has waited for the first thing.
fn waited(task: &Task) -> Duration {
    Duration::from_micros(task.waits[0].waiting_us)
}

#[test]
fn a_task_that_reads_from_a_socket_waits_outside_in_its_frame_and_tokio_s_driver_wakes_it() {
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let runtime = Runtime::builder().workers(2).tokio().build().unwrap();
    let entered = runtime.enter();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let begun = time::now();
    let reader = task::Builder::new().name("socket: reader");
    let reader = reader.spawn(async move {
        let listener = TcpListener::from_std(listener)?;
        let (mut stream, _from) = diagnostics::framed("accept", listener.accept()).await?;
        let mut word = [0; 5];
        while word != *b"close" {
            diagnostics::framed("read a word", stream.read_exact(&mut word)).await?;
        }
        std::io::Result::Ok(word)
    });
    let listed = waiting("socket: reader");
    assert_waits_at(&listed, HERE, &["\"accept\""]);
    assert_eq!(listed.waits[0].kind, "outside");
    assert_eq!(listed.frames[listed.waits[0].frame.unwrap()].name, "accept");
    assert!(waited(&listed) <= time::now() - begun);

    let mut stream = BlockingStream::connect(address).unwrap();
    let mut listed = waiting_after("socket: reader", listed.polls);
    assert_waits_at(&listed, HERE, &["\"read a word\""]);
    // A wake that comes while the task is polled is not told apart, so it is looked for again.
    let (listed, written) = until(|| {
        let written = time::now();
        stream.write_all(b"hello").unwrap();
        listed = waiting_after("socket: reader", listed.polls);
        (listed.last_waker.as_deref() == Some("tokio")).then(|| (listed.clone(), written))
    });
    assert_waits_at(&listed, HERE, &["\"read a word\""]);
    assert_eq!(listed.waits[0].kind, "outside");
    // It waits for this word since the one before was there.
    assert!(waited(&listed) <= time::now() - written);
    let view = client.view(usize::MAX).unwrap();
    let mut tasks = view.tasks.iter();
    let shown = tasks.find(|task| task.name.as_deref() == Some("socket: reader"));
    assert_eq!(shown.unwrap().last_waker.as_deref(), Some("tokio"));
    let text = manyhands_inspect::text(&view);
    let words = "something outside this library, last woken by tokio's driver";
    assert!(text.contains(words), "{text}");
    stream.write_all(b"close").unwrap();
    assert_eq!(&reader.join().unwrap().unwrap(), b"close");
    drop(entered);
}

#[test]
fn a_timer_of_tokio_is_outside_and_its_driver_ends_the_wait() {
    diagnostics::open();
    let runtime = Runtime::builder().workers(1).tokio().build().unwrap();
    let entered = runtime.enter();
    let sleeper = task::Builder::new().name("socket: sleeper");
    let sleeper = sleeper.spawn(async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let listed = until(|| {
        let listed = waiting("socket: sleeper");
        (listed.last_waker.as_deref() == Some("tokio")).then_some(listed)
    });
    assert_eq!(listed.waits[0].kind, "outside");
    assert_eq!(Some(&listed.waits[0].at), listed.spawned_at.as_ref());
    sleeper.abort();
    drop(entered);
}
