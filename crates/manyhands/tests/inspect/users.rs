//! Who may look: a process of another user gets no answer, even where the socket and its folder let it in.

use manyhands::diagnostics;
use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write, stderr, stdout};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SOCKET: &str = "MANYHANDS_TEST_SOCKET";
/// Before each line that the child has read.
const READ: &str = "the program says: ";
/// The user without rights of most systems.
const NOBODY: u32 = 65_534;
const LIMIT: Duration = Duration::from_secs(60);

#[test]
#[ignore = "started by the test below"]
fn child() {
    let path = env::var_os(SOCKET).unwrap();
    let stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) => return say(&format!("{:?}", error.kind())),
    };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    (&stream)
        .write_all(b"{\"get\":\"deadlocks\"}\n")
        .unwrap_or_default();
    let mut lines = BufReader::new(&stream).lines();
    while let Some(Ok(line)) = lines.next() {
        say(&line);
        if line.contains("\"end\"") {
            break;
        }
    }
}

/// Unlike `println!`, also where the harness captures what tests print.
fn say(line: &str) {
    let mut output = stdout();
    writeln!(output, "{READ}{line}").unwrap();
}

/// What a process of this user reads from the socket, up to the end of the first answer or of the connection.
fn read_as(user: u32, socket: &Path) -> Vec<String> {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "users::child", "--ignored", "--nocapture"])
        .env(SOCKET, socket)
        .current_dir("/")
        .uid(user)
        .gid(user)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // The harness begins the first line.
    let lines = text.lines().filter_map(|line| line.split_once(READ));
    lines.map(|(_, line)| line.to_owned()).collect()
}

#[test]
fn a_process_of_another_user_that_can_open_the_socket_is_refused() {
    let folder = env::temp_dir().join(format!("manyhands-users-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let own = fs::metadata(&folder).unwrap().uid();
    if own != 0 {
        fs::remove_dir(&folder).unwrap();
        let why = "only root can run a program as another user";
        let _ = writeln!(
            stderr(),
            "\nSKIPPED users::a_process_of_another_user: {why}"
        );
        return;
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let socket = folder.join("inspect.sock");
    diagnostics::serve_at(&socket).unwrap();

    assert_eq!(read_as(NOBODY, &socket), ["PermissionDenied"]);
    // Now only the look at the other end of the connection is left.
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    let said = read_as(NOBODY, &socket);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("{\"error\":{\"code\":\"refused\""),
        "{said:?}"
    );
    let said = read_as(own, &socket);
    assert!(said[0].starts_with("{\"manyhands_inspect\":"), "{said:?}");
    assert!(
        said.last().unwrap().contains("\"end\":\"deadlocks\""),
        "{said:?}"
    );
    fs::remove_dir_all(&folder).unwrap();
}
