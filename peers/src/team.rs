//! The method: all contenders of a comparison, measured in shuffled rounds.
//!
//! One child process per contender, all alive during a case and only one of them running. In each
//! round every contender measures one window, in an order shuffled anew. Ratios are taken within a
//! round, so that what slows the machine for a while slows both sides; a second process of the
//! base is the control, whose ratio to the first shows the noise. All checksums of a case must be
//! those of the base.
//!
//! With `--against` each manyhands contender has a twin, served by another build of this program.

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::against;
use crate::case_result::{CaseResult, Verdict};
use crate::cli::Settings;
use crate::peer::Peer;
use crate::protocol::Request;
use crate::shuffle::Shuffle;

/// One row of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    pub(crate) label: &'static str,
    /// The name the child process knows; two arms may share it.
    pub(crate) contender: &'static str,
    pub(crate) role: Role,
    /// First words of the cases it takes part in; all cases if there are none.
    pub(crate) cases: &'static [&'static str],
    pub(crate) build: Build,
}

/// Which build of this program serves an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Build {
    /// This one.
    This,
    /// The one that `--against` names.
    Other,
}

/// Whether `--only` may leave an arm out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// What the ratios are taken to, or its control: always runs.
    Base,
    Contender,
}

impl Arm {
    pub(crate) const fn base(label: &'static str, contender: &'static str) -> Self {
        Self {
            label,
            contender,
            role: Role::Base,
            cases: &[],
            build: Build::This,
        }
    }

    pub(crate) const fn contender(name: &'static str) -> Self {
        Self {
            label: name,
            contender: name,
            role: Role::Contender,
            cases: &[],
            build: Build::This,
        }
    }

    /// The same arm, in these cases only.
    pub(crate) const fn of(self, cases: &'static [&'static str]) -> Self {
        Self { cases, ..self }
    }

    fn takes_part(&self, case: &str) -> bool {
        let first = case.split(' ').next().unwrap_or(case);
        self.cases.is_empty() || self.cases.contains(&first)
    }
}

/// How a comparison ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Every contender gave the checksums of the base.
    Agreed,
    /// Some case failed; the tables say which.
    Failed,
    /// The arguments select nothing.
    Refused(String),
}

/// Whether a contender's process outlives a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lifetime {
    Kept,
    /// A fresh process each time, so that memory grown before is not taken for free.
    PerMeasurement,
}

/// The contenders of one comparison.
#[derive(Debug)]
pub(crate) struct Team {
    problem: &'static str,
    lifetime: Lifetime,
    members: Vec<Member>,
    shuffle: Shuffle,
    /// The program of [`Build::Other`].
    other: Option<PathBuf>,
}

#[derive(Debug)]
struct Member {
    arm: Arm,
    peer: Option<Peer>,
}

impl Team {
    /// The base and the arms that the settings select; no process starts before the first case.
    pub(crate) fn new(
        problem: &'static str,
        arms: &[Arm],
        lifetime: Lifetime,
        settings: &Settings,
        seed: u64,
    ) -> Self {
        let is_selected = |arm: &&Arm| arm.role == Role::Base || settings.selects(arm.contender);
        let mut arms: Vec<Arm> = arms.iter().filter(is_selected).copied().collect();
        if settings.against.is_some() {
            arms = against::with_twins(&arms);
        }
        Self {
            problem,
            lifetime,
            members: arms
                .into_iter()
                .map(|arm| Member { arm, peer: None })
                .collect(),
            shuffle: Shuffle::new(seed),
            other: settings.against.clone(),
        }
    }

    /// Runs all cases, each for as many rounds as `rounds` says.
    pub(crate) fn run(
        &mut self,
        cases: &[String],
        rounds: impl Fn(&str) -> usize,
        window: Duration,
    ) -> Vec<CaseResult> {
        let mut results = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            progress(&format!(
                "{} {}/{}: {case}",
                self.problem,
                index + 1,
                cases.len()
            ));
            let request = Request {
                case: case.clone(),
                window,
            };
            results.push(self.run_case(&request, rounds(case)));
        }
        progress("");
        results
    }

    fn run_case(&mut self, request: &Request, rounds: usize) -> CaseResult {
        let mut verdicts: Vec<Verdict> = self
            .members
            .iter()
            .map(|_| Verdict::Measured(Vec::new()))
            .collect();
        let takes_part = |member: &Member| member.arm.takes_part(&request.case);
        let mut order: Vec<usize> = (0..self.members.len())
            .filter(|&index| takes_part(&self.members[index]))
            .collect();
        for _ in 0..rounds {
            self.shuffle.shuffle(&mut order);
            for &index in &order {
                self.measure(index, request, &mut verdicts[index]);
            }
        }
        let arms = self
            .members
            .iter()
            .zip(verdicts)
            .filter(|(member, _)| takes_part(member))
            .map(|(member, verdict)| (member.arm, verdict))
            .collect();
        let mut result = CaseResult {
            case: request.case.clone(),
            arms,
        };
        result.compare_checksums();
        result
    }

    /// One window of one member; one that failed or is absent is not asked again in this case.
    fn measure(&mut self, index: usize, request: &Request, verdict: &mut Verdict) {
        let Verdict::Measured(samples) = verdict else {
            return;
        };
        let member = &mut self.members[index];
        let answer = match member.started(self.problem, self.other.as_deref()) {
            Ok(peer) => peer.ask(request),
            Err(reason) => {
                *verdict = Verdict::Absent(reason);
                return;
            }
        };
        // After a failure the next case gets a new process.
        if answer.is_err() || self.lifetime == Lifetime::PerMeasurement {
            member.peer = None;
        }
        match answer {
            Ok(sample) => samples.push(sample),
            Err(message) => *verdict = Verdict::Failed(message),
        }
    }
}

impl Member {
    /// The member's process, started if there is none.
    fn started(&mut self, problem: &str, other: Option<&Path>) -> Result<&mut Peer, String> {
        let program = other.filter(|_| self.arm.build == Build::Other);
        match &mut self.peer {
            Some(peer) => Ok(peer),
            none => Ok(none.insert(Peer::start(program, problem, self.arm.contender)?)),
        }
    }
}

/// Overwrites the progress line; nothing when standard error is not a terminal.
fn progress(text: &str) {
    let mut output = stderr();
    if output.is_terminal() {
        let _ = write!(output, "\r\x1b[K{text}");
        let _ = output.flush();
    }
}
