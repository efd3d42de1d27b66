//! How often a program is asked for what has changed: so that it answers for at most a hundredth of the time.
//!
//! A function of times alone. Not here: what is asked instead (`looker.rs`).

use std::time::Duration;

/// When it may be asked again. Times are since any moment, always the same.
#[derive(Debug, Default)]
pub(crate) struct Sparing {
    /// When the last answer was begun, and how long it took.
    last: Option<(Duration, Duration)>,
}

impl Sparing {
    /// Whether it may be asked now.
    pub(crate) fn allows(&self, now: Duration) -> bool {
        self.last
            .is_none_or(|(last, took)| now.saturating_sub(last) >= took * SHARE)
    }

    /// It was asked at this time, and the answer took so long.
    pub(crate) fn asked(&mut self, at: Duration, took: Duration) {
        self.last = Some((at, took));
    }
}

/// The part of the time that answers may take is one in this number.
const SHARE: u32 = 100;

#[cfg(test)]
mod tests {
    use super::Sparing;
    use std::time::Duration;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn answers_take_a_hundredth_of_the_time() {
        let mut sparing = Sparing::default();
        assert!(sparing.allows(at(7)));
        sparing.asked(at(8), at(3));
        assert!(!sparing.allows(at(8)) && !sparing.allows(at(307)));
        assert!(sparing.allows(at(308)));
        sparing.asked(at(400), Duration::from_micros(100));
        assert!(!sparing.allows(at(409)) && sparing.allows(at(410)));
    }
}
