//! What a query will do, as text: whether it may run in parallel, and where it gathers items.

/// What a query will do, as text.
#[derive(Debug)]
pub struct Explanation(String);

impl Explanation {
    /// How the query is shared with other workers, and why.
    pub(crate) fn new(how: &str, reason: &str) -> Self {
        Self(format!("{how}, because {reason}: "))
    }

    /// Where the items come from.
    pub(crate) fn source(&mut self, name: &str) {
        self.0.push_str(name);
    }

    /// An operator that runs in one loop with the operators before it.
    pub(crate) fn fused(&mut self, name: &str) {
        self.0.push_str(", ");
        self.0.push_str(name);
    }

    /// An operator that needs positions. They are free if the pipeline below has them; otherwise all items so far are
    /// stored in memory before it receives the first.
    pub(crate) fn by_position(&mut self, name: &str, is_free: bool) {
        self.0.push_str(if is_free { ", " } else { "; gathered; " });
        self.0.push_str(name);
    }

    /// A second input.
    pub(crate) fn operand(&mut self, explain: impl FnOnce(&mut Self)) {
        self.0.push_str(" (");
        explain(self);
        self.0.push(')');
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}
