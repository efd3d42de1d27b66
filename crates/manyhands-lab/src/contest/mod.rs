//! Contenders in processes of their own, measured by turns in rounds.
//!
//! An experiment's arms share a process; the contenders of a contest cannot, because each brings a pool of its own that
//! would disturb the others. So each [`Arm`] has a process, all of them live during a case, and only the one that is asked
//! runs; the others are stopped. In each round every arm measures once, in an order shuffled anew from one seed
//! ([`Contest`]). A ratio is taken within a round, so that what slows the machine for a while slows both sides, and has an
//! interval from [`MIN_ROUNDS`] rounds on ([`Ratio`]). A second process of the base shows how far a ratio is from 1 where
//! nothing differs but the process: intervals do not contain that.
//!
//! The child's side is [`serve`], with [`CostMeter`] to measure: the program is started as
//! `PROGRAM child PROBLEM CONTENDER`. [`Column`] and [`cell`] make tables of what came out, [`Conditions`] says how it was
//! measured, and [`page`] keeps the results of several contests in one file.

mod arm;
mod conditions;
mod cost;
pub mod page;
mod peer;
mod protocol;
mod ratio;
mod result;
mod rounds;
mod serve;
mod table;

pub use arm::{Arm, Build, Role};
pub use conditions::Conditions;
pub use cost::{Cost, CostMeter, cpu_time, thread_cpu_time};
pub use peer::Peer;
pub use protocol::{Request, Sample};
pub use ratio::{MIN_ROUNDS, Ratio};
pub use result::{CaseResult, Verdict};
pub use rounds::{Contest, Lifetime};
pub use serve::{end_with_parent, say_absent, serve};
pub use table::{Column, case_table, cell, corner, notes, time};
