//! Stacks of running workers, over the socket, with the names that the client finds in this program's file.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::support::{until, while_true};
use manyhands::{Runtime, diagnostics, task};
use manyhands_inspect::stacks::{Frames, Resolver, Stacks, ThreadStack, stacks_text};
use manyhands_inspect::{Client, Error};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn client() -> Client {
    Client::connect(&diagnostics::serve().unwrap()).unwrap()
}

/// The worker of this runtime, whose name begins that of its threads.
fn worker_of<'stacks>(stacks: &'stacks Stacks, runtime: &str) -> Option<&'stacks ThreadStack> {
    let mut threads = stacks.threads.iter();
    threads.find(|thread| thread.name.starts_with(runtime))
}

/// Where in the stack the function is whose path ends so.
fn position(thread: &ThreadStack, function: &str) -> Option<usize> {
    let mut frames = thread.frames.iter();
    frames.position(|frame| frame.function.ends_with(function))
}

/// A flag that is set however a test ends: a task that waits for it would keep the runtime's end waiting.
struct SetAtTheEnd(Arc<AtomicBool>);

impl Drop for SetAtTheEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[inline(never)]
fn innermost(stop: &AtomicBool, runs: &AtomicUsize) -> usize {
    while !stop.load(Ordering::Relaxed) {
        runs.fetch_add(1, Ordering::Relaxed);
    }
    black_box(1)
}

#[inline(never)]
fn middle(stop: &AtomicBool, runs: &AtomicUsize) -> usize {
    black_box(innermost(stop, runs)) + 1
}

#[inline(never)]
fn outermost(stop: &AtomicBool, runs: &AtomicUsize) -> usize {
    black_box(middle(stop, runs)) + 1
}

#[test]
fn the_functions_of_a_running_worker_are_named_in_the_order_of_their_calls() {
    let mut client = client();
    let runtime = Runtime::builder().workers(1).name("stacked");
    let runtime = runtime.build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let _at_the_end = SetAtTheEnd(Arc::clone(&stop));
    let running = runtime.install(|| task::run(move || outermost(&seen, &AtomicUsize::new(0))));
    let mut resolver = Resolver::new();
    let stacks = until(|| {
        let stacks = resolver.resolve(&client.raw_stacks().unwrap());
        let thread = worker_of(&stacks, "stacked")?;
        // What it runs is read before its stack, and may have begun in between.
        let is_there =
            thread.task_spawned_at.is_some() && position(thread, "stacks::innermost").is_some();
        is_there.then_some(stacks)
    });
    let thread = worker_of(&stacks, "stacked").unwrap();
    let functions = ["stacks::innermost", "stacks::middle", "stacks::outermost"];
    let positions = functions.map(|function| position(thread, function).unwrap());
    assert!(positions.is_sorted(), "{thread:?}");
    assert!(!thread.cut, "to the thread's first function: {thread:?}");
    assert_eq!((thread.worker, &*thread.state), (Some(0), "running"));
    let at = thread.task_spawned_at.as_deref().unwrap();
    assert!(at.contains("stacks.rs"), "{at}");

    let text = stacks_text(&stacks, Frames::OfProgram);
    let all = stacks_text(&stacks, Frames::All);
    assert!(text.contains("stacks::middle"), "{text}");
    assert!(
        !text.contains("run_loop") && all.contains("run_loop"),
        "{all}"
    );
    let graph = stacks.graph(Frames::OfProgram);
    assert_eq!(graph.stacks, stacks.threads.len());
    let has_all = |segment: &manyhands_inspect::stacks::Segment| {
        let names: Vec<&str> = segment
            .methods
            .iter()
            .map(|method| &*method.function)
            .collect();
        functions
            .iter()
            .all(|function| names.iter().any(|name| name.ends_with(function)))
    };
    assert!(graph.segments.iter().any(has_all), "{graph:?}");
    stop.store(true, Ordering::Relaxed);
    assert_eq!(running.join().unwrap(), 3);
}

#[inline(never)]
fn takes_the_shelf(shelf: &Mutex<usize>) -> usize {
    black_box(*shelf.lock().unwrap()) + 1
}

#[test]
fn a_worker_that_waits_for_a_lock_of_the_standard_library_is_shown_so_and_an_idle_one_is_not() {
    let mut client = client();
    let runtime = Runtime::builder().workers(1).name("locked");
    let runtime = runtime.build().unwrap();
    let shelf = Arc::new(Mutex::new(3));
    let held = shelf.lock().unwrap();
    let wanted = Arc::clone(&shelf);
    let task = runtime.install(|| task::run(move || takes_the_shelf(&wanted)));
    let mut resolver = Resolver::new();
    let mut look = || resolver.resolve(&client.raw_stacks().unwrap());
    let stacks = until(|| {
        let stacks = look();
        worker_of(&stacks, "locked")?.waits_for_lock()?;
        Some(stacks)
    });
    let thread = worker_of(&stacks, "locked").unwrap();
    assert_eq!(thread.waits_for_lock().as_deref(), Some("a mutex of std"));
    assert!(position(thread, "stacks::takes_the_shelf").is_some());
    if cfg!(target_env = "gnu") {
        assert_eq!(thread.frames[0].function, "syscall", "of the C library");
    }
    let text = stacks_text(&stacks, Frames::OfProgram);
    let heading = text.lines().find(|line| line.contains("'locked"));
    let heading = heading.unwrap();
    assert!(heading.ends_with(", waits for a mutex of std"), "{heading}");
    drop(held);
    assert_eq!(task.join().unwrap(), 4);
    // It sleeps for want of work, which is a wait of this library.
    until(|| {
        let stacks = look();
        let thread = worker_of(&stacks, "locked")?;
        assert!(position(thread, "takes_the_shelf").is_some() || thread.waits_for_lock().is_none());
        (thread.state == "idle" && !thread.frames.is_empty()).then_some(())
    });
}

/// A mutex of the C library that is locked from the beginning.
#[cfg(target_env = "gnu")]
struct Foreign(std::cell::UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: the mutex is for use by several threads.
#[cfg(target_env = "gnu")]
unsafe impl Sync for Foreign {}

#[cfg(target_env = "gnu")]
impl Foreign {
    #[inline(never)]
    fn lock(&self) -> i32 {
        // SAFETY: it was initialised, and stays where it is.
        black_box(unsafe { libc::pthread_mutex_lock(self.0.get()) })
    }

    fn unlock(&self) {
        // SAFETY: as above; the default kind may be unlocked by the thread that has locked it, which calls this.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

#[cfg(target_env = "gnu")]
#[test]
fn a_worker_that_waits_for_a_lock_of_c_is_shown_so() {
    static FOREIGN: Foreign = Foreign(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    let mut client = client();
    let runtime = Runtime::builder().workers(1).name("foreign");
    let runtime = runtime.build().unwrap();
    assert_eq!(FOREIGN.lock(), 0);
    let task = runtime.install(|| task::run(|| FOREIGN.lock()));
    let mut resolver = Resolver::new();
    let waits_for = until(|| {
        let stacks = resolver.resolve(&client.raw_stacks().unwrap());
        worker_of(&stacks, "foreign")?.waits_for_lock()
    });
    assert_eq!(waits_for, "a mutex of pthread");
    FOREIGN.unlock();
    assert_eq!(task.join().unwrap(), 0);
}

#[test]
fn threads_that_come_and_go_while_they_are_asked_keep_nobody_waiting() {
    let mut client = client();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..50 {
                let runtime = Runtime::builder().workers(2).name("short").build().unwrap();
                runtime.install(|| manyhands::join(|| black_box(1), || black_box(2)));
            }
            is_over.store(true, Ordering::Release);
        });
        while_true(
            || !is_over.load(Ordering::Acquire),
            || {
                for thread in client.raw_stacks().unwrap().threads {
                    let reason = thread.copy.missing.as_deref();
                    assert_eq!(reason.is_none(), thread.copy.registers.is_some());
                    assert!(matches!(reason, None | Some("ended" | "silent")));
                }
            },
        );
    });
}

/// Allocates, panics and unwinds through some frames, again and again.
fn disturb(depth: usize) -> usize {
    let kept: Vec<String> = (0..depth).map(|n| n.to_string()).collect();
    if depth == 0 {
        panic::resume_unwind(Box::new(kept));
    }
    let inner = panic::catch_unwind(|| disturb(depth - 1));
    match inner {
        Ok(len) => len,
        Err(payload) if depth.is_multiple_of(3) => drop_and_count(payload),
        Err(payload) => panic::resume_unwind(payload),
    }
}

fn drop_and_count(payload: Box<dyn std::any::Any + Send>) -> usize {
    drop(payload);
    1
}

/// 300, or as many as the variable `MANYHANDS_CAPTURES` says.
#[test]
fn workers_that_allocate_panic_and_unwind_are_captured_without_harm() {
    let captures = std::env::var("MANYHANDS_CAPTURES").map_or(300, |n| n.parse().unwrap());
    let mut client = client();
    let runtime = Runtime::builder().workers(2).name("disturbed");
    let runtime = runtime.build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let _at_the_end = SetAtTheEnd(Arc::clone(&stop));
    let disturbed = runtime.install(|| {
        let seen = Arc::clone(&stop);
        let work = move || {
            let mut rounds = 0_usize;
            while !seen.load(Ordering::Relaxed) {
                rounds += disturb(7);
            }
            rounds
        };
        [task::run(work.clone()), task::run(work)]
    });
    let mut resolver = Resolver::new();
    let (mut copied, mut asked, mut whole, mut named) = (0, 0, 0, 0);
    while copied < captures {
        let before = copied;
        until(|| {
            let stacks = resolver.resolve(&client.raw_stacks().unwrap());
            let of_runtime = |thread: &&ThreadStack| thread.name.starts_with("disturbed");
            for thread in stacks.threads.iter().filter(of_runtime) {
                asked += 1;
                copied += usize::from(thread.missing.is_none());
                whole += usize::from(thread.missing.is_none() && !thread.cut);
                named += usize::from(position(thread, "stacks::disturb").is_some());
            }
            (copied > before).then_some(())
        });
    }
    stop.store(true, Ordering::Relaxed);
    for task in disturbed {
        assert!(task.join().unwrap() > 0);
    }
    let counts = format!(
        "{asked} asked, {copied} copied, {whole} followed to their end, {named} in the function"
    );
    writeln!(std::io::stderr(), "{counts}").unwrap();
    assert!(named * 2 > copied && whole * 2 > copied, "{counts}");
}

/// Handles the signal itself, and waits for the end of its standard input.
#[test]
#[ignore = "started by the test below"]
fn child_with_a_handler() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGURG, handler) };
    let path = diagnostics::serve().unwrap();
    writeln!(std::io::stderr(), "listens: {}", path.display()).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    // SAFETY: takes numbers only.
    let before = unsafe { libc::signal(libc::SIGURG, libc::SIG_DFL) };
    assert_eq!(before, handler, "the handler was left alone");
}

#[test]
fn a_program_that_handles_the_signal_itself_keeps_its_handler_and_says_so() {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.args([
        "--exact",
        "stacks::child_with_a_handler",
        "--ignored",
        "--nocapture",
    ]);
    child
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let path = lines.find_map(|line| Some(line.strip_prefix("listens: ")?.to_owned()));
    let path = path.unwrap();
    let refused = Client::connect(Path::new(&path))
        .unwrap()
        .raw_stacks()
        .unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(reason) if reason.contains("SIGURG")),
        "{refused}"
    );
    // The connection goes on.
    let mut stream = BufReader::new(UnixStream::connect(&path).unwrap());
    let request = "{\"get\":\"stacks\"}\n{\"get\":\"snapshot\",\"tasks_max\":0}\n";
    stream.get_ref().write_all(request.as_bytes()).unwrap();
    let mut said = stream.by_ref().lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("signal_in_use")));
    assert!(said.any(|line| line.contains("\"end\":\"snapshot\"")));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
