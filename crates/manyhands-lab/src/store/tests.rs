//! What is written is read, damage is named, and two writers do not meet.

use super::*;
use crate::{
    machine::Machine,
    record::{Scale, Settings},
    run,
};

fn head(seed: u64) -> Head {
    let settings = Settings::new(Scale::Quick, seed);
    run::head(&[], settings, Machine::here(), "2026-01-01T00:00:00Z")
}

fn event(launch: u32) -> Event {
    Event::Launched {
        experiment: "X".to_owned(),
        case: "c\n\"quoted\"".to_owned(),
        launch,
        clock_cost_nanos: 20.0,
        clock_grain_nanos: 0.1 + 0.2,
    }
}

/// Time that every event of these tests happens at.
const SPENT: Duration = Duration::from_millis(1_234);

/// A folder with three events.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), &head(1), Existing::Keep).unwrap();
    for launch in 0..3 {
        store.append(&event(launch), SPENT).unwrap();
    }
    folder
}

fn events_of(folder: &Path) -> Vec<u8> {
    fs::read(folder.join(EVENTS)).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let folder = folder();
    let recording = read(folder.path(), Damage::Refuse).unwrap();
    assert_eq!(recording.head, head(1));
    assert_eq!(recording.events, [event(0), event(1), event(2)]);
    assert_eq!(recording.spent, SPENT);
}

#[test]
fn lines_that_tell_no_time_are_read() {
    let folder = folder();
    let old = serde_json::to_string(&event(7)).unwrap() + "\n";
    fs::write(folder.path().join(EVENTS), old).unwrap();
    let recording = read(folder.path(), Damage::Refuse).unwrap();
    assert_eq!(recording.events, [event(7)]);
    assert_eq!(recording.spent, Duration::ZERO);
}

#[test]
fn a_line_cut_anywhere_is_dropped_and_the_run_goes_on_behind_the_last_whole_one() {
    let folder = folder();
    let whole = events_of(folder.path());
    let line = whole.len() / 3;
    for cut in line..whole.len() {
        fs::write(folder.path().join(EVENTS), &whole[..cut]).unwrap();
        let (mut store, recording) = Store::resume(folder.path(), Damage::Refuse).unwrap();
        assert_eq!(recording.events.len(), cut / line, "cut at {cut}");
        store.append(&event(9), SPENT).unwrap();
        let read = read(folder.path(), Damage::Refuse).unwrap();
        assert_eq!(read.events.last(), Some(&event(9)));
        assert_eq!(read.events.len(), cut / line + 1);
    }
}

#[test]
fn damage_before_the_last_line_is_named_by_its_line() {
    fn check(damage: impl Fn(&mut Vec<u8>, usize), expected: usize) {
        let folder = folder();
        let mut bytes = events_of(folder.path());
        let line = bytes.len() / 3;
        damage(&mut bytes, line);
        fs::write(folder.path().join(EVENTS), bytes).unwrap();
        let error = read(folder.path(), Damage::Refuse).unwrap_err();
        assert!(error.to_string().contains(EVENTS), "{error}");
        match error {
            LabError::Damaged { line, .. } => assert_eq!(line, expected),
            other => panic!("{other}"),
        }
    }
    check(|bytes, _| bytes[0] = b'x', 1);
    check(|bytes, line| bytes[line + 3] = 0, 2);
    // A line that ends was written whole, so what is wrong with it is damage.
    check(|bytes, line| bytes[2 * line + 3] = 0xff, 3);
    check(|bytes, line| drop(bytes.splice(line..line, *b"\n")), 2);
}

#[test]
fn a_damaged_line_in_the_middle_costs_that_line_if_asked() {
    let folder = folder();
    let mut bytes = events_of(folder.path());
    let line = bytes.len() / 3;
    bytes[line + 3] = 0;
    fs::write(folder.path().join(EVENTS), &bytes).unwrap();
    let recording = read(folder.path(), Damage::Skip).unwrap();
    assert_eq!(recording.events, [event(0), event(2)]);
    assert_eq!(recording.skipped, [2]);
    // A run that goes on is written behind the last line.
    let (mut store, _) = Store::resume(folder.path(), Damage::Skip).unwrap();
    store.append(&event(3), SPENT).unwrap();
    let recording = read(folder.path(), Damage::Skip).unwrap();
    assert_eq!(recording.events, [event(0), event(2), event(3)]);
}

#[test]
fn an_unknown_format_is_refused_whatever_else_the_head_holds() {
    let folder = folder();
    fs::write(folder.path().join(HEAD), r#"{"format": 99, "new": []}"#).unwrap();
    let error = read(folder.path(), Damage::Refuse).unwrap_err();
    assert!(
        matches!(error, LabError::UnknownFormat { found: 99, .. }),
        "{error}"
    );
    fs::write(folder.path().join(HEAD), "{").unwrap();
    let error = read(folder.path(), Damage::Refuse).unwrap_err();
    assert!(
        matches!(error, LabError::Damaged { line: 1, .. }),
        "{error}"
    );
}

#[test]
fn a_head_with_control_characters_in_a_name_is_refused() {
    let folder = folder();
    let path = folder.path().join(HEAD);
    let text = fs::read_to_string(&path).unwrap();
    let steering = text.replace("2026-01-01T00:00:00Z", "\\u001b[2J");
    assert_ne!(text, steering);
    fs::write(&path, steering).unwrap();
    let error = read(folder.path(), Damage::Refuse).unwrap_err();
    assert!(error.to_string().contains("control characters"), "{error}");
}

#[test]
fn a_run_is_replaced_only_if_asked_to() {
    let folder = folder();
    let create = |existing| Store::create(folder.path(), &head(2), existing);
    let error = create(Existing::Keep).unwrap_err();
    assert!(matches!(error, LabError::FolderInUse { .. }), "{error}");
    assert_eq!(read(folder.path(), Damage::Refuse).unwrap().events.len(), 3);
    drop(create(Existing::Replace).unwrap());
    let recording = read(folder.path(), Damage::Refuse).unwrap();
    assert_eq!((recording.head, recording.events), (head(2), Vec::new()));
}

#[test]
fn a_run_that_is_replaced_goes_with_its_reports_and_nothing_else() {
    let folder = folder();
    let (mut store, _) = Store::resume(folder.path(), Damage::Refuse).unwrap();
    let computed = ["report.html", "charts/old.svg", "charts/old.png"];
    let others = ["notes.txt", "charts/notes.txt", "charts/holiday.png"];
    let files = computed.map(|name| (name, &b"text"[..]));
    assert_eq!(store.write(&files).unwrap(), [""; 0]);
    drop(store);
    for name in others {
        fs::write(folder.path().join(name), "mine").unwrap();
    }
    drop(Store::create(folder.path(), &head(2), Existing::Replace).unwrap());
    let is_there = |name: &&str| folder.path().join(name).exists();
    assert!(!computed.iter().any(&is_there));
    assert!(others.iter().all(is_there));
}

#[test]
fn a_file_that_somebody_else_made_is_neither_replaced_nor_removed() {
    for name in [
        "report.html",
        "events.ndjson",
        "run.json.new",
        "report.md.new",
    ] {
        for existing in [Existing::Keep, Existing::Replace] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::write(&path, "mine").unwrap();
            let error = Store::create(folder.path(), &head(1), existing)
                .map(drop)
                .unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert!(matches!(error, LabError::ForeignFile { .. }), "{error}");
            assert_eq!(fs::read(&path).unwrap(), b"mine");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
    // One that appears later is left alone, and the others are written.
    let folder = folder();
    let (mut store, _) = Store::resume(folder.path(), Damage::Refuse).unwrap();
    fs::write(folder.path().join("report.md"), "mine").unwrap();
    let files = ["report.html", "report.md"].map(|name| (name, &b"ours"[..]));
    assert_eq!(store.write(&files).unwrap(), ["report.md"]);
    let content = |name| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(content("report.md"), b"mine");
    assert_eq!(content("report.html"), b"ours");
    #[cfg(unix)]
    for name in ["report.html.new", "run.files.json.new"] {
        let theirs = folder.path().join("report.md");
        std::os::unix::fs::symlink(theirs, folder.path().join(name)).unwrap();
        store
            .write(&[("report.html", b"ours"), (name, b"")])
            .unwrap();
        assert_eq!(content("report.md"), b"mine", "{name}");
    }
}

#[test]
fn the_refusal_to_replace_names_the_ways_out() {
    let folder = folder();
    let refused = Store::create(folder.path(), &head(2), Existing::Keep).map(drop);
    let message = refused.unwrap_err().to_string();
    for way in ["resume", "--replace", "--out"] {
        assert!(message.contains(way), "{way}: {message}");
    }
}

#[test]
fn what_a_killed_beginning_leaves_is_no_run() {
    let folder = folder();
    fs::remove_file(folder.path().join(HEAD)).unwrap();
    drop(Store::create(folder.path(), &head(2), Existing::Keep).unwrap());
    assert!(
        read(folder.path(), Damage::Refuse)
            .unwrap()
            .events
            .is_empty()
    );
}

#[test]
fn a_folder_has_one_writer_and_any_number_of_readers() {
    let folder = folder();
    let (store, _) = Store::resume(folder.path(), Damage::Refuse).unwrap();
    let second = Store::resume(folder.path(), Damage::Refuse)
        .map(drop)
        .unwrap_err();
    assert!(matches!(second, LabError::FolderLocked { .. }), "{second}");
    let third = Store::create(folder.path(), &head(2), Existing::Replace).unwrap_err();
    assert!(matches!(third, LabError::FolderLocked { .. }), "{third}");
    assert_eq!(read(folder.path(), Damage::Refuse).unwrap().events.len(), 3);
    drop(store);
    assert!(Store::resume(folder.path(), Damage::Refuse).is_ok());
}

#[test]
fn the_lock_ends_with_the_store_also_if_a_starting_process_has_a_copy_of_the_file() {
    let folder = folder();
    let (store, _) = Store::resume(folder.path(), Damage::Refuse).unwrap();
    let copy = store.lock.try_clone().unwrap();
    drop(store);
    assert!(Store::resume(folder.path(), Damage::Refuse).is_ok());
    drop(copy);
}

#[test]
fn derived_files_are_replaced_whole() {
    let folder = folder();
    let (mut store, _) = Store::resume(folder.path(), Damage::Refuse).unwrap();
    for content in [&b"long first version"[..], b"second"] {
        store.write(&[("charts/a.svg", content)]).unwrap();
    }
    let path = folder.path().join("charts");
    assert_eq!(fs::read(path.join("a.svg")).unwrap(), b"second");
    assert_eq!(fs::read_dir(path).unwrap().count(), 1);
}

#[test]
fn a_folder_without_a_run_cannot_go_on() {
    let folder = tempfile::tempdir().unwrap();
    match Store::resume(folder.path(), Damage::Refuse).map(drop) {
        Err(LabError::File { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
}
