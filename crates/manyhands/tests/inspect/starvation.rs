//! A runtime whose only thread is blocked, seen in a snapshot, over the socket, and by the watchdog.

use crate::support::until;
use manyhands::inspect::{self, Starvation};
use manyhands::{Runtime, diagnostics, task};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

static LOCK: Mutex<()> = Mutex::new(());
/// A look that was made before this counts in a request, which then need not wait.
const LONG_AGO: Duration = Duration::from_millis(500);

/// Looks until the runtime of this name has been starved for a while.
#[expect(
    clippy::disallowed_methods,
    reason = "what counts is that nothing happens for some time"
)]
fn starvation_of(name: &str) -> Starvation {
    until(|| {
        let (begun, earlier) = (Instant::now(), inspect::snapshot());
        let found = |starved: &Starvation| starved.name == name;
        loop {
            let starvations = inspect::snapshot().starvations(&earlier);
            let starved = starvations.into_iter().find(found)?;
            if begun.elapsed() > LONG_AGO {
                return Some(starved);
            }
        }
    })
}

#[test]
fn a_runtime_is_starved_while_its_only_thread_waits_for_a_lock_and_tasks_are_queued() {
    diagnostics::open();
    let small = Runtime::builder().workers(1).max_threads(1).name("small");
    let small = small.on_stall(|_| ()).build().unwrap();
    let free = Runtime::builder().workers(1).max_threads(2).name("free");
    let free = free.build().unwrap();
    let path = std::env::temp_dir().join(format!("manyhands-starved-{}.sock", std::process::id()));
    diagnostics::serve_at(&path).unwrap();
    let mut client = manyhands_inspect::Client::connect(&path).unwrap();
    // A look long before: the runtime is not starved yet.
    drop(client.view(10).unwrap());
    // Released before the runtimes end, also where the test fails.
    let held = LOCK.lock().unwrap();
    let locks = || task::run(|| drop(LOCK.lock().unwrap()));
    let mut tasks = small.install(|| vec![locks(), locks(), locks()]);
    // Here another thread comes for what is queued.
    tasks.push(free.install(locks));
    free.install(|| task::run(|| ())).join().unwrap();

    let starved = starvation_of("small");
    assert_eq!((starved.queued, starved.because.as_str()), (2, "limit"));
    let runtimes = inspect::snapshot().runtimes.into_iter();
    let threads = runtimes.filter(|runtime| runtime.number == starved.runtime);
    let threads = threads.map(|runtime| (runtime.threads, runtime.threads_max));
    assert_eq!(threads.collect::<Vec<_>>(), [(1, 1)]);
    let text = starved.text;
    let begin = "runtime 'small' is starved: 2 tasks wait for a thread";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.contains("worker 0") && text.contains(file!()),
        "{text}"
    );
    assert!(text.contains("raise RuntimeBuilder::max_threads"), "{text}");

    let is_small = |starved: &&Starvation| starved.name == "small";
    for _ in 0..2 {
        let view = client.view(10).unwrap();
        let [shown] = &view.starvations.iter().filter(is_small).collect::<Vec<_>>()[..] else {
            panic!("the runtime is shown as starved");
        };
        assert_eq!((shown.queued, shown.because.as_str()), (2, "limit"));
        assert!(manyhands_inspect::text(&view).contains(begin));
        assert!(
            !view
                .starvations
                .iter()
                .any(|starved| starved.name == "free")
        );
    }

    drop(held);
    for task in tasks {
        task.join().unwrap();
    }
    assert!(
        !client
            .view(10)
            .unwrap()
            .starvations
            .iter()
            .any(|starved| starved.name == "small")
    );
    std::fs::remove_file(path).unwrap();
}

/// The only thread waits for a lock, and a task behind it, until the end of the standard input.
#[test]
#[ignore = "started by the test below"]
fn child() {
    let held = LOCK.lock().unwrap();
    let small = Runtime::builder().workers(1).max_threads(1).name("small");
    let small = small.on_stall(|_| ()).build().unwrap();
    let tasks = small.install(|| [0; 2].map(|_| task::run(|| drop(LOCK.lock().unwrap()))));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(held);
    for task in tasks {
        task.join().unwrap();
    }
}

#[test]
fn the_watchdog_reports_a_starved_runtime_once_on_standard_error() {
    let folder = std::env::temp_dir().join(format!("manyhands-starving-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "starvation::child", "--ignored", "--nocapture"])
        .env("MANYHANDS_INSPECT", "1")
        .env("XDG_RUNTIME_DIR", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_report = |line: &String| line.contains("manyhands: runtime 'small' is starved");
    let report = lines.find(|line| is_report(line.as_ref().unwrap()));
    let report = report.unwrap().unwrap();
    assert!(
        report.contains(": 1 task waits for a thread, its only worker"),
        "{report}"
    );
    let worker = lines.next().unwrap().unwrap();
    assert!(
        worker.contains("worker 0 ") && worker.contains(file!()),
        "{worker}"
    );
    let socket = folder.join(format!("manyhands/{}.sock", child.id()));
    let mut client = manyhands_inspect::Client::connect(&socket).unwrap();
    // Each answer takes as long as the watchdog's looks are apart.
    for _ in 0..2 {
        drop(client.view(10).unwrap());
        drop(
            manyhands_inspect::Client::connect(&socket)
                .unwrap()
                .view(10)
                .unwrap(),
        );
    }
    drop(child.stdin.take());
    assert!(
        !lines.any(|line| is_report(&line.unwrap())),
        "it was reported twice"
    );
    assert!(child.wait().unwrap().success());
    std::fs::remove_dir_all(&folder).unwrap();
}
