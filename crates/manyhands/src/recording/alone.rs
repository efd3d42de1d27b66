//! Why a loop ran on its caller alone.

/// Why a loop ran on its caller alone.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AloneBecause {
    /// All calls from this place were so short that nothing is measured any more.
    AlwaysShort,
    /// What was left never paid for handing it over.
    TooShort,
    /// One runner is what the caller asked for.
    OneAllowed,
    /// To take an item from the iterator, which one thread can do at a time, took longer than its body.
    SourceSlow,
    /// Earlier calls from this place became slower when they were shared.
    SharingHurt,
    /// Too many loops, scopes and invokes of this thread are open, or the thread has no place among the external ones.
    NoPlace,
}
