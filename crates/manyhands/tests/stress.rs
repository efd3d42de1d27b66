//! Stress: random fork-join trees with panics, cancellation and blocking against a sequential oracle, many
//! tiny loops at once, timers, runtimes that come and go with work in flight, bodies that block in all sorts
//! of ways, channels whose users give up, and all of it under
//! delays: stalls by signal, busy threads, one processor, tasks from outside. A watchdog prints what every
//! thread does, and aborts, when nothing has been finished for 30 seconds.
//!
//! `MANYHANDS_STRESS_SECONDS` sets the length, `MANYHANDS_STRESS_SEED` the seed; a failure prints the command
//! that repeats it.

mod delays;

#[path = "stress/channels.rs"]
mod channels;
#[path = "stress/chaos.rs"]
mod chaos;
#[path = "stress/life.rs"]
mod life;
#[path = "stress/loops.rs"]
mod loops;
#[path = "stress/oracle.rs"]
mod oracle;
#[path = "stress/program.rs"]
mod program;
#[path = "stress/quota.rs"]
mod quota;
#[path = "stress/rounds.rs"]
mod rounds;
#[path = "stress/run.rs"]
mod run;
#[path = "stress/stalled.rs"]
mod stalled;
#[path = "stress/timers.rs"]
mod timers;
#[path = "stress/tree.rs"]
mod tree;
#[path = "stress/watchdog.rs"]
mod watchdog;
