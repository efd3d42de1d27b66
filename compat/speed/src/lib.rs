//! How the programs here are measured: each a few times, after it has run once, one line for each time.
//!
//! `cargo xtask compat` builds them twice, with rayon's own core and with the façade, and compares what they print.

#![forbid(unsafe_code)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often a program is measured.
const TIMES: usize = 5;

/// Prints `name,nanoseconds,digest` for each time. The digest is that of the result; both cores must have the same.
pub fn measure<R: Hash>(name: &str, program: impl Fn() -> R) {
    measure_with(name, || (), |()| program());
}

/// As [`measure`], of `program` on what `prepare` makes. The time to make it, and to drop it, does not count.
pub fn measure_with<T, R: Hash>(
    name: &str,
    prepare: impl Fn() -> T,
    program: impl Fn(&mut T) -> R,
) {
    for time in 0..=TIMES {
        let mut input = black_box(prepare());
        let (elapsed, result) = timed(|| program(&mut input));
        if time > 0 {
            println!("{name},{},{}", elapsed.as_nanos(), digest(&result));
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "to read the clock is what this program is for"
)]
fn timed<R>(program: impl FnOnce() -> R) -> (Duration, R) {
    let since = Instant::now();
    let result = black_box(program());
    (since.elapsed(), result)
}

/// The same in each process.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn a_digest_says_whether_results_differ() {
        assert_eq!(digest(&[1, 2]), digest(&[1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
    }
}
