//! Which thread polls sockets: a worker that has no work, else a thread of its own.

use crate::support::in_time;
use futures::future::join;
use manyhands::integrations::tokio_driver::compat;
use manyhands::{Runtime, task, time};
use std::io;
use std::net;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

const MESSAGES: u8 = 50;

/// Messages there and back over loopback, all within one future.
async fn messages() -> io::Result<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let client = async {
        let mut stream = TcpStream::connect(address).await?;
        let mut last = 0;
        for number in 1..=MESSAGES {
            stream.write_u8(number).await?;
            last = stream.read_u8().await?;
        }
        Ok(last)
    };
    let server = async {
        let (mut stream, _from) = listener.accept().await?;
        while let Ok(number) = stream.read_u8().await {
            stream.write_u8(number).await?;
        }
        io::Result::Ok(())
    };
    let (last, served) = join(client, server).await;
    served.and(last)
}

fn runtime_of(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).tokio().build().unwrap()
}

/// Makes the workers of `runtime` leave the poller's role.
fn watch(runtime: &Runtime) {
    let talked = runtime.install(|| task::spawn(messages())).join();
    assert_eq!(talked.unwrap().unwrap(), MESSAGES);
}

#[test]
fn sockets_are_served_while_every_worker_computes() {
    in_time(|| {
        let runtime = runtime_of(2);
        watch(&runtime);
        let is_over = Arc::new(AtomicBool::new(false));
        let computing = [(), ()].map(|()| {
            let is_over = Arc::clone(&is_over);
            let compute = move || {
                while !is_over.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            };
            runtime.install(|| task::run(compute))
        });
        let _entered = runtime.enter();
        assert_eq!(task::block_on(messages()).unwrap(), MESSAGES);
        is_over.store(true, Ordering::SeqCst);
        for computed in computing {
            computed.join().unwrap();
        }
    });
}

#[test]
fn sockets_are_served_after_the_worker_that_watched_has_ended() {
    in_time(|| {
        for _ in 0..20 {
            let runtime = runtime_of(1);
            watch(&runtime);
            runtime.shutdown_blocking();
            let talked = pollster::block_on(compat(messages()));
            assert_eq!(talked.unwrap(), MESSAGES);
        }
    });
}

#[test]
fn a_worker_that_watches_comes_for_every_task_from_outside() {
    in_time(|| {
        let runtime = runtime_of(1);
        watch(&runtime);
        for number in 0..2_000 {
            assert_eq!(
                runtime
                    .install(|| task::run(move || number))
                    .join()
                    .unwrap(),
                number
            );
        }
    });
}

#[test]
fn a_worker_that_watches_comes_for_its_timers() {
    in_time(|| {
        let runtime = runtime_of(1);
        watch(&runtime);
        let sleeps = async {
            for millis in [3, 1, 2] {
                time::sleep(Duration::from_millis(millis)).await;
            }
        };
        runtime.install(|| task::spawn(sleeps)).join().unwrap();
    });
}

#[test]
fn the_workers_of_many_runtimes_watch_in_turn() {
    in_time(|| {
        let runtimes: Vec<_> = (1..=4).map(runtime_of).collect();
        for _ in 0..10 {
            let talks: Vec<_> = runtimes
                .iter()
                .flat_map(|runtime| runtime.install(|| [(); 3].map(|()| task::spawn(messages()))))
                .collect();
            for talked in talks {
                assert_eq!(talked.join().unwrap().unwrap(), MESSAGES);
            }
        }
    });
}

#[test]
fn tasks_that_never_pause_leave_sockets_their_turn() {
    in_time(|| {
        let runtime = runtime_of(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let busy = {
            let is_over = Arc::clone(&is_over);
            async move {
                while !is_over.load(Ordering::SeqCst) {
                    task::yield_now().await;
                }
            }
        };
        let busy = runtime.install(|| task::spawn(busy));
        watch(&runtime);
        is_over.store(true, Ordering::SeqCst);
        busy.join().unwrap();
    });
}

#[test]
fn tasks_of_tokio_run_while_workers_poll() {
    in_time(|| {
        let runtime = runtime_of(2);
        watch(&runtime);
        let spawned = || async { tokio::spawn(messages()).await.unwrap().unwrap() };
        for _ in 0..20 {
            assert_eq!(
                runtime.install(|| task::spawn(spawned())).join().unwrap(),
                MESSAGES
            );
            watch(&runtime);
        }
    });
}

/// A waker that reports on which thread it is woken, and holds that thread until it is released.
struct Hold {
    thread: Mutex<mpsc::Sender<Option<String>>>,
    end: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Hold {
    fn wake(self: Arc<Self>) {
        let name = thread::current().name().map(str::to_owned);
        let _sent = self.thread.lock().unwrap().send(name);
        let _ended = self.end.lock().unwrap().recv();
    }
}

/// Holds the thread that polls sockets, until a message is sent.
fn hold_the_poller() -> (Option<String>, mpsc::Sender<()>) {
    let _entered = manyhands::integrations::tokio_driver::handle()
        .unwrap()
        .enter();
    let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = UdpSocket::from_std(socket).unwrap();
    let (thread, held) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let waker = Waker::from(Arc::new(Hold {
        thread: Mutex::new(thread),
        end: Mutex::new(ended),
    }));
    // The first poll clears the readiness of a new socket.
    while socket
        .poll_recv_ready(&mut Context::from_waker(&waker))
        .is_ready()
    {
        let _nothing = socket.try_recv(&mut [0]);
    }
    let sender = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(&[1], socket.local_addr().unwrap()).unwrap();
    (held.recv().unwrap(), end)
}

#[test]
fn a_timer_rings_although_tokio_gets_a_task_while_its_thread_makes_room() {
    in_time(|| {
        let runtime = runtime_of(1);
        let (begin, begun) = mpsc::channel::<()>();
        let slept = runtime.install(|| {
            task::spawn(async move {
                // The only worker is too busy to poll sockets.
                begun.recv().unwrap();
                // Longer than the interval of the monitor's sweeps on an idle runtime.
                time::sleep(Duration::from_millis(500)).await;
            })
        });
        let (name, end) = hold_the_poller();
        assert_eq!(name.as_deref(), Some("manyhands-tokio"));
        begin.send(()).unwrap();
        while runtime.metrics().asleep == 0 {
            thread::yield_now();
        }
        // The worker is about to become the poller. If it has not yet, it sees a task of tokio's there, and the test
        // passes as well.
        (0..10_000).for_each(|_| thread::yield_now());
        let spawned = manyhands::integrations::tokio_driver::handle()
            .unwrap()
            .spawn(async {});
        end.send(()).unwrap();
        pollster::block_on(spawned).unwrap();
        slept.join().unwrap();
    });
}
