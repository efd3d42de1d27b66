//! The head of a run: what was asked, of which experiments, on which machine.

use super::{ClaimCard, Settings};
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Written before the first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// [`FORMAT`](super::FORMAT) of the files.
    pub format: u32,
    /// Version of the laboratory.
    pub version: String,
    /// Start of the run, UTC, RFC 3339.
    pub started: String,
    /// What was asked.
    pub settings: Settings,
    /// Where it ran.
    pub machine: Machine,
    /// What is measured, in order.
    pub experiments: Vec<ExperimentCard>,
}

/// An experiment as data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentCard {
    /// Id, unique in a run.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Its cases, in the order they run.
    pub cases: Vec<CaseCard>,
    /// Where the question comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What was claimed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimCard>,
    /// What a reader of the numbers must know, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A case as data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCard {
    /// Name, unique in its experiment.
    pub name: String,
    /// Names of the arms; the first is the baseline.
    pub arms: Vec<String>,
    /// Sizes of this run, ascending.
    pub sizes: Vec<usize>,
    /// Whether sizes between these are searched for the break-even.
    pub finds_break_even: bool,
    /// What one unit of `n` is, in the singular: "hash", "item", "cycle".
    pub unit: String,
    /// What each unit amounts to, if it is shown how much of it an arm does in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// CPUs the processes of this case are pinned to, counted from the first allowed one; `None` for all.
    pub cpus: Option<usize>,
    /// The experiment's own name of the case, if this is the case on other CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Copies of each call that run at the same time, each on a thread of its own; `None` for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<usize>,
    /// The arm of the experiment's own case that is compared between programs, each of which is an
    /// arm here; `None` if the arms are those of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<usize>,
}

/// What is counted to say how much an arm does in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throughput {
    /// The units of the size.
    Items,
    /// Bytes, this many for each unit of the size.
    Bytes(u64),
}

impl ExperimentCard {
    /// The experiment with a case for each arm of each of its cases: the arms there are these
    /// programs, the first of which is the baseline. As it is, without programs.
    ///
    /// Example: see [`on_cpus`](Self::on_cpus).
    #[must_use]
    pub fn by_build(mut self, builds: &[PathBuf]) -> Self {
        if builds.is_empty() {
            return self;
        }
        let names = builds.iter().map(|build| build.display().to_string());
        let names: Vec<String> = names.collect();
        let of_arm = |card: &CaseCard, (arm, name): (usize, &String)| CaseCard {
            name: format!("{}: {name}", card.name),
            of: Some(card.own_name().to_owned()),
            arm: Some(arm),
            arms: names.clone(),
            finds_break_even: false,
            ..card.clone()
        };
        let each = |card: &CaseCard| {
            let arms = card.arms.iter().enumerate();
            arms.map(|arm| of_arm(card, arm)).collect::<Vec<_>>()
        };
        self.cases = self.cases.iter().flat_map(each).collect();
        // What was claimed is about arms, not about builds.
        self.claim = None;
        self
    }

    /// The experiment with each of its cases once for each number of CPUs in `shared`, which one
    /// call has for itself, and once for each in `contending`, on which as many copies of a call
    /// run at once. A case that has its CPUs already stays as it is; so do all if both are empty.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{Case, Experiment, Scale};
    /// let case = Case::returning("sum").full_sizes([100]).arm("a", |n| n).arm("b", |n| n);
    /// let card = Experiment::new("sums", "Sums").case(case).card(Scale::Quick);
    /// let on_cpus = card.clone().on_cpus(&[1, 2], &[2]).cases.into_iter();
    /// assert!(on_cpus.map(|case| case.name).eq(["sum, 1 CPU", "sum, 2 CPUs", "sum, 2 copies"]));
    /// let of_builds = card.by_build(&["old".into(), "new".into()]);
    /// assert_eq!(of_builds.cases[1].name, "sum: b");
    /// assert_eq!(of_builds.cases[1].arms, ["old", "new"]);
    /// ```
    #[must_use]
    pub fn on_cpus(mut self, shared: &[usize], contending: &[usize]) -> Self {
        if shared.is_empty() && contending.is_empty() {
            return self;
        }
        let all = |card: CaseCard| {
            if card.cpus.is_some() {
                return vec![card];
            }
            let shared = shared.iter().map(|cpus| card.on(*cpus, None));
            let contending = contending.iter().map(|cpus| card.on(*cpus, Some(*cpus)));
            shared.chain(contending).collect()
        };
        self.cases = self.cases.into_iter().flat_map(all).collect();
        self
    }
}

impl CaseCard {
    /// How much of what is counted a call of this size does in a second, if that is asked for.
    pub(crate) fn per_second(&self, n: usize, nanos: f64) -> Option<f64> {
        let of_item = match self.throughput? {
            Throughput::Items => 1.0,
            Throughput::Bytes(bytes) => bytes as f64,
        };
        Some(n as f64 * of_item * 1e9 / nanos)
    }

    /// What the experiment calls the case, whatever CPUs it is confined to.
    pub(crate) fn own_name(&self) -> &str {
        self.of.as_ref().unwrap_or(&self.name)
    }

    fn on(&self, cpus: usize, copies: Option<usize>) -> Self {
        let what = match (cpus, copies) {
            (1, None) => "CPU",
            (_, None) => "CPUs",
            (1, Some(_)) => "copy",
            (_, Some(_)) => "copies",
        };
        Self {
            name: format!("{}, {cpus} {what}", self.name),
            of: Some(self.name.clone()),
            cpus: Some(cpus),
            copies,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Case, Experiment, Scale};

    #[test]
    fn a_case_on_other_cpus_keeps_all_but_its_name() {
        let case = || Case::returning("sum").full_sizes([1, 2]).arm("a", |n| n);
        let card = Experiment::new("X", "x")
            .case(case().arm("b", |n| n))
            .card(Scale::Full);
        assert_eq!(card.clone().on_cpus(&[], &[]), card);
        let [one, two] = card.clone().on_cpus(&[1], &[4]).cases.try_into().unwrap();
        assert_eq!((one.cpus, one.copies), (Some(1), None));
        assert_eq!((two.cpus, two.copies), (Some(4), Some(4)));
        for variant in [one, two] {
            assert_eq!(variant.of.as_deref(), Some("sum"));
            assert_eq!(variant.arms, card.cases[0].arms);
            assert_eq!(variant.sizes, [1, 2]);
        }
        let pinned = Experiment::new("X", "x")
            .case(case().pinned_to(1))
            .card(Scale::Full);
        assert_eq!(pinned.clone().on_cpus(&[1, 2], &[2]), pinned);
    }
}
