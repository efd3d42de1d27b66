//! Looking at a program: here a socket that answers as one does.

#[cfg(feature = "page")]
use crate::ended::{DEADLINE, Ended};
use crate::{check_refusal, manyhands, text};
use std::fs::Permissions;
#[cfg(feature = "page")]
use std::io::Read;
use std::io::{self, BufRead, BufReader, Write};
#[cfg(feature = "page")]
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const HELLO: &str = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
const TASK: &str = r#"{"task":{"number":"3","kind":"future","id":"7f","name":"clerk","type":"office::clerk","spawned_at":"src/main.rs:7:1","parent":null,"runtime":1,"worker":0,"state":"waiting","in_state_us":1500,"age_us":2000,"busy_us":12,"polls":3,"wakes":2,"waits":[{"kind":"receive","resource":"7f","owner":null,"at":"src/office.rs:12:9","waiting_us":1400,"direct":true}],"waits_left_out":0,"may_wait_for_more":false,"changes":9}}"#;
const REPORT: &str = r#"{"report":{"body":"office::price::{{closure}}","called_at":"src/office.rs:31:5","verdict":"one_runner","ran":"3 items ran.","why":"One was allowed.","items":3,"blocks":1,"runners":1,"threads":1,"elapsed_us":9,"busy_us":9,"alone_us":9,"imbalance_percent":100,"calls":2,"ended_us":7}}"#;

/// A program that answers one client after the other; returns the path of its socket.
fn program(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("7.sock");
    let listener = UnixListener::bind(&path).expect("the folder is new");
    // Ends with the test's process; a client may leave early, which is no reason to end.
    thread::spawn(move || {
        loop {
            let _ = answer(&listener);
        }
    });
    path
}

fn answer(listener: &UnixListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    writeln!(stream, "{HELLO}")?;
    let mut requests = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = String::new();
        if requests.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let kinds = ["snapshot", "changes"];
        if let Some(kind) = kinds.into_iter().find(|kind| request.contains(kind)) {
            writeln!(stream, "{TASK}")?;
            writeln!(stream, r#"{{"end":"{kind}","tasks":1,"tasks_left_out":0}}"#)?;
        } else if request.contains("reports") {
            writeln!(stream, "{REPORT}")?;
            writeln!(stream, r#"{{"end":"reports","reports":1}}"#)?;
        } else {
            assert!(request.contains("deadlocks"), "{request}");
            writeln!(stream, r#"{{"end":"deadlocks","deadlocks":0}}"#)?;
        }
    }
}

/// A program with a socket of this name that answers each request of one client.
fn answering(
    folder: &tempfile::TempDir,
    name: &str,
    answer: impl Fn(&str) -> String + Send + 'static,
) -> PathBuf {
    let path = folder.path().join(name);
    let listener = UnixListener::bind(&path).expect("the folder is new");
    let serve = move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        writeln!(stream, "{HELLO}")?;
        let mut requests = BufReader::new(stream.try_clone()?).lines();
        while let Some(request) = requests.next().transpose()? {
            writeln!(stream, "{}", answer(&request))?;
        }
        Ok(())
    };
    thread::spawn(move || serve().expect("the client stays until it has its answers"));
    path
}

#[test]
fn the_tasks_of_a_program_are_printed_as_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let output = manyhands(&["inspect", "--text", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    for part in [
        "clerk",
        "waiting",
        "receive 7f",
        "src/office.rs:12",
        "one runner",
        "src/office.rs:31: 3 items ran. One was allowed.",
    ] {
        assert!(out.contains(part), "'{part}' is missing in: {out}");
    }
}

/// A program that answers one client's request for its stacks with a thread that is silent, and that for its groups.
fn program_with_stacks(folder: &tempfile::TempDir) -> PathBuf {
    const STACK: &str = r#"{"stack":{"runtime":1,"worker":0,"thread":70,"name":"office-0","state":"running","task_spawned_at":"src/main.rs:7:1","missing":"silent","registers":null,"length":0,"words":[],"cut":false}}"#;
    const GROUP: &str = r#"{"group":{"kind":"future","type":"office::clerk","spawned_at":"src/main.rs:7:1","state":"waiting","waits_for":"receive","at":"src/office.rs:12:9","tasks":1000000,"examples":["3","9"],"longest_us":7}}"#;
    answering(folder, "8.sock", |request| {
        if request.contains("stacks") {
            let code = r#"{"code":{"architecture":"x86_64","mappings":[]}}"#;
            format!("{code}\n{STACK}\n{{\"end\":\"stacks\",\"threads\":1}}")
        } else {
            format!("{GROUP}\n{{\"end\":\"groups\",\"groups\":1,\"groups_left_out\":0}}")
        }
    })
}

#[test]
fn stacks_are_printed_with_those_that_are_missing_and_tasks_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = program_with_stacks(&folder);
    let output = manyhands(&["inspect", "--stacks", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    for part in [
        "worker 0 of runtime 1, 'office-0' (thread 70): running, the task of src/main.rs:7:1",
        "did not answer in time",
        "1 × worker 0",
        "1000000 tasks",
        "waits for receive  src/office.rs:12:9",
    ] {
        assert!(out.contains(part), "'{part}' is missing in: {out}");
    }
    let json = manyhands(&[
        "inspect",
        "--stacks",
        "--json",
        "--socket",
        program_with_stacks(&tempfile::tempdir_in(&folder).unwrap())
            .to_str()
            .unwrap(),
    ]);
    let object: serde_json::Value = serde_json::from_str(&text(&json.stdout)).unwrap();
    assert_eq!(object["stacks"]["threads"][0]["missing"], "silent");
    assert_eq!(object["task_graph"]["stacks"], 1_000_000);
}

/// A program that means harm: its texts are orders to a terminal, and its code is said to be in a pipe, which who opens waits.
fn hostile_program(folder: &tempfile::TempDir) -> PathBuf {
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("there is mkfifo").success());
    answering(folder, "10.sock", move |request| {
        let pipe = pipe.display();
        let orders = "\\u001b]8;;http://evil\\u0007 \\u009b2J \u{9b}31m \\u202e \\r";
        let kind = ["snapshot", "deadlocks", "groups", "reports", "stacks"]
            .into_iter()
            .find(|kind| request.contains(kind))
            .expect("a client asks for one of these");
        let line = match kind {
            "snapshot" => TASK.replace("clerk", &format!("clerk {orders}")),
            "reports" => REPORT.replace("One was", &format!("One {orders} was")),
            "deadlocks" => format!(
                r#"{{"starvation":{{"runtime":1,"name":"{orders}","queued":2,"because":"limit","text":"starved {orders}"}}}}"#
            ),
            "groups" => format!(
                r#"{{"group":{{"kind":"future","type":"{orders}","spawned_at":"{orders}","state":"waiting","waits_for":"receive","at":"{orders}","tasks":1,"examples":["3"],"longest_us":7}}}}"#
            ),
            _ => format!(
                r#"{{"code":{{"architecture":"x86_64","mappings":[{{"start":"1000","end":"9000","offset":"0","path":"{pipe}"}}]}}}}
{{"stack":{{"runtime":1,"worker":0,"thread":70,"name":"{orders}","state":"running","task_spawned_at":null,"missing":null,"registers":{{"instruction":"1010","stack":"7000","frame":"0","link":"0"}},"length":0,"words":[],"cut":false}}}}"#
            ),
        };
        format!(
            "{line}\n{{\"end\":\"{kind}\",\"tasks\":1,\"tasks_left_out\":0,\"groups_left_out\":0}}"
        )
    })
}

#[test]
fn what_a_program_says_is_not_obeyed_by_the_terminal_nor_opened_if_it_is_no_file() {
    for form in [&["--text"][..], &["--json"], &["--stacks"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = hostile_program(&folder);
        let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
        command.arg("inspect").args(form).arg("--socket").arg(path);
        let (ended, end) = mpsc::channel();
        let waiting = thread::spawn(move || ended.send(command.output()));
        let output = end.recv_timeout(Duration::from_secs(60));
        let output = output.expect("it opens no pipe").unwrap();
        waiting.join().unwrap().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let out = text(&output.stdout);
        assert!(
            out.contains("2J") && out.contains("evil"),
            "{form:?}: {out}"
        );
        let is_order = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!out.contains(is_order), "{form:?}: {out:?}");
    }
}

#[test]
fn a_program_in_a_folder_that_others_may_enter_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let named = tempfile::Builder::new()
        .prefix("manyhands")
        .rand_bytes(0)
        .tempdir_in(folder.path());
    let sockets = named.unwrap();
    program(&sockets);
    for (mode, code) in [(0o700, 0), (0o711, 1)] {
        std::fs::set_permissions(sockets.path(), Permissions::from_mode(mode)).unwrap();
        for process in [&[][..], &["7"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
            command.env("XDG_RUNTIME_DIR", folder.path());
            let output = command.args(["inspect", "--text"]).args(process).output();
            let output = output.unwrap();
            assert_eq!(output.status.code(), Some(code), "{mode:o}: {output:?}");
            let err = text(&output.stderr);
            let is_refused = err.contains("a folder of this user that no other may enter");
            assert_eq!(is_refused, code == 1, "{mode:o}: {err}");
        }
    }
}

#[test]
fn a_program_of_another_user_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody else can look as another user.
    if folder.path().metadata().unwrap().uid() != 0 {
        return;
    }
    let path = program(&folder);
    let command = folder.path().join("manyhands");
    // By another process: a program that another test starts meanwhile would inherit the open file, and what is open for writing
    // cannot be run.
    let program = env!("CARGO_BIN_EXE_manyhands");
    let copied = Command::new("cp").arg(program).arg(&command).status();
    assert!(copied.unwrap().success());
    for path in [folder.path(), &path, &command] {
        std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(command);
    command.args(["inspect", "--text", "--socket"]).arg(path);
    let nobody = 65_534;
    let output = command.uid(nobody).gid(nobody).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let err = text(&output.stderr);
    assert!(
        err.contains("a process of the user with the number 0"),
        "{err}"
    );
}

/// A program that answers one client's request to poll a task, with one wait and no stack, or refuses.
fn program_that_polls(folder: &tempfile::TempDir, answer: String) -> PathBuf {
    answering(folder, "9.sock", move |request| {
        assert_eq!(request, r#"{"poll":"3"}"#);
        answer.clone()
    })
}

#[test]
fn a_task_that_was_polled_is_printed_with_its_waits_and_a_refusal_in_one_line() {
    let code = r#"{"code":{"architecture":"x86_64","mappings":[]}}"#;
    let leaf = r#"{"leaf":{"wait":0,"missing":"silent","registers":null,"length":0,"words":[],"cut":false}}"#;
    let polled = format!("{code}\n{TASK}\n{leaf}\n{{\"end\":\"poll\",\"ended\":false}}");
    let folder = tempfile::tempdir().unwrap();
    let path = program_that_polls(&folder, polled);
    let output = manyhands(&["inspect", "--poll", "3", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    for part in [
        "task 3 'clerk': waiting",
        "receive 7f at src/office.rs:12:9",
        "did not answer in time",
    ] {
        assert!(out.contains(part), "'{part}' is missing in: {out}");
    }
    let refusal = r#"{"error":{"code":"not_allowed","message":"this program does not let others act on it"}}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = program_that_polls(&folder, refusal.to_owned());
    let output = manyhands(&["inspect", "--poll", "3", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let err = text(&output.stderr);
    assert!(
        err.lines().count() == 1 && err.contains("does not let others act"),
        "{err}"
    );
}

#[test]
fn all_frames_are_those_of_stacks() {
    let output = manyhands(&["inspect", "7", "--all-frames"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn the_lines_of_a_program_are_printed_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let output = manyhands(&["inspect", "--json", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[3]["report"]["verdict"], "one_runner");
    assert_eq!(lines[0]["task"]["waits"][0]["kind"], "receive");
}

#[test]
fn a_program_that_does_not_listen_is_an_error_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sock");
    let output = manyhands(&["inspect", "--text", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(
        err.lines().count() == 1 && err.contains("MANYHANDS_INSPECT"),
        "{err}"
    );
    assert!(output.stdout.is_empty());
}

/// The page of a program, as the command serves it.
#[cfg(feature = "page")]
struct Page {
    server: Ended,
    host: String,
    token: String,
}

#[cfg(feature = "page")]
#[expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]
impl Page {
    /// Of the program that listens there, with these arguments more.
    fn of(path: &Path, arguments: &[&str]) -> Self {
        let inspect = ["inspect", "--socket", path.to_str().unwrap()];
        let (server, line) = Ended::printing(&[&inspect, arguments].concat());
        let address = line.trim_end().strip_prefix("open http://").unwrap();
        let (host, token) = address.split_once("/#").unwrap();
        Self {
            server,
            host: host.to_owned(),
            token: token.to_owned(),
        }
    }

    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let host = &self.host;
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// As a browser that has opened the address.
    fn ask_as_page(&self, request: &str) -> String {
        let (host, token) = (&self.host, &self.token);
        let headers = format!("Authorization: Bearer {token}\r\nOrigin: http://{host}\r\n");
        self.ask(request, &headers)
    }
}

#[cfg(feature = "page")]
#[test]
fn the_page_of_a_program_is_served_to_who_knows_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let page = Page::of(&program(&folder), &[]);
    assert!(page.ask("GET /view", "").starts_with("HTTP/1.1 401"));
    let answer = page.ask_as_page("GET /view");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("clerk"),
        "{answer}"
    );
}

#[cfg(feature = "page")]
#[test]
fn a_page_that_is_asked_to_end_says_that_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let page = Page::of(&program(&folder), &[]);
    page.server.is_sent("TERM");
    assert_eq!(page.server.code(), Some(130));
}

#[cfg(feature = "page")]
#[test]
fn the_page_can_be_held_and_released_if_the_command_was_given_control_and_else_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let page = Page::of(&path, &["--control"]);
    let is_held = |page: &Page, held: &str| {
        let answer = page.ask_as_page("GET /view");
        answer.contains("clerk") && answer.ends_with(&format!("\"held\":{held}}}"))
    };
    assert!(is_held(&page, "false"));
    for (change, held) in [("/hold", "true"), ("/release", "false")] {
        let unknown = page.ask(&format!("POST {change}"), "");
        assert!(unknown.starts_with("HTTP/1.1 401"), "{unknown}");
        let changed = page.ask_as_page(&format!("POST {change}"));
        assert!(changed.starts_with("HTTP/1.1 204"), "{changed}");
        assert!(is_held(&page, held), "{change}");
    }
    drop(page);
    let page = Page::of(&path, &[]);
    let refused = page.ask_as_page("POST /hold");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(is_held(&page, "null"));
}

#[test]
fn a_timeline_of_a_program_is_written_as_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let file = folder.path().join("timeline.json");
    let written = |file: &Path, seconds: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
        command.args(["inspect", "--quiet", "--seconds", seconds, "--timeline"]);
        let command = command.arg(file).arg("--socket").arg(&path);
        command.output().unwrap()
    };
    let output = written(&file, "1");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "", "nobody asked for a remark");
    // That is known before the hour.
    let output = written(&file.join("below"), "3600");
    let err = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && err.contains("timeline.json/below"),
        "{err}"
    );
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let row = events
        .iter()
        .find(|event| event["name"] == "thread_name")
        .unwrap();
    assert_eq!(row["args"]["name"], "task 3 'clerk'");
    let slice = "waiting: receive at src/office.rs:12:9";
    assert!(events.iter().any(|event| event["name"] == slice), "{trace}");
}

#[cfg(feature = "top")]
#[test]
fn a_terminal_view_without_a_terminal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let output = manyhands(&["top", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let err = text(&output.stderr);
    let first = err.lines().next().unwrap_or_default();
    assert!(first.contains("needs a terminal"), "{err}");
}

#[test]
fn a_process_and_a_socket_are_not_both_named_and_a_process_is_a_number() {
    let both = ["inspect", "1", "--socket", "x"];
    check_refusal(&manyhands(&both), "--socket", "manyhands inspect");
    check_refusal(
        &manyhands(&["inspect", "many"]),
        "many",
        "manyhands inspect",
    );
}
