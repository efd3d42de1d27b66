//! Fork-join without cut-off: every call that can fork does.
//!
//! - `fib`: fib(32), 3.5 million joins of almost nothing.
//! - `tree-small`: the sum of the 1,023 nodes of a boxed binary tree, over and over: what a join
//!   costs when there is too little work to share.
//! - `tree-big`: the sum of 16,777,215 nodes, bound by memory; about 540 MB in every process.
//! - `invoke`, `invoke-parked`: four closures of one hash, back to back and after 2 ms of sleep.

mod chili;
mod compare;
mod forte;
mod manyhands;
mod plain;
mod rayon;
mod tree;

use std::hint::black_box;

use crate::loops::sha512;
use crate::window;
use manyhands_lab::contest::{self, Arm, Request, Sample};
use tree::Node;

pub(crate) use compare::compare;

/// A hash of which four can be added.
fn hash() -> u64 {
    sha512() >> 2
}

/// What a contender of this problem can do.
pub(crate) trait Joins {
    /// Makes or finds the pool.
    fn new() -> Self;

    fn fib(&mut self, index: u32) -> u64;

    fn sum(&mut self, tree: &Node) -> u64;

    /// The sum of what four closures return, each of which hashes.
    fn invoke(&mut self) -> u64;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 9] = [
    Arm::base("plain", "plain"),
    Arm::base("plain again", "plain"),
    Arm::contender("manyhands"),
    Arm::contender("chili"),
    Arm::contender("forte"),
    Arm::contender("rayon"),
    Arm::contender("dotnet-plain").of(RECURSIONS),
    Arm::contender("dotnet-invoke").of(LITTLE),
    Arm::contender("dotnet-run").of(LITTLE),
];

/// Those that .NET's contender knows.
const RECURSIONS: &[&str] = &["fib", "tree-small", "tree-big"];

/// Those that its joins do within seconds.
const LITTLE: &[&str] = &["fib", "tree-small"];

/// The cases, in the order they are run.
pub(crate) const CASES: [&str; 5] = ["fib", "tree-small", "tree-big", "invoke", "invoke-parked"];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "plain" => serve_as::<plain::Plain>(),
        "manyhands" => serve_as::<manyhands::Manyhands>(),
        "chili" => serve_as::<chili::Chili>(),
        "forte" => serve_as::<forte::Forte>(),
        "rayon" => serve_as::<rayon::Rayon>(),
        _ => return false,
    }
    true
}

fn serve_as<C: Joins>() {
    let mut contender = C::new();
    let mut stage = Stage::default();
    contest::serve(|request| stage.answer(&mut contender, request));
}

/// The tree of the case at hand, and how long its call is known to take.
#[derive(Debug, Default)]
struct Stage {
    case: String,
    tree: Option<Box<Node>>,
    known_nanos: Option<f64>,
}

impl Stage {
    fn answer<C: Joins>(&mut self, contender: &mut C, request: &Request) -> Result<Sample, String> {
        if self.case != request.case {
            let tree = match request.case.as_str() {
                "fib" | "invoke" | "invoke-parked" => None,
                "tree-small" => Some(10),
                "tree-big" => Some(24),
                case => return Err(format!("no case '{case}'")),
            };
            *self = Self {
                case: request.case.clone(),
                tree: tree.map(Node::tree),
                known_nanos: None,
            };
        }
        let mut checksum = 0_u64;
        let call = || {
            let found = match &self.tree {
                Some(tree) => contender.sum(black_box(tree)),
                None if self.case == "fib" => contender.fib(black_box(FIB_INDEX)),
                None => contender.invoke(),
            };
            // Every call gives the same number, so a wrong one anywhere shows in the maximum.
            checksum = checksum.max(found);
        };
        let nanos = if self.case == "invoke-parked" {
            window::parked(request.window, call).nanos
        } else {
            window::back_to_back(request.window, self.known_nanos, call)
        };
        self.known_nanos = Some(nanos);
        Ok(Sample {
            checksum,
            values: vec![nanos],
        })
    }
}

const FIB_INDEX: u32 = 32;
