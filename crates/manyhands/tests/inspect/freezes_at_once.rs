//! Tasks that several threads freeze, thaw, wake and cancel at the same time, while their runtime may end.
//!
//! What has to hold is noted by the tasks themselves: no poll beside another one of the same task, none from a freeze that
//! was confirmed to the thaw, one drop of each. Each task that is thawed and not cancelled is polled for what it was woken for.

use crate::support::{Random, one_with_connections, spawn, until};
use manyhands::Runtime;
use manyhands::diagnostics;
use manyhands::inspect;
use manyhands::task::JoinHandle;
use manyhands_inspect::{Client, Error};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

/// What a task, and those who act on it, know of it.
#[derive(Default)]
struct Known {
    waker: Mutex<Option<Waker>>,
    polls: AtomicUsize,
    is_in_poll: AtomicBool,
    /// A freeze of it has found that it is not polled, and it was not thawed since.
    is_frozen: AtomicBool,
    /// It is cancelled, or its runtime ends.
    may_be_dropped: AtomicBool,
    may_end: AtomicBool,
    drops: AtomicUsize,
    polled_twice: AtomicUsize,
    polled_frozen: AtomicUsize,
}

/// The future of such a task: it waits to be woken, and wakes itself in every third poll.
struct Probe(Arc<Known>);

impl Future for Probe {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let known = &self.0;
        if known.is_in_poll.swap(true, Ordering::SeqCst) {
            known.polled_twice.fetch_add(1, Ordering::SeqCst);
        }
        if known.is_frozen.load(Ordering::SeqCst) {
            known.polled_frozen.fetch_add(1, Ordering::SeqCst);
        }
        *known.waker.lock().unwrap() = Some(context.waker().clone());
        let polls = known.polls.fetch_add(1, Ordering::SeqCst);
        if polls % 3 == 2 {
            context.waker().wake_by_ref();
            thread::yield_now();
        }
        let ends = known.may_end.load(Ordering::SeqCst);
        if known.is_frozen.load(Ordering::SeqCst) {
            known.polled_frozen.fetch_add(1, Ordering::SeqCst);
        }
        known.is_in_poll.store(false, Ordering::SeqCst);
        if ends { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if self.0.is_in_poll.load(Ordering::SeqCst) {
            self.0.polled_twice.fetch_add(1, Ordering::SeqCst);
        }
        self.0.drops.fetch_add(1, Ordering::SeqCst);
    }
}

impl Known {
    fn wake(&self) {
        let waker = self.waker.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn polls(&self) -> usize {
        self.polls.load(Ordering::SeqCst)
    }
}

/// A task, what is known of it, and its number.
struct Subject {
    task: JoinHandle<()>,
    known: Arc<Known>,
    number: String,
}

fn subjects(runtime: &Runtime, count: usize) -> Vec<Subject> {
    let tasks = (0..count).map(|_| {
        let known = Arc::<Known>::default();
        let probe = Probe(Arc::clone(&known));
        (runtime.install(|| spawn("at once", probe)), known)
    });
    let tasks: Vec<_> = tasks.collect();
    let with_number = |(task, known): (JoinHandle<()>, Arc<Known>)| {
        let id = task.id().to_string();
        let number = until(|| {
            let mut tasks = inspect::snapshot().tasks.into_iter();
            let its = tasks.find(|task| format!("{:x}", task.id) == id)?;
            (known.polls() > 0).then(|| its.number.to_string())
        });
        Subject {
            task,
            known,
            number,
        }
    };
    tasks.into_iter().map(with_number).collect()
}

/// Freezes these tasks, which nobody else freezes, and thaws most of them.
fn freeze_and_thaw(client: &mut Client, subjects: &[&Subject], turns: usize, random: &mut Random) {
    for _ in 0..turns {
        let Subject { known, number, .. } = subjects[random.below(subjects.len())];
        let acted = freeze(client, known, number, random.below(3) > 0);
        let is_there = acted.is_ok_and(|()| {
            // The last ones are left to the end of the connection.
            known.is_frozen.store(false, Ordering::SeqCst);
            random.below(8) == 0 || client.thaw_task(number).is_ok()
        });
        if is_there && random.below(8) == 0 {
            // It waits, or is held, and is woken: so it has to be polled again.
            let _ = client.thaw_task(number);
            let polls = known.polls();
            known.wake();
            let is_over = || known.may_be_dropped.load(Ordering::SeqCst);
            until(|| (known.polls() > polls || is_over()).then_some(()));
        }
        assert!(is_there || known.may_be_dropped.load(Ordering::SeqCst));
    }
}

/// Freezes a task, until it is not polled any more, and perhaps wakes it then.
fn freeze(client: &mut Client, known: &Known, number: &str, wakes: bool) -> Result<(), Error> {
    while client.freeze_task(number)? {
        thread::yield_now();
    }
    known.is_frozen.store(true, Ordering::SeqCst);
    let polls = known.polls();
    if wakes {
        known.wake();
    }
    for _ in 0..4 {
        thread::yield_now();
    }
    let gone_on = known.polls() - polls;
    assert_eq!(gone_on, 0, "a frozen task was polled");
    Ok(())
}

/// Wakes tasks, until it is over.
fn wake(subjects: &[Subject], is_over: &AtomicBool, random: &mut Random) {
    while !is_over.load(Ordering::SeqCst) {
        subjects[random.below(subjects.len())].known.wake();
        thread::yield_now();
    }
}

/// Cancels every fourth task, one after the other.
fn cancel(subjects: &[Subject]) {
    for subject in subjects.iter().step_by(4) {
        for _ in 0..50 {
            thread::yield_now();
        }
        subject.known.may_be_dropped.store(true, Ordering::SeqCst);
        subject.task.abort();
    }
}

/// Ends the runtime while its tasks are frozen, thawed and woken.
fn end_early(runtime: Runtime, subjects: &[Subject]) {
    for _ in 0..300 {
        thread::yield_now();
    }
    for Subject { known, .. } in subjects {
        known.may_be_dropped.store(true, Ordering::SeqCst);
    }
    drop(runtime);
}

/// How a round ends.
#[derive(Clone, Copy)]
enum End {
    OfRuntime,
    OfConnections,
}

fn round(seed: u64, end: End) {
    const TASKS: usize = 12;
    const FREEZERS: usize = 3;
    const TURNS: usize = 60;
    let path = diagnostics::serve().unwrap();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let subjects = subjects(&runtime, TASKS);
    let mut clients: Vec<Client> = (0..FREEZERS)
        .map(|_| Client::connect(&path).unwrap())
        .collect();
    let is_over = AtomicBool::new(false);
    let (ends_early, _ends_last) = match end {
        End::OfRuntime => (Some(runtime), None),
        End::OfConnections => (None, Some(runtime)),
    };
    thread::scope(|scope| {
        let freezers: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(place, client)| {
                let own: Vec<&Subject> = subjects.iter().skip(place).step_by(FREEZERS).collect();
                let mut random = Random(seed * 100 + place as u64 + 1);
                scope.spawn(move || freeze_and_thaw(client, &own, TURNS, &mut random))
            })
            .collect();
        for place in 0..2 {
            let mut random = Random(seed * 100 + 50 + place);
            let (subjects, is_over) = (&subjects, &is_over);
            scope.spawn(move || wake(subjects, is_over, &mut random));
        }
        scope.spawn(|| cancel(&subjects));
        if let Some(runtime) = ends_early {
            scope.spawn(|| {
                end_early(runtime, &subjects);
            });
        }
        let ended: Vec<_> = freezers.into_iter().map(|freezer| freezer.join()).collect();
        is_over.store(true, Ordering::SeqCst);
        assert!(ended.iter().all(Result::is_ok), "seed {seed}");
    });
    for Subject { known, .. } in &subjects {
        known.may_end.store(true, Ordering::SeqCst);
        known.wake();
    }
    // What is frozen still is thawed by this, and has been woken before.
    drop(clients);
    for Subject { task, known, .. } in subjects {
        until(|| task.is_finished().then_some(()));
        let is_cancelled = task.join().is_err();
        let may_be = known.may_be_dropped.load(Ordering::SeqCst);
        assert!(may_be || !is_cancelled, "seed {seed}");
        let seen = [&known.drops, &known.polled_twice, &known.polled_frozen];
        let seen = seen.map(|count| count.load(Ordering::SeqCst));
        assert_eq!(seen, [1, 0, 0], "seed {seed}");
    }
}

/// 20 rounds, or as many as the variable `MANYHANDS_ROUNDS` says.
#[test]
fn tasks_that_are_frozen_thawed_woken_and_cancelled_at_once_are_held_and_all_end() {
    let _one = one_with_connections();
    diagnostics::allow_control();
    let rounds = std::env::var("MANYHANDS_ROUNDS").map_or(20, |n| n.parse().unwrap());
    for seed in 1..=rounds {
        let end = match seed % 4 {
            0 => End::OfRuntime,
            _ => End::OfConnections,
        };
        round(seed, end);
    }
}
