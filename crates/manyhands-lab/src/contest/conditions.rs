//! On what and how a contest was measured: the first lines of everything that it prints.

use super::MIN_ROUNDS;
use crate::{clock, machine::Machine};
use std::{fmt, sync::LazyLock, time::Duration};

/// What somebody needs to know of a measurement, and to repeat it.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// The machine and the build.
    pub machine: Machine,
    /// When it began: UTC, RFC 3339.
    pub date: String,
    /// Rounds of each case.
    pub rounds: usize,
    /// Seed of the order within the rounds; `None` where all contenders run at the same time.
    pub seed: Option<u64>,
    /// How long each window is; zero where the cases say how much is measured.
    pub window: Duration,
    /// What to type for the same measurement.
    pub command: String,
}

impl Conditions {
    /// Those of a measurement that begins now, in this process. All measurements of a process
    /// have the revision of the first: results that it writes meanwhile do not change that.
    #[must_use]
    pub fn here(rounds: usize, seed: Option<u64>, window: Duration, command: String) -> Self {
        Self {
            machine: HERE.clone(),
            date: clock::utc(),
            rounds,
            seed,
            window,
            command,
        }
    }

    fn method(&self) -> String {
        let window = match self.window {
            Duration::ZERO => String::new(),
            window => format!(" in windows of {} ms", window.as_millis()),
        };
        let rounds = self.rounds;
        let intervals = if rounds < MIN_ROUNDS {
            format!(
                "**A quick look**: fewer than {MIN_ROUNDS} rounds give no intervals, and “–” \
                 stands in their place."
            )
        } else {
            "In brackets is the interval that covers the median with 95 %. Unless each measurement \
             has a fresh process, it does not contain what differs from process to process: the \
             distance of a row “again” from 1 shows that."
                .to_owned()
        };
        let order = match self.seed {
            Some(seed) => format!(
                "one running at a time, order shuffled in each round (seed {seed}). Ratios are \
                 medians over rounds of the ratio within the round"
            ),
            None => "all running at the same time. Values are medians over rounds".to_owned(),
        };
        format!("Rounds: {rounds}{window}. One process per contender, {order}. {intervals}")
    }
}

/// Markdown, in two paragraphs.
impl fmt::Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        let kind = match machine.host.virtual_machine {
            Some(true) => ", a virtual machine",
            _ => "",
        };
        let unknown = || "unknown".to_owned();
        let compiler = machine.build.compiler.clone().unwrap_or_else(unknown);
        let revision = machine.build.commit.clone().unwrap_or_else(unknown);
        writeln!(
            formatter,
            "Machine: {}{kind} · {compiler}. Date: {}. Revision: {revision}. Command: `{}`.\n",
            machine.line(),
            self.date,
            self.command,
        )?;
        if machine.build.debug_assertions {
            formatter.write_str("**Built without optimisation: these times mean little.** ")?;
        }
        formatter.write_str(&self.method())
    }
}

static HERE: LazyLock<Machine> = LazyLock::new(Machine::here);

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(rounds: usize) -> Conditions {
        let mut machine = Machine {
            cpu: "Chip".to_owned(),
            cpus: 2,
            system: "Linux 6.1".to_owned(),
            ..Machine::default()
        };
        machine.host.virtual_machine = Some(true);
        machine.build.compiler = Some("rustc 1.95.0".to_owned());
        machine.build.commit = Some("abc".to_owned());
        Conditions {
            machine,
            date: "2026-11-22T00:00:00Z".to_owned(),
            rounds,
            seed: Some(42),
            window: Duration::from_millis(60),
            command: "peers joins --seed 42".to_owned(),
        }
    }

    #[test]
    fn machine_date_revision_command_rounds_and_seed_are_named() {
        let text = conditions(9).to_string();
        assert!(text.starts_with(
            "Machine: Chip · 2 CPUs · Linux 6.1, a virtual machine · rustc 1.95.0. \
             Date: 2026-11-22T00:00:00Z. Revision: abc. Command: `peers joins --seed 42`.\n\n\
             Rounds: 9 in windows of 60 ms. "
        ));
        assert!(
            text.contains("(seed 42)") && text.contains("95 %"),
            "{text}"
        );
        assert!(!text.contains("quick look"), "{text}");
    }

    #[test]
    fn few_rounds_are_called_a_quick_look() {
        let text = conditions(6).to_string();
        assert!(
            text.contains("**A quick look**") && !text.contains("95 %"),
            "{text}"
        );
        assert!(!text.contains("optimisation"), "{text}");
        let mut conditions = conditions(6);
        conditions.machine.build.debug_assertions = true;
        assert!(conditions.to_string().contains("without optimisation"));
    }

    #[test]
    fn contenders_that_run_at_the_same_time_have_no_order() {
        let mut conditions = conditions(9);
        conditions.seed = None;
        let text = conditions.to_string();
        assert!(text.contains("all running at the same time"), "{text}");
        assert!(!text.contains("(seed") && text.contains("95 %"), "{text}");
    }
}
