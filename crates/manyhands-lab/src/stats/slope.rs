//! A straight line by least squares, and how sure its slope is.

use super::interval::student_97_5;

/// The slope of a straight line through measured points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// What y grows by when x grows by one.
    pub slope: f64,
    /// Half the width of its 95 % interval, of Student's t; `None` with two points, which lie on a line whatever they are.
    pub margin: Option<f64>,
}

impl Slope {
    /// Fits (x, y) by least squares. `None` unless there are two different x.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::stats::Slope;
    /// let slope = Slope::fit(&[(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
    /// assert_eq!((slope.slope, slope.margin), (2.0, Some(0.0)));
    /// ```
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |part: &dyn Fn(f64, f64) -> f64| {
            let parts = points.iter().map(|(x, y)| part(x - mean_x, y - mean_y));
            parts.sum::<f64>()
        };
        let squares = sum(&|x, _| x * x);
        if squares.is_nan() || squares <= 0.0 {
            return None;
        }
        let slope = sum(&|x, y| x * y) / squares;
        let freedom = count - 2.0;
        let margin = (freedom > 0.0).then(|| {
            let left = sum(&|x, y| (y - slope * x).powi(2));
            student_97_5(freedom) * (left / freedom / squares).sqrt()
        });
        Some(Self { slope, margin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    #[test]
    fn one_x_has_no_slope_and_two_points_have_no_interval() {
        assert_eq!(Slope::fit(&[]), None);
        assert_eq!(Slope::fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
        let two = Slope::fit(&[(0.0, 1.0), (2.0, 7.0)]).unwrap();
        assert_eq!((two.slope, two.margin), (3.0, None));
    }

    #[test]
    fn the_interval_is_that_of_a_textbook() {
        // Slope 0.6, residuals −0.2, 0.2, 0.4, −0.6, 0.2: s² = 0.64 / 3, and t = 3.182.
        let points = [(1.0, 2.0), (2.0, 3.0), (3.0, 3.8), (4.0, 3.4), (5.0, 4.8)];
        let found = Slope::fit(&points).unwrap();
        assert!((found.slope - 0.6).abs() < 1e-9, "{found:?}");
        let margin = found.margin.unwrap();
        assert!((margin - 3.182 * (0.64_f64 / 3.0 / 10.0).sqrt()).abs() < 1e-3);
    }

    #[test]
    fn ninety_five_of_a_hundred_intervals_hold_the_slope() {
        let mut noise = Noise::new(7);
        let holds = |_: &u32| {
            let points: Vec<(f64, f64)> = (0..9)
                .map(|place| f64::from(place % 3 + 1))
                .map(|x| (x, 5.0 * x + noise.normal()))
                .collect();
            let found = Slope::fit(&points).unwrap();
            (found.slope - 5.0).abs() <= found.margin.unwrap()
        };
        let held = (0..2_000).filter(holds).count();
        assert!((1_860..=1_940).contains(&held), "{held}");
    }
}
