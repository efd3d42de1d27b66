//! `Scope::join` as chili's README uses it, in one scope for the life of the process as in its own
//! benchmark: a scope per call would cost the small tree more than the sum does.

use chili::Scope;

use crate::joins::{Joins, hash, tree::Node};

pub(crate) struct Chili(Scope<'static>);

impl Joins for Chili {
    fn new() -> Self {
        Self(Scope::global())
    }

    fn fib(&mut self, index: u32) -> u64 {
        fib(&mut self.0, index)
    }

    fn sum(&mut self, tree: &Node) -> u64 {
        sum(&mut self.0, tree)
    }

    fn invoke(&mut self) -> u64 {
        let two = |scope: &mut Scope<'_>| scope.join(|_| hash(), |_| hash());
        let ((a, b), (c, d)) = self.0.join(two, two);
        a + b + c + d
    }
}

fn fib(scope: &mut Scope<'_>, index: u32) -> u64 {
    if index < 2 {
        return u64::from(index);
    }
    let (one, two) = scope.join(|scope| fib(scope, index - 1), |scope| fib(scope, index - 2));
    one + two
}

fn sum(scope: &mut Scope<'_>, node: &Node) -> u64 {
    let (left, right) = scope.join(
        |scope| node.left.as_deref().map_or(0, |node| sum(scope, node)),
        |scope| node.right.as_deref().map_or(0, |node| sum(scope, node)),
    );
    node.value + left + right
}
