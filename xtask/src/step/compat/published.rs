//! The published packages of rayon, and what is made of them below the build output.
//!
//! rayon is taken as it is, with the façade patched in. The integration tests of rayon-core run against the façade. Its
//! unit tests reach into the crate, so they are added to a copy of the façade.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::RAYON_CORE;
use crate::command::Invocation;
use crate::workspace;

/// The newest releases when the façade was written.
const RAYON: &str = "rayon-1.12.0";
const CORE: &str = "rayon-core-1.13.0";

/// A package with tests.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) folder: PathBuf,
    /// The module that has all that is the published package's, where that is not the whole.
    pub(crate) module: Option<&'static str>,
}

/// Downloads the packages and puts the suites together.
pub(crate) fn prepare() -> Result<Vec<Package>> {
    let folder = workspace::target_subdir("compat");
    let failed = || format!("cannot prepare {}", folder.display());
    let vendor = download(&folder).with_context(failed)?;
    let package = |name, module| Package {
        name,
        folder: folder.join(name),
        module,
    };
    let rayon = package("rayon", None);
    put_patched(&vendor.join(RAYON), &rayon.folder).with_context(failed)?;
    let core = package("rayon-core", Some("original"));
    put_core(&vendor.join(CORE), &core.folder).with_context(failed)?;
    Ok(vec![rayon, core])
}

/// Lets cargo download the packages with all that they depend on.
fn download(folder: &Path) -> Result<PathBuf> {
    let published = folder.join("published");
    fs::create_dir_all(published.join("src"))?;
    fs::write(published.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[workspace]\n[package]\nname = \"published\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n",
    );
    for (name, version) in [RAYON, CORE]
        .iter()
        .filter_map(|name| name.rsplit_once('-'))
    {
        manifest += &format!("{name} = \"={version}\"\n");
    }
    fs::write(published.join("Cargo.toml"), manifest)?;
    let vendor = folder.join("vendor");
    Invocation::cargo("vendor --quiet --versioned-dirs --manifest-path")
        .arg(published.join("Cargo.toml"))
        .arg(&vendor)
        .stdout()?;
    Ok(vendor)
}

/// A published package with the façade patched in.
fn put_patched(original: &Path, to: &Path) -> io::Result<()> {
    replace(&original.join("src"), &to.join("src"))?;
    replace(&original.join("tests"), &to.join("tests"))?;
    let manifest = fs::read_to_string(original.join("Cargo.toml"))?;
    let mut manifest = without_benchmarks(&manifest);
    manifest += &format!(
        "\n[workspace]\n{PROFILE}\n[patch.crates-io]\nrayon-core = {{ path = {:?} }}\n",
        workspace::root().join(RAYON_CORE).display().to_string()
    );
    fs::write(to.join("Cargo.toml"), manifest)?;
    fs::copy(original.join("README.md"), to.join("README.md"))?;
    Ok(())
}

/// The manifest without what only benchmarks and examples need, which are not run.
pub(super) fn without_benchmarks(manifest: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_kept = !["[[bench]]", "[[example]]", "[dev-dependencies.criterion]"].contains(&line);
        }
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The façade's code with rayon-core's tests.
fn put_core(original: &Path, to: &Path) -> io::Result<()> {
    let facade = workspace::root().join(RAYON_CORE);
    replace(&facade.join("src"), &to.join("src"))?;
    replace(&original.join("tests"), &to.join("tests"))?;
    fs::copy(facade.join("build.rs"), to.join("build.rs"))?;
    let inside = to.join("src/original");
    replace(
        &original.join("src/compile_fail"),
        &inside.join("compile_fail"),
    )?;
    let mut modules = String::from("mod compile_fail;\n");
    for (module, imports) in UNIT_TESTS {
        let from = match *module {
            "root" => original.join("src/test.rs"),
            module => original.join("src").join(module).join("test.rs"),
        };
        let test = fs::read_to_string(from)?
            .replace("crate::registry::in_worker", "crate::global::in_worker");
        fs::write(inside.join(format!("{module}.rs")), test)?;
        modules += &format!(
            "#[cfg(test)]\n#[path = \".\"]\nmod in_{module} {{\n    use crate::{imports};\n    \
             #[path = \"{module}.rs\"]\n    mod test;\n}}\n"
        );
    }
    fs::write(inside.join("mod.rs"), modules)?;
    let root = to.join("src/lib.rs");
    // The published tests have no such rules.
    let code = fs::read_to_string(&root)?.replace("#![deny(unsafe_code)]", "");
    fs::write(root, code + "\n#[allow(warnings)]\nmod original;\n")?;
    let manifest = test_manifest(&facade)?;
    fs::write(to.join("Cargo.toml"), manifest)
}

/// The façade's manifest, with the library's path made absolute and what the tests depend on.
fn test_manifest(facade: &Path) -> io::Result<String> {
    let manifest = fs::read_to_string(facade.join("Cargo.toml"))?;
    let until_tests = manifest.split("[dev-dependencies]").next();
    let library = workspace::root().join("crates/manyhands");
    let manifest = until_tests.unwrap_or_default().replace(
        "\"../../crates/manyhands\"",
        &format!("{:?}", library.display().to_string()),
    );
    Ok(manifest + TEST_DEPENDENCIES + PROFILE)
}

/// Modules with unit tests, and what these expect beside them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("root", "*"),
    ("broadcast", "{*, broadcast::*}"),
    ("join", "{*, join::*, unwind}"),
    ("scope", "{*, scope::*}"),
    ("spawn", "{*, spawn::*}"),
    ("thread_pool", "*"),
];

/// As in rayon-core's manifest.
const TEST_DEPENDENCIES: &str = "\
[dev-dependencies]
crossbeam-utils = \"0.8\"
libc = \"0.2\"
rand = \"0.9\"
rand_xorshift = \"0.4\"
scoped-tls = \"1.0\"
";

/// As the façade's, so that the library is built once.
const PROFILE: &str = "
[profile.dev]
debug = \"line-tables-only\"
";

/// Makes `to` a copy of the folder `from`. A file that is the same already is left alone, so that it is not built
/// again.
pub(super) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let old = entry?;
        if from.join(old.file_name()).exists() {
            continue;
        }
        if old.file_type()?.is_dir() {
            fs::remove_dir_all(old.path())?;
        } else {
            fs::remove_file(old.path())?;
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            replace(&entry.path(), &place)?;
        } else if fs::read(entry.path())? != fs::read(&place).unwrap_or_default() {
            fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_its_original() {
        let folder = workspace::target_subdir("compat-copy-test");
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::create_dir_all(to.join("gone")).unwrap();
        fs::write(from.join("inner/a"), "1").unwrap();
        fs::write(to.join("gone/b"), "2").unwrap();
        fs::write(to.join("gone too"), "2").unwrap();
        replace(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("inner/a")).unwrap(), "1");
        assert!(!to.join("gone").exists());
        assert!(!to.join("gone too").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_copy_s_manifest_has_the_façade_s_name_and_no_relative_path() {
        let manifest = test_manifest(&workspace::root().join(RAYON_CORE)).unwrap();
        assert!(manifest.contains("name = \"rayon-core\""));
        assert!(!manifest.contains("\"../"), "{manifest}");
        assert!(!manifest.contains("rayon = "), "{manifest}");
    }

    #[test]
    fn sections_for_benchmarks_are_left_out() {
        let manifest = "[package]\nname = \"a\"\n[[bench]]\nname = \"b\"\n[[test]]\nname = \"c\"\n\
                        [dev-dependencies.criterion]\nversion = \"1\"\n[dependencies]\n";
        let kept = "[package]\nname = \"a\"\n[[test]]\nname = \"c\"\n[dependencies]\n";
        assert_eq!(without_benchmarks(manifest), kept);
    }
}
