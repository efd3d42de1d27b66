//! The library with all its features does not change what other code means: a program's own lines compile as without it.
//!
//! Here the compiler decides. The types below are inferred, which a dependency of the library that can be compared with
//! numbers, as `serde_json`'s values can, would prevent in the whole program.

use manyhands::diagnostics;

#[test]
fn a_sum_or_a_conversion_gets_the_type_of_what_it_is_compared_with() {
    diagnostics::open();
    let numbers = [1_u64, 2, 3];
    assert_eq!(6_u64, numbers.iter().sum());
    assert_eq!(6_i64, [1_i64, 2, 3].iter().product());
    assert_eq!(Vec::<u8>::new(), Vec::new());
    assert!(2.5_f64 == [1.0, 1.5].iter().sum());
    assert_eq!(7_u64, 7_u32.into());
}
