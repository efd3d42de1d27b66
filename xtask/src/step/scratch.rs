//! A package outside the workspace, with the workspace's lock file, so that nothing but its program is in what is measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::workspace;

/// A program that depends on the library.
pub(in crate::step) struct Scratch<'a> {
    /// Several share what they depend on.
    pub(in crate::step) folder: &'a Path,
    pub(in crate::step) name: &'a str,
    pub(in crate::step) source: &'a str,
    /// Of the library.
    pub(in crate::step) features: &'a [&'a str],
    /// Further lines of the manifest.
    pub(in crate::step) profile: &'a str,
}

impl Scratch<'_> {
    /// Writes it, so that cargo takes the program for changed.
    pub(in crate::step) fn write(&self) -> Result<()> {
        let package = self.package();
        let root = workspace::root();
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [features]\ndefault = {:?}\ninspect = [\"manyhands/inspect\"]\n\n\
             [dependencies]\nmanyhands = {{ path = {:?} }}\n\n{}",
            self.name,
            self.features,
            root.join("crates/manyhands"),
            self.profile
        );
        fs::create_dir_all(package.join("src"))
            .and_then(|()| fs::write(package.join("Cargo.toml"), manifest))
            .and_then(|()| fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")))
            .and_then(|_| fs::write(package.join("src/main.rs"), self.source))
            .with_context(|| format!("cannot use {}", package.display()))
    }

    /// A command of cargo about it.
    pub(in crate::step) fn cargo(&self, command: &str) -> Invocation {
        let manifest = self.package().join("Cargo.toml");
        let cargo = Invocation::cargo(&format!("{command} --quiet"));
        cargo.build_of(manifest, self.folder.join("target"))
    }

    /// Where it is when it has been built in release.
    pub(in crate::step) fn program(&self) -> PathBuf {
        self.folder.join("target/release").join(self.name)
    }

    fn package(&self) -> PathBuf {
        self.folder.join(self.name)
    }
}
