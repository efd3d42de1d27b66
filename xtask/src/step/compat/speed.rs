//! How fast small rayon programs are on the façade, beside rayon's own core.

use super::pairs::{Comparison, compare};
use super::{RAYON_CORE, section};
use crate::failure::Failure;

/// How often each side is run; about a minute and a half.
const ROUNDS: usize = 15;

pub(crate) fn run() -> Result<(), Failure> {
    let table = compare(&Comparison {
        program: "small",
        features: "",
        arguments: Vec::new(),
        rounds: ROUNDS,
    })?;
    let text = format!("{ROUNDS} rounds on {}.\n\n{table}", section::conditions());
    print!("\n{text}");
    section::renew(&format!("{RAYON_CORE}/README.md"), "speed", &text)
}
