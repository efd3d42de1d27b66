//! The suites that rayon and rayon-core publish, put together below the build output.
//!
//! rayon is taken as it is, with the façade patched in. The integration tests of rayon-core run against the façade. Its
//! unit tests reach into the crate, so they are added to a copy of the façade.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::RAYON_CORE;
use super::packages::{Core, Packages, copy};
use crate::workspace;

/// A package with tests.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) folder: PathBuf,
    /// The module that has all that is the published package's, where that is not the whole.
    pub(crate) module: Option<&'static str>,
}

/// Has the packages unpacked and puts the suites together.
pub(crate) fn prepare() -> Result<[Package; 2]> {
    let packages = Packages::unpack("")?;
    let package = |name, module| Package {
        name,
        folder: workspace::target_subdir("compat").join(name),
        module,
    };
    let rayon = package("rayon", None);
    let original = packages.find(rayon.name)?.folder;
    copy(&original, &rayon.folder)?;
    let manifest = workspace::read(original.join("Cargo.toml"))?;
    let more = format!("\n[workspace]\n{PROFILE}{}", Core::Facade.patch());
    workspace::write(rayon.folder.join("Cargo.toml"), manifest + &more)?;
    let core = package("rayon-core", Some("original"));
    put_core(&packages.find(core.name)?.folder, &core.folder)?;
    Ok([rayon, core])
}

/// The façade's code with rayon-core's tests.
fn put_core(original: &Path, to: &Path) -> Result<()> {
    let facade = workspace::root().join(RAYON_CORE);
    workspace::remove_folder(&to.join("src"))?;
    copy(&facade.join("src"), &to.join("src"))?;
    copy(&original.join("tests"), &to.join("tests"))?;
    workspace::copy_file(facade.join("build.rs"), to.join("build.rs"))?;
    let inside = to.join("src/original");
    let refused = "src/compile_fail";
    copy(&original.join(refused), &inside.join("compile_fail"))?;
    let mut modules = String::from("mod compile_fail;\n");
    for (module, imports) in UNIT_TESTS {
        let from = match *module {
            "root" => original.join("src/test.rs"),
            module => original.join("src").join(module).join("test.rs"),
        };
        let test = workspace::read(from)?
            .replace("crate::registry::in_worker", "crate::global::in_worker");
        workspace::write(inside.join(format!("{module}.rs")), test)?;
        modules += &format!(
            "#[cfg(test)]\n#[path = \".\"]\nmod in_{module} {{\n    use crate::{imports};\n    \
             #[path = \"{module}.rs\"]\n    mod test;\n}}\n"
        );
    }
    workspace::write(inside.join("mod.rs"), modules)?;
    let root = to.join("src/lib.rs");
    // The published tests have no such rules.
    let code = workspace::read(&root)?.replace("#![deny(unsafe_code)]", "");
    workspace::write(root, code + "\n#[allow(warnings)]\nmod original;\n")?;
    workspace::write(to.join("Cargo.toml"), test_manifest(&facade)?)
}

/// The façade's manifest, with the paths of our crates made absolute and what the tests depend on.
fn test_manifest(facade: &Path) -> Result<String> {
    let manifest = workspace::read(facade.join("Cargo.toml"))?;
    let until_tests = manifest.split("[dev-dependencies]").next();
    let crates = format!("\"{}/", workspace::root().join("crates").display());
    let relative = "\"../../crates/";
    let manifest = until_tests.unwrap_or_default().replace(relative, &crates);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_s_manifest_has_the_façade_s_name_and_no_relative_path() {
        let manifest = test_manifest(&workspace::root().join(RAYON_CORE)).unwrap();
        assert!(manifest.contains("name = \"rayon-core\""));
        assert!(!manifest.contains("\"../"), "{manifest}");
        assert!(!manifest.contains("rayon = "), "{manifest}");
    }
}
