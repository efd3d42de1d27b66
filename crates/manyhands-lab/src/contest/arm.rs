//! One row of a contest's tables.
//!
//! Not here: its process (`peer.rs`) and what it measured (`result.rs`).

/// A contender under the name that the tables give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arm {
    /// Name in the tables.
    pub label: &'static str,
    /// Name that the child process knows; two arms may share it.
    pub contender: &'static str,
    /// Whether the ratios need it.
    pub role: Role,
    /// First words of the cases it takes part in; all cases if there are none.
    pub cases: &'static [&'static str],
    /// Which program serves it.
    pub build: Build,
}

/// Which build of the program serves an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// The one that runs.
    This,
    /// Another one, for comparing the two: see [`Contest::against`](super::Contest::against).
    Other,
}

/// Whether a selection of contenders may leave an arm out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What the ratios are taken to, or its control: always runs.
    Base,
    /// Any other.
    Contender,
}

impl Arm {
    /// What the ratios are taken to, or a second process of it.
    #[must_use]
    pub const fn base(label: &'static str, contender: &'static str) -> Self {
        Self {
            label,
            contender,
            role: Role::Base,
            cases: &[],
            build: Build::This,
        }
    }

    /// A contender, with its own name as label.
    #[must_use]
    pub const fn contender(name: &'static str) -> Self {
        Self {
            role: Role::Contender,
            ..Self::base(name, name)
        }
    }

    /// The same arm, in cases that begin with one of these words only.
    #[must_use]
    pub const fn of(self, cases: &'static [&'static str]) -> Self {
        Self { cases, ..self }
    }

    /// Whether the case is one of the arm's.
    pub(super) fn takes_part(&self, case: &str) -> bool {
        let first = case.split(' ').next().unwrap_or(case);
        self.cases.is_empty() || self.cases.contains(&first)
    }
}

#[cfg(test)]
mod tests {
    use super::Arm;

    #[test]
    fn an_arm_takes_part_in_all_cases_or_in_those_that_begin_with_its_words() {
        let all = Arm::contender("a");
        let some = all.of(&["sum", "min"]);
        assert!(all.takes_part("sum 10") && some.takes_part("sum 10") && some.takes_part("min"));
        assert!(!some.takes_part("summary 10") && !some.takes_part("any sum"));
    }
}
