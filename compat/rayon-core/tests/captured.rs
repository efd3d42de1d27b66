//! What closures capture and panic with, and where that is dropped.

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs `f` on a thread of its own, and fails when it has not ended in time.
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(f()));
    receiver
        .recv_timeout(DEADLINE)
        .expect("ended in time, without a panic")
}

#[expect(clippy::disallowed_methods, reason = "a wait that is to run out")]
fn now() -> Instant {
    Instant::now()
}

/// Gives its scope time to end while it is dropped, and says whether that has ended.
struct Late {
    has_ended: Arc<AtomicBool>,
    is_late: mpsc::Sender<bool>,
}

impl Drop for Late {
    fn drop(&mut self) {
        let until = now() + Duration::from_millis(50);
        let has_ended = || self.has_ended.load(Ordering::SeqCst);
        while now() < until && !has_ended() {
            thread::yield_now();
        }
        self.is_late.send(has_ended()).unwrap();
    }
}

#[test]
fn what_a_broadcast_captures_is_dropped_before_its_scope_ends() {
    let late: Vec<bool> = in_time(|| {
        let (is_late, answers) = mpsc::channel();
        let in_a_scope = |run: &dyn Fn(Late)| {
            let has_ended = Arc::new(AtomicBool::new(false));
            run(Late {
                has_ended: Arc::clone(&has_ended),
                is_late: is_late.clone(),
            });
            has_ended.store(true, Ordering::SeqCst);
        };
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for _ in 0..3 {
            in_a_scope(&|it| rayon::scope(|s| s.spawn_broadcast(move |_, _| keep(&it))));
            in_a_scope(&|it| rayon::scope_fifo(|s| s.spawn_broadcast(move |_, _| keep(&it))));
            in_a_scope(&|it| rayon::in_place_scope(|s| s.spawn_broadcast(move |_, _| keep(&it))));
            in_a_scope(&|it| pool.scope(|s| s.spawn_broadcast(move |_, _| keep(&it))));
            in_a_scope(&|it| pool.scope(|s| s.spawn(move |_| keep(&it))));
        }
        drop(is_late);
        answers.into_iter().collect()
    });
    assert_eq!(late, [false; 15], "dropped after the scope had ended");
}

/// The closure that calls this captures the value.
fn keep<T>(_: &T) {}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<&str>().copied().unwrap_or("another")
}

#[test]
fn what_a_broadcast_captures_panics_its_scope_if_it_panics_when_it_is_dropped() {
    in_time(|| {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for _ in 0..20 {
            let body = |s: &Scope<'_>| {
                let captured = PanicsInDrop;
                s.spawn_broadcast(move |_, _| keep(&captured));
            };
            let outcomes = [
                catch_unwind(|| rayon::scope(body)),
                catch_unwind(AssertUnwindSafe(|| pool.scope(body))),
            ];
            for outcome in outcomes {
                assert_eq!(message(&*outcome.unwrap_err()), "dropped");
            }
        }
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    });
}

#[test]
fn what_a_spawned_broadcast_captures_is_dropped_once_in_the_pool_and_its_panic_is_handled() {
    let (sender, panics) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .panic_handler(move |payload| sender.send(message(&*payload).to_owned()).unwrap())
        .build()
        .unwrap();
    let captured = PanicsInDrop;
    pool.spawn_broadcast(move |_| keep(&captured));
    // The handler goes with the pool's threads, which run what was spawned first.
    drop(pool);
    assert_eq!(panics.recv_timeout(DEADLINE), Ok("dropped".to_owned()));
    assert_eq!(
        panics.recv_timeout(DEADLINE),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
}

#[test]
fn what_a_broadcast_captures_may_broadcast_when_it_is_dropped() {
    struct Broadcasts(Arc<ThreadPool>, mpsc::Sender<usize>);
    impl Drop for Broadcasts {
        fn drop(&mut self) {
            self.1.send(self.0.broadcast(|_| ()).len()).unwrap();
        }
    }
    in_time(|| {
        let pool = Arc::new(ThreadPoolBuilder::new().num_threads(3).build().unwrap());
        let (sender, lens) = mpsc::channel();
        for _ in 0..2_000 {
            let captured = Broadcasts(Arc::clone(&pool), sender.clone());
            pool.spawn_broadcast(move |_| keep(&captured));
            assert_eq!(lens.recv(), Ok(3));
        }
    });
}

/// A payload that panics when it is dropped.
struct Evil;

impl Drop for Evil {
    fn drop(&mut self) {
        panic_any(Self);
    }
}

#[test]
fn a_scope_waits_for_its_closures_whatever_its_body_panics_with() {
    let ran = in_time(|| {
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        // One thread, so that the second closure cannot run before the body has ended.
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                s.spawn(|_| panic!("first"));
                rayon::yield_local();
                s.spawn(move |_| runs.store(true, Ordering::SeqCst));
                panic_any(Evil);
            });
        }));
        let has_run = ran.load(Ordering::SeqCst);
        assert_eq!(message(&*outcome.unwrap_err()), "first");
        has_run
    });
    assert!(ran, "the scope has ended before its closure");
}
