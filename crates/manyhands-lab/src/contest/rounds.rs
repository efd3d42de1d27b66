//! The method of a contest: all arms of a case, measured in shuffled rounds.

use super::{Arm, Build, CaseResult, Peer, Request, Sample, Verdict};
use crate::stats::rng_for;
use rand::{rngs::StdRng, seq::SliceRandom};
use std::path::{Path, PathBuf};

/// Whether a contender's process outlives a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// One process for all cases, unless it fails.
    Kept,
    /// A fresh process each time, so that memory grown before is not taken for free.
    PerMeasurement,
}

/// The arms of a contest with their processes.
#[derive(Debug)]
pub struct Contest {
    problem: &'static str,
    lifetime: Lifetime,
    members: Vec<Member>,
    order: Order,
    /// The program of [`Build::Other`].
    other: Option<PathBuf>,
}

#[derive(Debug)]
struct Member {
    arm: Arm,
    peer: Option<Peer>,
}

impl Contest {
    /// A contest of these arms, the first of which is the base. No process starts before the
    /// first case. The seed decides the order within all rounds.
    #[must_use]
    pub fn new(problem: &'static str, arms: &[Arm], lifetime: Lifetime, seed: u64) -> Self {
        let member = |&arm: &Arm| Member { arm, peer: None };
        Self {
            problem,
            lifetime,
            members: arms.iter().map(member).collect(),
            order: Order::new(seed),
            other: None,
        }
    }

    /// Serves the arms of [`Build::Other`] by this program. It may be an older build.
    #[must_use]
    pub fn against(mut self, program: Option<PathBuf>) -> Self {
        self.other = program;
        self
    }

    /// Runs one case for that many rounds.
    pub fn run(&mut self, request: &Request, rounds: usize) -> CaseResult {
        let takes_part = |arm: &Arm| arm.takes_part(&request.case);
        let all = 0..self.members.len();
        let mut turns: Vec<usize> = all
            .filter(|&index| takes_part(&self.members[index].arm))
            .collect();
        let mut verdicts = vec![Verdict::Measured(Vec::new()); self.members.len()];
        for _ in 0..rounds {
            self.order.shuffle(&mut turns);
            for &index in &turns {
                // An arm that failed or is absent is not asked again in this case.
                if let Verdict::Measured(samples) = &mut verdicts[index] {
                    match self.measure(index, request) {
                        Ok(sample) => samples.push(sample),
                        Err(verdict) => verdicts[index] = verdict,
                    }
                }
            }
        }
        let arms = self.members.iter().map(|member| member.arm).zip(verdicts);
        let mut result = CaseResult {
            case: request.case.clone(),
            arms: arms.filter(|(arm, _)| takes_part(arm)).collect(),
        };
        result.compare_checksums();
        result
    }

    /// One window of one member.
    fn measure(&mut self, index: usize, request: &Request) -> Result<Sample, Verdict> {
        let member = &mut self.members[index];
        let peer = member.started(self.problem, self.other.as_deref());
        let answer = peer.map_err(Verdict::Absent)?.ask(request);
        // After a failure the next case gets a new process.
        if answer.is_err() || self.lifetime == Lifetime::PerMeasurement {
            member.peer = None;
        }
        answer.map_err(Verdict::Failed)
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

/// In which order the arms of a round measure.
#[derive(Debug)]
struct Order(StdRng);

impl Order {
    fn new(seed: u64) -> Self {
        Self(rng_for(seed))
    }

    fn shuffle(&mut self, turns: &mut [usize]) {
        turns.shuffle(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    fn orders(seed: u64) -> Vec<[usize; 5]> {
        let (mut order, mut turns) = (Order::new(seed), [0, 1, 2, 3, 4]);
        let next = |_| {
            order.shuffle(&mut turns);
            turns
        };
        (0..30).map(next).collect()
    }

    #[test]
    fn the_seed_decides_the_order_of_all_rounds() {
        assert_eq!(orders(7), orders(7));
        assert_ne!(orders(7), orders(8));
    }

    #[test]
    fn every_round_has_every_arm_once_in_an_order_of_its_own() {
        let mut orders = orders(7);
        for mut order in orders.clone() {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
        }
        orders.sort_unstable();
        orders.dedup();
        // 30 draws of 120 orders.
        assert!(orders.len() > 15, "{orders:?}");
    }
}
