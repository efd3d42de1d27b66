//! The forces between bodies, each with each.

use rayon::prelude::*;

/// A place and a mass.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    place: [f64; 3],
    mass: f64,
}

/// Bodies all over a cube.
pub(crate) fn cloud(count: usize) -> Vec<Body> {
    let scattered = |i: usize, step: usize| (i * step % 1009) as f64 / 1009.0;
    let body = |i| Body {
        place: [scattered(i, 389), scattered(i, 521), scattered(i, 757)],
        mass: 1.0 + scattered(i, 97),
    };
    (0..count).map(body).collect()
}

/// The acceleration of each body.
pub(crate) fn forces(bodies: &[Body]) -> Vec<[f64; 3]> {
    bodies
        .par_iter()
        .map(|body| force_on(body, bodies))
        .collect()
}

/// All bits of all forces, folded.
pub(crate) fn digest(forces: &[[f64; 3]]) -> u64 {
    let bits = forces.iter().flatten().map(|force| force.to_bits());
    bits.fold(0, |sum, bits| sum.rotate_left(1) ^ bits)
}

fn force_on(body: &Body, bodies: &[Body]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in bodies {
        let way: [f64; 3] = std::array::from_fn(|axis| other.place[axis] - body.place[axis]);
        // Softened, so that a body does not meet itself.
        let square: f64 = way.iter().map(|x| x * x).sum::<f64>() + 1e-6;
        let pull = other.mass / (square * square.sqrt());
        for (sum, way) in sum.iter_mut().zip(way) {
            *sum += pull * way;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Body, forces};

    #[test]
    fn two_bodies_of_the_same_mass_attract_each_other_alike() {
        let body = |x| Body {
            place: [x, 0.0, 0.0],
            mass: 2.0,
        };
        let both = forces(&[body(0.0), body(1.0)]);
        assert!(both[0][0] > 1.9 && both[0][0] < 2.0);
        assert_eq!(both[0][0], -both[1][0]);
    }
}
