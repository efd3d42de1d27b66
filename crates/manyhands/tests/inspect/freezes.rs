//! Freezing and thawing single tasks, over the socket.

use crate::support::{in_state, named, one_with_connections, spawn, until, waiting};
use manyhands::inspect::{self, TaskSnapshot, TaskState};
use manyhands::task::{self, JoinError, JoinHandle, Priority, TaskGroup};
use manyhands::{Runtime, channel, diagnostics};
use manyhands_inspect::{Client, Error};
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// A client of this process, which lets it act.
fn client() -> Client {
    diagnostics::allow_control();
    Client::connect(&diagnostics::serve().unwrap()).unwrap()
}

fn number_of(name: &str) -> String {
    until(|| Some(named(&inspect::snapshot(), name)?.number)).to_string()
}

/// Freezes a task that waits.
fn freeze_waiting(client: &mut Client, name: &str) -> String {
    let number = waiting(name).number.to_string();
    assert!(!client.freeze_task(&number).unwrap(), "it waits");
    assert!(waiting(name).is_frozen);
    number
}

fn held(name: &str) -> TaskSnapshot {
    in_state(name, TaskState::Frozen)
}

/// How it has ended, as soon as it has; [`JoinHandle::join`] has no deadline.
fn end_of<T>(task: JoinHandle<T>) -> Result<T, JoinError> {
    until(|| task.is_finished().then_some(()));
    task.join()
}

fn reason(refused: &Error) -> &str {
    match refused {
        Error::Refused(reason) => reason,
        other => panic!("{other}"),
    }
}

/// Sets a flag when it is dropped.
struct SetsWhenDropped(Arc<AtomicBool>);

impl Drop for SetsWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A future that was dropped once the flag is set, and one that waits for an order.
fn clerk(
    name: &str,
) -> (
    JoinHandle<Result<u32, channel::RecvError>>,
    channel::Sender<u32>,
    Arc<AtomicBool>,
) {
    let (sender, orders) = channel::unbounded::<u32>();
    let is_dropped = Arc::new(AtomicBool::new(false));
    let dropped = SetsWhenDropped(Arc::clone(&is_dropped));
    let clerk = spawn(name, async move {
        let _dropped = dropped;
        orders.recv().await
    });
    (clerk, sender, is_dropped)
}

/// A thread that a closure on a worker blocks until the sender is dropped.
fn occupied(runtime: &Runtime, name: &str) -> (JoinHandle<bool>, mpsc::Sender<()>) {
    let (go, gate) = mpsc::channel::<()>();
    let closure = move || gate.recv().is_err();
    let task = runtime.install(|| task::Builder::new().name(name).run(closure));
    in_state(name, TaskState::Running);
    (task, go)
}

#[test]
fn a_frozen_task_that_is_woken_is_held_until_it_is_thawed() {
    let _one = one_with_connections();
    let mut client = client();
    let (clerk, sender, _) = clerk("frozen: clerk");
    let polls = waiting("frozen: clerk").polls;
    let number = freeze_waiting(&mut client, "frozen: clerk");
    sender.send_blocking(7).unwrap();
    let before = held("frozen: clerk");
    assert_eq!((before.polls, before.is_frozen), (polls, true));
    // Frozen again it stays as it is.
    assert!(!client.freeze_task(&number).unwrap());
    let view = client.view(usize::MAX).unwrap();
    let shown = view.tasks.iter().find(|task| task.number == number);
    assert!(shown.is_some_and(|task| task.state == "frozen" && task.frozen));
    let refused = client.poll_task(&number).unwrap_err();
    assert!(reason(&refused).contains("is frozen"), "{refused}");
    client.thaw_task(&number).unwrap();
    assert_eq!(end_of(clerk).unwrap().unwrap(), 7);
}

#[test]
fn a_task_that_was_thawed_before_it_was_woken_goes_on_as_if_nothing_had_been() {
    let _one = one_with_connections();
    let mut client = client();
    let (clerk, sender, _) = clerk("frozen: not woken");
    let before = waiting("frozen: not woken");
    let number = freeze_waiting(&mut client, "frozen: not woken");
    client.thaw_task(&number).unwrap();
    let after = waiting("frozen: not woken");
    assert_eq!(
        (after.polls, after.wakes, after.is_frozen),
        (before.polls, before.wakes, false)
    );
    sender.send_blocking(7).unwrap();
    assert_eq!(end_of(clerk).unwrap().unwrap(), 7);
}

#[test]
fn a_queued_task_is_held_before_its_first_poll_and_goes_on_where_it_belongs() {
    let _one = one_with_connections();
    let mut client = client();
    let runtime = Runtime::builder().workers(1).max_threads(1).name("frozen");
    let runtime = runtime.build().unwrap();
    let (occupied, go) = occupied(&runtime, "frozen: occupies");
    let on_worker = || async { thread::current().name().map(str::to_owned) };
    let (first, urgent) = runtime.install(|| {
        let urgent = task::Builder::new().name("frozen: urgent");
        let urgent = urgent.priority(Priority::Interactive);
        (
            spawn("frozen: first", on_worker()),
            urgent.spawn(on_worker()),
        )
    });
    let names = ["frozen: first", "frozen: urgent"];
    let numbers = names.map(number_of);
    for number in &numbers {
        assert!(!client.freeze_task(number).unwrap(), "it is queued");
    }
    drop(go);
    assert!(end_of(occupied).unwrap());
    for name in names {
        assert_eq!(held(name).polls, 0);
    }
    let end = runtime.install(|| task::run(|| thread::current().name().map(str::to_owned)));
    let worker = end_of(end).unwrap();
    for number in &numbers {
        client.thaw_task(number).unwrap();
    }
    assert_eq!(end_of(first).unwrap(), worker, "in its runtime");
    assert_eq!(end_of(urgent).unwrap(), worker);
}

#[test]
fn a_local_task_that_is_thawed_goes_on_on_its_own_worker() {
    let _one = one_with_connections();
    let mut client = client();
    let (sender, orders) = channel::unbounded::<()>();
    let local = spawn("frozen: spawns", async move {
        let here = || thread::current().id();
        let spawned_on = here();
        let local = task::Builder::new().name("frozen: local");
        let local = local.spawn_local(async move {
            orders.recv().await.unwrap();
            thread::current().id()
        });
        (spawned_on, local.await.unwrap())
    });
    let number = freeze_waiting(&mut client, "frozen: local");
    sender.send_blocking(()).unwrap();
    held("frozen: local");
    client.thaw_task(&number).unwrap();
    let (spawned_on, polled_on) = end_of(local).unwrap();
    assert_eq!(spawned_on, polled_on);
}

#[test]
fn a_poll_that_runs_goes_on_and_the_next_one_is_held() {
    let _one = one_with_connections();
    let mut client = client();
    let (go, gate) = mpsc::channel::<()>();
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let wakes_itself = spawn(
        "frozen: runs",
        poll_fn(move |context| {
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            assert!(gate.recv().is_err());
            Poll::Pending
        }),
    );
    until(|| (polls.load(Ordering::SeqCst) == 1).then_some(()));
    let number = in_state("frozen: runs", TaskState::Running).number;
    let number = number.to_string();
    assert!(client.freeze_task(&number).unwrap(), "it is being polled");
    drop(go);
    assert_eq!(held("frozen: runs").polls, 1);
    assert_eq!(polls.load(Ordering::SeqCst), 1);
    client.thaw_task(&number).unwrap();
    end_of(wakes_itself).unwrap();
    assert_eq!(polls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_frozen_task_that_is_cancelled_is_dropped_without_another_poll() {
    let _one = one_with_connections();
    let mut client = client();
    for is_held in [false, true] {
        let name = format!("frozen: cancelled {is_held}");
        let (clerk, sender, is_dropped) = clerk(&name);
        let number = freeze_waiting(&mut client, &name);
        if is_held {
            sender.send_blocking(1).unwrap();
            held(&name);
        }
        clerk.abort();
        assert!(end_of(clerk).unwrap_err().is_cancelled());
        assert!(is_dropped.load(Ordering::SeqCst));
        let gone = client.thaw_task(&number).unwrap_err();
        assert!(reason(&gone).contains("no such task"), "{gone}");
    }
}

#[test]
fn frozen_tasks_of_a_runtime_that_ends_are_dropped_with_the_others() {
    let _one = one_with_connections();
    let mut client = client();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let (waits, _sender, waits_dropped) = runtime.install(|| clerk("frozen: ends, waits"));
    let (woken, sender, woken_dropped) = runtime.install(|| clerk("frozen: ends, held"));
    freeze_waiting(&mut client, "frozen: ends, waits");
    let number = freeze_waiting(&mut client, "frozen: ends, held");
    sender.send_blocking(1).unwrap();
    held("frozen: ends, held");
    drop(runtime);
    assert!(end_of(waits).unwrap_err().is_cancelled() && end_of(woken).unwrap_err().is_cancelled());
    assert!(waits_dropped.load(Ordering::SeqCst) && woken_dropped.load(Ordering::SeqCst));
    assert!(client.thaw_task(&number).is_err(), "it is gone");
}

#[test]
fn a_held_task_without_a_handle_and_other_wakers_is_there_until_it_is_thawed() {
    let _one = one_with_connections();
    let mut client = client();
    let kept: Arc<std::sync::Mutex<Option<Waker>>> = Arc::default();
    let (keep, polls) = (Arc::clone(&kept), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&polls);
    let task = spawn(
        "frozen: detached",
        poll_fn(move |context| {
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                return Poll::Ready(());
            }
            *keep.lock().unwrap() = Some(context.waker().clone());
            Poll::Pending
        }),
    );
    let number = freeze_waiting(&mut client, "frozen: detached");
    drop(task);
    let waker = kept.lock().unwrap().take().unwrap();
    waker.wake();
    held("frozen: detached");
    client.thaw_task(&number).unwrap();
    until(|| {
        named(&inspect::snapshot(), "frozen: detached")
            .is_none()
            .then_some(())
    });
    assert_eq!(
        polls.load(Ordering::SeqCst),
        2,
        "it was polled, not dropped"
    );
}

#[test]
fn who_waits_for_a_frozen_task_waits_until_it_is_thawed() {
    let _one = one_with_connections();
    let mut client = client();
    let (in_group, to_group, _) = clerk("frozen: of a group");
    let (alone, to_alone, _) = clerk("frozen: of when_all");
    let group = spawn("frozen: group", async move {
        let mut group = TaskGroup::new();
        group.push(in_group);
        group.wait().await.len()
    });
    let all = spawn("frozen: all", task::when_all([alone]));
    let (to_scope, of_scope) = channel::unbounded::<u32>();
    let scope = task::Builder::new().name("frozen: scope").run(move || {
        task::scope_blocking(|scope| {
            scope.spawn(async { drop(of_scope.recv().await) });
        });
    });
    let scoped = until(|| {
        let snapshot = inspect::snapshot();
        let scope = named(&snapshot, "frozen: scope")?.number;
        let mut tasks = snapshot.tasks.into_iter();
        let own = tasks.find(|task| task.parent == Some(scope))?;
        (own.state == TaskState::Waiting).then_some(own.number)
    });
    let numbers = [
        freeze_waiting(&mut client, "frozen: of a group"),
        freeze_waiting(&mut client, "frozen: of when_all"),
        scoped.to_string(),
    ];
    assert!(!client.freeze_task(&numbers[2]).unwrap());
    for sender in [&to_group, &to_alone, &to_scope] {
        sender.send_blocking(1).unwrap();
    }
    let is_held = |number: &String| {
        let tasks = inspect::snapshot().tasks.into_iter();
        let mut its = tasks.filter(|task| task.number.to_string() == *number);
        its.any(|task| task.state == TaskState::Frozen)
    };
    until(|| numbers.iter().all(is_held).then_some(()));
    // None of it is a deadlock, certain or not: a thaw lets it go on.
    let view = client.view(usize::MAX).unwrap();
    let is_ours = |ring: &manyhands_inspect::Deadlock| ring.text.contains("frozen: ");
    assert!(!view.deadlocks.iter().any(is_ours), "{:?}", view.deadlocks);
    assert!(!group.is_finished() && !all.is_finished() && !scope.is_finished());
    for number in &numbers {
        client.thaw_task(number).unwrap();
    }
    assert_eq!(end_of(group).unwrap(), 1);
    assert_eq!(end_of(all).unwrap().len(), 1);
    end_of(scope).unwrap();
}

#[test]
fn a_ring_of_tasks_is_a_deadlock_whether_one_of_them_is_frozen_or_not() {
    let _one = one_with_connections();
    let mut client = client();
    let pass = || channel::bounded::<JoinHandle<()>>(1);
    let ((to_a, from_b), (to_b, from_a)) = (pass(), pass());
    let awaits = |name: &str, handles: channel::Receiver<JoinHandle<()>>| {
        spawn(name, async move {
            drop(handles.recv().await.unwrap().await);
        })
    };
    let (a, b) = (
        awaits("frozen ring: a", from_b),
        awaits("frozen ring: b", from_a),
    );
    waiting("frozen ring: b");
    let number = freeze_waiting(&mut client, "frozen ring: a");
    to_a.send_blocking(b).unwrap();
    held("frozen ring: a");
    to_b.send_blocking(a).unwrap();
    let mut rings = || {
        let view = client.view(0).unwrap();
        let rings = view.deadlocks.into_iter();
        rings
            .filter(|ring| ring.text.contains("frozen ring: "))
            .count()
    };
    until(|| (waiting("frozen ring: b").polls == 2).then_some(()));
    assert_eq!(rings(), 0, "the held one does not wait for the other yet");
    let mut other = self::client();
    other.thaw_task(&number).unwrap();
    until(|| (rings() == 1).then_some(()));
    freeze_waiting(&mut other, "frozen ring: a");
    assert_eq!(rings(), 1, "no thaw would let it go on");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a runtime is starved only if nothing happens for some time"
)]
fn a_held_task_is_in_no_queue_so_its_runtime_is_not_starved_by_it() {
    let _one = one_with_connections();
    let mut client = client();
    let small = Runtime::builder().workers(1).max_threads(1);
    let small = small.name("frozen small").on_stall(|_| ());
    let small = small.build().unwrap();
    let (frozen, sender, _) = small.install(|| clerk("frozen: in a small runtime"));
    let number = freeze_waiting(&mut client, "frozen: in a small runtime");
    sender.send_blocking(1).unwrap();
    held("frozen: in a small runtime");
    let (occupied, go) = occupied(&small, "frozen: occupies small");
    // Two looks of the search lie 400 ms apart. What is thawed waits for the only thread.
    let is_starved = |client: &mut Client| {
        let begun = Instant::now();
        let is_small = |starved: &manyhands_inspect::Starvation| starved.name == "frozen small";
        let mut is_starved = false;
        while begun.elapsed() < Duration::from_millis(600) {
            let view = client.view(0).unwrap();
            is_starved |= view.starvations.iter().any(is_small);
        }
        is_starved
    };
    assert!(!is_starved(&mut client), "while it is held");
    client.thaw_task(&number).unwrap();
    until(|| is_starved(&mut client).then_some(()));
    drop(go);
    assert!(end_of(occupied).unwrap());
    assert_eq!(end_of(frozen).unwrap().unwrap(), 1);
}

#[test]
fn a_connection_that_ends_thaws_what_it_was_the_last_to_freeze() {
    let _one = one_with_connections();
    let (mut first, mut second) = (client(), client());
    let (held_task, to_held, _) = clerk("frozen: left held");
    let (taken, to_taken, _) = clerk("frozen: taken over");
    let held_number = freeze_waiting(&mut first, "frozen: left held");
    let taken_number = freeze_waiting(&mut first, "frozen: taken over");
    assert!(!second.freeze_task(&taken_number).unwrap());
    to_held.send_blocking(1).unwrap();
    to_taken.send_blocking(2).unwrap();
    held("frozen: left held");
    held("frozen: taken over");
    drop(first);
    assert_eq!(end_of(held_task).unwrap().unwrap(), 1);
    assert!(second.thaw_task(&held_number).is_err(), "it has ended");
    assert!(held("frozen: taken over").is_frozen && !taken.is_finished());
    drop(second);
    assert_eq!(end_of(taken).unwrap().unwrap(), 2);
}

#[test]
fn what_cannot_be_frozen_or_thawed_is_refused_and_the_connection_goes_on() {
    let _one = one_with_connections();
    let mut client = client();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (closure, go) = occupied(&runtime, "frozen: closure");
    let closure_number = number_of("frozen: closure");
    let pends = spawn("frozen: never", pending::<()>());
    let never = waiting("frozen: never").number.to_string();
    for (number, part) in [
        (&*closure_number, "only a future that this library polls"),
        ("4294967295.7", "no such task"),
        ("clerk", "no such task"),
        ("\\\"", "no such task"),
    ] {
        let refused = client.freeze_task(number).unwrap_err();
        assert!(reason(&refused).contains(part), "{number}: {refused}");
    }
    for (number, part) in [
        (&*never, "the task is not frozen"),
        (&*closure_number, "the task is not frozen"),
        ("4294967295.7", "no such task"),
        ("clerk", "no such task"),
    ] {
        let refused = client.thaw_task(number).unwrap_err();
        assert!(reason(&refused).contains(part), "{number}: {refused}");
    }
    assert!(client.view(0).is_ok());
    pends.abort();
    drop(go);
    assert!(end_of(closure).unwrap());
}
