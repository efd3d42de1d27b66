//! The table of exit codes in the README: each row is walked, and there is no code without a row.

use crate::{manyhands, text};
use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn the_table_of_exit_codes_is_true() {
    let table = include_str!("../../README.md").lines();
    let codes = table.filter_map(|line| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok());
    let codes: BTreeSet<i32> = codes.collect();
    assert_eq!(codes, BTreeSet::from([0, 1, 2, 3, 130]));
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let run = run.to_str().expect("a path in UTF-8");
    codes.into_iter().for_each(|code| match code {
        0 => {
            check(&["--version"], code);
            check(&["lab", "--help"], code);
            check(&["lab", "list"], code);
        }
        1 => {
            check(&["lab", "report", "no-such-folder"], code);
            check(&["tour", "--out", "Cargo.toml/below"], code);
            #[cfg(unix)]
            check(&["inspect", "--text", "--socket", "/nowhere"], code);
            #[cfg(feature = "fleet")]
            check(&["fleet", "export", "--data", "no-such-folder"], code);
        }
        2 => {
            check(&["detour"], code);
            check(&["lab"], code);
            check(&["lab", "run", "E99"], code);
            check(&["fleet", "detour"], code);
        }
        3 => check_by_noise(run),
        _ => assert_eq!(code, 130, "it is in `signals`"),
    });
}

/// The same measurements, by a bound for disturbed blocks that none and that all can keep.
fn check_by_noise(run: &str) {
    let measured = manyhands(&[
        "lab", "run", "E6", "--quick", "--budget", "2s", "--out", run,
    ]);
    let err = text(&measured.stderr);
    assert!(matches!(measured.status.code(), Some(0 | 3)), "{err}");
    for (share, code) in [("-1.0", 3), ("1.0", 0)] {
        let head = Path::new(run).join("run.json");
        let mut json: serde_json::Value =
            serde_json::from_slice(&fs::read(&head).expect("the head")).expect("JSON");
        json["settings"]["thresholds"]["too_noisy"] = share.parse().expect("a number");
        fs::write(&head, json.to_string()).expect("the head is writable");
        check(&["lab", "report", run], code);
    }
}

fn check(arguments: &[&str], code: i32) {
    let output = manyhands(arguments);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
}
