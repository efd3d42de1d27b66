//! Where a process begins anew or ends: in a child of `fork`, when a thread's values are destroyed, in exit handlers.
//! There the pool refuses with a message, or works; no thread waits for ever.
//!
//! Unsafe: calls of the C library.
#![expect(unsafe_code, reason = "calls of the C library")]
#![cfg(unix)]

use crate::support::{Deadline, message_of, panics_of, wait_until, within};
use crate::which_runtime::{named, where_tasks_run};

use manyhands::query::prelude::*;

use futures::FutureExt;

use manyhands::{Handle, Runtime, channel, join, parallel, scope, task, time};
use std::cell::RefCell;
use std::env;
use std::future::pending;
#[cfg(target_os = "linux")]
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::{fs, mem};

const REFUSED: &str = "a child of `fork` uses the pool, whose threads are in its parent only";

/// What a child says by its exit status.
const ENDED: i32 = 0;
const WAS_REFUSED: i32 = 42;
const PANICKED_OTHERWISE: i32 = 43;

/// Runs one ignored test of this program in a process of its own, and waits for it.
fn run_alone(test: &str) -> ExitStatus {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", test])
        // A child of `fork` would look the symbols up anew for each panic.
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Deadline::after(Duration::from_secs(60));
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if deadline.has_passed() {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{test} has not ended");
        }
        thread::yield_now();
    }
}

/// Forks. The child does `work` and ends; the parent gets its status.
fn in_child<T>(work: impl FnOnce() -> T) -> ExitStatus {
    // SAFETY: takes nothing. No other thread of this process holds a lock: the test runs alone in it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = match panics_of(work).first() {
            None => ENDED,
            Some(payload) if message_of(payload) == REFUSED => WAS_REFUSED,
            Some(_) => PANICKED_OTHERWISE,
        };
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    status_of(child)
}

/// How a child of this process has ended.
fn status_of(child: libc::pid_t) -> ExitStatus {
    let deadline = Deadline::after(Duration::from_secs(20));
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a local.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return ExitStatus::from_raw(status);
        }
        if deadline.has_passed() {
            // SAFETY: a child of this process that was not waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child has not ended");
        }
        thread::yield_now();
    }
}

#[track_caller]
fn assert_refused<T>(work: impl FnOnce() -> T) {
    assert_eq!(in_child(work).code(), Some(WAS_REFUSED));
}

/// Nothing is known of its items, and there is no runtime yet. Two of them that meet have a thread each.
#[test]
fn the_first_loop_of_a_program_is_shared_while_its_first_item_runs() {
    for first in ["for_each", "map", "query", "iterator"] {
        assert!(run_alone(&format!("process::first_{first}")).success());
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn first_for_each() {
    let both = Barrier::new(2);
    parallel::for_each(0..2, |_| {
        both.wait();
    });
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn first_iterator() {
    let both = Barrier::new(2);
    parallel::for_each(parallel::from_iter(0..2), |_| {
        both.wait();
    });
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn first_map() {
    let both = Barrier::new(2);
    assert_eq!(
        parallel::map(["many", "hands"], |word| (both.wait(), word.len()).1),
        [4, 5]
    );
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn first_query() {
    let both = Barrier::new(2);
    let met = (0..2).into_par_query().filter(|_| both.wait().is_leader());
    assert_eq!(met.count(), 1);
}

#[test]
fn a_forked_child_that_uses_the_pool_gets_a_clear_panic() {
    assert!(run_alone("process::in_forked_children").success());
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_forked_children() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let waits = runtime.install(|| task::spawn(pending::<()>()));
    runtime.install(|| task::run(|| ())).join().unwrap();
    task::run(|| ()).join().unwrap();

    assert_refused(|| task::run(|| ()));
    assert_refused(|| task::spawn(async {}));
    assert_refused(|| task::run_detached(|| ()));
    assert_refused(|| runtime.install(|| ()));
    assert_refused(|| join(|| (), || ()));
    assert_refused(|| scope(|scope| scope.spawn(|_| ())));
    assert_refused(|| parallel::invoke((|| (), || ())));
    assert_refused(|| task::block_on(pending::<()>()));
    assert_refused(|| task::scope_blocking(|scope| scope.spawn(async {})));
    assert_refused(|| Runtime::builder().build());
    let handle = runtime.handle();
    assert_refused(|| handle.run(|| ()));
    assert_refused(|| handle.spawn(async {}));
    assert_refused(|| handle.block_on(pending::<()>()));
    assert_refused(Handle::current);
    let entered = runtime.enter();
    assert_refused(|| task::run(|| ()));
    let invoke = || parallel::invoke((|| (), || ()));
    assert_refused(invoke);
    // The parent would run them alone.
    for _ in 0..300 {
        invoke();
    }
    assert_refused(invoke);
    drop(entered);

    // Operations that need no other thread still work.
    let ended = in_child(|| channel::bounded(1).0.try_send(1).is_ok());
    assert_eq!(ended.code(), Some(ENDED));
    let started = in_child(|| Command::new("true").status().unwrap());
    assert_eq!(started.code(), Some(ENDED));

    // The parent notices nothing.
    assert_eq!(runtime.install(|| task::run(|| 7)).join().unwrap(), 7);
    waits.abort();
    let mut waits = Some(waits);
    let mut runtime = Some(runtime);
    assert_refused(|| waits.take().map(task::JoinHandle::join));
    let dropped = in_child(|| drop(runtime.take()));
    assert_eq!(dropped.code(), Some(ENDED));
    assert!(waits.unwrap().join().unwrap_err().is_cancelled());
}

#[test]
fn a_child_that_a_task_has_forked_ends_when_it_comes_back_to_the_pool() {
    assert!(run_alone("process::in_children_of_tasks").success());
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_children_of_tasks() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let _entered = runtime.enter();
    let aborted = task::run(|| {
        // SAFETY: takes nothing, and nobody else holds a lock.
        let child = unsafe { libc::fork() };
        // The child goes on as a worker.
        (child != 0).then(|| status_of(child))
    });
    let status = aborted.join().unwrap().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGABRT));
    // One that waits for what is done elsewhere.
    let aborted = task::run(|| in_child(|| drop(task::spawn(pending::<()>()).join())));
    assert_eq!(aborted.join().unwrap().signal(), Some(libc::SIGABRT));
    let started = task::run(|| in_child(|| Command::new("true").status().unwrap()));
    assert_eq!(started.join().unwrap().code(), Some(ENDED));
    assert_eq!(task::run(|| 7).join().unwrap(), 7);
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_that_wakes_a_task_of_its_parent_goes_on_and_starts_no_thread() {
    assert!(run_alone("process::in_a_child_that_wakes").success());
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_a_child_that_wakes() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (completer, completion) = task::completion::<()>();
    let waits = runtime.install(|| task::spawn(completion));
    let ((begin, begun), (let_go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
    let blocks = move || {
        begin.send(()).unwrap();
        gate.recv().unwrap_err();
    };
    let blocked = runtime.install(|| task::run(|| task::blocking(blocks)));
    begun.recv().unwrap();
    // Another thread would run the task in the place of the only one.
    let goes_on = in_child(|| {
        completer.complete(());
        assert_eq!(fs::read_dir("/proc/self/task").unwrap().count(), 1);
    });
    assert_eq!(goes_on.code(), Some(ENDED));
    drop(let_go);
    blocked.join().unwrap();
    completer.complete(());
    assert!(waits.join().unwrap().is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_that_was_forked_in_a_call_goes_on_after_it_and_leaves_the_workers_of_its_parent_alone() {
    assert!(run_alone("process::in_children_of_calls").success());
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_children_of_calls() {
    // At the end of the call, when no worker is there yet; then when one sleeps; and in the call.
    for (workers, is_warm, wakes_in_call) in [(1, false, false), (1, true, false), (2, true, true)]
    {
        for cpu in 0..4 {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            // SAFETY: takes nothing, returns a number.
            let number = || unsafe { libc::gettid() };
            if is_warm {
                await_sleep(runtime.install(|| task::run(number)).join().unwrap());
            }
            let (receive, send) = io::pipe().unwrap();
            // Where the worker sleeps, if that is there.
            let everywhere = keep_to(cpu);
            let (child, waiting) = runtime.install(|| {
                let waiting = (!wakes_in_call).then(|| task::run(number));
                // SAFETY: takes nothing. What the child uses of this process holds no lock.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    assert_eq!((&receive).read(&mut [0]).unwrap(), 1);
                    drop(wakes_in_call.then(|| task::run(number)));
                }
                (child, waiting)
            });
            if child == 0 {
                // SAFETY: ends the process.
                unsafe { libc::_exit(ENDED) };
            }
            run_on(&everywhere);
            let waiting = waiting.unwrap_or_else(|| runtime.install(|| task::run(number)));
            let worker = waiting.join().unwrap();
            let before = allowed(worker);
            (&send).write_all(&[1]).unwrap();
            assert_eq!(status_of(child).code(), Some(ENDED));
            assert_eq!(allowed(worker), before, "the child has moved it");
        }
    }
}

#[test]
fn a_child_that_was_forked_in_a_short_loop_goes_on_or_ends_with_a_sentence() {
    assert!(run_alone("process::in_children_of_short_loops").success());
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_children_of_short_loops() {
    for waits_for_others in [false, true] {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let _entered = runtime.enter();
        let (is_short, has_forked) = (AtomicBool::new(true), AtomicBool::new(false));
        let (others, caller) = (AtomicUsize::new(0), thread::current().id());
        let (child, items) = (AtomicI32::new(0), AtomicUsize::new(0));
        let call = || {
            parallel::for_each(0..16, |_| {
                if is_short.load(Ordering::SeqCst) {
                    return;
                }
                items.fetch_add(1, Ordering::SeqCst);
                if thread::current().id() != caller {
                    others.fetch_add(1, Ordering::SeqCst);
                } else if !has_forked.swap(true, Ordering::SeqCst) {
                    wait_until("the loop is opened to another thread", || {
                        !waits_for_others || others.load(Ordering::SeqCst) > 0
                    });
                    // SAFETY: takes nothing. What the child uses of this process holds no lock.
                    child.store(unsafe { libc::fork() }, Ordering::SeqCst);
                }
            });
        };
        (0..100).for_each(|_| call());
        is_short.store(false, Ordering::SeqCst);
        call();
        let child = child.into_inner();
        if child == 0 {
            // It goes on only if no thread that it lacks had an item.
            let is_whole = items.into_inner() == 16;
            // SAFETY: ends the process.
            unsafe { libc::_exit(if is_whole { ENDED } else { 1 }) };
        }
        let status = status_of(child);
        assert!(
            status.code() == Some(ENDED) || status.signal() == Some(libc::SIGABRT),
            "{status:?}"
        );
    }
}

#[test]
fn a_child_ends_at_a_lock_that_another_thread_of_its_parent_has() {
    assert!(run_alone("process::in_children_beside_a_thread_that_locks").success());
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn in_children_beside_a_thread_that_locks() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let _entered = runtime.enter();
    let (sender, receiver) = channel::bounded(2);
    sender.try_send(1).unwrap();
    let ((begin, begun), (let_go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
    let looks = move |_: &i32| {
        begin.send(()).unwrap();
        gate.recv().unwrap_err();
    };
    // The closure runs under the channel's lock.
    let looking = thread::spawn(move || receiver.peek(looks));
    begun.recv().unwrap();
    let ended = in_child(|| sender.try_send(2));
    assert_eq!(ended.signal(), Some(libc::SIGABRT));
    drop(let_go);
    looking.join().unwrap().unwrap();

    // Another thread begins and ends waits for a time, so that it often has the lock of the timers.
    let sleep = || time::sleep(Duration::from_secs(3600));
    let mut waits = Some(Box::pin(sleep()));
    assert!(waits.as_mut().unwrap().now_or_never().is_none());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _entered = runtime.enter();
            while !is_over.load(Ordering::SeqCst) {
                assert!(sleep().now_or_never().is_none());
            }
        });
        let children = || in_child(|| drop(waits.take()));
        let last = std::iter::repeat_with(children).find(|ended| ended.code() != Some(ENDED));
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(last.unwrap().signal(), Some(libc::SIGABRT));
    });
}

/// Everything once; returns how much of it worked.
fn use_everything() -> usize {
    let sum = AtomicUsize::new(0);
    let add = |count| {
        sum.fetch_add(count, Ordering::Relaxed);
    };
    parallel::for_each(0..1000, |_| add(1));
    parallel::invoke((|| add(1), || add(1)));
    let (a, b) = join(|| 1, || 1);
    add(a + b);
    scope(|scope| scope.spawn(|_| add(1)));
    task::scope_blocking(|scope| scope.spawn(async { add(1) }));
    add(task::run(|| 1).join().unwrap());
    add(task::spawn(async { 1 }).join().unwrap());
    add(task::block_on(async {
        time::sleep(Duration::from_millis(1)).await;
        1
    }));
    let (sender, receiver) = channel::bounded(1);
    task::run_detached(move || sender.send_blocking(1).unwrap());
    add(receiver.recv_blocking().unwrap());
    let runtime = named("own", 1);
    add(usize::from(
        runtime.install(where_tasks_run).starts_with("own-"),
    ));
    sum.into_inner()
}

/// What [`use_everything`] returns.
const EVERYTHING: usize = 1011;

thread_local! {
    static LEAVING: RefCell<Option<Leaving>> = const { RefCell::new(None) };
}

/// Uses everything when it is dropped, and says whether that worked.
struct Leaving(mpsc::Sender<usize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.send(use_everything()).unwrap();
    }
}

#[test]
fn everything_works_while_the_values_of_a_thread_are_destroyed() {
    within(30, || {
        let (sender, used) = mpsc::channel();
        for was_used_before in [false, true] {
            let sender = sender.clone();
            let thread = thread::spawn(move || {
                if was_used_before {
                    LEAVING.set(Some(Leaving(sender)));
                    assert_eq!(use_everything(), EVERYTHING);
                } else {
                    LEAVING.set(Some(Leaving(sender)));
                }
            });
            assert_eq!(crate::support::receive(&used), EVERYTHING);
            thread.join().unwrap();
        }
        // Of a worker: its own runtime has ended by then, and others are used.
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let task = runtime.install(|| task::run(|| LEAVING.set(Some(Leaving(sender)))));
        task.join().unwrap();
        drop(runtime);
        assert_eq!(crate::support::receive(&used), EVERYTHING);
    });
}

#[test]
fn everything_works_in_exit_handlers() {
    for test in ["process::exits_from_main", "process::exits_from_a_worker"] {
        assert_eq!(run_alone(test).code(), Some(ENDED), "{test}");
    }
}

/// Exits at once with another status if something does not work.
extern "C" fn at_exit() {
    let used = panics_of(|| assert_eq!(use_everything(), EVERYTHING));
    if !used.is_empty() {
        // SAFETY: ends the process.
        unsafe { libc::_exit(PANICKED_OTHERWISE) };
    }
}

#[expect(clippy::exit, reason = "exit handlers are what is tested")]
fn exit_with_handler() -> ! {
    // SAFETY: the function may be called at any time.
    let failed = unsafe { libc::atexit(at_exit) };
    assert_eq!(failed, 0);
    std::process::exit(ENDED);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn exits_from_main() {
    assert_eq!(use_everything(), EVERYTHING);
    exit_with_handler();
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn exits_from_a_worker() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let never: Result<(), _> = task::run(|| exit_with_handler()).join();
    drop(never);
}

/// The calling thread runs on this processor alone, if it may at all. Returns where it could run before.
#[cfg(target_os = "linux")]
fn keep_to(cpu: usize) -> libc::cpu_set_t {
    // SAFETY: all zeros is a set, and the pointer is to a local.
    let [mut before, mut only]: [libc::cpu_set_t; 2] = unsafe { mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::sched_getaffinity(0, size_of_val(&before), &raw mut before) };
    // SAFETY: the number is below the size of the set.
    unsafe { libc::CPU_SET(cpu, &mut only) };
    run_on(&only);
    before
}

#[cfg(target_os = "linux")]
fn run_on(cpus: &libc::cpu_set_t) {
    // SAFETY: the pointer is to a set. Where the system refuses, the thread stays where it is.
    unsafe { libc::sched_setaffinity(0, size_of_val(cpus), cpus) };
}

/// A line of what the system says of a thread of this process.
#[cfg(target_os = "linux")]
fn line_of(thread: libc::pid_t, begins: &str) -> String {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(begins));
    line.unwrap().to_owned()
}

/// Where a thread of this process may run.
#[cfg(target_os = "linux")]
fn allowed(thread: libc::pid_t) -> String {
    line_of(thread, "Cpus_allowed_list")
}

#[cfg(target_os = "linux")]
fn await_sleep(thread: libc::pid_t) {
    let deadline = Deadline::after(Duration::from_secs(20));
    while !line_of(thread, "State").contains('S') {
        assert!(!deadline.has_passed(), "the worker does not sleep");
        thread::yield_now();
    }
}
