//! Random trees on pools of several sizes, compared with the oracle.

use crate::oracle::{self, Planned};
use crate::rounds::{Random, Rounds, command};
use crate::tree::{Spawning, Tree};
use crate::watchdog::Watchdog;
use manyhands::{Runtime, Scope, join, parallel, scope, task};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

#[test]
fn random_trees_on_1_worker_agree_with_the_oracle() {
    trees("run::random_trees_on_1_worker_agree_with_the_oracle", 1);
}

#[test]
fn random_trees_on_2_workers_agree_with_the_oracle() {
    trees("run::random_trees_on_2_workers_agree_with_the_oracle", 2);
}

#[test]
fn random_trees_on_3_workers_agree_with_the_oracle() {
    trees("run::random_trees_on_3_workers_agree_with_the_oracle", 3);
}

#[test]
#[cfg_attr(miri, ignore = "too many threads")]
fn random_trees_on_64_workers_agree_with_the_oracle() {
    trees("run::random_trees_on_64_workers_agree_with_the_oracle", 64);
}

#[test]
#[cfg_attr(miri, ignore = "too many threads")]
fn random_trees_on_192_workers_agree_with_the_oracle() {
    trees(
        "run::random_trees_on_192_workers_agree_with_the_oracle",
        192,
    );
}

fn trees(name: &str, workers: usize) {
    let runtime = Runtime::builder().workers(workers).build();
    let runtime = Arc::new(runtime.expect("the number is right"));
    let watchdog = Watchdog::new();
    for seed in Rounds::of(1) {
        let command = command(name, seed);
        watchdog.begin(command.clone(), &runtime);
        let mismatches = round(&runtime, seed);
        assert!(mismatches.is_empty(), "{mismatches:#?}\n{command}");
    }
}

/// One round: a tree, or a few at once. Returns what was wrong.
fn round(runtime: &Arc<Runtime>, seed: u64) -> Vec<String> {
    let world = Arc::new(World::default());
    let mut random = Random::new(!seed);
    let entry = random.below(4);
    if entry < 3 {
        world.enter(runtime, &Tree::of_seed(seed), entry);
    } else {
        let callers = 2 + random.below(3);
        thread::scope(|s| {
            for caller in 0..callers {
                let tree = Tree::of_seed(seed.wrapping_add(caller << 48));
                let (world, entry) = (&world, random.below(3));
                s.spawn(move || world.enter(runtime, &tree, entry));
            }
        });
    }
    std::mem::take(&mut *world.mismatches.lock().expect("no panic under the lock"))
}

/// What all trees of one round share.
#[derive(Debug, Default)]
struct World {
    lock: Mutex<()>,
    mismatches: Mutex<Vec<String>>,
}

impl World {
    /// Evaluates a tree whose root catches every panic, by one of three ways into the runtime.
    fn enter(self: &Arc<Self>, runtime: &Runtime, tree: &Arc<Tree>, entry: u64) {
        let expected = tree.outcome();
        let seen = catch_unwind(AssertUnwindSafe(|| match entry {
            0 => runtime.install(|| self.value(tree)),
            1 => {
                let _entered = runtime.enter();
                self.value(tree)
            }
            _ => {
                let _entered = runtime.enter();
                let (world, tree) = (Arc::clone(self), Arc::clone(tree));
                let task = task::run(move || world.value(&tree));
                task.join().unwrap_or_else(|error| panic!("{error}"))
            }
        }));
        self.note(expected.check(seen));
    }

    fn note(&self, result: Result<(), String>) {
        if let Err(mismatch) = result {
            self.mismatches
                .lock()
                .expect("no panic under the lock")
                .push(mismatch);
        }
    }

    fn value(self: &Arc<Self>, tree: &Arc<Tree>) -> u64 {
        match &**tree {
            Tree::Leaf { id, work } => oracle::leaf(*id, *work),
            Tree::Panic { id } => resume_unwind(Box::new(Planned(*id))),
            Tree::Loop(program) => program.in_parallel(),
            Tree::Catch {
                id,
                child,
                expected,
            } => {
                let seen = catch_unwind(AssertUnwindSafe(|| self.value(child)));
                let value = seen.as_ref().ok().copied();
                self.note(expected.check(seen));
                oracle::caught(*id, value)
            }
            Tree::Join(a, b) => {
                let (a, b) = join(|| self.value(a), || self.value(b));
                oracle::joined(a, b)
            }
            Tree::Handshake(a, b) => self.handshake(a, b),
            Tree::Scope { spawning, children } => self.scope(*spawning, children),
            Tree::ForEach(children) => {
                let sum = AtomicU64::new(oracle::in_any_order(&[]));
                parallel::for_each(0..children.len(), |index| {
                    let value = self.value(&children[index]);
                    sum.fetch_add(oracle::placed(index, value), Ordering::Relaxed);
                });
                sum.into_inner()
            }
            Tree::MapReduce(children) => {
                let step = |child: &Arc<Tree>| oracle::step(self.value(child));
                let steps = parallel::map_reduce(children.as_slice(), step, oracle::composed);
                steps.map_or_else(|| oracle::in_order(&[]), |(_, value)| value)
            }
            Tree::Invoke(children) => {
                let closures = children.iter().map(|child| || self.value(child));
                oracle::in_order(&parallel::invoke(closures.collect::<Vec<_>>()))
            }
            Tree::Task(a, b) => self.task(a, b),
            Tree::Locked(child) => {
                let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
                self.value(child)
            }
        }
    }

    fn handshake(self: &Arc<Self>, a: &Arc<Tree>, b: &Arc<Tree>) -> u64 {
        let (to_b, from_a) = mpsc::channel();
        let (to_a, from_b) = mpsc::channel();
        let first = move || {
            to_b.send(()).expect("the other half waits");
            from_b.recv().expect("the other half answers");
            self.value(a)
        };
        let second = move || {
            from_a.recv().expect("the first half has sent");
            to_a.send(()).expect("the first half waits");
            self.value(b)
        };
        let (a, b) = join(first, second);
        oracle::joined(a, b)
    }

    fn scope(self: &Arc<Self>, spawning: Spawning, children: &[Arc<Tree>]) -> u64 {
        let results: Vec<AtomicU64> = children.iter().map(|_| AtomicU64::new(0)).collect();
        scope(|s| match spawning {
            Spawning::ByTheBody => {
                for (child, result) in children.iter().zip(&results) {
                    s.spawn(move |_| result.store(self.value(child), Ordering::Relaxed));
                }
            }
            Spawning::ByOneAnother => self.spawn_chain(s, children, &results),
        });
        let values: Vec<u64> = results.into_iter().map(AtomicU64::into_inner).collect();
        oracle::in_order(&values)
    }

    fn spawn_chain<'scope>(
        self: &'scope Arc<Self>,
        s: &Scope<'scope>,
        children: &'scope [Arc<Tree>],
        results: &'scope [AtomicU64],
    ) {
        if let ([child, children @ ..], [result, results @ ..]) = (children, results) {
            s.spawn(move |s| {
                self.spawn_chain(s, children, results);
                result.store(self.value(child), Ordering::Relaxed);
            });
        }
    }

    fn task(self: &Arc<Self>, a: &Arc<Tree>, b: &Arc<Tree>) -> u64 {
        let task = task::run({
            let (world, a) = (Arc::clone(self), Arc::clone(a));
            move || world.value(&a)
        });
        // If this panics, the task is detached.
        let b = self.value(b);
        match task.join() {
            Ok(a) => oracle::joined(a, b),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(error) => panic!("{error}"),
            },
        }
    }
}
