//! Laws of scaling, fitted to speed-ups at several numbers of workers.

use serde::Serialize;

/// The serial fraction that explains a speed-up, e = (1/S − 1/P) / (1 − 1/P); `None` for a single
/// worker, and where no fraction does, because P workers are slower than one or more than P times
/// as fast.
///
/// If it grows with the number of workers, the loss is not serial work but something that grows
/// too: contention, or too few pieces. Karp and Flatt, "Measuring parallel processor
/// performance", Communications of the ACM 33 (1990).
///
/// # Examples
/// ```
/// use manyhands_lab::stats::karp_flatt;
/// assert_eq!(karp_flatt(2.0, 2), Some(0.0));
/// assert_eq!(karp_flatt(1.0, 2), Some(1.0));
/// ```
#[must_use]
pub fn karp_flatt(speed_up: f64, workers: u32) -> Option<f64> {
    let ideal = f64::from(workers).recip();
    let fraction = (speed_up.recip() - ideal) / (1.0 - ideal);
    let explains = (-ROUNDING..=1.0 + ROUNDING).contains(&fraction);
    (workers > 1 && explains).then(|| fraction.clamp(0.0, 1.0))
}

const ROUNDING: f64 = 1e-9;

/// The universal scalability law S(P) = P / (1 + σ(P − 1) + κP(P − 1)).
///
/// Gunther, "Guerrilla Capacity Planning", 2007.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scalability {
    /// σ, the share that is done one at a time.
    pub contention: f64,
    /// κ, what each pair of workers costs each other.
    pub coherency: f64,
}

impl Scalability {
    /// Fits (workers, speed-up) by least squares of relative errors; neither parameter is
    /// negative. `None` with fewer than two different numbers of workers above one.
    #[must_use]
    pub fn fit(points: &[(u32, f64)]) -> Option<Self> {
        // P/S − 1 = σ(P − 1) + κP(P − 1) is linear in both. A relative error of S is one of P/S.
        let rows: Vec<[f64; 3]> = points
            .iter()
            .filter(|(workers, _)| *workers > 1)
            .map(|(workers, speed_up)| {
                let workers = f64::from(*workers);
                let weight = speed_up / workers;
                let pairs = workers * (workers - 1.0);
                [weight * (workers - 1.0), weight * pairs, 1.0 - weight]
            })
            .collect();
        let sum = |one: usize, other: usize| rows.iter().map(|row| row[one] * row[other]).sum();
        let (aa, ab, bb): (f64, f64, f64) = (sum(0, 0), sum(0, 1), sum(1, 1));
        let (ay, by): (f64, f64) = (sum(0, 2), sum(1, 2));
        let determinant = aa * bb - ab * ab;
        if determinant <= 1e-12 * aa * bb {
            return None;
        }
        let contention = (ay * bb - by * ab) / determinant;
        let coherency = (by * aa - ay * ab) / determinant;
        let (contention, coherency) = if coherency < 0.0 {
            ((ay / aa).max(0.0), 0.0)
        } else if contention < 0.0 {
            (0.0, (by / bb).max(0.0))
        } else {
            (contention, coherency)
        };
        Some(Self {
            contention,
            coherency,
        })
    }

    /// The law's speed-up for this many workers.
    #[must_use]
    pub fn speed_up(&self, workers: u32) -> f64 {
        let workers = f64::from(workers);
        let others = workers - 1.0;
        workers / (1.0 + self.contention * others + self.coherency * workers * others)
    }

    /// Number of workers beyond which the law predicts a loss; `None` if it never does.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0).then(|| {
            ((1.0 - self.contention).max(0.0) / self.coherency)
                .sqrt()
                .max(1.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_worker_has_no_serial_fraction() {
        assert_eq!(karp_flatt(1.0, 1), None);
    }

    #[test]
    fn no_serial_fraction_explains_a_loss_or_more_than_ideal() {
        assert_eq!(karp_flatt(0.5, 2), None);
        assert_eq!(karp_flatt(2.1, 2), None);
    }

    #[test]
    fn a_single_number_of_workers_cannot_be_fitted() {
        assert_eq!(Scalability::fit(&[]), None);
        assert_eq!(Scalability::fit(&[(1, 1.0), (4, 3.0), (4, 3.1)]), None);
    }

    #[test]
    fn more_than_ideal_speed_up_has_no_contention() {
        let law = Scalability::fit(&[(2, 2.1), (4, 4.4), (8, 9.0)]).unwrap();
        assert_eq!((law.contention, law.coherency), (0.0, 0.0));
        assert_eq!(law.peak(), None);
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

        #[test]
        fn exact_curves_give_their_parameters_back(
            contention in 0.0..0.3_f64,
            coherency in 0.0..0.01_f64,
        ) {
            let law = Scalability { contention, coherency };
            let points = [1, 2, 4, 8, 16, 64].map(|workers| (workers, law.speed_up(workers)));
            let found = Scalability::fit(&points).unwrap();
            prop_assert!((found.contention - contention).abs() < 1e-6);
            prop_assert!((found.coherency - coherency).abs() < 1e-6);
        }
    }
}
