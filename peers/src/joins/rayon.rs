//! `rayon::join` on the global pool.

use crate::joins::{Joins, hash, tree::Node};

#[derive(Debug)]
pub(crate) struct Rayon;

impl Joins for Rayon {
    fn new() -> Self {
        Self
    }

    fn fib(&mut self, index: u32) -> u64 {
        fib(index)
    }

    fn sum(&mut self, tree: &Node) -> u64 {
        sum(tree)
    }

    fn invoke(&mut self) -> u64 {
        let two = || rayon::join(hash, hash);
        let ((a, b), (c, d)) = rayon::join(two, two);
        a + b + c + d
    }
}

fn fib(index: u32) -> u64 {
    if index < 2 {
        return u64::from(index);
    }
    let (one, two) = rayon::join(|| fib(index - 1), || fib(index - 2));
    one + two
}

fn sum(node: &Node) -> u64 {
    // The right child first, as all contenders do: see `compare.rs`.
    let (right, left) = rayon::join(
        || node.right.as_deref().map_or(0, sum),
        || node.left.as_deref().map_or(0, sum),
    );
    node.value + left + right
}
