//! The socket from the other side: the client of `manyhands inspect`, on this process.

use crate::support::{file_and_line, in_state, spawn, until, waiting};
use manyhands::{Runtime, channel, diagnostics, parallel, task};
use manyhands_inspect::Client;
use std::future::pending;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;

#[test]
fn the_client_finds_the_socket_by_the_number_of_the_process_and_shows_its_tasks() {
    let path = diagnostics::serve().unwrap();
    assert_eq!(path, manyhands_inspect::default_path(std::process::id()));
    assert_eq!(
        diagnostics::serve().unwrap(),
        path,
        "a second call changes nothing"
    );
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(path.as_path()), mode(path.parent().unwrap())),
        (0o600, 0o700)
    );

    let slow = spawn("shown: slow", pending::<()>());
    let id = slow.id();
    let waits = spawn("shown: \x1b[2J", async move { drop(slow.await) });
    let listed = waiting("shown: \\u{1b}[2J");
    let (number, at) = (&listed.number, &listed.waits[0].at);
    let mut client = Client::connect(&path).unwrap();
    assert_eq!(client.hello().process, std::process::id());
    let view = client.view(usize::MAX).unwrap();
    let named = |name: &str| {
        view.tasks
            .iter()
            .find(|task| task.name.as_deref() == Some(name))
    };
    let (slow, waiter) = (
        named("shown: slow").unwrap(),
        named("shown: \\u{1b}[2J").unwrap(),
    );
    assert_eq!(slow.id, id.to_string());
    assert_eq!(waiter.number, *number);
    assert_eq!(
        (waiter.state.as_str(), waiter.kind.as_str()),
        ("waiting", "future")
    );
    let [wait] = &waiter.waits[..] else {
        panic!("one wait: {waiter:?}");
    };
    assert_eq!(
        (wait.kind.as_str(), wait.owner.as_ref()),
        ("task", Some(&slow.number))
    );
    assert_eq!(wait.at, *at);
    assert!(!view.runtimes.is_empty() && view.tasks_left_out == 0);

    let text = manyhands_inspect::text(&view);
    assert!(
        text.contains("shown: slow") && text.contains(&format!(":{} ", file_and_line(at).1)),
        "{text}"
    );
    assert!(!text.contains('\x1b'));
    assert_eq!(client.view(1).unwrap().tasks.len(), 1);
    waits.abort();
}

#[test]
fn the_text_shows_which_task_a_worker_runs() {
    let path = diagnostics::serve().unwrap();
    let runtime = Runtime::builder().workers(1).name("one task").build();
    let runtime = runtime.unwrap();
    let (go, gate) = mpsc::channel::<()>();
    let task = runtime.install(|| {
        let named = task::Builder::new().name("shown: on its worker");
        named.run(move || gate.recv().is_err())
    });
    let listed = in_state("shown: on its worker", "running");
    let number = listed.number;
    let mut client = Client::connect(&path).unwrap();
    // Workers are looked at a moment after the tasks.
    until(|| {
        let text = manyhands_inspect::text(&client.view(usize::MAX).unwrap());
        let (_, own) = text.split_once("'one task'")?;
        let row = own.lines().find(|line| line.contains("socket.rs"))?;
        let cells: Vec<&str> = row.split_whitespace().collect();
        (cells[..3] == ["0", "running", number.as_str()]).then_some(())
    });
    drop(go);
    assert!(task.join().unwrap());
}

#[test]
fn the_client_shows_the_line_that_called_a_loop() {
    let path = diagnostics::serve().unwrap();
    const ITEMS: u64 = 1_000_037;
    let called_at = format!("{}:{}:", file!(), line!() + 1);
    parallel::for_each(0..ITEMS, |i| {
        if i == 0 {
            let view = Client::connect(&path).unwrap().view(1).unwrap();
            let own = view.loops.iter().find(|own| own.items == Some(ITEMS));
            let at = own.unwrap().called_at.as_deref().unwrap();
            assert!(at.starts_with(&called_at), "{at}");
        }
    });
}

#[test]
fn a_pool_whose_only_worker_is_stuck_is_still_shown_with_its_deadlock() {
    let path = diagnostics::serve().unwrap();
    let runtime = Runtime::builder()
        .workers(1)
        .max_threads(1)
        .name("stuck pool");
    let runtime = runtime.build().unwrap();
    let (go, gate) = mpsc::channel::<()>();
    let stuck = runtime.install(|| {
        let named = task::Builder::new().name("stuck: worker");
        named.run(move || gate.recv().is_ok())
    });
    let pass = || channel::bounded::<task::JoinHandle<()>>(1);
    let ((to_a, from_b), (to_b, from_a)) = (pass(), pass());
    let awaits = |name: &str, handles: channel::Receiver<task::JoinHandle<()>>| {
        spawn(name, async move {
            drop(handles.recv().await.unwrap().await);
        })
    };
    let (a, b) = (
        awaits("socket ring: a", from_b),
        awaits("socket ring: b", from_a),
    );
    to_a.send_blocking(b).unwrap();
    to_b.send_blocking(a).unwrap();

    let mut client = Client::connect(&path).unwrap();
    let view = until(|| {
        let view = client.view(usize::MAX).unwrap();
        let ring = view
            .deadlocks
            .iter()
            .any(|ring| ring.text.contains("socket ring: a"));
        let runs = |task: &&manyhands_inspect::Task| task.name.as_deref() == Some("stuck: worker");
        let is_running = view.tasks.iter().find(runs)?.state == "running";
        (ring && is_running).then_some(view)
    });
    let ring = view
        .deadlocks
        .iter()
        .find(|ring| ring.text.contains("socket ring: a"))
        .unwrap();
    assert!(ring.certain && ring.tasks.len() == 2);
    let text = manyhands_inspect::text(&view);
    assert!(
        text.contains("deadlock: 2 tasks wait for each other"),
        "{text}"
    );
    let pool = view
        .runtimes
        .iter()
        .find(|runtime| runtime.name == "stuck pool")
        .unwrap();
    assert_eq!((pool.limit, pool.workers[0].state.as_str()), (1, "running"));
    go.send(()).unwrap();
    assert!(stuck.join().unwrap());
}
