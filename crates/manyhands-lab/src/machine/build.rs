//! How this program was built, and which state of the project it measures.

use serde::{Deserialize, Serialize};
use std::process::Command;

/// Compiler, flags and source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// The compiler and its version.
    pub compiler: Option<String>,
    /// Target triple.
    pub target: Option<String>,
    /// Optimisation: "0" to "3", "s" or "z".
    pub opt_level: Option<String>,
    /// Whether assertions for debugging are compiled in.
    pub debug_assertions: bool,
    /// Instruction sets the compiler was allowed to use.
    pub target_features: Option<String>,
    /// Commit of the project in the current folder when it was asked; ends in `-dirty` if files were changed since.
    pub commit: Option<String>,
}

impl Build {
    pub(super) fn here() -> Self {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            compiler: known(env!("LAB_RUSTC")),
            target: known(env!("LAB_TARGET")),
            opt_level: known(env!("LAB_OPT_LEVEL")),
            debug_assertions: cfg!(debug_assertions),
            target_features: known(env!("LAB_TARGET_FEATURES")),
            commit: commit(),
        }
    }

    pub(super) fn line(&self) -> Option<String> {
        super::join([
            self.compiler.clone(),
            self.target.clone(),
            self.opt_level
                .as_ref()
                .map(|level| format!("opt-level {level}")),
            self.debug_assertions
                .then(|| "debug assertions on".to_owned()),
        ])
    }
}

/// Asks git, which answers within some milliseconds; `None` without git or outside a project.
fn commit() -> Option<String> {
    let arguments = [
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ];
    let answer = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_of_this_build_is_known() {
        let build = Build::here();
        assert!(
            build
                .compiler
                .as_ref()
                .is_some_and(|text| text.starts_with("rustc "))
        );
        assert!(build.target.is_some() && build.opt_level.is_some());
        assert_eq!(build.debug_assertions, cfg!(debug_assertions));
    }

    #[test]
    fn the_line_names_what_makes_times_comparable() {
        let build = Build {
            compiler: Some("rustc 1.95.0".to_owned()),
            opt_level: Some("0".to_owned()),
            debug_assertions: true,
            ..Build::default()
        };
        let line = build.line().unwrap();
        assert_eq!(line, "rustc 1.95.0, opt-level 0, debug assertions on");
    }
}
