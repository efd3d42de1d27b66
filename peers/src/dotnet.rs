//! The contenders of .NET: this process becomes their program, which is written in C# (`peers/dotnet`).
//!
//! Not here: which problems they take part in. The arms of these say so.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use manyhands_lab::contest;

use crate::foreign;

/// Whether a contender is one of .NET's.
pub(crate) fn serves(contender: &str) -> bool {
    contender == "dotnet" || contender.starts_with("dotnet-")
}

/// Serves one of them, or says that it is absent, and why.
pub(crate) fn serve(problem: &str, contender: &str) {
    match program(env::var_os(NAMED), Path::new(PUBLISHED)) {
        Ok(path) => {
            let mut program = Command::new(path);
            program.args(["child", problem, contender]);
            foreign::become_program(program);
        }
        Err(reason) => contest::say_absent(&reason),
    }
}

/// The program that is named, else the one that is published; the error says why there is none.
fn program(named: Option<OsString>, published: &Path) -> Result<PathBuf, String> {
    if !cfg!(target_os = "linux") {
        return Err("the contenders of .NET run on Linux only".to_owned());
    }
    let named = named.filter(|name| !name.is_empty()).map(PathBuf::from);
    let is_there = published.is_file();
    named
        .or_else(|| is_there.then(|| published.to_owned()))
        .ok_or_else(|| {
            format!("{NAMED} names no program, and `dotnet publish` has made none in peers/dotnet")
        })
}

/// The variable that names the program.
const NAMED: &str = "PEERS_DOTNET";
/// What `dotnet publish -c Release` makes in `peers/dotnet`.
const PUBLISHED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/dotnet/bin/Release/net10.0/linux-x64/publish/peers-dotnet"
);

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{program, serves};

    /// A file that is there, and one that is not.
    const THERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    const NOT_THERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/no-such-file");

    #[test]
    fn a_named_program_comes_before_a_published_one() {
        for published in [THERE, NOT_THERE] {
            let named = program(Some("/named".into()), Path::new(published));
            assert_eq!(named, Ok(PathBuf::from("/named")));
        }
    }

    #[test]
    fn a_published_program_is_taken_where_none_is_named() {
        for named in [None, Some("".into())] {
            assert_eq!(program(named, Path::new(THERE)), Ok(PathBuf::from(THERE)));
        }
    }

    #[test]
    fn without_either_the_reason_says_how_to_get_one() {
        let reason = program(None, Path::new(NOT_THERE)).unwrap_err();
        assert!(
            reason.contains("PEERS_DOTNET") && reason.contains("dotnet publish"),
            "{reason}"
        );
    }

    #[test]
    fn its_contenders_are_known_by_their_names() {
        assert!(serves("dotnet") && serves("dotnet-plinq"));
        assert!(!serves("manyhands") && !serves("dotnets"));
    }
}
