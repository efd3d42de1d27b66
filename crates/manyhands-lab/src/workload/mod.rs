//! The workloads of the registered experiments, one file each.
//!
//! In every file the arms share one body and differ in the loop around it only.

mod bcrypt_strings;
mod five_hashes;
mod primes;
mod sha512_hello;

pub(crate) use bcrypt_strings::bcrypt_strings;
pub(crate) use five_hashes::five_hashes;
pub(crate) use primes::primes;
pub(crate) use sha512_hello::sha512_hello;

/// Name of the baseline arm: a plain loop on the calling thread.
const SEQUENTIAL: &str = "sequential";
