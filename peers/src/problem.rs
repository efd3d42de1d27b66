//! The problems by name: their arms, how they are compared, and how a contender is served.

use manyhands_lab::contest::Arm;

use crate::cli::Settings;
use crate::report::{Outcome, Report};
use crate::{
    channels, climbing, contended, cores, dotnet, idle, io, items, joins, keys, loops, mixed,
    queries, saturation, server, shapes, starvation, tasks, timers,
};

/// One comparison.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) name: &'static str,
    pub(crate) arms: &'static [Arm],
    /// The parent's side; the error says why the arguments are refused.
    pub(crate) compare: fn(&Settings, &mut Report) -> Result<Outcome, String>,
    /// The child's side of the contenders in Rust; `false` if there is none of this name.
    serve: fn(&str) -> bool,
}

impl Problem {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|problem| problem.name == name)
    }

    /// The child's side: serves one contender; `false` if there is none of this name.
    pub(crate) fn serves(&self, contender: &str) -> bool {
        let is_dotnet = dotnet::serves(contender);
        if is_dotnet && self.arms.iter().any(|arm| arm.contender == contender) {
            dotnet::serve(self.name, contender);
            return true;
        }
        (self.serve)(contender)
    }

    /// Whether anything is timed, so that results are of a kind of processor.
    pub(crate) fn is_timed(&self) -> bool {
        !self.arms.is_empty()
    }

    /// All names, in the order of the results.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|problem| problem.name)
    }
}

/// A problem whose module has its name.
macro_rules! problem {
    ($module:ident) => {
        Problem {
            name: stringify!($module),
            arms: &$module::ARMS,
            compare: $module::compare,
            serve: $module::serve,
        }
    };
}

const ALL: [Problem; 18] = [
    problem!(loops),
    problem!(contended),
    problem!(joins),
    problem!(items),
    problem!(tasks),
    problem!(timers),
    problem!(channels),
    problem!(io),
    problem!(starvation),
    problem!(mixed),
    problem!(climbing),
    problem!(server),
    problem!(saturation),
    problem!(queries),
    problem!(keys),
    problem!(shapes),
    problem!(idle),
    problem!(cores),
];
