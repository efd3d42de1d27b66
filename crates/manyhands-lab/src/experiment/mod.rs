//! Experiments, their cases and arms, as values.
//!
//! # Threads
//! What is open of a case stays on its thread. Several threads may open the same case, where copies of a call contend.

pub(crate) mod agreement;
mod case;
pub(crate) mod checksum;
mod few_arms;
mod workload;

pub use case::{Case, Returned, Stored};
pub use workload::{Trial, Workload};

use crate::{
    plain::plain,
    record::{CaseCard, ClaimCard, ClaimPart, ClaimTest, ExperimentCard, Scale},
};
use few_arms::FewArms;
use std::{borrow::Cow, fmt, ops::RangeInclusive};

/// A case that several threads may run at once.
type SharedWorkload = dyn Workload + Send + Sync;

/// One question with its cases, for example "five hashes over one paragraph".
pub struct Experiment {
    id: Cow<'static, str>,
    title: Cow<'static, str>,
    source: Option<Cow<'static, str>>,
    claim: Option<Cow<'static, str>>,
    claim_parts: Vec<ClaimPart>,
    notes: Vec<Cow<'static, str>>,
    cases: Vec<Box<SharedWorkload>>,
}

impl Experiment {
    /// Makes an experiment without cases. Control characters in its texts, and in the names of its
    /// cases and arms, are shown as escapes.
    #[must_use]
    pub fn new(id: impl Into<Cow<'static, str>>, title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id: plain(&id.into()).into_owned().into(),
            title: plain(&title.into()).into_owned().into(),
            source: None,
            claim: None,
            claim_parts: Vec::new(),
            notes: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// Adds a case.
    #[must_use]
    pub fn case(mut self, case: impl Workload + Send + Sync + 'static) -> Self {
        self.cases.push(Box::new(case));
        self
    }

    /// Adds a case for each of these values, on which its arms depend beside the size; several parameters are
    /// tuples. Each case is named after its values.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{Case, Experiment};
    ///
    /// let grid = [1, 2].into_iter().flat_map(|step| [0, 7].map(|first| (step, first)));
    /// let experiment = Experiment::new("sums", "Sums").case_for_each(grid, |(step, first)| {
    ///     Case::returning(format!("from {first} in steps of {step}"))
    ///         .full_sizes([1_000])
    ///         .arm("loop", move |n| (0..n).map(|index| first + index * step).sum::<usize>())
    ///         .arm("formula", move |n| first * n + step * n * (n - 1) / 2)
    /// });
    /// assert_eq!(experiment.cases().len(), 4);
    /// ```
    #[must_use]
    #[doc(alias = "args")]
    #[doc(alias = "bench_with_input")]
    pub fn case_for_each<Value, C: Workload + Send + Sync + 'static>(
        self,
        values: impl IntoIterator<Item = Value>,
        case: impl FnMut(Value) -> C,
    ) -> Self {
        values.into_iter().map(case).fold(self, Self::case)
    }

    /// Sets where the question comes from.
    #[must_use]
    pub fn source(mut self, source: impl Into<Cow<'static, str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets what was claimed there, as a sentence.
    #[must_use]
    pub fn claim(mut self, claim: impl Into<Cow<'static, str>>) -> Self {
        self.claim = Some(claim.into());
        self
    }

    /// Adds a part of the claim that measurements decide: what it says, and by what.
    #[must_use]
    pub fn decided_by(mut self, says: impl Into<Cow<'static, str>>, test: ClaimTest) -> Self {
        let says = says.into();
        let says = plain(&says).into_owned();
        let cpus = None;
        self.claim_parts.push(ClaimPart { says, test, cpus });
        self
    }

    /// The part of the claim that was added last is about so many CPUs: with fewer or more it is not decided.
    #[must_use]
    pub fn about_cpus(mut self, cpus: RangeInclusive<usize>) -> Self {
        if let Some(part) = self.claim_parts.last_mut() {
            part.cpus = Some(cpus.into_inner());
        }
        self
    }

    /// Adds what a reader of the numbers must know, as a sentence.
    #[must_use]
    pub fn note(mut self, note: impl Into<Cow<'static, str>>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Asks about the same cases with another title, and leaves out what was claimed elsewhere, its source, and the notes.
    #[must_use]
    pub fn asked_as(self, title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            cases: self.cases,
            ..Self::new(self.id, title)
        }
    }

    /// Keeps the first `cases` cases and leaves the others out.
    #[must_use]
    pub fn first_cases(mut self, cases: usize) -> Self {
        self.cases.truncate(cases);
        self
    }

    /// Keeps the first `arms` arms of each case and leaves the others out.
    #[must_use]
    pub fn first_arms(self, arms: usize) -> Self {
        self.with_few(arms, None)
    }

    /// Gives each case the sizes of this scale, whatever the scale of the run.
    #[must_use]
    pub fn sizes_of(self, scale: Scale) -> Self {
        self.with_few(usize::MAX, Some(scale))
    }

    fn with_few(mut self, arms: usize, sizes_of: Option<Scale>) -> Self {
        let few = |case| {
            Box::new(FewArms {
                case,
                arms,
                sizes_of,
            }) as Box<SharedWorkload>
        };
        self.cases = self.cases.into_iter().map(few).collect();
        self
    }

    /// Short name, unique in a registry.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// One line for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where the question comes from.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// What was claimed there.
    #[must_use]
    pub fn claimed(&self) -> Option<&str> {
        self.claim.as_deref()
    }

    /// What a reader of the numbers must know.
    #[must_use]
    pub fn notes(&self) -> &[Cow<'static, str>] {
        &self.notes
    }

    /// The cases in the order they run.
    #[must_use]
    pub fn cases(&self) -> &[Box<dyn Workload + Send + Sync>] {
        &self.cases
    }

    /// The case of this name, as it stands in the card.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&(dyn Workload + Send + Sync)> {
        let mut cases = self.cases.iter().map(AsRef::as_ref);
        cases.find(|case| plain(case.name()) == name)
    }

    /// The experiment as data, with the sizes of a scale.
    #[must_use]
    pub fn card(&self, scale: Scale) -> ExperimentCard {
        let card = |case: &dyn Workload| CaseCard {
            name: plain(case.name()).into_owned(),
            arms: case.arms().iter().map(|arm| plain(arm).into()).collect(),
            sizes: case.sizes(scale),
            finds_break_even: case.finds_break_even(),
            unit: plain(case.unit()).into_owned(),
            throughput: case.throughput(),
            cpus: case.cpus(),
            ..CaseCard::default()
        };
        ExperimentCard {
            id: self.id.to_string(),
            title: self.title.to_string(),
            cases: self.cases.iter().map(|case| card(case.as_ref())).collect(),
            source: self.source.as_deref().map(|source| plain(source).into()),
            claim: self.claim.as_deref().map(|claim| ClaimCard {
                text: plain(claim).into(),
                parts: self.claim_parts.clone(),
            }),
            notes: self.notes.iter().map(|note| plain(note).into()).collect(),
        }
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases: Vec<&str> = self.cases.iter().map(|case| case.name()).collect();
        formatter
            .debug_struct("Experiment")
            .field("id", &self.id)
            .field("cases", &cases)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_few_cases_and_arms_all_else_is_as_it_was() {
        let case = || {
            Case::returning("sum")
                .full_sizes([1, 2])
                .arm("one", |n| n)
                .arm("two", |n| n)
                .arm("three", |n| n)
        };
        let whole = Experiment::new("X", "x").case(case());
        let few = Experiment::new("X", "x").case(case()).case(case());
        let few = few.first_cases(1).first_arms(2);
        let mut expected = whole.card(Scale::Full);
        expected.cases[0].arms.truncate(2);
        assert_eq!(few.card(Scale::Full), expected);
    }

    #[test]
    fn a_question_asked_anew_has_its_own_title_and_no_claim() {
        let case = Case::returning("sum").full_sizes([1]).arm("one", |n| n);
        let experiment = Experiment::new("X", "x on 96 CPUs")
            .source("a post")
            .claim("It pays.")
            .decided_by("it pays", ClaimTest::faster("one", 1))
            .note("Look twice.")
            .case(case);
        assert_eq!(experiment.card(Scale::Full).notes, ["Look twice."]);
        let card = experiment.asked_as("x").card(Scale::Full);
        assert_eq!((card.title.as_str(), card.cases.len()), ("x", 1));
        assert!(card.claim.is_none() && card.source.is_none() && card.notes.is_empty());
    }

    #[test]
    fn an_experiment_may_have_the_sizes_of_another_scale() {
        let case = Case::returning("sum")
            .full_sizes([1, 2])
            .quick_sizes([1])
            .arm("one", |n| n)
            .arm("two", |n| n);
        let experiment = Experiment::new("X", "x").case(case).sizes_of(Scale::Quick);
        let card = experiment.card(Scale::Full);
        assert_eq!(card.cases[0].sizes, [1]);
        assert_eq!(card.cases[0].arms.len(), 2);
    }

    #[test]
    fn names_that_steer_a_terminal_are_shown_as_escapes() {
        let case = Case::returning("sum\x1b[2J")
            .full_sizes([1])
            .arm("one\n", |n| n)
            .arm("two\0", |n| n);
        let experiment = Experiment::new("X\r", "x\u{202e}").case(case);
        let card = experiment.card(Scale::Full);
        let expected = ("X\\r", "x\\u{202e}");
        assert_eq!((card.id.as_str(), card.title.as_str()), expected);
        assert_eq!(card.cases[0].name, "sum\\u{1b}[2J");
        assert_eq!(card.cases[0].arms, ["one\\n", "two\\u{0}"]);
        assert!(experiment.find(&card.cases[0].name).is_some());
    }

    #[test]
    fn the_card_says_what_the_builder_was_given() {
        let case = Case::slots("squares", 0_u64)
            .full_sizes([1, 2])
            .quick_sizes([1])
            .unit("square")
            .finds_break_even()
            .pinned_to(1)
            .arm("one", |_, _| ())
            .arm(format!("number {}", 2), |_, _| ());
        let experiment = Experiment::new("X", format!("{} ways", 2)).case(case);
        let card = experiment.card(Scale::Quick);
        assert_eq!((card.id.as_str(), card.title.as_str()), ("X", "2 ways"));
        let expected = CaseCard {
            name: "squares".to_owned(),
            arms: vec!["one".to_owned(), "number 2".to_owned()],
            sizes: vec![1],
            finds_break_even: true,
            unit: "square".to_owned(),
            cpus: Some(1),
            ..CaseCard::default()
        };
        assert_eq!(card.cases, [expected]);
        assert_eq!(experiment.card(Scale::Full).cases[0].sizes, [1, 2]);
        assert!(experiment.find("squares").is_some() && experiment.find("cubes").is_none());
    }
}
