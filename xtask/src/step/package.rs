//! Each crate compiles from its own archive, as those who download it get it: nothing that it needs is left
//! out, such as a template, a font or a licence.
//!
//! Cargo would build every archive with all that it depends on once more. Here the archives are unpacked to a
//! workspace of their own, and checked with what earlier steps have made of the other crates.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

pub(crate) fn run() -> Result<(), Failure> {
    let folder = workspace::target_subdir("package");
    let cannot = |error| Failure::new(format!("cannot use {}: {error}", folder.display()));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(error)),
        _ => {}
    }
    // By hand it also says whether what is not committed yet would compile.
    let mut pack = Invocation::cargo("package --locked --allow-dirty --no-verify");
    for name in CRATES {
        pack = pack.arg("--package").arg(name);
    }
    pack.run()?;
    let archives = archives(&folder).map_err(cannot)?;
    if archives.len() != CRATES.len() {
        let found = archives.join(", ");
        return Err(Failure::new(format!("not one archive a crate: {found}")));
    }
    for archive in &archives {
        // All archives have the same times in them, by which cargo would take new files for those of the last run.
        let unpack = Invocation::new("tar --extract --touch --file").arg(archive);
        unpack.folder(&folder).run()?;
    }
    let unpacked: Vec<&str> = archives
        .iter()
        .map(|archive| archive.trim_end_matches(".crate"))
        .collect();
    fs::write(folder.join("Cargo.toml"), manifest(&unpacked)).map_err(cannot)?;
    fs::copy(
        workspace::root().join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .map_err(cannot)?;
    Invocation::cargo("check --workspace --all-features --target-dir")
        .arg(workspace::target())
        .folder(&folder)
        .run()
}

/// The crates that are published.
const CRATES: [&str; 8] = [
    "manyhands",
    "manyhands-lab",
    "manyhands-inspect",
    "manyhands-metrics",
    "manyhands-nats",
    "manyhands-fleet",
    "manyhands-cluster",
    "manyhands-cli",
];

/// The names of the archives, in order.
fn archives(folder: &Path) -> io::Result<Vec<String>> {
    let mut archives = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".crate") {
            archives.push(name);
        }
    }
    archives.sort();
    Ok(archives)
}

/// Of a workspace of these folders, each with its name and version, in which each crate depends on the others in it.
fn manifest(folders: &[&str]) -> String {
    // With the profiles of the whole workspace: with another, all would be compiled once more.
    let mut text = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {folders:?}\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.regex-automata]\nopt-level = 2\n\n\
         [patch.crates-io]\n"
    );
    for folder in folders {
        // Before the version: what follows the last `-`.
        let name = folder.rsplit_once('-').map_or(*folder, |(name, _)| name);
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name} = {{ path = {folder:?} }}");
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
