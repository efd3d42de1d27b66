//! Benjamini and Hochberg's q-values: of the comparisons called different, how many are not?
//!
//! "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57 (1995).
//! The p-values here are inverses of e-values, for which the bound holds under any dependence:
//! Wang and Ramdas, "False discovery rate control with e-values", same journal, 84 (2022).

/// For each p-value the smallest false discovery rate at which it still counts as a discovery, in the order given.
pub(crate) fn q_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));

    let mut q_values = vec![1.0; p_values.len()];
    let mut smallest_so_far = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        let scaled = p_values[index] * (p_values.len() as f64 / (rank + 1) as f64);
        smallest_so_far = smallest_so_far.min(scaled);
        q_values[index] = smallest_so_far;
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    #[test]
    fn a_smaller_neighbour_pulls_a_larger_p_value_along() {
        assert_eq!(q_values(&[]), [0.0; 0]);
        assert_eq!(q_values(&[0.04, 0.05]), [0.05, 0.05]);
        assert_eq!(q_values(&[0.01, 0.5, 0.03]), [0.03, 0.5, 0.045]);
    }

    #[test]
    fn few_of_the_discoveries_are_false() {
        let mut rng = StdRng::seed_from_u64(5);
        let mut share = 0.0;
        for _ in 0..200 {
            // Thirty true effects and seventy comparisons without one.
            let p_values: Vec<f64> = (0..100)
                .map(|index| rng.random_range(0.0..if index < 30 { 1e-3 } else { 1.0 }))
                .collect();
            let found = |q: &f64| *q <= 0.1;
            let q_values = q_values(&p_values);
            let wrong = q_values[30..].iter().filter(|q| found(q)).count();
            let all = q_values.iter().filter(|q| found(q)).count();
            share += wrong as f64 / all.max(1) as f64 / 200.0;
        }
        // Exactly 0.1 · 70 / 100 in expectation.
        assert!((0.05..0.09).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn q_values_keep_the_order_and_lie_between_p_and_one(
            p_values in prop::collection::vec(0.0..1.0_f64, 1..30),
        ) {
            let q_values = q_values(&p_values);
            for (p, q) in p_values.iter().zip(&q_values) {
                prop_assert!(p <= q && *q <= 1.0);
            }
            for (p, q) in p_values.iter().zip(&q_values) {
                for (other_p, other_q) in p_values.iter().zip(&q_values) {
                    prop_assert!(p > other_p || q <= other_q);
                }
            }
        }
    }
}
