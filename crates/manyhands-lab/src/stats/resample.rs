//! Medians of blocks drawn again, with replacement, within their launches.

use rand::{Rng, SeedableRng, rngs::StdRng};

/// Values of several launches, ready to be drawn from.
///
/// All values are sorted once; a draw counts how often each was drawn, and its median is found by
/// walking the counts. What is drawn depends on the values of each launch, not on their order.
pub(crate) struct Resampler {
    sorted: Vec<f64>,
    /// For each launch the places of its values in `sorted`, ascending.
    places: Vec<Vec<usize>>,
    drawn: Vec<u32>,
}

impl Resampler {
    /// `None` without any value.
    pub(crate) fn new<'a>(launches: impl IntoIterator<Item = &'a Vec<f64>>) -> Option<Self> {
        let launches = launches.into_iter().enumerate();
        let mut all: Vec<(f64, usize)> = launches
            .flat_map(|(launch, values)| values.iter().map(move |value| (*value, launch)))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut places = vec![Vec::new(); all.iter().map(|(_, launch)| launch + 1).max()?];
        for (place, (_, launch)) in all.iter().enumerate() {
            places[*launch].push(place);
        }
        Some(Self {
            drawn: vec![0; all.len()],
            sorted: all.into_iter().map(|(value, _)| value).collect(),
            places,
        })
    }

    /// Median of the values as they are.
    pub(crate) fn median(&mut self) -> f64 {
        self.drawn.fill(1);
        self.median_of_drawn()
    }

    /// Median of as many values as there are, drawn from each launch as often as it has values.
    pub(crate) fn draw(&mut self, rng: &mut StdRng) -> f64 {
        self.drawn.fill(0);
        for places in &self.places {
            for _ in places {
                self.drawn[places[below(places.len(), rng)]] += 1;
            }
        }
        self.median_of_drawn()
    }

    fn median_of_drawn(&self) -> f64 {
        let count = self.sorted.len();
        let (mut seen, mut lower) = (0, None);
        for (value, drawn) in self.sorted.iter().zip(&self.drawn) {
            seen += *drawn as usize;
            if lower.is_none() && seen > (count - 1) / 2 {
                lower = Some(*value);
            }
            if seen > count / 2 {
                return f64::midpoint(lower.unwrap_or(*value), *value);
            }
        }
        unreachable!("as many values are drawn as there are")
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
    fn nothing_cannot_be_drawn_from() {
        assert!(Resampler::new(&[]).is_none());
        assert!(Resampler::new(&[Vec::new()]).is_none());
    }

    #[test]
    fn each_launch_keeps_its_number_of_values() {
        // However the launches are drawn, most values come from the one in the middle.
        let launches = [vec![-1.0; 2], vec![5.0; 9], vec![50.0; 3]];
        let mut resampler = Resampler::new(&launches).unwrap();
        let mut rng = rng_for(1);
        assert!((0..100).all(|_| resampler.draw(&mut rng) == 5.0));
    }

    #[test]
    fn every_value_of_a_launch_is_drawn_about_equally_often() {
        let mut resampler = Resampler::new(&[vec![1.0, 2.0, 3.0]]).unwrap();
        let mut rng = rng_for(2);
        let twos = (0..2_700)
            .filter(|_| resampler.draw(&mut rng) == 2.0)
            .count();
        // Seven of 27 draws of three have a median of one, and as many one of three.
        assert!((1_200..1_400).contains(&twos), "{twos}");
    }

    proptest! {
        #[test]
        fn without_drawing_it_is_the_median(
            launches in prop::collection::vec(prop::collection::vec(-9.0..9.0_f64, 0..6), 1..5),
        ) {
            let found = Resampler::new(&launches).map(|mut resampler| resampler.median());
            prop_assert_eq!(found, median(&launches.concat()));
        }
    }
}
