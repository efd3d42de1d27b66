//! Asking only for what has changed, by lines of the socket.

use crate::support::{spawn, waiting};
use manyhands::{channel, diagnostics, inspect, task};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection, and what was sent over it of tasks whose names begin with some text.
struct Listener {
    stream: BufReader<UnixStream>,
    prefix: String,
    /// By number: a line without its times.
    tasks: BTreeMap<String, String>,
}

impl Listener {
    fn connect(prefix: &str) -> Self {
        let stream = UnixStream::connect(diagnostics::serve().unwrap()).unwrap();
        let limit = Duration::from_secs(60);
        stream.set_read_timeout(Some(limit)).unwrap();
        let mut listener = Self {
            stream: BufReader::new(stream),
            prefix: format!("\"name\":\"{prefix}"),
            tasks: BTreeMap::new(),
        };
        assert!(listener.line().contains("manyhands_inspect"));
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }

    /// Asks for `what`, and returns the numbers of the tasks that are sent, and of those that are gone.
    fn ask(&mut self, what: &str) -> (Vec<String>, Vec<String>) {
        let mut stream = self.stream.get_ref();
        writeln!(stream, "{{\"get\":\"{what}\",\"tasks_max\":1000000}}").unwrap();
        let (mut sent, mut gone) = (Vec::new(), Vec::new());
        loop {
            let line = self.line();
            if line.starts_with("{\"end\":") {
                assert!(line.contains(&format!("\"end\":\"{what}\"")), "{line}");
                return (sent, gone);
            }
            if line.starts_with("{\"task\":") && line.contains(&self.prefix) {
                let number = between(&line, "\"number\":\"", "\"").to_owned();
                self.tasks.insert(number.clone(), without_times(&line));
                sent.push(number);
            }
            if line.starts_with("{\"gone\":") {
                for number in between(&line, "\"tasks\":[", "]").split(',') {
                    let number = number.trim_matches('"');
                    if self.tasks.remove(number).is_some() {
                        gone.push(number.to_owned());
                    }
                }
            }
        }
    }
}

fn between<'line>(line: &'line str, before: &str, after: &str) -> &'line str {
    let (_, rest) = line.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

/// A line with no field whose value is a time.
fn without_times(line: &str) -> String {
    let fields = line.trim().split(',');
    fields
        .filter(|field| !field.contains("_us\":"))
        .collect::<Vec<_>>()
        .join(",")
}

#[test]
fn each_task_is_sent_once_and_again_when_it_has_changed_or_is_gone() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    let goes_on = spawn(
        "once: a",
        async move { while receiver.recv().await.is_ok() {} },
    );
    let ends = spawn("once: b", std::future::pending::<()>());
    let number = |name| waiting(name).number;
    let (a, b) = (number("once: a"), number("once: b"));
    let mut listener = Listener::connect("once: ");
    let (mut sent, gone) = listener.ask("changes");
    sent.sort();
    let mut both = vec![a.clone(), b.clone()];
    both.sort();
    assert_eq!((sent, gone), (both.clone(), vec![]));
    assert_eq!(listener.ask("changes"), (vec![], vec![]));
    assert_eq!(
        listener.ask("snapshot").0.len(),
        2,
        "a snapshot is everything"
    );
    assert_eq!(listener.ask("changes"), (vec![], vec![]));

    sender.send_blocking(7).unwrap();
    let polled = || waiting("once: a").polls == 2;
    while !polled() {
        std::thread::yield_now();
    }
    assert_eq!(listener.ask("changes"), (vec![a.clone()], vec![]));
    ends.abort();
    drop(ends.join());
    assert_eq!(listener.ask("changes"), (vec![], vec![b]));
    let mut other = Listener::connect("once: ");
    assert_eq!(
        other.ask("changes").0,
        std::slice::from_ref(&a),
        "each has its own"
    );

    drop(sender);
    goes_on.join().unwrap();
    assert_eq!(listener.ask("changes"), (vec![], vec![a]));
    assert!(listener.tasks.is_empty());
}

#[test]
fn who_asks_only_for_changes_knows_in_the_end_what_a_snapshot_shows() {
    const TASKS: usize = 8;
    const ROUNDS: usize = 300;
    let mut listener = Listener::connect("sent: ");
    let (sender, receiver) = channel::bounded::<usize>(3);
    let (end, ended) = task::completion::<()>();
    let long = |number| {
        let (sender, receiver, ended) = (sender.clone(), receiver.clone(), ended.clone());
        spawn(&format!("sent: {number}"), async move {
            for round in 0..ROUNDS {
                match (round + number) % 4 {
                    0 => sender.send(round).await.unwrap(),
                    1 => drop(receiver.try_recv()),
                    2 => spawn("sent: child", async {}).await.unwrap(),
                    _ => diagnostics::framed("turn", task::yield_now()).await,
                }
                // So that nobody waits for room that nobody makes.
                while receiver.len() > 1 {
                    drop(receiver.try_recv());
                }
            }
            ended.await.unwrap();
        })
    };
    let tasks: Vec<_> = (0..TASKS).map(long).collect();
    let mut asked = 0;
    while !tasks.iter().enumerate().all(|(number, _)| {
        let name = format!("sent: {number}");
        let snapshot = inspect::snapshot();
        let task = crate::support::named(&snapshot, &name);
        task.is_some_and(|task| {
            let mut waits = task.waits.iter();
            waits.any(|wait| wait.kind == "completion") && task.state == "waiting"
        })
    }) {
        listener.ask("changes");
        asked += 1;
    }
    listener.ask("changes");
    let mut other = Listener::connect("sent: ");
    other.ask("snapshot");
    assert_eq!(other.tasks.len(), TASKS, "after {asked} looks");
    assert_eq!(listener.tasks, other.tasks);
    end.complete(());
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(listener.ask("changes").1.len(), TASKS);
}
