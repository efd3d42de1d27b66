//! What the environment variable opens, seen in a process of its own.

use crate::support::until;
use manyhands::diagnostics;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts the test `child` of this program with the variable set to `value`, and its sockets below `folder`.
fn child_with(value: &str, folder: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command
        .args(["--exact", "environment::child", "--ignored", "--nocapture"])
        .env("MANYHANDS_INSPECT", value)
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Two tasks wait for each other, and the process for the end of its standard input. At the end it reports whether
/// anything was recorded.
#[test]
#[ignore = "started by the tests below"]
fn child() {
    use manyhands::{channel, inspect, task};
    let pass = || channel::bounded::<task::JoinHandle<()>>(1);
    let ((to_a, from_b), (to_b, from_a)) = (pass(), pass());
    let spawn = |name: &str, handles: channel::Receiver<task::JoinHandle<()>>| {
        let named = task::Builder::new().name(name);
        named.spawn(async move { drop(handles.recv().await.unwrap().await) })
    };
    let (a, b) = (spawn("child a", from_b), spawn("child b", from_a));
    to_a.send_blocking(b).unwrap();
    to_b.send_blocking(a).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let recorded = !inspect::snapshot().tasks.is_empty();
    writeln!(std::io::stderr(), "recorded: {recorded}").unwrap();
}

#[test]
fn the_variable_opens_recording_socket_and_watchdog() {
    let folder = std::env::temp_dir().join(format!("manyhands-variable-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut child = child_with("1", &folder);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let report = lines.find(|line| line.as_ref().unwrap().contains("deadlock"));
    assert_eq!(
        report.unwrap().unwrap(),
        "manyhands: deadlock: 2 tasks wait for each other in a ring"
    );
    for _ in ["child a", "child b"] {
        let next = lines.next().unwrap().unwrap();
        let is_named = next.contains("'child a' waits for") || next.contains("'child b' waits for");
        assert!(is_named && next.contains(file!()), "{next}");
    }
    let socket = folder.join(format!("manyhands/{}.sock", child.id()));
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(child.stdin.take());
    assert!(lines.any(|line| line.unwrap() == "recorded: true"));
    assert!(child.wait().unwrap().success());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_the_value_control_lets_a_client_have_a_task_polled() {
    use manyhands_inspect::Client;
    let folder = std::env::temp_dir().join(format!("manyhands-control-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (value, is_allowed) in [("1", false), ("control", true)] {
        let mut child = child_with(value, &folder);
        let socket = folder.join(format!("manyhands/{}.sock", child.id()));
        let mut client = until(|| Client::connect(&socket).ok());
        let number = until(|| {
            let tasks = client.view(100).unwrap().tasks.into_iter();
            let mut tasks = tasks.filter(|task| task.name.as_deref() == Some("child a"));
            Some(tasks.find(|task| task.state == "waiting")?.number)
        });
        match client.poll_task(&number) {
            Ok(polled) => assert!(is_allowed && polled.task.is_some(), "{polled:?}"),
            Err(refused) => {
                let text = refused.to_string();
                // Where stacks cannot be copied nothing is polled either.
                let reason = if is_allowed {
                    "stacks need"
                } else {
                    "MANYHANDS_INSPECT=control"
                };
                assert!(text.contains(reason), "{text}");
            }
        }
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn without_the_variable_or_with_zero_nothing_is_opened() {
    let folder = std::env::temp_dir().join(format!("manyhands-closed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for value in ["", "0"] {
        let mut child = child_with(value, &folder);
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(errors.contains("recorded: false"), "{errors}");
        assert!(!folder.join("manyhands").exists());
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A task that was spawned before the recording was opened runs when another waits for it already.
#[test]
#[ignore = "started by the test below"]
fn child_that_opens_late() {
    use manyhands::inspect;
    use manyhands::{Runtime, task};
    let one_thread = || Runtime::builder().workers(1).max_threads(1);
    let runtime = || one_thread().build().unwrap();
    let (runtime, other) = (runtime(), runtime());
    let gate = || std::sync::mpsc::channel::<()>();
    let ((begin, may_begin), (end, may_end)) = (gate(), gate());
    let (say_begun, begun) = gate();
    let first = move || {
        drop(say_begun);
        may_begin.recv().is_err()
    };
    runtime.install(|| drop(task::run(first)));
    assert!(begun.recv().is_err());
    let late = runtime.install(|| task::run(move || may_end.recv().is_err()));
    diagnostics::open();
    let waiter = other.install(|| task::spawn(late));
    let owner_of_the_wait = || {
        let snapshot = inspect::snapshot();
        let mut waits = snapshot.tasks.iter().flat_map(|task| &task.waits);
        let wait = waits.find(|wait| wait.kind == "task")?;
        Some((wait.owner.clone(), snapshot.tasks.clone()))
    };
    let (owner, _) = until(owner_of_the_wait);
    assert_eq!(owner, None, "nothing is known of it yet");
    drop(begin);
    until(|| {
        let (owner, tasks) = owner_of_the_wait()?;
        let owner = tasks
            .iter()
            .find(|task| Some(&task.number) == owner.as_ref())?;
        (owner.state != "queued").then_some(())
    });
    drop(end);
    assert!(waiter.join().unwrap().unwrap());
}

/// Loops of a place that has run many, short ones and long ones, before the recording was opened.
#[test]
#[ignore = "started by the test below"]
fn child_that_opens_after_loops() {
    use manyhands::{inspect, parallel};
    let run = |items: u32| {
        parallel::for_each(0..items, |item| {
            black_box(item);
        });
    };
    (0..100).for_each(|_| run(3));
    run(1 << 20);
    assert!(inspect::last_loop().is_none());
    diagnostics::open();
    for items in [3, 1 << 20] {
        run(items);
        assert_eq!(inspect::last_loop().unwrap().items, u64::from(items));
    }
}

#[test]
fn loops_of_a_place_that_ran_before_the_recording_are_reported_when_it_is_open() {
    assert_child_passes("environment::child_that_opens_after_loops");
}

#[test]
fn who_waits_for_a_task_that_was_spawned_before_the_recording_is_shown_with_it() {
    assert_child_passes("environment::child_that_opens_late");
}

/// Runs this test, which is ignored, in a process of its own.
fn assert_child_passes(name: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--ignored", "--nocapture"]);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
