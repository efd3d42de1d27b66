//! Futures that are bound to a worker's thread are dropped there, wherever they were spawned: in destructors, hooks and
//! wakers, at a runtime's end and at a simulation's. None is left to the thread that replaces the worker.

use crate::support::{panics_of, wait_until, within};
use manyhands::simulation::Simulation;
use manyhands::{Runtime, task, time};
use std::future::pending;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How many futures were made, and how many were dropped, all of them where they were made.
#[derive(Debug, Default)]
struct Book {
    made: AtomicUsize,
    dropped: AtomicUsize,
    polled: AtomicUsize,
}

impl Book {
    /// Checks that every future was dropped by its thread.
    #[track_caller]
    fn assert_balanced(&self) {
        let made = self.made.load(Ordering::SeqCst);
        assert!(made > 0, "nothing was tried");
        assert_eq!(self.dropped.load(Ordering::SeqCst), made);
    }
}

/// A future that waits for ever, and that must be polled and dropped by the thread that made it.
struct Bound {
    book: Arc<Book>,
    registry: ThreadId,
    /// The number of futures that it spawns, one after the other, when it is dropped.
    heirs: usize,
    _not_send: PhantomData<Rc<()>>,
}

impl Bound {
    fn new(book: &Arc<Book>, heirs: usize) -> Self {
        book.made.fetch_add(1, Ordering::SeqCst);
        Self {
            book: Arc::clone(book),
            registry: thread::current().id(),
            heirs,
            _not_send: PhantomData,
        }
    }
}

impl Future for Bound {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        assert_eq!(
            thread::current().id(),
            self.registry,
            "polled on another thread"
        );
        self.book.polled.fetch_add(1, Ordering::SeqCst);
        Poll::Pending
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if thread::current().id() != self.registry {
            // Not counted, so that the balance shows it.
            return;
        }
        self.book.dropped.fetch_add(1, Ordering::SeqCst);
        // Not where it was refused itself.
        if self.heirs > 0 && !thread::panicking() {
            drop(task::spawn_local(Self::new(&self.book, self.heirs - 1)));
        }
    }
}

/// Spawns a [`Bound`] on the thread that drops it, if that is a worker.
struct SpawnsWhenDropped(Arc<Book>);

impl Drop for SpawnsWhenDropped {
    fn drop(&mut self) {
        let book = Arc::clone(&self.0);
        // Where there is no worker it is refused, and the future dropped.
        let refused = panics_of(|| drop(task::spawn_local(Bound::new(&book, 2))));
        drop(refused);
    }
}

/// Runs `main` in simulations, with a book that must balance afterwards.
fn in_simulations<F: Future<Output = ()>>(main: impl Fn(Arc<Book>) -> F) {
    for seed in 0..20 {
        let book = Arc::<Book>::default();
        let run = panics_of(|| Simulation::new(seed).run(main(Arc::clone(&book))));
        drop(run);
        book.assert_balanced();
    }
}

/// Drops a runtime on which `work` was done, with a book that must balance afterwards.
fn on_a_runtime_that_ends(
    build: impl FnOnce(manyhands::RuntimeBuilder, Arc<Book>) -> manyhands::RuntimeBuilder
    + Send
    + 'static,
    work: impl FnOnce(&Runtime, Arc<Book>) + Send + 'static,
) {
    within(30, move || {
        let book = Arc::<Book>::default();
        let builder = build(Runtime::builder().workers(1), Arc::clone(&book));
        let runtime = builder.build().unwrap();
        work(&runtime, Arc::clone(&book));
        drop(runtime);
        book.assert_balanced();
    });
}

fn as_it_is(builder: manyhands::RuntimeBuilder, _: Arc<Book>) -> manyhands::RuntimeBuilder {
    builder
}

#[test]
fn a_simulation_drops_what_its_last_poll_has_spawned() {
    in_simulations(|book| async move { drop(task::spawn_local(Bound::new(&book, 0))) });
}

#[test]
fn a_simulation_drops_what_destructors_spawn_at_its_end() {
    in_simulations(|book| async move {
        drop(task::spawn_local(Bound::new(&book, 3)));
        let waits = SpawnsWhenDropped(Arc::clone(&book));
        drop(task::spawn(async move {
            let _waits = waits;
            pending::<()>().await;
        }));
        let never_runs = SpawnsWhenDropped(Arc::clone(&book));
        drop(
            task::Builder::new()
                .priority(task::Priority::Background)
                .run(move || drop(never_runs)),
        );
        let _main = SpawnsWhenDropped(book);
        task::yield_now().await;
    });
}

#[test]
fn a_simulation_that_panics_drops_what_is_bound_to_it() {
    in_simulations(|book| async move {
        let _main = SpawnsWhenDropped(Arc::clone(&book));
        drop(task::spawn_local(Bound::new(&book, 1)));
        task::yield_now().await;
        crate::support::blow("the end");
    });
}

#[test]
fn a_simulation_in_a_deadlock_drops_what_is_bound_to_it() {
    in_simulations(|book| async move {
        drop(task::spawn_local(Bound::new(&book, 1)));
        pending::<()>().await;
    });
}

#[test]
fn what_the_stop_hook_spawns_is_dropped_by_its_worker() {
    on_a_runtime_that_ends(
        |builder, book| {
            builder.on_thread_stop(move |_| drop(task::spawn_local(Bound::new(&book, 2))))
        },
        |runtime, _| runtime.install(|| task::run(|| ())).join().unwrap(),
    );
}

#[test]
fn what_a_stop_hook_that_panics_has_spawned_is_dropped_by_its_worker() {
    on_a_runtime_that_ends(
        |builder, book| {
            builder.on_thread_stop(move |_| {
                drop(task::spawn_local(Bound::new(&book, 0)));
                crate::support::blow("stopped");
            })
        },
        |runtime, _| runtime.install(|| task::run(|| ())).join().unwrap(),
    );
}

#[test]
fn what_the_start_hook_spawns_is_polled_and_dropped_by_its_worker() {
    on_a_runtime_that_ends(
        |builder, book| {
            builder.on_thread_start(move |_| drop(task::spawn_local(Bound::new(&book, 2))))
        },
        |runtime, book| {
            runtime.install(|| task::run(|| ())).join().unwrap();
            wait_until("the future is polled", || {
                book.polled.load(Ordering::SeqCst) > 0
            });
        },
    );
}

#[test]
fn what_a_spare_worker_spawns_when_it_ends_is_dropped_by_it() {
    on_a_runtime_that_ends(
        |builder, book| {
            builder
                .max_threads(2)
                .thread_keep_alive(Duration::from_millis(1))
                .on_thread_stop(move |_| drop(task::spawn_local(Bound::new(&book, 1))))
        },
        |runtime, book| {
            let _entered = runtime.enter();
            // Two at once: the second thread ends, and later another one comes in its place.
            for round in 1..=3 {
                task::run(|| task::blocking(|| task::run(|| ()).join().unwrap()))
                    .join()
                    .unwrap();
                let (sender, receiver) = std::sync::mpsc::channel();
                let waits = task::run(move || task::blocking(|| receiver.recv().unwrap()));
                task::run(move || sender.send(()).unwrap()).join().unwrap();
                waits.join().unwrap();
                wait_until("the spare thread has ended", || {
                    runtime.threads() == 1 && book.dropped.load(Ordering::SeqCst) >= 2 * round
                });
            }
        },
    );
}

#[test]
fn what_destructors_spawn_at_a_shutdown_is_dropped_by_its_worker() {
    on_a_runtime_that_ends(as_it_is, |runtime, book| {
        let _entered = runtime.enter();
        for _ in 0..10 {
            let (bound, waits) = (Arc::clone(&book), SpawnsWhenDropped(Arc::clone(&book)));
            task::spawn(async move { drop(task::spawn_local(Bound::new(&bound, 3))) })
                .join()
                .unwrap();
            drop(task::spawn(async move {
                let _waits = waits;
                pending::<()>().await;
            }));
        }
    });
}

#[test]
fn what_a_waker_spawns_at_a_shutdown_is_dropped_by_its_worker() {
    /// Spawns when it is woken and when it is dropped.
    struct Spawning(Mutex<SpawnsWhenDropped>);

    impl Wake for Spawning {
        fn wake(self: Arc<Self>) {
            let book = Arc::clone(&self.0.lock().unwrap().0);
            drop(SpawnsWhenDropped(book));
        }
    }

    on_a_runtime_that_ends(as_it_is, |runtime, book| {
        let _entered = runtime.enter();
        let mut handle = task::spawn(pending::<()>());
        let waker = Waker::from(Arc::new(Spawning(Mutex::new(SpawnsWhenDropped(book)))));
        let polled = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let mut rings = Box::pin(time::sleep(Duration::from_secs(3600)));
        let polled = rings.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        task::run(|| ()).join().unwrap();
        // Both are dropped on the worker when the runtime ends.
        drop(waker);
        drop(task::spawn(async move {
            let _rings = rings;
            pending::<()>().await;
        }));
        drop(task::spawn(async move {
            let ended: Result<(), _> = handle.await;
            drop(ended);
        }));
    });
}

#[test]
fn outside_of_a_worker_s_life_a_bound_future_is_refused_and_dropped() {
    thread_local! {
        static LEAVES: std::cell::RefCell<Option<SpawnsWhenDropped>> =
            const { std::cell::RefCell::new(None) };
    }
    on_a_runtime_that_ends(as_it_is, |runtime, book| {
        // When the worker's thread-local values go, it is no worker any more.
        let theirs = Arc::clone(&book);
        runtime
            .install(|| {
                task::run(move || {
                    LEAVES.set(Some(SpawnsWhenDropped(theirs)));
                })
            })
            .join()
            .unwrap();
        let refused = panics_of(|| task::spawn_local(Bound::new(&book, 0)));
        assert_eq!(refused.len(), 1);
    });
}
