//! `manyhands::join` on the default runtime.

use manyhands::parallel;

use crate::joins::{Joins, hash, tree::Node};

#[derive(Debug)]
pub(crate) struct Manyhands;

impl Joins for Manyhands {
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
        parallel::invoke([hash; 4]).into_iter().sum()
    }
}

fn fib(index: u32) -> u64 {
    if index < 2 {
        return u64::from(index);
    }
    let (one, two) = manyhands::join(|| fib(index - 1), || fib(index - 2));
    one + two
}

fn sum(node: &Node) -> u64 {
    // The right child first, as all contenders do: see `compare.rs`.
    let (right, left) = manyhands::join(
        || node.right.as_deref().map_or(0, sum),
        || node.left.as_deref().map_or(0, sum),
    );
    node.value + left + right
}
