//! What a speed-up on several workers says of the work that is done one at a time.

/// The serial fraction that explains a speed-up, e = (1/S − 1/P) / (1 − 1/P); `None` for a single worker, and where no
/// fraction does, because P workers are slower than one or more than P times as fast.
///
/// If it grows with the number of workers, the loss is not serial work but something that grows too: contention, or too few
/// pieces. Karp and Flatt, "Measuring parallel processor performance", Communications of the ACM 33 (1990).
pub(crate) fn karp_flatt(speed_up: f64, workers: u32) -> Option<f64> {
    let ideal = f64::from(workers).recip();
    let fraction = (speed_up.recip() - ideal) / (1.0 - ideal);
    let explains = (-ROUNDING..=1.0 + ROUNDING).contains(&fraction);
    (workers > 1 && explains).then(|| fraction.clamp(0.0, 1.0))
}

const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_worker_has_no_serial_fraction() {
        assert_eq!(karp_flatt(1.0, 1), None);
        assert_eq!(karp_flatt(1.0, 2), Some(1.0));
        assert_eq!(karp_flatt(2.0, 2), Some(0.0));
    }

    #[test]
    fn no_serial_fraction_explains_a_loss_or_more_than_ideal() {
        assert_eq!(karp_flatt(0.5, 2), None);
        assert_eq!(karp_flatt(2.1, 2), None);
    }

    proptest! {
        #[test]
        fn the_serial_fraction_of_amdahl_s_law_is_found(
            serial in 0.0..1.0_f64,
            workers in 2..200_u32,
        ) {
            let speed_up = (serial + (1.0 - serial) / f64::from(workers)).recip();
            let found = karp_flatt(speed_up, workers).unwrap();
            prop_assert!((found - serial).abs() < 1e-9);
        }
    }
}
