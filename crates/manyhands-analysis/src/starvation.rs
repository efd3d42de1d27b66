//! Starved runtimes: tasks wait in the queues, and no thread takes one.
//!
//! A runtime is starved from one look to a later one if tasks were queued at both, each of its workers was at the same piece
//! of work, blocked or not, and no worker could be added. A worker that has ended a piece of work, has stolen one or has
//! slept in between has looked into the queues.
//!
//! Not here: when to look (`starvation_looks.rs`), and the report of the runtime itself, when all its threads are blocked
//! (`runtime/monitor/stall.rs` of the library).

use manyhands_wire::{Runtime, Starvation, Worker};
use std::fmt::Write;
use std::time::Duration;

/// The runtimes that were starved from one look at all runtimes to a later one.
#[must_use]
pub fn starvations(now: &[Runtime], earlier: &[Runtime]) -> Vec<Starvation> {
    let before = |now: &Runtime| {
        let mut earlier = earlier.iter();
        earlier.find(|earlier| earlier.number == now.number)
    };
    let starved = now.iter().filter_map(|now| starvation(now, before(now)?));
    starved.collect()
}

fn starvation(now: &Runtime, earlier: &Runtime) -> Option<Starvation> {
    let because = now.no_more_threads.as_deref()?;
    let queued = queued(now);
    let is_starved = earlier.no_more_threads.is_some()
        && queued > 0
        && self::queued(earlier) > 0
        && have_all_stayed(now, earlier);
    is_starved.then(|| Starvation {
        runtime: now.number,
        name: now.name.clone(),
        queued,
        because: because.to_owned(),
        text: text(now, queued, because),
    })
}

/// Tasks that wait for a worker.
fn queued(runtime: &Runtime) -> usize {
    let own: usize = runtime.workers.iter().map(|worker| worker.queued).sum();
    runtime.queued_outside + own
}

/// Whether each worker is still at the piece of work at which it was earlier. A runtime without workers has them all there
/// if the system lets it have none.
fn have_all_stayed(now: &Runtime, earlier: &Runtime) -> bool {
    let (workers, before) = (workers(now), workers(earlier));
    let has_stayed = |(now, earlier): (&&Worker, &&Worker)| {
        let what = |worker: &Worker| {
            let counts = (worker.completed, worker.steals, worker.parks);
            (worker.index, counts, worker.task_spawned_at.clone())
        };
        now.state != "idle" && earlier.state != "idle" && what(now) == what(earlier)
    };
    workers.len() == now.threads
        && earlier.threads == now.threads
        && before.len() == workers.len()
        && (now.threads > 0 || now.no_more_threads.as_deref() == Some("refused"))
        && workers.iter().zip(&before).all(has_stayed)
}

/// Without external threads, which run only what they wait for.
fn workers(runtime: &Runtime) -> Vec<&Worker> {
    let workers = runtime.workers.iter();
    let mut workers: Vec<_> = workers.filter(|worker| worker.index.is_some()).collect();
    workers.sort_unstable_by_key(|worker| worker.index);
    workers
}

/// In sentences: its workers, each with the line on which its task was spawned, and what helps.
fn text(runtime: &Runtime, queued: usize, because: &str) -> String {
    let workers = workers(runtime);
    let (reason, advice) = match because {
        "limit" => (
            "the limit is reached",
            "raise RuntimeBuilder::max_threads, or neither block nor compute for long in its tasks",
        ),
        _ => (
            "the system starts no more",
            "raise the system's limits of processes and memory, or neither block nor compute for long in its tasks",
        ),
    };
    let tasks = match queued {
        1 => "1 task waits".to_owned(),
        count => format!("{count} tasks wait"),
    };
    let busy = match workers.len() {
        0 => "it has none".to_owned(),
        1 => "its only worker is still busy with the same work".to_owned(),
        count => format!("all {count} workers are still busy with the same work"),
    };
    let name = &runtime.name;
    let mut text = format!(
        "runtime '{name}' is starved: {tasks} for a thread, {busy}, and none is added because {reason}"
    );
    for worker in workers.iter().take(SHOWN_MAX) {
        let _ = write!(text, "\n  {}", named(worker));
    }
    if workers.len() > SHOWN_MAX {
        let _ = write!(text, "\n  and {} more", workers.len() - SHOWN_MAX);
    }
    text + "\n  " + advice
}

/// A worker in a sentence.
fn named(worker: &Worker) -> String {
    let index = worker.index.map(|index| format!("worker {index} "));
    let does = match worker.state.as_str() {
        "blocked" => "waits",
        _ if worker.sleeps_in_kernel => "sleeps in the kernel",
        _ => "runs",
    };
    let at = worker.task_spawned_at.as_ref();
    let at = at.map(|at| format!(" in the task spawned at {at}"));
    format!(
        "{}{does}{}",
        index.unwrap_or_default(),
        at.unwrap_or_default()
    )
}

/// Two looks that find a runtime starved are at least so far apart: work that keeps all workers for a shorter time is usual.
pub(crate) const STARVED_FOR: Duration = Duration::from_millis(400);
/// Workers that are named.
const SHOWN_MAX: usize = 16;

#[cfg(test)]
pub(crate) mod tests {
    use super::{Starvation, starvations};
    use manyhands_wire::{Runtime, Worker, place, printable};
    use std::panic::Location;

    /// What is different at one of two looks, whether the runtime is starved then, and how it comes to be different.
    type Case = (&'static str, bool, fn(&mut Runtime));

    /// A runtime of two workers at its limit, with a task in its queue.
    pub(crate) fn starved() -> Runtime {
        Runtime {
            number: 1,
            name: "test".to_owned(),
            limit: 2,
            threads: 2,
            threads_max: 2,
            no_more_threads: Some("limit".to_owned()),
            queued_outside: 1,
            started_for_declared: 0,
            started_for_detected: 0,
            started_for_starved: 0,
            workers: vec![worker(Some(0)), worker(Some(1))],
        }
    }

    fn worker(index: Option<usize>) -> Worker {
        Worker {
            index,
            state: "running".to_owned(),
            sleeps_in_kernel: false,
            task_spawned_at: Some(place(Location::caller())),
            queued: 0,
            forks: 0,
            completed: 7,
            steals: 2,
            parks: 3,
            thread: 0,
        }
    }

    fn found(now: Runtime, earlier: Runtime) -> Vec<Starvation> {
        starvations(&[now], &[earlier])
    }

    #[test]
    fn workers_that_stay_at_the_same_work_starve_a_runtime_that_gets_no_more_threads() {
        let changes: [Case; 7] = [
            ("nothing", true, |_| ()),
            ("blocked", true, |now| {
                now.workers[1].state = "blocked".to_owned();
            }),
            ("more tasks come", true, |now| now.queued_outside = 9),
            ("tasks of a worker", true, |now| {
                now.queued_outside = 0;
                now.workers[0].queued = 1;
            }),
            ("forks wait for their own task", true, |now| {
                now.workers[0].forks = 3;
            }),
            ("an external thread comes", true, |now| {
                now.workers.push(Worker {
                    state: "idle".to_owned(),
                    ..worker(None)
                });
            }),
            ("the order", true, |now| now.workers.reverse()),
        ];
        let ends: [Case; 10] = [
            ("nothing is queued", false, |now| now.queued_outside = 0),
            ("one may be added", false, |now| now.no_more_threads = None),
            ("idle", false, |now| {
                now.workers[0].state = "idle".to_owned();
            }),
            ("completed", false, |now| now.workers[1].completed += 1),
            ("stole", false, |now| now.workers[1].steals += 1),
            ("slept", false, |now| now.workers[1].parks += 1),
            ("another task", false, |now| {
                now.workers[0].task_spawned_at = None;
            }),
            ("a thread begins", false, |now| now.threads = 3),
            ("a worker has come", false, |now| {
                now.workers.push(worker(Some(2)));
                now.threads = 3;
            }),
            ("another runtime", false, |now| now.number = 2),
        ];
        for (what, is_starved, change) in changes.into_iter().chain(ends) {
            let mut now = starved();
            change(&mut now);
            assert_eq!(
                found(now.clone(), starved()).len(),
                usize::from(is_starved),
                "{what}"
            );
            assert_eq!(
                found(starved(), now).len(),
                usize::from(is_starved),
                "before: {what}"
            );
        }
    }

    #[test]
    fn a_runtime_without_threads_is_starved_only_if_the_system_refuses_them() {
        for (because, count) in [("limit", 0), ("refused", 1)] {
            let mut none = starved();
            none.workers.clear();
            none.threads = 0;
            none.no_more_threads = Some(because.to_owned());
            assert_eq!(found(none.clone(), none).len(), count, "{because}");
        }
    }

    #[test]
    fn the_text_says_who_does_what_why_no_thread_comes_and_what_helps() {
        let mut runtime = starved();
        runtime.name = printable("evil\x1b[2J");
        runtime.workers[0].state = "blocked".to_owned();
        runtime.workers[1].sleeps_in_kernel = true;
        let [starvation] = &found(runtime.clone(), runtime.clone())[..] else {
            panic!("it is starved");
        };
        let text = &starvation.text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "runtime 'evil\\u{1b}[2J' is starved: 1 task waits for a thread, all 2 workers are \
             still busy with the same work, and none is added because the limit is reached"
        );
        assert!(
            lines[1].starts_with("  worker 0 waits in the task spawned at "),
            "{text}"
        );
        assert!(
            lines[2].starts_with("  worker 1 sleeps in the kernel in the task "),
            "{text}"
        );
        assert!(lines[1].contains("starvation.rs:"), "{text}");
        assert!(
            lines[3].contains("raise RuntimeBuilder::max_threads"),
            "{text}"
        );
        runtime.workers = (0..20).map(|index| worker(Some(index))).collect();
        runtime.threads = 20;
        let text = &found(runtime.clone(), runtime)[0].text;
        assert!(text.contains("\n  worker 15 runs in the task") && text.contains("and 4 more"));
    }
}
