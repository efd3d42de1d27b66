//! The base of the ratios: plain recursion.

use crate::joins::{Joins, hash, tree::Node};

#[derive(Debug)]
pub(crate) struct Plain;

impl Joins for Plain {
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
        (0..4).map(|_| hash()).sum()
    }
}

fn fib(index: u32) -> u64 {
    if index < 2 {
        return u64::from(index);
    }
    fib(index - 1) + fib(index - 2)
}

fn sum(node: &Node) -> u64 {
    // The right child first, as all contenders do: see `compare.rs`.
    let right = node.right.as_deref().map_or(0, sum);
    let left = node.left.as_deref().map_or(0, sum);
    node.value + left + right
}
