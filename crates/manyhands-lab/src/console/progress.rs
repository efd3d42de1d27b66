//! The progress bar. It draws between blocks only, and not at all unless a person is watching.

use super::Printing;
use crate::{
    director::{PassKind, Step, TimeLeft},
    report,
    run::Progress as Time,
};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    cell::Cell,
    io::{self, IsTerminal},
    time::Duration,
};

/// Time spent, time left, and what is being measured.
pub(super) struct Progress {
    bar: ProgressBar,
    shown: Cell<u64>,
}

impl Progress {
    /// Makes the bar.
    pub(super) fn new(printing: Printing) -> Self {
        let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
        let watched = is_terminal && !printing.quiet;
        let bar = if watched {
            // No steady tick: a thread that draws would disturb what is measured.
            ProgressBar::new(WHOLE).with_style(style())
        } else {
            ProgressBar::hidden()
        };
        Self {
            bar,
            shown: Cell::new(0),
        }
    }

    /// Shows what is about to happen and how long it may all take.
    pub(super) fn show(&self, step: &Step, time: &Time) {
        self.shown.set(forward(self.shown.get(), time));
        self.bar.set_position(self.shown.get());
        if let Some(what) = describe(step) {
            self.bar
                .set_message(format!("{} · {what}", left(&time.left)));
        }
    }

    /// Runs something that prints, with the bar out of the way.
    pub(super) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn describe(step: &Step) -> Option<String> {
    let at = |experiment: &str, case: &str, n: usize| {
        format!("{experiment} {case}, n = {}", report::count(n))
    };
    match step {
        Step::Pilot { subject, .. } => {
            Some(format!("{} {}, planning", subject.experiment, subject.case))
        }
        Step::Launch { .. } | Step::Open { .. } | Step::Close | Step::Finished => None,
        Step::Block(block) => {
            let key = &block.key;
            Some(at(&key.experiment, &key.case, key.n))
        }
        Step::Pass(pass) => {
            let where_at = at(&pass.subject.experiment, &pass.subject.case, pass.n);
            let what = match pass.kind {
                PassKind::Memory => "memory",
                PassKind::Cores => "cores",
            };
            Some(format!("{where_at}, {what}"))
        }
    }
}

/// The time left, as honest as it is known.
fn left(left: &TimeLeft) -> String {
    let seconds = left.duration.as_secs_f64();
    let rounded = if seconds < 10.0 {
        seconds.ceil()
    } else {
        (seconds / 5.0).ceil() * 5.0
    };
    let time = humantime::format_duration(Duration::from_secs_f64(rounded));
    if left.points_unknown == 0 {
        format!("about {time} left")
    } else {
        format!(
            "perhaps {time} left ({} sizes not yet seen)",
            left.points_unknown
        )
    }
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("  {bar:24} {percent:>3} %  {wide_msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The place of the bar, of [`WHOLE`]. What is left may turn out to be more than was thought; the
/// bar then waits where it is.
fn forward(shown: u64, time: &Time) -> u64 {
    let all = (time.spent + time.left.duration).as_millis().max(1);
    let place = time.spent.as_millis() * u128::from(WHOLE) / all;
    u64::try_from(place).unwrap_or(WHOLE).max(shown)
}

/// The length of the bar.
const WHOLE: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_moves_forward_only() {
        let time = |spent, left| Time {
            spent: Duration::from_secs(spent),
            left: TimeLeft {
                duration: Duration::from_secs(left),
                points_unknown: 0,
            },
        };
        let half = forward(0, &time(10, 10));
        assert_eq!(half, 500);
        assert_eq!(forward(half, &time(11, 100)), 500);
        assert_eq!(forward(half, &time(90, 10)), 900);
    }

    #[test]
    fn the_time_left_says_how_sure_it_is() {
        fn check(millis: u64, points_unknown: usize, expected: &str) {
            let duration = Duration::from_millis(millis);
            let time_left = TimeLeft {
                duration,
                points_unknown,
            };
            assert_eq!(left(&time_left), expected);
        }
        check(4_200, 0, "about 5s left");
        check(61_000, 0, "about 1m 5s left");
        check(61_000, 3, "perhaps 1m 5s left (3 sizes not yet seen)");
    }
}
