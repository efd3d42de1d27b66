//! Primes by a sieve whose segments are crossed out in parallel.

use rayon::prelude::*;

/// How many primes are below `end`.
pub(crate) fn count_primes(end: usize) -> usize {
    let small = small_primes(end.isqrt() + 1);
    let mut is_composite = vec![false; end];
    let segments = is_composite.par_chunks_mut(SEGMENT).enumerate();
    let counts = segments.map(|(index, segment)| {
        let first = index * SEGMENT;
        for &prime in &small {
            let begin = first.next_multiple_of(prime).max(prime * prime);
            for number in (begin..first + segment.len()).step_by(prime) {
                segment[number - first] = true;
            }
        }
        let below_two = 2_usize.saturating_sub(first);
        let primes = segment.iter().skip(below_two).filter(|is| !**is);
        primes.count()
    });
    counts.sum()
}

fn small_primes(end: usize) -> Vec<usize> {
    let is_prime = |&number: &usize| {
        let mut candidates = (2..number).take_while(|n| n * n <= number);
        !candidates.any(|n| number.is_multiple_of(n))
    };
    (2..end).filter(is_prime).collect()
}

const SEGMENT: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::count_primes;

    #[test]
    fn there_are_as_many_primes_as_is_known() {
        assert_eq!(count_primes(100), 25);
        assert_eq!(count_primes(1_000_000), 78_498);
    }
}
