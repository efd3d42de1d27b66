//! Adds samples up, counter by counter. A counter that one of the two lacks is unknown.

use crate::record::{Meters, PoolMeters, Sample};

/// Both samples taken as one.
pub(super) fn of_samples(one: &Sample, other: &Sample) -> Sample {
    Sample {
        calls: one.calls.saturating_add(other.calls),
        wall_nanos: one.wall_nanos.saturating_add(other.wall_nanos),
        meters: of_meters(&one.meters, &other.meters),
    }
}

fn of_meters(one: &Meters, other: &Meters) -> Meters {
    let sum =
        |counter: fn(&Meters) -> Option<u64>| Some(counter(one)?.saturating_add(counter(other)?));
    Meters {
        cpu_nanos: sum(|meters| meters.cpu_nanos),
        run_delay_nanos: sum(|meters| meters.run_delay_nanos),
        others_nanos: sum(|meters| meters.others_nanos),
        steal_nanos: sum(|meters| meters.steal_nanos),
        minor_faults: sum(|meters| meters.minor_faults),
        major_faults: sum(|meters| meters.major_faults),
        voluntary_switches: sum(|meters| meters.voluntary_switches),
        involuntary_switches: sum(|meters| meters.involuntary_switches),
        allocations: sum(|meters| meters.allocations),
        allocated_bytes: sum(|meters| meters.allocated_bytes),
        pool: one
            .pool
            .zip(other.pool)
            .map(|(one, other)| of_pools(one, other)),
    }
}

fn of_pools(one: PoolMeters, other: PoolMeters) -> PoolMeters {
    PoolMeters {
        steals: one.steals.saturating_add(other.steals),
        parks: one.parks.saturating_add(other.parks),
        threads_added: one.threads_added.saturating_add(other.threads_added),
        contentions: one.contentions.saturating_add(other.contentions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_and_unknown_ones_stay_unknown() {
        let one = Sample {
            calls: 1,
            wall_nanos: 10,
            meters: Meters {
                cpu_nanos: Some(3),
                steal_nanos: Some(1),
                ..Meters::default()
            },
        };
        let mut other = one;
        other.meters.steal_nanos = None;
        let sum = of_samples(&one, &other);
        assert_eq!((sum.calls, sum.wall_nanos), (2, 20));
        assert_eq!(sum.meters.cpu_nanos, Some(6));
        assert_eq!(sum.meters.steal_nanos, None);
    }
}
