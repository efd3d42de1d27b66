//! This library beside an earlier one: both builds of the comparison programs take turns within one run.
//!
//! The earlier revision is unpacked and built below the build output, with its own lock file. What is measured
//! and how it is paired is the business of `peers --against`.

use anyhow::Result;

use crate::command::Invocation;
use crate::workspace::{self, PEERS_MANIFEST};

/// Compares with `revision`; `words` are the comparison and its options, as for `peers`.
pub(crate) fn run(revision: &str, words: &[String]) -> Result<()> {
    let commit = Invocation::new("git rev-parse --verify --short --end-of-options")
        .arg(format!("{revision}^{{commit}}"))
        .stdout()?;
    let folder = workspace::target_subdir("against").join(commit.trim());
    workspace::make_folder(&folder)?;
    let archive = folder.with_extension("tar");
    let pack = Invocation::new("git archive --format=tar --output").arg(&archive);
    pack.arg(commit.trim()).run()?;
    let unpack = Invocation::new("tar -xf").arg(&archive);
    unpack.folder(&folder).run()?;
    let built = workspace::target_subdir("against").join("build");
    Invocation::cargo("build --locked --release")
        .build_of(folder.join(PEERS_MANIFEST), &built)
        .run()?;
    // The next build of another revision would overwrite it.
    let program = folder.join("peers-program");
    workspace::copy_file(built.join("release/peers"), &program)?;
    Invocation::cargo("run --locked --release --manifest-path")
        .args(&[PEERS_MANIFEST, "--"])
        .args(words)
        .arg("--against")
        .arg(program)
        .run()
}
