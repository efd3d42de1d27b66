//! Completions and the manual.

use crate::{manyhands, text};
use std::fs;

#[test]
fn each_shell_gets_completions_that_know_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = manyhands(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = text(&output.stdout);
        for word in ["self-test", "published", "inspect"] {
            assert!(script.contains(word), "'{word}' is missing for {shell}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let man = folder.path().join("new").join("man1");
    let output = manyhands(&["man", man.to_str().expect("a path in UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for (page, part) in [
        ("manyhands.1", "completions"),
        ("manyhands-lab-run.1", "published"),
        ("manyhands-inspect.1", "timeline"),
    ] {
        let written = fs::read_to_string(man.join(page)).expect(page);
        assert!(
            written.starts_with(".ie") && written.contains(part),
            "{written}"
        );
    }
}
