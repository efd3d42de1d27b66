//! The progress bar. It draws between blocks only, and not at all unless a person is watching.

use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    time::Duration,
};

/// Time used of the budget, and what is being measured.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Duration,
}

impl Progress {
    /// Makes the bar; `start` is the time when the budget began.
    pub(crate) fn new(budget: Duration, start: Duration) -> Self {
        let watched = io::stdout().is_terminal() && io::stderr().is_terminal();
        let bar = if watched {
            // No steady tick: a thread that draws would disturb what is measured.
            ProgressBar::new(millis(budget)).with_style(style())
        } else {
            ProgressBar::hidden()
        };
        Self { bar, start }
    }

    /// Says what comes next.
    pub(crate) fn announce(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Moves to a point in time.
    pub(crate) fn advance(&self, now: Duration) {
        self.bar
            .set_position(millis(now.saturating_sub(self.start)));
    }

    /// Runs something that prints, with the bar out of the way.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("  {bar:28} {percent:>3} % of the time  {wide_msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
