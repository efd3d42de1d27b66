//! The laboratory's commands from start to end.

use crate::{check_refusal, json, manyhands, text, unread};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

#[test]
fn the_list_names_every_experiment_that_can_be_run() {
    let output = manyhands(&["lab", "list"]);
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    for id in [
        "E1a", "E1b", "E2", "E3", "E6", "E9", "E10", "E11", "E13", "E15b", "E17",
    ] {
        let listed = printed.lines().any(|line| line.starts_with(id));
        assert!(listed, "{id} is missing in: {printed}");
    }
}

#[test]
fn the_list_of_one_experiment_has_its_arms_sizes_and_time() {
    let output = manyhands(&["lab", "list", "e3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in [
        "E3 ",
        "sequential",
        "rayon",
        "100,000",
        "takes about",
        "published: i7-9750H laptop, 12 CPUs, NativeAOT 8.0",
    ] {
        assert!(printed.contains(part), "'{part}' is missing in: {printed}");
    }
    let unknown = manyhands(&["lab", "list", "E99"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_run_is_kept_and_reported_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = folder.path().join("first");
    measure(&first);

    // A second run in the same folder would lose the first.
    let again = run(&first, &["lab", "run", "E6", "--quick"]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(text(&again.stderr).lines().count(), 1);

    fs::remove_file(first.join("report.html")).expect("the report is there");
    let reported = manyhands(&["lab", "report", path(&first)]);
    assert!(is_done(&reported), "{}", text(&reported.stderr));
    assert!(first.join("report.html").exists());
    let printed = text(&reported.stdout);
    assert!(
        printed.contains("E6") && printed.contains(".NET 8.0"),
        "{printed}"
    );
    assert!(!printed.contains("NativeAOT"), "{printed}");
    let all = manyhands(&["lab", "report", path(&first), "--published", "all"]);
    let printed = text(&all.stdout);
    assert!(
        printed.contains(".NET 8.0") && printed.contains("NativeAOT"),
        "{printed}"
    );

    // That nobody reads the tables changes nothing; a run that had to end before its end is not done.
    assert_eq!(
        unread(&["lab", "report", path(&first)]),
        reported.status.code()
    );
    assert_eq!(unread(&["lab", "list"]), Some(0));
    let out = folder.path().join("unread");
    let cut = ["lab", "run", "E6", "--quick", "--out", path(&out)];
    assert_eq!(unread(&cut), Some(1));

    // Nothing is left to do, so this ends at once and well.
    let resumed = manyhands(&["lab", "resume", path(&first)]);
    assert!(is_done(&resumed), "{}", text(&resumed.stderr));
}

#[test]
fn two_runs_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    measure(&first);
    measure(&second);
    let compared = manyhands(&["lab", "compare", path(&first), path(&second)]);
    assert_eq!(compared.status.code(), Some(0));
    assert!(text(&compared.stdout).contains("E6"));

    let compared = manyhands(&["lab", "compare", path(&first), path(&second), "--json"]);
    let compared = json(&compared);
    assert_eq!(compared["cases"][0]["experiment"], "E6", "{compared}");

    // On a machine where nothing else runs, of which the second run took twice as long.
    set_times(&first, 1);
    set_times(&second, 2);
    for (after, share, code) in [(&first, "0%", 0), (&second, "150%", 0), (&second, "50%", 1)] {
        let runs = ["lab", "compare", path(&first), path(after)];
        let compared = manyhands(&[&runs[..], &["--fail-if-slower", share]].concat());
        let said = text(&compared.stderr);
        assert_eq!(compared.status.code(), Some(code), "{share}: {said}");
        assert_eq!(said.contains("is slower"), code == 1, "{said}");
        let arguments = [&runs[..], &["--fail-if-slower", share]].concat();
        assert_eq!(unread(&arguments), Some(code), "{share}");
    }
    let share = manyhands(&["lab", "compare", "a", "b", "--fail-if-slower", "much"]);
    assert_eq!(share.status.code(), Some(2));
}

/// Every recorded call took so many microseconds, undisturbed.
fn set_times(run: &Path, micros: u64) {
    let events = run.join("events.ndjson");
    let lines = fs::read_to_string(&events).expect("the events are there");
    let changed = lines.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).expect("an event");
        let samples = event.pointer_mut("/block/samples");
        for sample in samples
            .and_then(|samples| samples.as_array_mut())
            .into_iter()
            .flatten()
        {
            let calls = sample["calls"].as_u64().expect("a number");
            sample["wall_nanos"] = (calls * micros * 1_000).into();
            sample["meters"] = serde_json::json!({});
        }
        format!("{event}\n")
    });
    fs::write(&events, changed.collect::<String>()).expect("the events are written");
}

fn measure(out: &Path) {
    let ran = run(out, &["lab", "run", "e6", "--quick", "--budget", "3s"]);
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("E6"));
}

#[test]
fn two_commands_are_timed_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("pair");
    let words = ["lab", "command", "--quick", "--budget", "3s", "--out"];
    let commands = ["--", "true", "--vs", "sleep", "0.02"];
    let mut arguments = words.to_vec();
    arguments.push(path(&out));
    arguments.extend(commands);
    let ran = manyhands(&arguments);
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("sleep 0.02"));

    let resumed = manyhands(&["lab", "resume", path(&out)]);
    assert!(is_done(&resumed), "{}", text(&resumed.stderr));
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let list = json(&manyhands(&["lab", "list", "--json"]));
    let ids = list["experiments"].as_array().expect("a list");
    assert!(ids.iter().any(|one| one["id"] == "E15b"), "{list}");
    let one = json(&manyhands(&["lab", "list", "e12", "--json"]));
    let experiment = &one["experiments"][0];
    assert_eq!(experiment["cases"][0]["unit"], "millisecond");
    assert!(experiment["standard_seconds"].as_f64() > Some(1.0), "{one}");

    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let arguments = ["lab", "run", "E6", "--quick", "--budget", "2s", "--json"];
    let ran = run(&out, &arguments);
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    let summary = json(&ran);
    let experiment = &summary["experiments"][0];
    assert_eq!(experiment["id"], "E6", "{summary}");
    assert!(experiment["claim"]["parts"][0]["verdict"].is_string());
    let paper = &experiment["published"][0];
    assert!(paper["source"].is_string(), "{experiment}");
    let there = &paper["speed_ups"][0];
    assert!(
        there["there"].is_f64() && there["here"]["median"].is_f64(),
        "{paper}"
    );
    let kept = fs::read_to_string(out.join("summary.json")).expect("the summary");
    assert_eq!(text(&ran.stdout).trim_end(), kept);

    let out = folder.path().join("pair");
    let ran = manyhands(&[
        "lab",
        "command",
        "--quick",
        "--budget",
        "2s",
        "--json",
        "--out",
        path(&out),
        "--",
        "true",
        "--vs",
        "true",
    ]);
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    assert_eq!(json(&ran)["experiments"][0]["id"], "commands");
}

#[test]
#[cfg(unix)]
fn the_cpu_time_of_a_command_is_its_own_and_its_memory_is_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let counting = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let command = ["lab", "command", "--quick", "--memory", "--json"];
    let pair = ["--", "true", "--vs", "sh", "-c", counting];
    let ran = manyhands(&[&command[..], &["--out", path(&out)], &pair].concat());
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    let times = &json(&ran)["experiments"][0]["cases"][0]["points"][0]["times"][1];
    // Without it there is a tenth of a millisecond, for starting it.
    assert!(times["cpu"].as_f64() > Some(5e6), "{times}");
    assert!(times["allocations"].is_null(), "{times}");
    let report = fs::read_to_string(out.join("report.html")).expect("the report");
    assert!(report.contains(">CPU time<") && !report.contains(">allocations<"));
    assert!(!report.contains(">peak memory<"));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    fn check(arguments: &[&str], code: i32, culprit: &str) {
        let output = manyhands(arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.contains(culprit), "'{culprit}' is missing in: {err}");
    }
    check(&["lab", "report", "no-such-folder"], 1, "no-such-folder");
    fn refused(arguments: &[&str], culprit: &str) {
        let command = format!("manyhands lab {}", arguments[0]);
        let arguments = [&["lab"], arguments].concat();
        check_refusal(&manyhands(&arguments), culprit, &command);
    }
    refused(&["run", "E99"], "E99");
    refused(&["run", "E\x1b[2J"], "E\\u{1b}[2J");
    refused(&["run", "E3", "--seed", "E\x1b[2J"], "E\\u{1b}[2J");
    refused(&["run"], "<ID>");
    refused(&["run", "E3", "--quick", "--full"], "--full");
    refused(&["run", "E3", "--budget", "soon"], "soon");
    refused(&["run", "E3", "--launches", "1"], "--launches 1");
    refused(&["run", "E3", "--out", "Cargo.toml"], "Cargo.toml");
    refused(&["command", "--", "true"], "--vs");
    let missing = ["command", "--", "no-such-program", "--vs", "true"];
    refused(&missing, "no-such-program");
    let steering = ["command", "--", "true", "\x1b[2J", "--vs", "true"];
    refused(&steering, "control characters");
    // A run of it could neither be read back nor resumed.
    let unseen = ["command", "--", "true", "a\u{200b}b", "--vs", "true"];
    refused(&unseen, "nobody sees");
    #[cfg(unix)]
    {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let mut program = Command::new(env!("CARGO_BIN_EXE_manyhands"));
        program
            .args(["lab", "command", "--", "true"])
            .arg(OsStr::from_bytes(b"\xff"));
        let output = program.args(["--vs", "true"]).output().expect("it starts");
        check_refusal(&output, "no UTF-8", "manyhands lab command");
    }
}

#[test]
fn damaged_results_are_named_with_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let ran = run(&out, &["lab", "run", "E6", "--quick", "--budget", "2s"]);
    assert!(is_done(&ran), "{}", text(&ran.stderr));
    let events = out.join("events.ndjson");
    let text_of_events = fs::read_to_string(&events).expect("events");
    fs::write(&events, format!("nonsense\n{text_of_events}")).expect("the folder is writable");
    let output = manyhands(&["lab", "report", path(&out)]);
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(
        err.contains("events.ndjson") && err.contains("line 1"),
        "{err}"
    );
    let skipped = manyhands(&["lab", "report", "--skip-damaged", path(&out)]);
    assert!(is_done(&skipped), "{}", text(&skipped.stderr));
    let printed = text(&skipped.stdout);
    assert!(
        printed.contains("lines 1 ") && printed.contains("E6"),
        "{printed}"
    );
    // What is about an arm that the case does not have is left aside.
    let block = text_of_events
        .lines()
        .find(|line| line.contains("checksum"));
    let mut event: serde_json::Value = serde_json::from_str(block.expect("a block")).expect("JSON");
    event["event"] = "memory".into();
    event["arm"] = u32::MAX.into();
    event["peak_bytes"] = 1.into();
    fs::write(&events, format!("{text_of_events}{event}\n")).expect("the folder is writable");
    let output = manyhands(&["lab", "report", path(&out)]);
    assert!(is_done(&output), "{}", text(&output.stderr));
}

fn run(out: &Path, arguments: &[&str]) -> Output {
    let mut all = arguments.to_vec();
    all.extend(["--out", path(out)]);
    manyhands(&all)
}

/// Whether a run ended well; on a machine that is not quiet the code says so.
fn is_done(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 3))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
