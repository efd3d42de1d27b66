//! The numbers of one case.

use std::collections::VecDeque;
use std::hint::black_box;
use std::marker::PhantomData;

use crate::mix::mix;
use crate::queries::hash::{Hash, hmac_sha512, md5, sha1, sha256, sha512};
use crate::queries::{Chain, Queries};
use crate::sized::{self, Case, Stopwatch, in_order};

/// What a contender is given.
#[derive(Debug)]
pub(crate) struct Data<C> {
    chain: Chain,
    values: Vec<u64>,
    /// The same, where a queue is asked for; it begins in the middle of its room.
    ring: VecDeque<u64>,
    contender: PhantomData<C>,
}

impl<C: Queries> sized::Data for Data<C> {
    type Task = Chain;

    fn new(case: Case<Chain>) -> Self {
        let values: Vec<u64> = (0..case.len as u64).map(mix).collect();
        let mut ring = VecDeque::new();
        if case.task == Chain::Ring {
            ring.extend(&values[case.len / 2..]);
            for &n in values[..case.len / 2].iter().rev() {
                ring.push_front(n);
            }
        }
        Self {
            chain: case.task,
            values,
            ring,
            contender: PhantomData,
        }
    }

    fn check(&self) -> u64 {
        let (values, len) = (&self.values[..], self.values.len());
        match self.chain {
            Chain::Map => in_order(&C::map(values)),
            Chain::Range => in_order(&C::range(len)),
            Chain::Slices => {
                let both = C::slices(values, values).into_iter();
                both.fold(0, |sum: u64, n| sum.wrapping_add(mix(n)))
            }
            Chain::Ring => C::ring(&self.ring),
            Chain::Filter => {
                let kept = C::filter(values).into_iter();
                kept.fold(0, |sum: u64, n| sum.wrapping_add(mix(n)))
            }
            Chain::Sum => C::sum(values),
            Chain::Min => C::min(values).unwrap_or_default(),
            Chain::Any => u64::from(C::any(values, self.wanted())),
            Chain::Primes => C::primes(len) as u64,
            Chain::Sort => in_order(&C::sort(values)),
            Chain::Least => in_order(&C::least(values)),
            Chain::Iterate => C::iterate(len),
            Chain::Hashes(hash) => in_order(&match hash {
                Hash::HmacSha512 => C::hashes(len, hmac_sha512),
                Hash::Sha512 => C::hashes(len, sha512),
                Hash::Sha256 => C::hashes(len, sha256),
                Hash::Sha1 => C::hashes(len, sha1),
                Hash::Md5 => C::hashes(len, md5),
            }),
        }
    }

    fn measure(&self, stopwatch: Stopwatch) -> f64 {
        let (values, wanted, len) = (&self.values[..], self.wanted(), self.values.len());
        match self.chain {
            Chain::Map => stopwatch.time(|| C::map(black_box(values))),
            Chain::Range => stopwatch.time(|| C::range(black_box(len))),
            Chain::Slices => stopwatch.time(|| C::slices(black_box(values), black_box(values))),
            Chain::Ring => stopwatch.time(|| C::ring(black_box(&self.ring))),
            Chain::Filter => stopwatch.time(|| C::filter(black_box(values))),
            Chain::Sum => stopwatch.time(|| C::sum(black_box(values))),
            Chain::Min => stopwatch.time(|| C::min(black_box(values))),
            Chain::Any => stopwatch.time(|| C::any(black_box(values), black_box(wanted))),
            Chain::Primes => stopwatch.time(|| C::primes(black_box(len))),
            Chain::Sort => stopwatch.time(|| C::sort(black_box(values))),
            Chain::Least => stopwatch.time(|| C::least(black_box(values))),
            Chain::Iterate => stopwatch.time(|| C::iterate(black_box(len))),
            Chain::Hashes(hash) => match hash {
                Hash::HmacSha512 => stopwatch.time(|| C::hashes(black_box(len), hmac_sha512)),
                Hash::Sha512 => stopwatch.time(|| C::hashes(black_box(len), sha512)),
                Hash::Sha256 => stopwatch.time(|| C::hashes(black_box(len), sha256)),
                Hash::Sha1 => stopwatch.time(|| C::hashes(black_box(len), sha1)),
                Hash::Md5 => stopwatch.time(|| C::hashes(black_box(len), md5)),
            },
        }
    }
}

impl<C> Data<C> {
    /// What is looked for: the last one's `mix`.
    fn wanted(&self) -> u64 {
        self.values.last().copied().map(mix).unwrap_or_default()
    }
}
