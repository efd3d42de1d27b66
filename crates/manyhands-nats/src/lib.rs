//! Where a NATS server is, and what opens it: the addresses, keys and certificates of manyhands-fleet and
//! manyhands-cluster. It makes the options of a connection, and no connection.
#![forbid(unsafe_code)]

mod address;
mod refusal;

pub use address::{Address, AddressError, Keys};
pub use refusal::{Refusal, refusal};

/// Its words are checked as documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
