//! Which runtime a call uses.

use crate::support::{attempt_until, busy_micros, on, receive, within};
use manyhands::parallel::{AsyncOptions, Options};
use manyhands::{Handle, Runtime, channel, join, parallel, scope, task};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

/// A runtime whose threads are called by `name`.
pub(crate) fn named(name: &'static str, workers: usize) -> Runtime {
    let builder = Runtime::builder().workers(workers);
    let builder = builder.thread_name(move |index| format!("{name}-{index}"));
    builder.build().expect("the numbers are right")
}

pub(crate) fn thread_name() -> String {
    thread::current().name().unwrap_or("").to_owned()
}

/// Runs `work`, which calls what it is given from many bodies, until a thread called by `name` has taken
/// part; checks that none called by `other` ever has, but for the calling one.
fn check_takes_part(name: &str, other: &str, work: impl Fn(&(dyn Fn() + Sync))) {
    let here = thread_name();
    attempt_until("another thread takes part", || {
        let names = Mutex::new(BTreeSet::new());
        work(&|| {
            busy_micros(500);
            names.lock().unwrap().insert(thread_name());
        });
        let mut names = names.into_inner().unwrap();
        names.remove(&here);
        assert!(
            !names.iter().any(|found| found.starts_with(other)),
            "{names:?}"
        );
        assert!(
            names.iter().all(|found| found.starts_with(name)),
            "{names:?}"
        );
        !names.is_empty()
    });
}

#[test]
fn the_runtime_option_is_used_inside_another_runtime() {
    on(named("first", 2), |first| {
        let second = named("second", 2);
        let options = Options::new().runtime(&second);
        let check_all = || {
            check_takes_part("second", "first", |body| {
                options.for_each(0..200, |_| body());
            });
            check_takes_part("second", "first", |body| {
                options.for_each(parallel::from_iter(0..200), |_| body());
            });
            check_takes_part("second", "first", |body| {
                options.map_reduce(0..200, |_| body(), |(), ()| ());
            });
            check_takes_part("second", "first", |body| {
                options.invoke(vec![body; 50]);
            });
        };
        first.install(check_all);
        scope_on(first, check_all);
        // After the call the surrounding runtime is the current one again.
        first.install(|| {
            options.for_each(0..10, |_| {});
            check_takes_part("first", "second", |body| {
                parallel::for_each(0..200, |_| body());
            });
        });
    });
}

/// Runs `work` on a worker of the runtime.
fn scope_on(runtime: &Runtime, work: impl Fn() + Sync) {
    runtime.install(|| {
        scope(|s| {
            let (done, is_done) = mpsc::channel();
            let work = &work;
            s.spawn(move |_| {
                work();
                done.send(()).unwrap();
            });
            // Waits in the body, so that the closure runs elsewhere.
            receive(&is_done);
        });
    });
}

#[test]
fn the_source_of_an_async_loop_is_read_where_the_loop_is_polled() {
    on(named("chosen", 2), |chosen| {
        let reader = thread::current().id();
        let items = (0..200).inspect(move |_| assert_eq!(thread::current().id(), reader));
        let looping = AsyncOptions::new().runtime(chosen);
        task::block_on(looping.for_each_async(items, |_| task::yield_now()));
    });
}

#[test]
fn without_the_option_the_current_runtime_is_used() {
    on(named("first", 2), |first| {
        let second = named("second", 2);
        let check_all = |name: &str, other: &str| {
            check_takes_part(name, other, |body| parallel::for_each(0..200, |_| body()));
            check_takes_part(name, other, |body| {
                join(body, body);
            });
            check_takes_part(name, other, |body| {
                scope(|s| (0..20).for_each(|_| s.spawn(|_| body())));
            });
        };
        first.install(|| {
            check_all("first", "second");
            second.install(|| check_all("second", "first"));
            check_all("first", "second");
        });
        let entered = second.enter();
        check_all("second", "first");
        drop(entered);
        scope_on(first, || check_all("first", "second"));
    });
}

#[test]
fn without_any_runtime_the_default_one_is_used() {
    if thread::available_parallelism().unwrap().get() == 1 {
        // The default runtime has one place then, and the caller takes it.
        return;
    }
    check_takes_part("manyhands-", "first", |body| {
        parallel::for_each(0..200, |_| body());
    });
}

/// Where a task runs that is not waited for.
pub(crate) fn where_tasks_run() -> String {
    let (sender, receiver) = mpsc::channel();
    drop(task::run(move || sender.send(thread_name()).unwrap()));
    receive(&receiver)
}

#[test]
fn tasks_go_to_the_current_runtime() {
    on(named("first", 2), |first| {
        let second = named("second", 1);
        first.install(|| {
            assert!(where_tasks_run().starts_with("first-"));
            second.install(|| {
                assert!(where_tasks_run().starts_with("second-"));
                first.install(|| assert!(where_tasks_run().starts_with("first-")));
                assert!(where_tasks_run().starts_with("second-"));
            });
            assert!(where_tasks_run().starts_with("first-"));
            {
                let _entered = second.enter();
                assert!(where_tasks_run().starts_with("second-"));
                Options::new().runtime(first).for_each(0..1, |_| {
                    assert!(where_tasks_run().starts_with("first-"));
                });
                assert!(where_tasks_run().starts_with("second-"));
            }
            assert!(where_tasks_run().starts_with("first-"));
        });
        assert!(where_tasks_run().starts_with("manyhands-"));
    });
}

#[test]
fn a_future_that_a_worker_of_another_runtime_wakes_goes_on_in_its_own() {
    on(named("first", 1), |first| {
        let second = named("second", 1);
        let (sender, receiver) = channel::bounded(1);
        let (first_poll, is_polled) = mpsc::channel();
        let waiting = second.install(|| {
            task::spawn(async move {
                // The one worker runs this after the poll.
                drop(task::run(move || first_poll.send(()).unwrap()));
                receiver.recv().await.unwrap();
                thread_name()
            })
        });
        receive(&is_polled);
        let waking = first.install(|| {
            task::spawn(async move {
                sender.send_blocking(()).unwrap();
                thread_name()
            })
        });
        assert!(waking.join().unwrap().starts_with("first-"));
        assert!(waiting.join().unwrap().starts_with("second-"));
    });
}

#[test]
fn the_runtime_is_restored_when_what_is_installed_panics() {
    on(named("first", 1), |first| {
        let second = named("second", 1);
        first.install(|| {
            let payloads =
                crate::support::panics_of(|| second.install(|| crate::support::blow("inside")));
            assert_eq!(crate::support::message_of(&payloads[0]), "inside");
            assert!(where_tasks_run().starts_with("first-"));
        });
    });
}

#[test]
fn a_guard_that_a_thread_forgets_keeps_no_runtime_from_ending() {
    on(named("first", 1), |first| {
        let second = Arc::new(named("second", 1));
        let theirs = Arc::clone(&second);
        let forgets = move || {
            // Twice; only memory is kept.
            let _ = ManuallyDrop::new(theirs.enter());
            let _ = ManuallyDrop::new(theirs.enter());
            where_tasks_run()
        };
        let elsewhere = thread::spawn(forgets).join().unwrap();
        assert!(elsewhere.starts_with("second-"));
        let second = Arc::into_inner(second).expect("what borrowed it is gone");
        second.shutdown_blocking();
        let here = first.install(|| task::run(where_tasks_run)).join().unwrap();
        assert!(here.starts_with("first-"));
    });
}

thread_local! {
    static LEAVING: RefCell<Option<Leaving>> = const { RefCell::new(None) };
}

/// Calls this when it is dropped.
struct Leaving(Box<dyn Fn()>);

impl Drop for Leaving {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_destructor_of_a_thread_uses_what_it_enters_and_nothing_that_the_thread_has_forgotten() {
    within(30, || {
        let (first, second) = (Arc::new(named("first", 1)), Arc::new(named("second", 1)));
        let (send, used) = mpsc::channel();
        let entered = Arc::clone(&first);
        let uses = move || {
            let first = &*entered;
            let outer = first.enter();
            let inner = first.enter();
            let of_guards = where_tasks_run();
            drop(outer);
            let of_one_guard = where_tasks_run();
            drop(inner);
            let current = || {
                first
                    .install(Handle::current)
                    .block_on(async { where_tasks_run() })
            };
            let of_first = [
                first.install(where_tasks_run),
                of_guards,
                of_one_guard,
                first.handle().block_on(async { where_tasks_run() }),
                current(),
            ];
            send.send((of_first, where_tasks_run())).unwrap();
        };
        let thread = thread::spawn(move || {
            // Made first, so it goes last.
            LEAVING.set(Some(Leaving(Box::new(uses))));
            let _ = ManuallyDrop::new(second.enter());
            assert!(where_tasks_run().starts_with("second-"));
        });
        let (of_first, without) = receive(&used);
        thread.join().unwrap();
        let is_right = of_first.iter().all(|name| name.starts_with("first-"));
        assert!(is_right, "{of_first:?}");
        assert!(without.starts_with("manyhands-"), "{without}");
    });
}

#[test]
fn the_end_of_a_thread_frees_the_runtime_of_a_guard_that_it_has_forgotten() {
    within(30, || {
        let held = Arc::new(());
        let (holder, is_freed) = (Arc::clone(&held), Arc::downgrade(&held));
        drop(held);
        let builder = Runtime::builder()
            .workers(1)
            .thread_name(move |index| format!("{holder:?}{index}"));
        let runtime = builder.build().unwrap();
        let forgets = || {
            let _ = ManuallyDrop::new(runtime.enter());
            drop(where_tasks_run());
        };
        thread::scope(|scope| scope.spawn(forgets).join().unwrap());
        runtime.shutdown_blocking();
        assert!(is_freed.upgrade().is_none());
    });
}
