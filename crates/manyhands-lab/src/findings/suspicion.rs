//! Arms that cannot have done their work.
//!
//! A compiler drops work whose result it can foretell, and a lazy chain that nobody asks does
//! nothing. Such an arm takes the same time at every size. So does one whose fixed cost is still
//! larger than its work; that one is no faster than its CPUs allow.

use super::Point;

/// Arms whose time does not grow from the smallest to the largest size.
pub(super) fn suspicious(points: &[Point], arms: usize, cpus: usize) -> Vec<usize> {
    let [smallest, .., largest] = points else {
        return Vec::new();
    };
    let ratio = largest.n as f64 / smallest.n.max(1) as f64;
    if ratio < SIZES_MIN {
        return Vec::new();
    }
    let time = |point: &Point, arm: usize| point.times.get(arm).map(|times| times.median.median);
    let is_suspicious = |arm: &usize| {
        let (Some(first), Some(last), Some(baseline)) =
            (time(smallest, *arm), time(largest, *arm), time(largest, 0))
        else {
            return false;
        };
        let is_faster_than_cpus = baseline / last > SPEED_UP_MAX * cpus as f64;
        last < GROWTH_MIN * first && (*arm == 0 || is_faster_than_cpus)
    };
    (0..arms).filter(is_suspicious).collect()
}

/// The largest size is at least this many times the smallest, else nothing is said.
const SIZES_MIN: f64 = 100.0;
/// Work that is done makes a call take at least this many times as long.
const GROWTH_MIN: f64 = 2.0;
/// No arm that does its work is this many times as fast for each CPU: vector instructions may help.
const SPEED_UP_MAX: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::point;

    #[test]
    fn an_arm_of_one_time_at_all_sizes_is_suspicious_unless_its_fixed_cost_explains_it() {
        fn check(first: [f64; 2], last: [f64; 2], expected: &[usize]) {
            let points = [point(10, &first), point(10_000, &last)];
            assert_eq!(suspicious(&points, 2, 4), expected, "{first:?} {last:?}");
        }
        check([100.0, 50.0], [1e5, 51.0], &[1]);
        check([100.0, 50.0], [1e5, 4e4], &[]);
        // The fixed cost of a thread, and a baseline that has not caught up with it.
        check([100.0, 7e4], [1e5, 8e4], &[]);
        check([2.0, 50.0], [2.1, 51.0], &[0]);
    }

    #[test]
    fn a_narrow_range_of_sizes_tells_nothing() {
        let points = [point(10, &[100.0, 50.0]), point(100, &[1e3, 1.0])];
        assert!(suspicious(&points, 2, 1).is_empty());
        assert!(suspicious(&points[..1], 2, 1).is_empty());
    }
}
