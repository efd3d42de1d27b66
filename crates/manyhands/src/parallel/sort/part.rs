//! Partitioning a slice around a pivot by swaps: a panic loses no item.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

/// Moves the items that satisfy `is_left` before the others, and returns their number.
pub(super) fn part<T>(items: &mut [T], is_left: impl Fn(&T) -> bool) -> usize {
    if size_of::<T>() > SWAPPED_ALWAYS_SIZE_MAX {
        return part_large(items, is_left);
    }
    // Swaps always, so that there is no branch to be mispredicted (Lomuto's scheme).
    let mut left = 0;
    for at in 0..items.len() {
        let goes_left = is_left(&items[at]);
        items.swap(at, left);
        left += usize::from(goes_left);
    }
    left
}

/// [`part`] with as few swaps as possible (Hoare's scheme).
fn part_large<T>(items: &mut [T], is_left: impl Fn(&T) -> bool) -> usize {
    let (mut left, mut right) = (0, items.len());
    loop {
        while left < right && is_left(&items[left]) {
            left += 1;
        }
        while left < right && !is_left(&items[right - 1]) {
            right -= 1;
        }
        if left == right {
            return left;
        }
        items.swap(left, right - 1);
        (left, right) = (left + 1, right - 1);
    }
}

/// Moves to the front the median of a random sample of [`SAMPLE_LEN`] items, which the slice must have.
pub(super) fn pivot_to_front<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    let mut below = random();
    for at in 0..SAMPLE_LEN {
        items.swap(at, at + below(items.len() - at));
    }
    items[..SAMPLE_LEN].sort_unstable_by(compare);
    items.swap(0, SAMPLE_LEN / 2);
}

/// Numbers below an end, by Marsaglia's xorshift. Its start is unpredictable, so that no attacker can prepare a slice whose samples
/// are bad.
fn random() -> impl FnMut(usize) -> usize {
    let mut state = RandomState::new().hash_one(0) | 1;
    move |end| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % end
    }
}

/// Items sampled for a pivot: its rank is then off by three in a hundred.
pub(super) const SAMPLE_LEN: usize = 255;
/// Larger items cost more to swap than a branch to mispredict.
const SWAPPED_ALWAYS_SIZE_MAX: usize = 32;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{part, part_large, random};

    #[test]
    fn no_two_samples_are_drawn_alike() {
        let draw = || {
            let mut below = random();
            [(); 8].map(|()| below(1 << 20))
        };
        assert_ne!(draw(), draw());
    }

    #[test]
    fn parting_moves_the_chosen_items_to_the_front_and_keeps_all() {
        for len in 0..12_u32 {
            for chosen in 0..1_u32 << len {
                let items: Vec<u32> = (0..len).collect();
                let is_left = |item: &u32| chosen >> item & 1 == 1;
                for scheme in [part, part_large] {
                    let mut parted = items.clone();
                    let left = scheme(&mut parted, is_left);
                    assert_eq!(left, chosen.count_ones() as usize);
                    assert!(parted[..left].iter().all(is_left));
                    parted.sort_unstable();
                    assert_eq!(parted, items);
                }
            }
        }
    }
}
