//! Rule: the workspace's version has a heading in the changelog.

use super::finding::Finding;
use super::tree::Tree;

const PATH: &str = "CHANGELOG.md";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let manifest = tree.text("Cargo.toml").unwrap_or_default();
    let Some(version) = workspace_version(manifest) else {
        return vec![Finding::in_file(
            "Cargo.toml",
            "no version in `[workspace.package]`",
        )];
    };
    let changelog = tree.text(PATH).unwrap_or_default();
    if changelog.lines().any(|line| is_heading_of(line, version)) {
        Vec::new()
    } else {
        vec![Finding::in_file(
            PATH,
            format!("no heading for version {version}"),
        )]
    }
}

fn workspace_version(manifest: &str) -> Option<&str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[workspace.package]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

/// `## 0.1.0` and `## [0.1.0] - date`, but not `## 10.1.0`.
fn is_heading_of(line: &str, version: &str) -> bool {
    let outside = |c: char| c.is_whitespace() || c == '[' || c == ']';
    line.starts_with('#') && line.split(outside).any(|word| word == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\nversion = \"9.9.9\"\n\n\
        [workspace.package]\nedition = \"2024\"\nversion = \"0.1.0\"\n\n[profile]\n";

    fn count(manifest: &str, changelog: &str) -> usize {
        check(&Tree::of(&[("Cargo.toml", manifest), (PATH, changelog)])).len()
    }

    #[test]
    fn a_version_without_a_heading_is_found() {
        for changelog in [
            "",
            "## 0.0.9\n",
            "## 10.1.0\n",
            "0.1.0 in passing\n",
            "## 0.1.0-beta\n",
        ] {
            assert_eq!(count(MANIFEST, changelog), 1, "{changelog}");
        }
    }

    #[test]
    fn a_manifest_without_a_version_is_found() {
        assert_eq!(
            count(
                "[workspace.package]\n[profile]\nversion = \"0.1.0\"\n",
                "## 0.1.0\n"
            ),
            1
        );
    }

    #[test]
    fn both_heading_styles_pass() {
        for changelog in ["## 0.1.0\n", "# Changes\n## [0.1.0] - unreleased\n"] {
            assert_eq!(count(MANIFEST, changelog), 0, "{changelog}");
        }
    }
}
