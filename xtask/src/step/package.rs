//! Each crate compiles from its own archive, as those who download it get it: nothing that it needs is left
//! out, such as a template, a font or a licence.
//!
//! Cargo would build every archive with all that it depends on once more. Here the archives are unpacked to a
//! workspace of their own, and checked with what earlier steps have made of the other crates.

use crate::command::Invocation;
use crate::workspace;
use anyhow::{Result, ensure};

pub(crate) fn run() -> Result<()> {
    let folder = workspace::target_subdir("package");
    workspace::remove_folder(&folder)?;
    // By hand it also says whether what is not committed yet would compile.
    Invocation::cargo(PACK).run()?;
    let names = workspace::names(&folder, ".crate")?;
    for name in &names {
        // All archives have the same times in them, by which cargo would take new files for those of the last run.
        let unpack = Invocation::new("tar --extract --touch --file").arg(format!("{name}.crate"));
        unpack.folder(&folder).run()?;
        let has_licence = folder.join(name).join("LICENSE-MIT").exists();
        ensure!(has_licence, "{name} has no licence");
    }
    workspace::write(folder.join("Cargo.toml"), manifest(&names))?;
    workspace::copy_file("Cargo.lock", folder.join("Cargo.lock"))?;
    Invocation::cargo("check --workspace --all-features --target-dir")
        .arg(workspace::target())
        .folder(&folder)
        .run()
}

/// Of all crates that are published.
const PACK: &str = "package --locked --allow-dirty --no-verify --workspace --exclude manyhands-explore --exclude xtask";

/// Of a workspace of these folders, each with its name and version, in which each crate depends on the others in it.
fn manifest(folders: &[impl AsRef<str> + std::fmt::Debug]) -> String {
    // With the profiles of the whole workspace: with another, all would be compiled once more.
    let mut text = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {folders:?}\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.regex-automata]\nopt-level = 2\n\n\
         [patch.crates-io]\n"
    );
    for folder in folders {
        let folder = folder.as_ref();
        // Before the version: what follows the last `-`.
        let name = folder.rsplit_once('-').map_or(folder, |(name, _)| name);
        text += &format!("{name} = {{ path = {folder:?} }}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn unpacked_crates_depend_on_one_another() {
        let manifest = super::manifest(&["manyhands-0.1.0", "manyhands-lab-0.1.0"]);
        let lines: Vec<&str> = manifest.lines().collect();
        let members = "members = [\"manyhands-0.1.0\", \"manyhands-lab-0.1.0\"]";
        assert!(lines.contains(&members), "{manifest}");
        let patch = "manyhands-lab = { path = \"manyhands-lab-0.1.0\" }";
        assert!(lines.contains(&patch), "{manifest}");
    }
}
