//! Checks the laboratory on arms of which the truth is known.
//!
//! The arms spin: they do a number of steps of a computation, each equally long. So one knows which is faster, by how much,
//! and from which size on. They run in real time, their samples go through the same director, gate, statistics and finder
//! as those of any run, and what comes out is compared with the truth. Only fresh processes are left out: a launch here is
//! the case opened anew in this process, or a hundred runs would take an hour.
//!
//! # Criteria
//! 1. Two equal arms are called different in at most 5 % of the comparisons.
//! 2. An arm slower by 5 % is found slower in at least 95 %.
//! 3. The break-even of an arm with known fixed cost and known gain lies in the interval in at
//!    least 90 %.
//! 4. Two threads on one core never pay.
//! 5. Where the curve has a step, the answer is the bracket of two measured sizes around it.

mod arms;
mod criterion;
mod in_process;

pub use criterion::{Criterion, Needed};

use crate::{
    LabError,
    director::{Director, Statistics},
    findings::analyse,
    machine::{Machine, pin_to},
    record::{Event, Scale, Settings},
    run::{self, Interrupt, Silent},
};
use arms::Spin;
use criterion::Claim;
use in_process::InProcess;
use std::{panic, slice, thread, time::Duration};

/// How often each comparison is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A quarter of the comparisons, in about a minute: enough to see that something is wrong.
    Quick,
    /// All comparisons, in some minutes.
    Whole,
}

impl Extent {
    /// What is compared, and how long that takes.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::self_test::Extent;
    /// assert_eq!(Extent::Whole.words(), "all comparisons, some minutes");
    /// ```
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Quick => "a quarter of the comparisons, about a minute",
            Self::Whole => "all comparisons, some minutes",
        }
    }

    /// Comparisons of a kind, of which there are this number in all.
    const fn of(self, all: usize) -> usize {
        match self {
            Self::Quick => all / 4,
            Self::Whole => all,
        }
    }
}

/// Runs all criteria and tells of each when it is known. An interrupt ends it early, without the
/// criteria that are not complete.
///
/// # Errors
/// Those of a run.
///
/// # Cost
/// Some minutes of real time. Other work on the machine takes blocks away; a comparison that it
/// leaves too few of is not judged.
pub fn run(
    extent: Extent,
    seed: u64,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&Criterion),
) -> Result<Vec<Criterion>, LabError> {
    let session = Session {
        spin: Spin::calibrate(),
        extent,
        seed,
        // Asked for here, where nothing is pinned.
        machine: Machine::here(),
        interrupt,
    };
    let mut criteria = Vec::new();
    for claim in Claim::ALL {
        // In a thread of its own, which may be pinned.
        let criterion = thread::scope(|scope| {
            let checked = scope.spawn(|| session.check(claim)).join();
            checked.unwrap_or_else(|payload| panic::resume_unwind(payload))
        })?;
        if interrupt.is_set() {
            break;
        }
        tell(&criterion);
        criteria.push(criterion);
    }
    Ok(criteria)
}

/// What all criteria share.
struct Session<'run> {
    spin: Spin,
    extent: Extent,
    seed: u64,
    machine: Machine,
    interrupt: &'run Interrupt,
}

impl Session<'_> {
    /// Measures all cases of a claim and counts those in which it shows.
    fn check(&self, claim: Claim) -> Result<Criterion, LabError> {
        let experiment = claim.experiment(self.spin, self.extent);
        if let Some(cpus) = experiment.cases()[0].cpus() {
            pin_to(cpus).map_err(LabError::Pin)?;
        }
        let settings = Settings::new(Scale::Standard, self.seed);
        let experiments = slice::from_ref(&experiment);
        let head = run::head(experiments, settings, self.machine.clone(), "");
        let mut director = Director::new(&head, Box::new(Statistics::new(&head)));
        let mut executor = InProcess::new(&experiment, SAMPLE);
        let mut events: Vec<Event> = Vec::new();
        let (to, silent) = (&mut events, &mut Silent);
        run::execute(&mut director, &mut executor, to, silent, self.interrupt)?;
        let findings = analyse(&head, &events);
        Ok(claim.judge(&findings, experiment.cases().len()))
    }
}

/// As short as the clock and the counters allow, as there are many samples.
const SAMPLE: Duration = Duration::from_micros(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_self_test_claims_nothing() {
        let interrupt = Interrupt::default();
        interrupt.set();
        let mut calls = 0;
        let criteria = run(Extent::Quick, 1, &interrupt, &mut |_| calls += 1).unwrap();
        assert_eq!((criteria, calls), (Vec::new(), 0));
    }

    #[test]
    fn a_quick_one_makes_the_part_of_the_comparisons_that_it_says() {
        assert!(Extent::Quick.words().starts_with("a quarter of"));
        assert_eq!((Extent::Quick.of(200), Extent::Whole.of(200)), (50, 200));
    }
}
