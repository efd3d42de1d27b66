//! What tables of workers show that no single field says: which task a worker runs, and why threads were added.

use crate::view::View;
use manyhands_wire::{Runtime, Task, Worker};
use std::collections::HashMap;

/// The tasks that workers run.
pub(crate) struct TasksOfWorkers<'view>(HashMap<(u32, usize), Vec<&'view Task>>);

impl<'view> TasksOfWorkers<'view> {
    /// Those of this view.
    pub(crate) fn of(view: &'view View) -> Self {
        let mut tasks: HashMap<_, Vec<&Task>> = HashMap::new();
        for task in &view.tasks {
            let is_on_thread = ["running", "blocked"].contains(&task.state.as_str());
            if let (true, Some(runtime), Some(worker)) = (is_on_thread, task.runtime, task.worker) {
                tasks.entry((runtime, worker)).or_default().push(task);
            }
        }
        Self(tasks)
    }

    /// The number of the task that a worker runs; nothing if that is none, or is not listed. Of tasks that run inside each
    /// other, the innermost.
    ///
    /// Workers and tasks are looked at one after the other, so a task counts only if it was spawned where the worker says.
    pub(crate) fn number(&self, runtime: &Runtime, worker: &Worker) -> &'view str {
        let key = worker.index.map(|index| (runtime.number, index));
        let tasks = key.and_then(|key| self.0.get(&key));
        let is_its =
            |task: &&&Task| task.spawned_at.is_some() && task.spawned_at == worker.task_spawned_at;
        let its = tasks.into_iter().flatten().filter(is_its);
        // The one around another is blocked, and has been so for longer than one inside it.
        let innermost = its.min_by_key(|task| (task.state != "running", task.in_state_us));
        innermost.map_or("", |task| &task.number)
    }
}

/// How many threads were added beyond the limit, by reason; nothing if none were.
pub(crate) fn threads_added(runtime: &Runtime) -> Vec<String> {
    let added = [
        (runtime.started_for_declared, "for declared blocking"),
        (runtime.started_for_detected, "for detected blocking"),
        (runtime.started_for_starved, "for long computations"),
    ];
    let added = added.into_iter().filter(|(count, _)| *count > 0);
    added
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{TasksOfWorkers, threads_added};
    use crate::view::View;
    use manyhands_wire::{Runtime, Task, Worker};

    fn worker(index: Option<usize>, spawned_at: Option<&str>) -> Worker {
        Worker {
            index,
            state: "running".to_owned(),
            task_spawned_at: spawned_at.map(str::to_owned),
            ..Worker::default()
        }
    }

    fn runtime(number: u32) -> Runtime {
        Runtime {
            number,
            name: "office".to_owned(),
            limit: 2,
            started_for_declared: 3,
            started_for_starved: 1,
            ..Runtime::default()
        }
    }

    /// A task of worker 0 of runtime 1, spawned at `a.rs:1:1`, for so long in this state.
    fn task(number: &str, state: &str, in_state_us: u64) -> Task {
        let line = format!(
            r#"{{"number":"{number}","kind":"future","id":"1","name":null,"type":"t","spawned_at":"a.rs:1:1","parent":null,"runtime":1,"worker":0,"state":"{state}","in_state_us":{in_state_us},"age_us":9,"busy_us":1,"polls":1,"wakes":1,"waits":[],"waits_left_out":0,"may_wait_for_more":false,"changes":1}}"#
        );
        serde_json::from_str(&line).expect("a task")
    }

    #[test]
    fn a_worker_runs_the_innermost_task_that_was_spawned_where_it_says() {
        let here = Some("a.rs:1:1");
        for (tasks, runtime_number, index, at, expected) in [
            (vec![task("5", "running", 3)], 1, Some(0), here, "5"),
            (vec![task("5", "blocked", 3)], 1, Some(0), here, "5"),
            // It ran there, and waits now.
            (vec![task("5", "waiting", 3)], 1, Some(0), here, ""),
            (vec![task("5", "running", 3)], 2, Some(0), here, ""),
            (vec![task("5", "running", 3)], 1, Some(1), here, ""),
            (vec![task("5", "running", 3)], 1, None, here, ""),
            // The worker has gone on to another task.
            (
                vec![task("5", "running", 3)],
                1,
                Some(0),
                Some("b.rs:1:1"),
                "",
            ),
            (vec![task("5", "running", 3)], 1, Some(0), None, ""),
            // One inside the other.
            (
                vec![task("5", "blocked", 1), task("6", "running", 9)],
                1,
                Some(0),
                here,
                "6",
            ),
            (
                vec![task("5", "blocked", 9), task("6", "blocked", 1)],
                1,
                Some(0),
                here,
                "6",
            ),
        ] {
            let view = View {
                tasks,
                ..View::default()
            };
            let numbers = TasksOfWorkers::of(&view);
            let number = numbers.number(&runtime(runtime_number), &worker(index, at));
            assert_eq!(number, expected, "{:?}", view.tasks);
        }
    }

    #[test]
    fn threads_that_were_added_are_counted_by_reason() {
        assert_eq!(
            threads_added(&runtime(1)),
            ["3 for declared blocking", "1 for long computations"]
        );
        let none = Runtime {
            started_for_declared: 0,
            started_for_starved: 0,
            ..runtime(1)
        };
        assert!(threads_added(&none).is_empty());
    }
}
