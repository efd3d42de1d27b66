//! The cost model: arm's time over baseline's = c + d / n.
//!
//! An arm that costs d items to start and then c of the baseline's time for each item takes as long as the baseline at
//! n = d / (1 − c). A straight line through logarithms would be simpler, and wrong by more than its interval says.
//!
//! The interval comes from blocks and launches as that of a median does: see
//! [`estimate_median`](crate::stats::estimate_median). The fit is compared with what blocks and
//! launches scatter by: a curve with steps, from chunks or caches, misses the model by more.

use super::{Fit, Points, Ratio, plan::WINDOW_BLOCKS};
use crate::stats::{RESAMPLES, Resampler, by_launch, interval_of, mean, median, rng_for, spread};
use std::{collections::BTreeSet, f64::consts::FRAC_PI_2};

/// Fits the model to the sizes around a bracket; `None` if fewer than four of them have blocks enough.
pub(super) fn fit(points: &Points, bracket: (usize, usize), seed: u64) -> Option<Fit> {
    let center = (bracket.0 as f64 * bracket.1 as f64).sqrt();
    let near = (center / REACH)..(center * REACH);
    let curve: Vec<Size> = points
        .iter()
        .filter(|(n, ratios)| near.contains(&(**n as f64)) && ratios.len() >= WINDOW_BLOCKS)
        .map(|(n, ratios)| Size::new(*n, ratios))
        .collect();
    if curve.len() < SIZES_MIN {
        return None;
    }
    let rows: Vec<Row> = curve
        .iter()
        .filter_map(|size| Some(size.row(size.cost(None)?)))
        .collect();
    let model = Hyperbola::through(&rows)?;
    let crossing = model.crossing_log();
    let launches = of_each_launch(&curve);
    let all_cross = crossing.is_finite() && launches.iter().all(|crossing| crossing.is_finite());
    let break_even =
        all_cross.then(|| interval_of(crossing, of_each_resample(&curve, seed), &launches).exp());
    let item_nanos: Vec<f64> = curve.iter().map(|size| size.item_nanos).collect();
    let lack_of_fit = lack_of_fit(&model, &curve, &rows);
    Some(Fit {
        c: model.c,
        d: model.d,
        overhead_nanos: model.d * median(&item_nanos)?,
        asymptotic_speed_up: model.c.max(0.0).recip(),
        break_even,
        lack_of_fit,
        has_steps: lack_of_fit > LACK_OF_FIT_MAX,
    })
}

/// What was measured at one size.
struct Size {
    n: f64,
    /// The arm's time over the baseline's, with its launch, in the order in which they were taken.
    costs: Vec<(u32, f64)>,
    /// The baseline's time for one item.
    item_nanos: f64,
}

impl Size {
    fn new(n: usize, ratios: &[Ratio]) -> Self {
        let cost = |ratio: &Ratio| (ratio.launch, ratio.value.recip());
        let baseline: Vec<f64> = ratios.iter().map(|ratio| ratio.baseline_nanos).collect();
        Self {
            n: n as f64,
            costs: ratios.iter().map(cost).collect(),
            item_nanos: median(&baseline).unwrap_or(0.0) / n as f64,
        }
    }

    /// Median over all blocks, or over those of one launch.
    fn cost(&self, launch: Option<u32>) -> Option<f64> {
        let is_wanted = |of: u32| launch.is_none_or(|launch| launch == of);
        let costs = self.costs.iter().filter(|(of, _)| is_wanted(*of));
        median(&costs.map(|(_, cost)| *cost).collect::<Vec<_>>())
    }

    /// Draws the logarithm of the median again.
    fn resampler(&self) -> Option<Resampler> {
        let log = |(launch, cost): &(u32, f64)| (*launch, cost.ln());
        Resampler::new(&self.costs.iter().map(log).collect::<Vec<_>>())
    }

    fn row(&self, cost: f64) -> Row {
        let blocks = self.costs.len() as f64;
        Row {
            n: self.n,
            cost,
            blocks,
        }
    }
}

/// A median cost at one size.
struct Row {
    n: f64,
    cost: f64,
    /// Blocks of the size, which say how much it weighs.
    blocks: f64,
}

/// The curve c + d / n.
struct Hyperbola {
    c: f64,
    d: f64,
}

impl Hyperbola {
    /// Least squares; noise is relative, so a row weighs as its blocks over its squared cost.
    /// `None` without two different sizes.
    fn through(rows: &[Row]) -> Option<Self> {
        let weighted = |part: &dyn Fn(&Row) -> f64| -> f64 {
            rows.iter()
                .map(|row| part(row) * row.blocks / row.cost.powi(2))
                .sum()
        };
        let weight = weighted(&|_| 1.0);
        let center = weighted(&|row| row.n.recip()) / weight;
        let cost = weighted(&|row| row.cost) / weight;
        let square = weighted(&|row| (row.n.recip() - center).powi(2));
        let product = weighted(&|row| (row.n.recip() - center) * (row.cost - cost));
        (square > 0.0).then(|| {
            let d = product / square;
            Self {
                c: cost - d * center,
                d,
            }
        })
    }

    fn cost(&self, n: f64) -> f64 {
        self.c + self.d / n
    }

    /// Logarithm of the size at which the cost is one: minus infinity if it is less at every size, infinity if it never is.
    fn crossing_log(&self) -> f64 {
        if self.d <= 0.0 {
            f64::NEG_INFINITY
        } else if self.c >= 1.0 {
            f64::INFINITY
        } else {
            (self.d / (1.0 - self.c)).ln()
        }
    }
}

/// The crossing in each of many resamples of the blocks within their launches.
fn of_each_resample(curve: &[Size], seed: u64) -> Vec<f64> {
    let mut rng = rng_for(seed);
    let mut sizes: Vec<(&Size, Resampler)> = curve
        .iter()
        .filter_map(|size| Some((size, size.resampler()?)))
        .collect();
    let mut drawn = || -> Vec<Row> {
        let row =
            |(size, resampler): &mut (&Size, Resampler)| size.row(resampler.draw(&mut rng).exp());
        sizes.iter_mut().map(row).collect()
    };
    (0..RESAMPLES)
        .filter_map(|_| Hyperbola::through(&drawn()).map(|model| model.crossing_log()))
        .collect()
}

/// The crossing in each launch alone, where it was measured at sizes enough.
fn of_each_launch(curve: &[Size]) -> Vec<f64> {
    let launches: BTreeSet<u32> = curve
        .iter()
        .flat_map(|size| size.costs.iter().map(|(launch, _)| *launch))
        .collect();
    launches
        .into_iter()
        .filter_map(|launch| {
            let row = |size: &Size| Some(size.row(size.cost(Some(launch))?));
            let rows: Vec<Row> = curve.iter().filter_map(row).collect();
            let model = Hyperbola::through(&rows).filter(|_| rows.len() >= SIZES_MIN)?;
            Some(model.crossing_log())
        })
        .collect()
}

/// Mean square of what the model misses the medians by, over what blocks and launches explain.
fn lack_of_fit(model: &Hyperbola, curve: &[Size], rows: &[Row]) -> f64 {
    let spreads = curve.iter().map(|size| {
        let launches = by_launch(size.costs.iter().copied());
        (spread(&launches), launches.len() as f64)
    });
    let spreads: Vec<_> = spreads.collect();
    let average = |parts: Vec<f64>| mean(&parts).unwrap_or(0.0);
    let of_block = average(
        spreads
            .iter()
            .map(|(spread, _)| spread.within_launches.powi(2))
            .collect(),
    );
    // Variance of the median of this many blocks.
    let of_median = |blocks: f64| FRAC_PI_2 * of_block / blocks;
    let beyond_blocks = spreads.iter().zip(rows).map(|((spread, launches), row)| {
        spread.between_launches.powi(2) - of_median(row.blocks / launches)
    });
    let of_launch = average(beyond_blocks.collect()).max(0.0);

    let misses = rows.iter().zip(&spreads).map(|(row, (_, launches))| {
        let expected = of_median(row.blocks) + of_launch / launches + PRECISION.powi(2);
        ((row.cost - model.cost(row.n)) / row.cost).powi(2) / expected
    });
    misses.sum::<f64>() / (rows.len() as f64 - PARAMETERS)
}

/// Parameters of the model.
const PARAMETERS: f64 = 2.0;
/// Sizes without which misfit could not be seen.
const SIZES_MIN: usize = 4;
/// Sizes as far as this factor from the middle of the bracket take part. More than the reach of
/// the sizes that are measured for it, as that middle moves while they are measured.
const REACH: f64 = 4.5;
/// Above this the curve has steps.
const LACK_OF_FIT_MAX: f64 = 4.0;
/// Misses smaller than this are none, however little the blocks scatter.
const PRECISION: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    /// Blocks of an arm that costs this at the start and then this for each item, at five sizes
    /// around 100; the item costs the baseline 50 ns.
    fn points(cost: impl Fn(f64) -> f64, sigma: f64) -> Points {
        let mut noise = Noise::new(9);
        let mut ratio = |n: usize, block: u32| Ratio {
            launch: block % 3,
            value: noise.ratio(sigma) / cost(n as f64),
            baseline_nanos: 50.0 * n as f64,
        };
        [33, 58, 100, 173, 300]
            .into_iter()
            .map(|n| (n, (0..24).map(|block| ratio(n, block)).collect()))
            .collect()
    }

    #[test]
    fn the_model_s_parameters_are_found() {
        let found = fit(&points(|n| 0.5 + 50.0 / n, 0.01), (58, 173), 1).unwrap();
        assert!((0.49..0.51).contains(&found.c), "{found:?}");
        assert!((49.0..51.0).contains(&found.d), "{found:?}");
        assert!((2_450.0..2_550.0).contains(&found.overhead_nanos));
        assert!((1.96..2.04).contains(&found.asymptotic_speed_up));
        let break_even = found.break_even.unwrap();
        assert!(break_even.low <= 100.0 && 100.0 <= break_even.high);
        assert!(!found.has_steps);
    }

    #[test]
    fn a_curve_with_a_step_is_recognised() {
        let cost = |n: f64| 0.5 + 40.0 / n + if n > 90.0 { 0.2 } else { 0.0 };
        let found = fit(&points(cost, 0.05), (58, 300), 1).unwrap();
        assert!(found.has_steps);
    }

    #[test]
    fn an_arm_that_never_crosses_has_no_break_even() {
        let found = fit(&points(|n| 1.2 + 10.0 / n, 0.01), (58, 173), 1).unwrap();
        assert_eq!(found.break_even, None);
    }

    #[test]
    fn a_launch_that_never_crosses_leaves_no_interval() {
        let mut points = points(|n| 0.5 + 50.0 / n, 0.01);
        for ratio in points.values_mut().flatten() {
            ratio.value *= if ratio.launch == 0 { 0.4 } else { 1.0 };
        }
        assert_eq!(fit(&points, (58, 173), 1).unwrap().break_even, None);
    }

    #[test]
    fn three_sizes_are_too_few() {
        let mut points = points(|n| 0.5 + 50.0 / n, 0.01);
        points.retain(|n, _| (50..200).contains(n));
        assert_eq!(fit(&points, (58, 173), 1), None);
    }
}
