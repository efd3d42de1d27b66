//! User code that panics, or does not clean up, where other libraries call it: the process survives where it can, and
//! otherwise ends with a message. Each test of the latter runs in a process of its own.

use crate::support::in_time;
use manyhands::{Runtime, task};
use std::env;
use std::future::pending;
use std::mem::ManuallyDrop;
use std::net;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use tokio::net::UdpSocket;

/// Runs one ignored test of this program in a process of its own; returns whether it has succeeded, and its output.
fn run_alone(test: &str) -> (bool, String) {
    let name = format!("hostile::{test}");
    let arguments = ["--exact", "--ignored", "--nocapture", &name];
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(arguments);
    let output = in_time(move || program.output().unwrap());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

#[track_caller]
fn assert_ends_with_a_sentence(test: &str) {
    let (is_well, said) = run_alone(test);
    assert!(!is_well, "{said}");
    let sentence = "manyhands: a waker has panicked where tokio waits for events";
    assert!(said.contains(sentence), "{said}");
}

struct Grenade;

impl Wake for Grenade {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

/// Lets the poller wake a waker that panics, and waits for ever.
fn throw_in_the_driver() -> ! {
    let _entered = manyhands::integrations::tokio_driver::handle()
        .unwrap()
        .enter();
    let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = UdpSocket::from_std(socket).unwrap();
    let waker = Waker::from(Arc::new(Grenade));
    let mut context = Context::from_waker(&waker);
    // The first poll clears the readiness of a new socket.
    while socket.poll_recv_ready(&mut context).is_ready() {
        let _nothing = socket.try_recv(&mut [0]);
    }
    let sender = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(&[1], socket.local_addr().unwrap()).unwrap();
    loop {
        thread::park();
    }
}

#[test]
fn a_waker_that_panics_in_the_thread_that_watches_ends_the_process_with_a_sentence() {
    assert_ends_with_a_sentence("in_the_thread");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_the_thread() {
    throw_in_the_driver();
}

#[test]
fn a_waker_that_panics_in_a_worker_that_watches_ends_the_process_with_a_sentence() {
    assert_ends_with_a_sentence("in_a_worker");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_a_worker() {
    let runtime = Runtime::builder().workers(1).tokio().build().unwrap();
    runtime.install(|| task::run(|| ())).join().unwrap();
    while runtime.metrics().asleep == 0 {
        thread::yield_now();
    }
    throw_in_the_driver();
}

/// Tokio's guards panic when they are dropped out of order.
#[test]
fn a_worker_in_which_a_guard_of_tokio_is_forgotten_ends_well() {
    let (is_well, said) = run_alone("forgotten_guards");
    assert!(is_well, "{said}");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn forgotten_guards() {
    in_time(|| {
        let (stop, stopped) = mpsc::channel();
        let builder = Runtime::builder().workers(1).tokio();
        let runtime = builder.on_thread_stop(move |_| stop.send(()).unwrap());
        let runtime = runtime.build().unwrap();
        let forgets = || {
            let entered = manyhands::integrations::tokio_driver::handle().unwrap();
            let _ = ManuallyDrop::new(entered.enter());
        };
        for _ in 0..3 {
            runtime.install(|| task::run(forgets)).join().unwrap();
        }
        drop(runtime.install(|| task::spawn(pending::<()>())));
        drop(runtime);
        stopped.recv().unwrap();
    });
}
