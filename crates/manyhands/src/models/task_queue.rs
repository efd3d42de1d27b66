//! The task queue: pushing, taking runs, moving them on.
//!
//! Threads: one or two pushers, one or two takers. Operations: push; take, append to a second queue.
//! Property: every task comes out exactly once and complete, a pusher's tasks in the order of their
//! pushes, and a run that is moved on keeps its tasks, also when the queue was empty in between.

use super::{Work, beside, check, join_all};
use crate::queue::TaskQueue;
use loom::sync::Arc;

struct Model<const COUNT: usize> {
    from: TaskQueue<Work>,
    to: TaskQueue<Work>,
    tasks: [Work; COUNT],
}

impl<const COUNT: usize> Model<COUNT> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            from: TaskQueue::default(),
            to: TaskQueue::default(),
            tasks: Work::some(),
        })
    }

    fn push(&self, number: usize) {
        self.tasks[number].prepare();
        self.from.push(self.tasks[number].unqueued());
    }

    /// Moves a run to the second queue.
    fn move_run(&self) {
        if let Some(run) = self.from.take(2) {
            self.to.append(run);
        }
    }

    /// Once the threads have ended: runs everything that is left in both queues.
    fn run_the_rest(&self) {
        for queue in [&self.to, &self.from] {
            while run_one(queue).is_some() {}
            assert!(queue.is_empty(), "a task cannot be reached");
        }
        assert!(self.tasks.iter().all(Work::is_done));
    }
}

/// Takes one task, runs it and tells its number.
fn run_one(queue: &TaskQueue<Work>) -> Option<usize> {
    let run = queue.take(1)?;
    let task = Work::taken(run.split_first().0);
    task.run();
    Some(task.number)
}

#[test]
fn a_pusher_s_tasks_come_out_in_order() {
    check(|| {
        let model = Model::<2>::new();
        let pusher = beside(&model, |model| {
            model.push(0);
            model.push(1);
        });
        let mut taken: Vec<usize> = (0..2).filter_map(|_| run_one(&model.from)).collect();
        pusher.join().unwrap();
        taken.extend(std::iter::from_fn(|| run_one(&model.from)));
        assert_eq!(taken, [0, 1]);
        model.run_the_rest();
    });
}

#[test]
fn two_pushers_and_a_taker_lose_nothing() {
    check(|| {
        let model = Model::<3>::new();
        let pushers = [0..2, 2..3].map(|numbers| {
            beside(&model, move |model| {
                numbers.for_each(|number| model.push(number));
            })
        });
        for _ in 0..2 {
            run_one(&model.from);
        }
        join_all(pushers);
        model.run_the_rest();
    });
}

#[test]
fn a_run_taken_across_an_emptied_queue_stays_linked() {
    check(|| {
        let model = Model::<2>::new();
        model.push(0);
        let pusher = beside(&model, |model| model.push(1));
        model.move_run();
        pusher.join().unwrap();
        model.run_the_rest();
    });
}

#[test]
fn two_takers_move_runs_to_a_second_queue() {
    check(|| {
        let model = Model::<3>::new();
        model.push(0);
        let takers = [0, 1].map(|_| {
            beside(&model, |model| {
                model.move_run();
                run_one(&model.to);
            })
        });
        model.push(1);
        model.push(2);
        join_all(takers);
        model.run_the_rest();
    });
}

#[test]
fn a_run_without_its_first_task_may_be_moved_on() {
    check(|| {
        let model = Model::<3>::new();
        let pusher = beside(&model, |model| (0..3).for_each(|number| model.push(number)));
        if let Some(run) = model.from.take(3) {
            let (first, rest) = run.split_first();
            rest.into_iter().for_each(|rest| model.to.append(rest));
            Work::taken(first).run();
        }
        pusher.join().unwrap();
        model.run_the_rest();
    });
}
