//! What a task waits for outside this library.

use crate::support::{Source, assert_waits_at, spawn, until, waiting};
use futures::FutureExt;
use futures::future::BoxFuture;
use manyhands::inspect::Task;
use manyhands::{channel, diagnostics, task};
use manyhands_inspect::Client;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};

const HERE: Source = (file!(), include_str!("outside.rs"));

/// Is pending, and keeps a waker where the test finds it, until it is polled again.
fn elsewhere(keeper: mpsc::Sender<Waker>) -> impl Future<Output = ()> + Send {
    let mut is_kept = false;
    poll_fn(move |context: &mut Context<'_>| {
        if is_kept {
            return Poll::Ready(());
        }
        is_kept = keeper.send(context.waker().clone()).is_ok();
        Poll::Pending
    })
}

/// The name of the frame around each wait.
fn frames(task: &Task) -> Vec<(&str, Option<&str>)> {
    let waits = task.waits.iter();
    let frame = |place: Option<usize>| place.map(|place| &*task.frames[place].name);
    waits.map(|wait| (&*wait.kind, frame(wait.frame))).collect()
}

#[test]
fn a_task_whose_waker_is_kept_elsewhere_waits_for_something_outside_on_the_line_of_its_spawning() {
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let (keeper, kept) = mpsc::channel();
    let task = spawn("outside: plain", async move {
        elsewhere(keeper.clone()).await;
        elsewhere(keeper).await;
    });
    let waker = kept.recv().unwrap();
    let listed = waiting("outside: plain");
    // The line of `support::spawn`.
    assert_eq!(Some(&listed.waits[0].at), listed.spawned_at.as_ref());
    assert_eq!(frames(&listed), [("outside", None)]);
    let wait = &listed.waits[0];
    let of_nothing = wait.owner.is_none() && wait.resource == "0";
    assert!(of_nothing && wait.direct, "{wait:?}");
    assert_eq!(wait.waiting_us, listed.in_state_us);
    assert_eq!((listed.last_waker, listed.may_wait_for_more), (None, true));
    waker.wake();
    let _waker = kept.recv().unwrap();
    let listed = waiting("outside: plain");
    assert_eq!(listed.last_waker.as_deref(), Some("other"));
    let view = client.view(usize::MAX).unwrap();
    let is_shown = |task: &&Task| task.name.as_deref() == Some("outside: plain");
    let shown = view.tasks.iter().find(is_shown).unwrap();
    let wait = &shown.waits[0];
    assert_eq!(
        (wait.kind.as_str(), wait.resource.as_str()),
        ("outside", "0")
    );
    assert_eq!(shown.last_waker.as_deref(), Some("other"));
    let text = manyhands_inspect::text(&view);
    let mut lines = text.lines().filter(|line| line.contains("outside: plain"));
    let line = lines.next().unwrap();
    assert!(line.contains("something outside this library"), "{line}");
    task.abort();
}

#[test]
fn a_wait_outside_names_the_frame_in_which_nothing_recorded_waits_and_its_line() {
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let (_sender, receiver) = channel::bounded::<u32>(1);
    let (keeper, kept) = mpsc::channel();
    let task = spawn("outside: beside", async move {
        let inner = async {
            let receive = async { drop(receiver.recv().await) };
            let mut request = pin!(diagnostics::framed("request", elsewhere(keeper))); // this line
            let mut orders = pin!(diagnostics::framed("orders", receive));
            poll_fn(|context| match request.as_mut().poll(context) {
                Poll::Pending => orders.as_mut().poll(context),
                Poll::Ready(()) => Poll::Ready(()),
            })
            .await;
        };
        diagnostics::framed("serve", inner).await;
    });
    let _waker = kept.recv().unwrap();
    let listed = waiting("outside: beside");
    let expected = [("receive", Some("orders")), ("outside", Some("request"))];
    assert_eq!(frames(&listed), expected);
    assert_waits_at(&listed, HERE, &["recv", "// this line"]);
    let outer = listed.frames[listed.waits[1].frame.unwrap()].outer;
    assert_eq!(listed.frames[outer.unwrap()].name, "serve");
    let view = client.view(usize::MAX).unwrap();
    let text = manyhands_inspect::text(&view);
    assert!(text.contains("serve › request"), "{text}");
    task.abort();
}

#[test]
fn several_waits_outside_are_one_for_each_frame_but_no_more_than_there_are_wakers() {
    diagnostics::open();
    let (keeper, kept) = mpsc::channel();
    let task = spawn("outside: several", async move {
        let [mut one, mut two] = [1, 2].map(|_| Box::pin(elsewhere(keeper.clone())));
        let mut one = pin!(diagnostics::framed("one", one.as_mut()));
        let mut two = pin!(diagnostics::framed("two", two.as_mut()));
        let mut idle = pin!(diagnostics::framed("idle", std::future::pending::<()>()));
        poll_fn(|context| {
            assert!(idle.as_mut().poll(context).is_pending());
            let _ = one.as_mut().poll(context);
            two.as_mut().poll(context)
        })
        .await;
    });
    let _wakers = [kept.recv().unwrap(), kept.recv().unwrap()];
    let expected = [("outside", Some("one")), ("outside", Some("two"))];
    assert_eq!(frames(&waiting("outside: several")), expected);
    task.abort();
}

#[test]
fn tasks_that_wait_outside_in_the_same_frame_are_one_group_with_its_line() {
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let (keeper, kept) = mpsc::channel();
    let line = line!() + 3;
    let tasks = [1, 2].map(|_| {
        let keeper = keeper.clone();
        let query = diagnostics::framed("outside query", elsewhere(keeper));
        spawn("outside: grouped", diagnostics::framed("serve", query))
    });
    let _wakers = [kept.recv().unwrap(), kept.recv().unwrap()];
    let (groups, group) = until(|| {
        let groups = client.groups().unwrap();
        let is_query = |frame: &manyhands_inspect::GroupFrame| frame.name == "outside query";
        let mut all = groups.groups.iter();
        let group = all.find(|group| group.frames.iter().any(is_query) && group.tasks == 2);
        let group = group.filter(|group| group.state == "waiting")?.clone();
        Some((groups, group))
    });
    assert_eq!(group.waits_for.as_deref(), Some("outside"));
    let at = group.at.unwrap();
    assert!(at.contains(&format!("outside.rs:{line}:")), "{at}");
    let names: Vec<_> = group
        .frames
        .iter()
        .map(|frame| frame.name.as_str())
        .collect();
    assert_eq!(names, ["serve", "outside query"]);
    let graph = groups.graph();
    let text = manyhands_inspect::stacks::merged_text(&graph, "tasks", |_| String::new());
    let words = "waits for something outside this library";
    assert!(text.contains(words), "{text}");
    tasks.iter().for_each(task::JoinHandle::abort);
}

#[test]
fn a_task_that_waits_for_a_lock_of_tokio_waits_outside_for_nobody_in_particular() {
    diagnostics::open();
    let (mutex, lock) = (Arc::new(Mutex::new(())), Arc::new(RwLock::new(())));
    let (permits, notify) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let barrier = Arc::new(Barrier::new(2));
    let held = (mutex.try_lock(), lock.try_read());
    let (of_mutex, of_lock, of_permits) =
        (Arc::clone(&mutex), Arc::clone(&lock), Arc::clone(&permits));
    let (of_notify, of_barrier) = (Arc::clone(&notify), Arc::clone(&barrier));
    let framed = |name, wait| spawn(name, diagnostics::framed(name, wait));
    let tasks: [(&str, BoxFuture<'static, ()>); 5] = [
        (
            "outside: mutex",
            async move { drop(of_mutex.lock().await) }.boxed(),
        ),
        (
            "outside: lock",
            async move { drop(of_lock.write().await) }.boxed(),
        ),
        (
            "outside: permits",
            async move { drop(of_permits.acquire().await) }.boxed(),
        ),
        (
            "outside: notify",
            async move { of_notify.notified().await }.boxed(),
        ),
        (
            "outside: barrier",
            async move { _ = of_barrier.wait().await }.boxed(),
        ),
    ];
    let tasks = tasks.map(|(name, wait)| (name, framed(name, wait)));
    for (name, _) in &tasks {
        let listed = waiting(name);
        assert_eq!(frames(&listed), [("outside", Some(*name))]);
        let wait = &listed.waits[0];
        assert!(wait.owner.is_none() && wait.resource == "0", "{wait:?}");
    }
    drop(held);
    permits.add_permits(1);
    notify.notify_one();
    task::block_on(barrier.wait());
    for (_, task) in tasks {
        task.join().unwrap();
    }
}
