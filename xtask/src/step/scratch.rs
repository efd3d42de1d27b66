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
    /// Writes and builds it in release; returns where the program is.
    pub(in crate::step) fn build(&self) -> Result<PathBuf> {
        let package = self.folder.join(self.name);
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
            .with_context(|| format!("cannot use {}", package.display()))?;
        Invocation::cargo("build --release --quiet")
            .build_of(package.join("Cargo.toml"), self.folder.join("target"))
            .run()?;
        Ok(self.folder.join("target/release").join(self.name))
    }
}
