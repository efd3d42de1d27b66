//! A function that spreads the bits of a number: what queries compute, and what makes a checksum notice
//! each item.
//!
//! It is the last step of SplitMix64 (Steele, Lea and Flood, 2014).

/// Spreads the bits of a number.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
