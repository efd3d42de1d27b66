//! What a query will do, as text: whether it may run in parallel, and where it gathers items.

use std::fmt;

/// What a query will do. Prints as text.
#[derive(Debug)]
pub struct Explanation {
    decision: Decision,
    text: String,
}

/// Whether a query is shared with other workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Sequential(&'static str),
    Parallel(&'static str),
    WhileRunning,
}

impl Explanation {
    pub(crate) fn new(decision: Decision) -> Self {
        Self {
            decision,
            text: String::new(),
        }
    }

    /// Where the items come from.
    pub(crate) fn source(&mut self, name: &str) {
        self.text.push_str(name);
    }

    /// An operator that runs in one loop with the operators before it.
    pub(crate) fn fused(&mut self, name: &str) {
        self.text.push_str(", ");
        self.text.push_str(name);
    }

    /// All items so far are stored in memory before the next operator receives the first.
    pub(crate) fn gathered(&mut self) {
        self.text.push_str("; gathered; ");
    }

    /// An operator that needs positions; they are free if the pipeline below has them.
    pub(crate) fn by_position(&mut self, name: &str, is_free: bool) {
        if is_free {
            self.fused(name);
        } else {
            self.gathered();
            self.text.push_str(name);
        }
    }

    /// A second input.
    pub(crate) fn operand(&mut self, explain: impl FnOnce(&mut Self)) {
        self.text.push_str(" (");
        explain(self);
        self.text.push(')');
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, reason) = match self.decision {
            Decision::Sequential(reason) => ("sequential", reason),
            Decision::Parallel(reason) => ("parallel", reason),
            Decision::WhileRunning => (
                "decided while running",
                "what is left is weighed against what sharing costs",
            ),
        };
        write!(f, "{how}, because {reason}: {}", self.text)
    }
}
