//! How often a program is asked for what has changed: so that it answers for at most a hundredth of the time.
//!
//! A function of times alone. Not here: what is asked instead (`looker.rs`).

use std::time::Duration;

/// When it may be asked again. Times are since any moment, always the same.
#[derive(Debug, Default)]
pub(crate) struct Sparing {
    /// How long the last answer took, if one was measured.
    took: Option<Duration>,
    /// When the last one was begun.
    last: Option<Duration>,
}

impl Sparing {
    /// Whether it may be asked now.
    pub(crate) fn allows(&self, now: Duration) -> bool {
        match (self.last, self.took) {
            (Some(last), Some(took)) => now.saturating_sub(last) >= took * SHARE,
            _ => true,
        }
    }

    /// It was asked at this time, and the answer took so long; `None` if something else was waited for, too.
    pub(crate) fn asked(&mut self, at: Duration, took: Option<Duration>) {
        self.last = Some(at);
        self.took = took.or(self.took);
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
        sparing.asked(at(7), None);
        assert!(sparing.allows(at(7)), "nobody knows how long it takes");
        sparing.asked(at(8), Some(at(3)));
        assert!(!sparing.allows(at(8)) && !sparing.allows(at(307)));
        assert!(sparing.allows(at(308)));
        // One that was not measured counts as the last one that was.
        sparing.asked(at(100), None);
        assert!(!sparing.allows(at(399)) && sparing.allows(at(400)));
        sparing.asked(at(400), Some(Duration::from_micros(100)));
        assert!(!sparing.allows(at(409)) && sparing.allows(at(410)));
    }
}
