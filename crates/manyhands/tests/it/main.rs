//! Integration tests, by area. Tests whose names begin with a number hold the promise of that number:
//!
//! 1. Empty and reversed ranges. 2. Every index once. 3. Ranges at the ends of their types. 4. Break.
//! 5. Several breaks. 6. Stop. 7. Break and stop in one loop. 8. Cancelled rules. 9. Cancelled before.
//! 10. Cancelled in flight. 11. Degree. 12. Degree zero. 13. Failures. 14. State of each runner.
//! 15. Unbuffered. 16. Iterators are dropped. 17. Partitions from many threads. 18. Only what can be
//! shared out is a source. 19. Invoke. 20. Invoke with failures. 21. Invoked closures wait for one
//! another. 22. The runtime that is used.
//!
//! Every wait has a deadline, and nothing sleeps.

mod cancellation;
mod degree;
mod drops;
mod entry;
mod failure;
mod find;
mod fork_join;
mod invoke;
mod leave_early;
mod local;
mod map;
mod range;
mod reduce;
mod runtime;
mod scope;
mod shutdown;
mod source;
mod support;
mod surface;
mod task;
mod which_runtime;
