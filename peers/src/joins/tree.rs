//! The binary tree whose nodes are summed.

/// A node that owns its children, as a first implementation of a tree would.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: u64,
    pub(crate) left: Option<Box<Self>>,
    pub(crate) right: Option<Box<Self>>,
}

impl Node {
    /// A full tree of this many layers whose values are all different from zero.
    pub(crate) fn tree(layers: u32) -> Box<Self> {
        let child = || (layers > 1).then(|| Self::tree(layers - 1));
        Box::new(Self {
            value: u64::from(layers),
            left: child(),
            right: child(),
        })
    }
}
