//! Which threads have the tokio context, and which do not.

use crate::support::{as_task, in_time};
use manyhands::integrations::tokio_driver::{compat, handle};
use manyhands::{Runtime, task};
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{error::Elapsed, sleep, timeout};

/// A line there and back over loopback.
async fn echo() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = task::spawn(compat(async move {
        let (mut stream, _from) = listener.accept().await?;
        let mut line = [0; 5];
        stream.read_exact(&mut line).await?;
        stream.write_all(&line).await
    }));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"hello").await?;
    let mut back = String::new();
    stream.read_to_string(&mut back).await?;
    server.await.expect("the server does not panic")?;
    Ok(back)
}

#[test]
fn sockets_work_in_the_tasks_of_a_runtime_with_tokio() {
    assert_eq!(as_task(echo()).unwrap(), "hello");
}

#[test]
fn sockets_work_in_block_on_of_a_thread_that_has_entered() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).tokio().build().unwrap();
        let _entered = runtime.enter();
        assert_eq!(task::block_on(echo()).unwrap(), "hello");
    });
}

#[test]
fn a_wrapped_future_has_tokio_around_it_on_any_runtime_and_thread() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let spawned = runtime.install(|| task::spawn(compat(echo())));
        assert_eq!(spawned.join().unwrap().unwrap(), "hello");
        assert_eq!(task::block_on(compat(echo())).unwrap(), "hello");
        assert_eq!(pollster::block_on(compat(echo())).unwrap(), "hello");
    });
}

#[test]
fn tokio_s_timers_end_a_wait() {
    let waited = as_task(async {
        sleep(Duration::from_millis(2)).await;
        timeout(Duration::from_millis(2), std::future::pending::<()>()).await
    });
    assert!(matches!(waited, Err(Elapsed { .. })));
}

/// Only a fault leads to the last of them.
const WAITS_MAX: usize = 1_000;

#[test]
fn a_task_runs_on_the_pool_and_what_tokio_spawns_on_tokio_s_thread() {
    let name = || thread::current().name().map(str::to_owned);
    let (before, spawned, after) = as_task(async move {
        let before = name();
        let spawned = tokio::spawn(async move {
            // A worker that is just falling asleep may run it until it first waits.
            for _ in 0..WAITS_MAX {
                sleep(Duration::from_millis(1)).await;
                if name().as_deref() == Some("manyhands-tokio") {
                    break;
                }
            }
            name()
        });
        let spawned = spawned.await.unwrap();
        (before, spawned, name())
    });
    let is_worker_s =
        |name: Option<String>| matches!(name.as_deref(), Some("manyhands-0" | "manyhands-1"));
    assert_eq!(spawned.as_deref(), Some("manyhands-tokio"));
    assert!(is_worker_s(before) && is_worker_s(after));
}

#[test]
fn nothing_is_around_a_runtime_that_was_not_built_so() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let is_inside = || Handle::try_current().is_ok();
        assert!(!runtime.install(|| task::run(is_inside)).join().unwrap());
        let with_tokio = Runtime::builder().workers(1).tokio().build().unwrap();
        assert!(with_tokio.install(is_inside));
        assert!(!is_inside());
    });
}

#[test]
fn all_runtimes_share_one_tokio() {
    let here = handle().unwrap().id();
    assert_eq!(as_task(async { Handle::current().id() }), here);
    assert_eq!(
        in_time(|| task::block_on(compat(async { Handle::current().id() }))),
        here
    );
}

#[test]
fn sockets_outlive_the_runtime_that_opened_them() {
    let (listener, address) = as_task(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    });
    let accepted = as_task(async move {
        let (accepted, connected) = futures::join!(listener.accept(), TcpStream::connect(address));
        accepted.is_ok() && connected.is_ok()
    });
    assert!(accepted);
}

/// Their workers have asked tokio's thread to let them poll, and are gone when it has stopped.
#[test]
fn timers_fire_after_runtimes_that_end_while_their_workers_wait_for_the_driver() {
    in_time(|| {
        for _ in 0..500 {
            let runtime = Runtime::builder().workers(1).tokio().build().unwrap();
            runtime.install(|| task::run(|| ())).join().unwrap();
            drop(runtime);
            let sleeps = task::spawn(compat(async { sleep(Duration::from_micros(100)).await }));
            task::block_on(sleeps).unwrap();
        }
    });
}

#[test]
fn a_shutdown_drops_tasks_that_wait_for_sockets() {
    in_time(|| {
        let runtime = Runtime::builder().workers(2).tokio().build().unwrap();
        let (waits, is_waiting) = mpsc::channel();
        let handle = runtime.install(|| {
            task::spawn(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                waits.send(()).unwrap();
                listener.accept().await.map(drop)
            })
        });
        is_waiting.recv().unwrap();
        runtime.shutdown_blocking();
        assert!(handle.join().unwrap_err().is_cancelled());
    });
}

thread_local! {
    static LEAVING: RefCell<Option<Leaving>> = const { RefCell::new(None) };
}

/// Calls this when it is dropped, and says whether it has panicked.
struct Leaving(Box<dyn Fn() -> usize>, mpsc::Sender<Option<usize>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        let called = catch_unwind(AssertUnwindSafe(&self.0));
        self.1.send(called.ok()).unwrap();
    }
}

#[test]
fn a_thread_whose_tokio_context_is_gone_uses_a_runtime_with_tokio() {
    in_time(|| {
        let runtime = Arc::new(Runtime::builder().workers(1).tokio().build().unwrap());
        let theirs = Arc::clone(&runtime);
        let sum = move || {
            // The task has the context.
            let sleeps = async { sleep(Duration::from_millis(1)).await };
            let task = theirs.install(|| task::spawn(sleeps));
            task.join().unwrap();
            let entered = theirs.enter();
            let one = task::run(|| 1).join().unwrap();
            drop(entered);
            let two = theirs.handle().block_on(async { 2 });
            one + two + task::block_on(compat(async { 4 }))
        };
        let (send, sums) = mpsc::channel();
        let thread = thread::spawn(move || {
            // Made first, so it goes last.
            LEAVING.set(Some(Leaving(Box::new(sum), send)));
            runtime.install(|| assert!(Handle::try_current().is_ok()));
        });
        assert_eq!(sums.recv().unwrap(), Some(7));
        thread.join().unwrap();
    });
}
