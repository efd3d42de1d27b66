//! Random programs: trees of forks, scopes, loops, tasks, waits and panics.

use crate::oracle::Outcome;
use crate::program::Loop;
use crate::rounds::{NODES_MAX, Random, WORK_MAX};
use std::sync::Arc;

/// One node. Its value does not depend on which thread runs it when.
#[derive(Debug)]
pub(crate) enum Tree {
    Leaf {
        id: u64,
        work: u64,
    },
    Panic {
        id: u64,
    },
    /// Catches the panics of its child and compares them with what the oracle expects.
    Catch {
        id: u64,
        child: Arc<Self>,
        expected: Outcome,
    },
    Join(Arc<Self>, Arc<Self>),
    /// A join whose halves wait for a message of each other first.
    Handshake(Arc<Self>, Arc<Self>),
    Scope {
        spawning: Spawning,
        children: Vec<Arc<Self>>,
    },
    ForEach(Vec<Arc<Self>>),
    MapReduce(Vec<Arc<Self>>),
    Invoke(Vec<Arc<Self>>),
    /// The first is a task, joined after the second has been evaluated here.
    Task(Arc<Self>, Arc<Self>),
    /// Its child is evaluated under the lock that all such nodes of a round share.
    Locked(Arc<Self>),
    Loop(Loop),
}

/// Where the closures of a scope are spawned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spawning {
    /// The body spawns all.
    ByTheBody,
    /// Each closure spawns the next before it begins.
    ByOneAnother,
}

impl Tree {
    /// The tree of a seed.
    pub(crate) fn of_seed(seed: u64) -> Arc<Self> {
        let mut random = Random::new(seed);
        let nodes = 1 + random.below(NODES_MAX);
        let mut generator = Generator {
            handshakes_left: if random.is_one_in(3) { 2 } else { 0 },
            panics_one_in: if random.is_one_in(2) { 12 } else { 200 },
            random,
            next_id: 0,
        };
        let place = Place {
            depth: 0,
            is_locked: false,
        };
        generator.catch(nodes, place)
    }
}

struct Generator {
    random: Random,
    next_id: u64,
    handshakes_left: u32,
    panics_one_in: u64,
}

#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    is_locked: bool,
}

/// Deeper trees would need larger stacks.
const DEPTH_MAX: u32 = 24;

impl Generator {
    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn tree(&mut self, nodes: u64, place: Place) -> Arc<Tree> {
        if nodes <= 1 || place.depth >= DEPTH_MAX {
            return Arc::new(self.end());
        }
        let place = Place {
            depth: place.depth + 1,
            ..place
        };
        Arc::new(match self.random.below(24) {
            0..6 => {
                let (a, b) = self.two(nodes, place);
                Tree::Join(a, b)
            }
            6..9 => Tree::Scope {
                spawning: if self.random.is_one_in(2) {
                    Spawning::ByTheBody
                } else {
                    Spawning::ByOneAnother
                },
                children: self.some(nodes, place),
            },
            9..11 => Tree::ForEach(self.some(nodes, place)),
            11..13 => Tree::MapReduce(self.some(nodes, place)),
            13..15 => Tree::Invoke(self.some(nodes, place)),
            15..18 => {
                let (a, b) = self.two(nodes, place);
                Tree::Task(a, b)
            }
            18..20 if !place.is_locked => {
                let place = Place {
                    is_locked: true,
                    ..place
                };
                Tree::Locked(self.tree(nodes - 1, place))
            }
            20..22 if self.handshakes_left > 0 => {
                self.handshakes_left -= 1;
                let (a, b) = self.two(nodes, place);
                Tree::Handshake(a, b)
            }
            _ => return self.catch(nodes, place),
        })
    }

    fn catch(&mut self, nodes: u64, place: Place) -> Arc<Tree> {
        let id = self.id();
        let child = self.tree(nodes - 1, place);
        let expected = child.outcome();
        Arc::new(Tree::Catch {
            id,
            child,
            expected,
        })
    }

    fn end(&mut self) -> Tree {
        let id = self.id();
        if self.random.is_one_in(self.panics_one_in) {
            Tree::Panic { id }
        } else if self.random.is_one_in(6) {
            Tree::Loop(Loop::random(&mut self.random))
        } else {
            // Mostly short, sometimes long.
            let end = 1 + self.random.below(WORK_MAX);
            let work = self.random.below(end);
            Tree::Leaf { id, work }
        }
    }

    fn two(&mut self, nodes: u64, place: Place) -> (Arc<Tree>, Arc<Tree>) {
        let first = self.random.below(nodes);
        (self.tree(first, place), self.tree(nodes - first, place))
    }

    fn some(&mut self, nodes: u64, place: Place) -> Vec<Arc<Tree>> {
        let count = self.random.below(nodes.min(20) + 1);
        (0..count)
            .map(|_| self.tree(nodes / count, place))
            .collect()
    }
}
