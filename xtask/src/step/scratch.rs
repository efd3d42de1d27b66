//! A package outside the workspace, with the workspace's lock file, so that nothing but its program is in what is measured.

use std::path::{Path, PathBuf};

use anyhow::Result;

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
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [features]\ndefault = {:?}\ninspect = [\"manyhands/inspect\"]\n\n\
             [dependencies]\nmanyhands = {{ path = {:?} }}\n\n{}",
            self.name,
            self.features,
            workspace::root().join("crates/manyhands"),
            self.profile
        );
        workspace::make_folder(&package.join("src"))?;
        workspace::write(package.join("Cargo.toml"), manifest)?;
        workspace::copy_file("Cargo.lock", package.join("Cargo.lock"))?;
        workspace::write(package.join("src/main.rs"), self.source)?;
        Invocation::cargo("build --release --quiet")
            .build_of(package.join("Cargo.toml"), self.folder.join("target"))
            .run()?;
        Ok(self.folder.join("target/release").join(self.name))
    }
}
