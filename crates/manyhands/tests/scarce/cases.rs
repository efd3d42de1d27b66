//! The cases: what a program does while threads are refused, and after that.

use crate::child::ask;
use manyhands::diagnostics::ThreadChangeReason;
use manyhands::{Runtime, channel, join, parallel, scope, task, time};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// When threads are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// From before the pool is made until the end.
    Always,
    /// Only in the first part of the case.
    AtFirst,
}

/// The part of a case that runs while threads are refused, and the part that follows.
type Case = fn(Refusal);

pub(crate) const CASES: &[(&str, Case)] = &[
    ("build", build),
    ("default runtime", default_runtime),
    ("closure", closure),
    ("future", future),
    ("channel", receive),
    ("scope", scopes),
    ("loop", loops),
    ("joins", joins),
    ("blocking", blocking),
    ("undeclared", undeclared),
    ("timer", timer),
    ("stall", stall),
    ("given up", given_up),
    ("shutdown", shutdown),
    ("sleeping receiver", sleeping_receiver),
    ("broken error stream", broken_error_stream),
    ("descriptors", descriptors),
    ("address space", address_space),
    #[cfg(feature = "inspect")]
    ("watchdog", watchdog),
];

/// This number of the jobs, the first ones, run while threads are refused.
pub(crate) const WITH_THREADS_REFUSED: usize = 15;

impl Refusal {
    /// The first part is over.
    fn goes_on(self) {
        if self == Self::AtFirst {
            ask("ALLOW");
        }
    }
}

fn runtime(workers: usize) -> Runtime {
    ask("REFUSE");
    Runtime::builder().workers(workers).build().unwrap()
}

fn build(refusal: Refusal) {
    drop(runtime(2));
    refusal.goes_on();
}

fn default_runtime(refusal: Refusal) {
    ask("REFUSE");
    assert_eq!(parallel::map(0..1000, |i| i).len(), 1000);
    let handle = task::run(|| 5);
    refusal.goes_on();
    assert_eq!(handle.join().unwrap(), 5);
}

fn closure(refusal: Refusal) {
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let handle = task::run(|| 5);
    refusal.goes_on();
    assert_eq!(handle.join().unwrap(), 5);
}

/// Where threads are refused for good, see [`given_up`].
fn future(refusal: Refusal) {
    if refusal == Refusal::Always {
        return;
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let handle = task::spawn(async { 5 });
    refusal.goes_on();
    assert_eq!(task::block_on(handle).unwrap(), 5);
}

fn receive(refusal: Refusal) {
    if refusal == Refusal::Always {
        return;
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let (sender, receiver) = channel::bounded(1);
    task::run_detached(move || sender.send_blocking(5).unwrap());
    refusal.goes_on();
    assert_eq!(receiver.recv_blocking().unwrap(), 5);
}

fn scopes(refusal: Refusal) {
    let runtime = runtime(3);
    let _entered = runtime.enter();
    let ran = AtomicUsize::new(0);
    for round in 0..100 {
        if round == 50 {
            refusal.goes_on();
        }
        scope(|s| {
            for _ in 0..10 {
                s.spawn(|s| {
                    s.spawn(|_| {
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                });
            }
        });
    }
    assert_eq!(ran.into_inner(), 1000);
}

fn loops(refusal: Refusal) {
    let runtime = runtime(3);
    let _entered = runtime.enter();
    for round in 0..20 {
        if round == 10 {
            refusal.goes_on();
        }
        let sum = parallel::map(0..20_000_u64, |i| i ^ round);
        assert_eq!(sum.len(), 20_000);
    }
}

fn joins(refusal: Refusal) {
    fn sum(numbers: &[u64]) -> u64 {
        if numbers.len() < 8 {
            return numbers.iter().sum();
        }
        let (a, b) = numbers.split_at(numbers.len() / 2);
        let (a, b) = join(|| sum(a), || sum(b));
        a + b
    }
    let runtime = runtime(3);
    let numbers: Vec<u64> = (0..10_000).collect();
    let expected: u64 = numbers.iter().sum();
    assert_eq!(runtime.install(|| sum(&numbers)), expected);
    refusal.goes_on();
    assert_eq!(runtime.install(|| sum(&numbers)), expected);
}

/// Each task waits for the next: threads are added for those that declare it.
fn blocking(refusal: Refusal) {
    if refusal == Refusal::Always {
        return;
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let (send, received) = mpsc::channel();
    let waits = task::run(move || task::blocking(|| received.recv().unwrap()));
    let sends = task::run(move || send.send(7).unwrap());
    refusal.goes_on();
    assert_eq!(waits.join().unwrap(), 7);
    sends.join().unwrap();
}

/// The same, but no task declares that it blocks: the monitor detects it.
fn undeclared(refusal: Refusal) {
    if refusal == Refusal::Always {
        return;
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    drop(task::run(|| ()));
    refusal.goes_on();
    task::run(|| ()).join().unwrap();
    let (send, received) = mpsc::channel();
    let waits = task::run(move || received.recv().unwrap());
    let sends = task::run(move || send.send(7).unwrap());
    assert_eq!(waits.join().unwrap(), 7);
    sends.join().unwrap();
}

fn timer(refusal: Refusal) {
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let mut sleep = Box::pin(time::sleep(Duration::from_millis(5)));
    // The first poll puts it into the wheel of external threads, which the monitor advances.
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(sleep.as_mut().poll(&mut context).is_pending());
    refusal.goes_on();
    task::block_on(sleep);
}

/// Threads refused for good, and only futures to be run: the runtime reports a stall.
fn stall(refusal: Refusal) {
    ask("REFUSE");
    let (report, stalled) = mpsc::channel();
    let builder = Runtime::builder()
        .workers(1)
        .on_stall(move |stall| report.send(stall.to_string()).unwrap());
    let runtime = builder.build().unwrap();
    let _entered = runtime.enter();
    let future = task::spawn(async { 5 });
    if refusal == Refusal::AtFirst {
        ask("ALLOW");
        assert_eq!(task::block_on(future).unwrap(), 5);
        return;
    }
    let waited = task::block_on(time::timeout(Duration::from_secs(3), future));
    assert!(waited.is_err(), "no thread runs it");
    let reported = stalled.try_recv().unwrap();
    assert!(reported.contains("the system starts no more"), "{reported}");
}

/// Threads refused for ten seconds, and only futures to be run: who waits without a limit panics, and the work stays
/// queued.
fn given_up(refusal: Refusal) {
    if refusal == Refusal::AtFirst {
        return;
    }
    fn assert_gives_up(wait: impl FnOnce()) {
        let panicked = catch_unwind(AssertUnwindSafe(wait)).unwrap_err();
        let message = panicked.downcast::<&str>().unwrap();
        assert!(message.contains("refused every thread"), "{message}");
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    let (sender, receiver) = channel::bounded(1);
    drop(task::spawn(async move { sender.send(7).await.unwrap() }));
    let future = task::spawn(async { 5 });
    assert_gives_up(|| drop(future.join()));
    assert_gives_up(|| task::block_on(std::future::pending()));
    assert_gives_up(|| drop(receiver.recv_blocking()));
    assert_gives_up(|| drop(receiver.recv_timeout_blocking(Duration::MAX)));
    assert!(
        receiver
            .recv_timeout_blocking(Duration::from_millis(5))
            .is_err()
    );
    time::sleep_blocking(Duration::from_millis(5));
    let closure = task::run(|| 6);
    assert_eq!(closure.join().unwrap(), 6);
    ask("ALLOW");
    assert_eq!(receiver.recv_blocking().unwrap(), 7);
}

fn shutdown(refusal: Refusal) {
    let runtime = runtime(2);
    runtime.install(|| {
        task::run_detached(|| ());
        drop(task::spawn(std::future::pending::<()>()));
    });
    refusal.goes_on();
    runtime.shutdown_blocking();
}

/// The output of the child is not read.
fn broken_error_stream(_: Refusal) {
    let builder = Runtime::builder().workers(1).max_threads(1);
    let runtime = builder.build().unwrap();
    let _entered = runtime.enter();
    let (release, released) = mpsc::channel();
    let blocks = task::run(move || released.recv().unwrap());
    let waits = task::run(|| ());
    let is_reported = || {
        let changes = runtime.thread_changes();
        changes
            .iter()
            .any(|change| change.reason == ThreadChangeReason::LimitReached)
    };
    while !is_reported() {
        thread::yield_now();
    }
    for _ in 0..3 {
        task::block_on(time::sleep(Duration::from_millis(20)));
    }
    release.send(()).unwrap();
    blocks.join().unwrap();
    waits.join().unwrap();
}

fn descriptors(_: Refusal) {
    ask("FILES");
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let (release, released) = mpsc::channel();
    let blocks = task::run(move || released.recv().unwrap());
    let other = task::run(move || task::blocking(|| release.send(()).unwrap()));
    assert_eq!(parallel::map(0..100_000, |i| i).len(), 100_000);
    task::block_on(time::sleep(Duration::from_millis(5)));
    other.join().unwrap();
    blocks.join().unwrap();
    runtime.metrics();
}

/// A thread that slept in a channel before a thread was refused, and does not belong to the pool, gets its item once
/// another thread waits in the library.
fn sleeping_receiver(refusal: Refusal) {
    if refusal == Refusal::Always {
        return;
    }
    let (sender, receiver) = channel::bounded(1);
    let (send_id, id) = mpsc::channel();
    let (pass_on, passed_on) = channel::bounded(1);
    let receives = thread::spawn(move || {
        send_id
            .send(fs::read_link("/proc/thread-self").unwrap())
            .unwrap();
        let item = receiver.recv_blocking().unwrap();
        pass_on.send_blocking(item).unwrap();
    });
    let stat = Path::new("/proc").join(id.recv().unwrap()).join("stat");
    while !fs::read_to_string(&stat).unwrap().contains(") S ") {
        thread::yield_now();
    }
    let runtime = runtime(1);
    let _entered = runtime.enter();
    task::run_detached(move || sender.send_blocking(5).unwrap());
    refusal.goes_on();
    assert_eq!(passed_on.recv_blocking().unwrap(), 5);
    receives.join().unwrap();
}

/// No address space for the stack of a worker: the thread is refused, and the process continues.
fn address_space(refusal: Refusal) {
    let builder = Runtime::builder().workers(2).stack_size(STACK);
    let builder = builder.thread_keep_alive(Duration::MAX);
    let runtime = builder.build().unwrap();
    let _entered = runtime.enter();
    ask("MEMORY");
    let first = task::run(|| 5);
    assert_eq!(parallel::map(0..20_000_u64, |i| i).len(), 20_000);
    assert_eq!(join(|| 1, || 2), (1, 2));
    task::block_on(time::sleep(Duration::from_millis(5)));
    assert_eq!(first.join().unwrap(), 5);
    // A thread is counted while somebody asks for it. One that could be had would be counted for ever, and the parent
    // would report that this did not end.
    while runtime.threads() != 0 {
        thread::yield_now();
    }
    let future = task::spawn(async { 6 });
    if refusal == Refusal::AtFirst {
        ask("MORE");
        assert_eq!(task::block_on(future).unwrap(), 6);
    }
}

/// A watchdog whose thread is refused can be started later.
#[cfg(feature = "inspect")]
fn watchdog(_: Refusal) {
    let start = || manyhands::diagnostics::start_watchdog(Duration::from_secs(1));
    let is_there = || {
        let threads = fs::read_dir("/proc/self/task").unwrap();
        let mut names =
            threads.filter_map(|it| fs::read_to_string(it.unwrap().path().join("comm")).ok());
        names.any(|name| name.starts_with("manyhands-watch"))
    };
    ask("REFUSE");
    start().unwrap_err();
    ask("ALLOW");
    start().unwrap();
    // The thread has its name soon after it has begun.
    while !is_there() {
        thread::yield_now();
    }
}

/// Far more than everything else takes.
pub(crate) const STACK: usize = 1 << 30;
