//! The order in which a block times its arms.
//!
//! Drawn, then mirrored, so that two blocks of two arms are ABBA. It depends on the seed, the point and the block's number
//! and on nothing else, so a run that is resumed goes on as if it had never stopped.

use crate::{experiment::checksum, record::Key};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

/// The places 0 to `arms`; the last one is the baseline's twin.
pub(super) fn of_block(seed: u64, key: &Key, arms: usize, block: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..=arms).collect();
    let drawn = checksum::of(&(seed, key, block / 2));
    order.shuffle(&mut StdRng::seed_from_u64(drawn));
    if !block.is_multiple_of(2) {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn key(n: usize) -> Key {
        Key::new("X", "c", n)
    }

    #[test]
    fn every_second_order_is_the_mirrored_one_and_pairs_differ() {
        let mut orders = HashSet::new();
        for block in (0..40).step_by(2) {
            let mut order = of_block(1, &key(1), 3, block);
            orders.insert(order.clone());
            let mirrored = of_block(1, &key(1), 3, block + 1);
            assert!(order.iter().eq(mirrored.iter().rev()));
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
        // 20 draws of 24 orders.
        assert!(orders.len() > 8, "{orders:?}");
    }

    #[test]
    fn the_order_depends_on_seed_and_point() {
        let orders = |seed, n| -> Vec<_> {
            (0..20)
                .map(|block| of_block(seed, &key(n), 3, block))
                .collect()
        };
        assert_eq!(orders(1, 1), orders(1, 1));
        assert_ne!(orders(1, 1), orders(2, 1));
        assert_ne!(orders(1, 1), orders(1, 2));
    }
}
