//! Medians of blocks drawn again, with replacement, within their launches.

use super::correlation_time;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::collections::BTreeMap;

/// Values of several launches, ready to be drawn from.
///
/// All values are sorted once; a draw counts how often each was drawn, and its median is found by
/// walking the counts. What is drawn depends on the values of each launch, not on their order; how far
/// it may lie from the median of all depends on how alike neighbours are.
pub(crate) struct Resampler {
    sorted: Vec<f64>,
    /// For each launch the places of its values in `sorted`, ascending.
    places: Vec<Vec<usize>>,
    drawn: Vec<u32>,
    /// Median of the values as they are.
    median: f64,
    /// How much farther medians lie from each other than those of independent values; see `interval.rs`.
    stretch: f64,
}

impl Resampler {
    /// Values with their launches, in the order in which they were measured; `None` without any.
    pub(crate) fn new(values: &[(u32, f64)]) -> Option<Self> {
        let mut all = values.to_vec();
        all.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, (launch, _)) in all.iter().enumerate() {
            places.entry(*launch).or_default().push(place);
        }
        let in_order: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let mut resampler = Self {
            drawn: vec![1; all.len()],
            sorted: all.into_iter().map(|(_, value)| value).collect(),
            places: places.into_values().collect(),
            median: 0.0,
            stretch: (2.0 * correlation_time(&in_order) - 1.0).sqrt(),
        };
        resampler.median = resampler.median_of_drawn()?;
        Some(resampler)
    }

    /// Median of the values as they are.
    pub(crate) fn median(&self) -> f64 {
        self.median
    }

    /// Median of as many values as there are, drawn from each launch as often as it has values.
    pub(crate) fn draw(&mut self, rng: &mut StdRng) -> f64 {
        self.drawn.fill(0);
        for places in &self.places {
            for _ in places {
                self.drawn[places[below(places.len(), rng)]] += 1;
            }
        }
        let drawn = self.median_of_drawn().unwrap_or(self.median);
        self.median + (drawn - self.median) * self.stretch
    }

    /// As many values are drawn as there are; `None` if there are none.
    fn median_of_drawn(&self) -> Option<f64> {
        let count = self.sorted.len();
        let (mut seen, mut lower) = (0, None);
        for (value, drawn) in self.sorted.iter().zip(&self.drawn) {
            seen += *drawn as usize;
            if lower.is_none() && 2 * seen >= count {
                lower = Some(*value);
            }
            if seen > count / 2 {
                return Some(f64::midpoint(lower.unwrap_or(*value), *value));
            }
        }
        None
    }
}

/// The source of randomness of everything in this crate that is random.
pub(crate) fn rng_for(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// A whole number below a small bound, by multiplication: its bias is below one in a million.
fn below(bound: usize, rng: &mut StdRng) -> usize {
    let scaled = u64::from(rng.next_u32()) * bound as u64;
    usize::try_from(scaled >> 32).expect("it is less than the bound")
}

/// Resamples of every bootstrap; fewer where the tests repeat one hundreds of times.
pub(crate) const RESAMPLES: usize = if cfg!(test) { 200 } else { 2_000 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::median;
    use proptest::prelude::*;

    #[test]
    fn each_launch_keeps_its_number_of_values() {
        // However the launches are drawn, most values come from the one in the middle.
        let launches = [vec![(0, -1.0); 2], vec![(1, 5.0); 9], vec![(2, 50.0); 3]];
        let mut resampler = Resampler::new(&launches.concat()).unwrap();
        let mut rng = rng_for(1);
        assert!((0..100).all(|_| resampler.draw(&mut rng) == 5.0));
    }

    #[test]
    fn every_value_of_a_launch_is_drawn_about_equally_often() {
        let mut resampler = Resampler::new(&[(0, 1.0), (0, 3.0), (0, 2.0)]).unwrap();
        let mut rng = rng_for(2);
        let twos = (0..2_700)
            .filter(|_| resampler.draw(&mut rng) == 2.0)
            .count();
        // Seven of 27 draws of three have a median of one, and as many one of three.
        assert!((1_200..1_400).contains(&twos), "{twos}");
    }

    #[test]
    fn draws_lie_as_far_apart_as_neighbours_are_alike() {
        let of = |values: [f64; 6]| {
            let mut resampler = Resampler::new(&values.map(|value| (0, value))).unwrap();
            let mut rng = rng_for(3);
            let draws = (0..50)
                .map(|_| resampler.draw(&mut rng))
                .collect::<Vec<_>>();
            draws.iter().copied().fold(0.0, f64::max)
        };
        let in_turns = of([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]);
        let in_a_row = of([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]);
        assert_eq!(in_turns, 1.0);
        assert!(in_a_row > 1.2, "{in_a_row}");
    }

    proptest! {
        #[test]
        fn without_drawing_it_is_the_median(
            values in prop::collection::vec((0..5_u32, -9.0..9.0_f64), 0..30),
        ) {
            let found = Resampler::new(&values).map(|resampler| resampler.median());
            let alone: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
            prop_assert_eq!(found, median(&alone));
        }
    }
}
