//! Tasks that are woken and wait again at random, while others look.
//!
//! What a look shows is compared with what the tasks know of themselves: at any time what does not change, and counts that
//! lie between those before and after the look; and when all of them wait, everything.

use crate::support::{Random, file_and_line, until};
use manyhands::inspect::{self, Task};
use manyhands::task::JoinHandle;
use manyhands::{Runtime, channel, diagnostics, task};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const TASKS: usize = 3_000;
/// Where they wait.
const LINE: u32 = line!() + 7;

/// Waits for items, in a frame if it is one of those, and counts them.
async fn consume(items: channel::Receiver<u64>, is_framed: bool, counted: Arc<AtomicU64>) {
    loop {
        let next = async {
            // `LINE` is the next one.
            items.recv().await
        };
        let next = if is_framed {
            diagnostics::framed("next item", next).await
        } else {
            next.await
        };
        match next {
            Ok(item) => counted.fetch_add(item, Ordering::SeqCst),
            Err(_) => return,
        };
    }
}

/// A task, and what is known of it.
struct Subject {
    task: JoinHandle<()>,
    sender: channel::Sender<u64>,
    counted: Arc<AtomicU64>,
    sent: AtomicU64,
    name: Option<String>,
    is_framed: bool,
}

impl Subject {
    fn new(number: usize) -> Self {
        let (sender, items) = channel::bounded(1);
        let counted = Arc::<AtomicU64>::default();
        let (is_named, is_framed) = (number.is_multiple_of(3), number.is_multiple_of(5));
        let name = is_named.then(|| format!("woken at random {number}"));
        let future = consume(items, is_framed, Arc::clone(&counted));
        let builder = task::Builder::new();
        let builder = match &name {
            Some(name) => builder.name(name),
            None => builder,
        };
        Self {
            task: builder.spawn(future),
            sender,
            counted,
            sent: AtomicU64::new(0),
            name,
            is_framed,
        }
    }

    /// Wakes it, unless there is an item already.
    fn send(&self) {
        if self.sender.try_send(1).is_ok() {
            self.sent.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn has_caught_up(&self) -> bool {
        self.counted.load(Ordering::SeqCst) == self.sent.load(Ordering::SeqCst)
    }

    /// What holds at any time.
    fn check(&self, shown: &Task, parent: &Task) {
        assert_eq!(shown.name, self.name);
        assert_eq!(shown.parent.as_ref(), Some(&parent.number));
        let spawned_at = shown.spawned_at.as_deref().map(file_and_line);
        assert_eq!(spawned_at.map(|(file, _)| file), Some(file!()));
        assert!(shown.polls <= 1 + shown.wakes, "{shown:?}");
        assert!(
            shown.age_us >= shown.in_state_us && shown.age_us >= shown.busy_us,
            "{shown:?}"
        );
        for wait in &shown.waits {
            assert_eq!(wait.kind, "receive", "{shown:?}");
            assert_eq!(file_and_line(&wait.at), (file!(), LINE), "{shown:?}");
            assert!(wait.waiting_us <= shown.age_us, "{shown:?}");
        }
    }

    /// What holds when it waits.
    fn check_waiting(&self, shown: &Task) {
        assert_eq!(shown.waits.len(), 1, "{shown:?}");
        let frames: Vec<_> = shown.frames.iter().map(|frame| &*frame.name).collect();
        assert_eq!(
            frames,
            if self.is_framed {
                vec!["next item"]
            } else {
                vec![]
            }
        );
        assert_eq!(shown.waits[0].frame, self.is_framed.then_some(0));
        assert_eq!(shown.polls, 1 + shown.wakes, "{shown:?}");
        assert!(
            shown.worker.is_some() && !shown.may_wait_for_more,
            "{shown:?}"
        );
    }
}

/// Those of the subjects that are there, by their ids.
fn look() -> HashMap<String, Task> {
    let tasks = inspect::snapshot().tasks.into_iter();
    tasks.map(|task| (task.id.clone(), task)).collect()
}

/// Looks, and checks what holds at any time. Polls and wakes do not go back.
fn look_at(subjects: &[Subject], parent: &str, before: &mut HashMap<String, (u64, u64)>) {
    let shown = look();
    let parent = &shown[parent];
    for subject in subjects {
        let id = subject.task.id().to_string();
        let task = &shown[&id];
        subject.check(task, parent);
        let counts = (task.polls, task.wakes);
        let earlier = before.insert(id, counts).unwrap_or_default();
        assert!(earlier.0 <= counts.0 && earlier.1 <= counts.1, "{task:?}");
    }
}

fn round(seed: u64) {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let (end, ended) = channel::bounded::<()>(1);
    let (ready, subjects) = channel::bounded(1);
    let parent = runtime.install(|| {
        task::spawn(async move {
            let subjects: Vec<Subject> = (0..TASKS).map(Subject::new).collect();
            let _ = ready.send(subjects).await;
            let _ = ended.recv().await;
        })
    });
    let parent_id = parent.id().to_string();
    let subjects = subjects.recv_blocking().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let wakers = [1, 2].map(|place| {
            let mut random = Random(seed * 10 + place);
            let subjects = &subjects;
            scope.spawn(move || {
                for _ in 0..10 {
                    // Some of them again and again, the others now and then, and all in turn.
                    let hot = random.below(TASKS - 100);
                    for _ in 0..3_000 {
                        subjects[hot + random.below(100)].send();
                        subjects[random.below(TASKS)].send();
                    }
                    subjects.iter().for_each(Subject::send);
                }
            })
        });
        let looker = scope.spawn(|| {
            let mut before = HashMap::new();
            while !is_over.load(Ordering::SeqCst) {
                look_at(&subjects, &parent_id, &mut before);
            }
        });
        let woken = wakers.map(|waker| waker.join());
        is_over.store(true, Ordering::SeqCst);
        assert!(
            looker.join().is_ok() && woken.iter().all(Result::is_ok),
            "seed {seed}"
        );
    });
    let shown = until(|| {
        let shown = look();
        let waits = |subject: &Subject| {
            let task = &shown[&subject.task.id().to_string()];
            subject.has_caught_up() && task.state == "waiting"
        };
        subjects.iter().all(waits).then_some(shown)
    });
    let resources: HashMap<&str, &str> = subjects
        .iter()
        .map(|subject| {
            let task = &shown[&subject.task.id().to_string()];
            subject.check(task, &shown[&parent_id]);
            subject.check_waiting(task);
            (&*task.waits[0].resource, &*task.id)
        })
        .collect();
    assert_eq!(
        resources.len(),
        TASKS,
        "each waits for a channel of its own"
    );
    end.send_blocking(()).unwrap();
    let tasks: Vec<_> = subjects.into_iter().map(|subject| subject.task).collect();
    for task in tasks.into_iter().chain([parent]) {
        until(|| task.is_finished().then_some(()));
        task.join().unwrap();
    }
}

/// Two rounds, or as many as the variable `MANYHANDS_ROUNDS` says.
#[test]
fn tasks_that_wait_and_are_woken_at_random_are_shown_as_they_are() {
    diagnostics::open();
    let rounds = std::env::var("MANYHANDS_ROUNDS").map_or(2, |n| n.parse().unwrap());
    (1..=rounds).for_each(round);
}
