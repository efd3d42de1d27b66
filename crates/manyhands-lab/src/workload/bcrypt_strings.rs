//! E8's shape: BCrypt over a few hundred strings, results collected. Few items, each some
//! hundred microseconds to a millisecond.

use super::SEQUENTIAL;
use crate::{Case, Experiment};
use manyhands::parallel;

/// The experiment with few heavy items.
pub(crate) fn bcrypt_strings() -> Experiment {
    let case = Case::collected("BCrypt")
        .full_sizes([300])
        .quick_sizes([20])
        .arm(SEQUENTIAL, |n, hashes| *hashes = (0..n).map(hash).collect())
        .arm("map", |n, hashes| *hashes = parallel::map(0..n, hash));
    Experiment::new(
        "E8",
        "BCrypt cost 4 of different strings, results collected",
    )
    .case(case)
}

/// The salt comes from the index instead of a random source, so that all arms agree.
fn hash(index: usize) -> [u8; 24] {
    let text = format!("Hello World {index}\0");
    let mut salt = *b"manyhands salt..";
    salt[14] ^= index.to_le_bytes()[0];
    salt[15] ^= index.to_le_bytes()[1];
    bcrypt::bcrypt(COST, salt, text.as_bytes())
}

/// 2⁴ rounds, the smallest cost BCrypt knows.
const COST: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_repeat_and_differ_between_strings() {
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }
}
