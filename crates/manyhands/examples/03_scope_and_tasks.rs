//! How to run: `cargo run --release --example 03_scope_and_tasks`
//!
//! A scope spawns any number of closures that may borrow, and waits for them. A task stands by itself: it
//! owns what it uses, and its handle waits for its result.

use manyhands::task::{self, JoinError};
use manyhands::{Scope, scope};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A tree with as many children at each node as it is high.
struct Node {
    children: Vec<Self>,
}

impl Node {
    fn grow(height: usize) -> Self {
        Self {
            children: (0..height).map(|_| Self::grow(height - 1)).collect(),
        }
    }

    /// Visits this node and spawns a visit of each child.
    fn visit<'scope>(&'scope self, s: &Scope<'scope>, seen: &'scope AtomicUsize) {
        seen.fetch_add(1, Ordering::Relaxed);
        for child in &self.children {
            s.spawn(move |s| child.visit(s, seen));
        }
    }
}

fn main() -> Result<(), JoinError> {
    let (tree, seen) = (Node::grow(6), AtomicUsize::new(0));
    scope(|s| tree.visit(s, &seen));
    assert_eq!(seen.into_inner(), 1_957);

    // Closures of a scope may write to what lies outside it.
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    scope(|s| {
        for (number, part) in parts.iter_mut().enumerate() {
            s.spawn(move |_| part.extend(0..number));
        }
    });
    assert_eq!(parts[2], [0, 1]);

    // A task runs in the background until somebody wants its result.
    let factorial = task::run(|| (1..=20_u64).product::<u64>());
    let parsing = task::run(|| "not a number".parse::<u8>().is_ok());
    assert_eq!(factorial.join()?, 2_432_902_008_176_640_000);
    assert!(!parsing.join()?);
    Ok(())
}
