//! The loops. Each returns a number that is the same in every order of its items.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::loops::Loops;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Every item adds to one number.
    Atomic { len: usize },
    /// Items of about 40 ns, all under one lock.
    Locked,
    /// Items of about 4 ns, and as long under one lock.
    HalfLocked,
    /// The first half of the items adds to one number, the others compute.
    AtomicThenFree,
    /// Each item takes longer than the one before.
    Growing,
    /// The last tenth takes 250 times as long as the others.
    LateHeavy,
    /// 2 % take 20 times and 0.1 % take 400 times as long as the others.
    RareHeavy,
}

impl Case {
    pub(crate) const ALL: [(&str, Self); 8] = [
        ("atomic 1000000", Self::Atomic { len: 1_000_000 }),
        ("atomic 10000000", Self::Atomic { len: 10_000_000 }),
        ("locked", Self::Locked),
        ("half locked", Self::HalfLocked),
        ("atomic, then free", Self::AtomicThenFree),
        ("growing", Self::Growing),
        ("late heavy", Self::LateHeavy),
        ("rare heavy", Self::RareHeavy),
    ];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let case = Self::ALL.iter().find(|(known, _)| *known == name)?;
        Some(case.1)
    }

    /// What its items do.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Atomic { len: 1_000_000 } => "1,000,000 additions to one atomic number",
            Self::Atomic { .. } => "10,000,000 additions to one atomic number",
            Self::Locked => "200,000 items of 40 ns, all under one lock",
            Self::HalfLocked => "1,000,000 items of 4 ns, half of it under one lock",
            Self::AtomicThenFree => "2,000,000 atomic additions, then 2,000,000 items of 8 ns",
            Self::Growing => "20,000 items, each longer than the one before, up to 10 µs",
            Self::LateHeavy => "1,000,000 items, the last tenth 250 × as long",
            Self::RareHeavy => "100,000 items, 2 % of them 20 × and 0.1 % 400 × as long",
        }
    }

    pub(crate) fn run<C: Loops>(self, contender: &mut C) -> u64 {
        let sum = AtomicU64::new(0);
        let locked = Mutex::new(0_u64);
        let add = |i: usize| {
            sum.fetch_add(i as u64, Ordering::Relaxed);
        };
        let add_locked = |count: u64| {
            // Nothing here panics, so nobody else has.
            let mut total = locked
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            *total += count;
            total
        };
        match self {
            Self::Atomic { len } => contender.for_range(len, 2_048, add),
            Self::Locked => contender.for_range(200_000, 256, |i| {
                let _held = add_locked(i as u64);
                steps(50);
            }),
            Self::HalfLocked => contender.for_range(1_000_000, 2_048, |i| {
                steps(5);
                drop(add_locked(i as u64));
            }),
            Self::AtomicThenFree => contender.for_range(4_000_000, 2_048, |i| {
                if i < 2_000_000 {
                    add(i);
                } else {
                    steps(20);
                }
            }),
            Self::Growing => contender.for_range(20_000, 4, |i| steps(i as u64)),
            Self::LateHeavy => contender.for_range(1_000_000, 256, |i| {
                steps(if i < 900_000 { 2 } else { 500 });
            }),
            Self::RareHeavy => contender.for_range(100_000, 128, |i| {
                // Spread over the loop (Knuth, The Art of Computer Programming, 6.4).
                let number = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                steps(match number % 1_000 {
                    0 => 20_000,
                    1..20 => 1_000,
                    _ => 50,
                });
            }),
        }
        let locked = locked
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        sum.into_inner() + locked
    }
}

/// Steps of about half a nanosecond, one after the other.
#[inline]
fn steps(count: u64) {
    let mut state = count;
    for _ in 0..count {
        state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
    black_box(state);
}
