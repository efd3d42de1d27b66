//! The system refuses threads: a call waits, and goes on once they are allowed. A child process that is not root's makes the
//! call; the parent sets its limit of processes.
#![cfg(target_os = "linux")]

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const NOBODY: u32 = 65_534;
/// Says to the child that it is one.
const CHILD: &str = "RAYON_CORE_REFUSED";
/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(30);

/// A program that runs as nobody.
fn as_nobody(program: &str) -> Command {
    let mut command = Command::new(program);
    command.uid(NOBODY).gid(NOBODY);
    command
}

/// The child, without threads, which makes this call.
fn start_child(call: &str) -> Child {
    as_nobody("prlimit")
        .arg("--nproc=0:4096")
        .arg(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, call)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_call_goes_on_when_threads_are_allowed_again() {
    goes_on("join");
}

#[test]
fn a_broadcast_of_a_thread_of_the_pool_goes_on_when_others_are_allowed_again() {
    goes_on("broadcast");
}

fn goes_on(call: &str) {
    if !as_nobody("prlimit")
        .output()
        .is_ok_and(|ran| ran.status.success())
    {
        let _ = writeln!(io::stderr(), "\nSKIPPED: this needs root, and `prlimit`");
        return;
    }
    let mut child = start_child(call);
    let (say, heard) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = output.lines().map_while(Result::ok);
    thread::spawn(move || lines.for_each(|line| drop(say.send(line))));
    let hears = |word: &str| {
        let mut lines = std::iter::from_fn(|| heard.recv_timeout(DEADLINE).ok());
        lines.any(|line| line == word)
    };
    let is_refused = hears("REFUSED");
    let allow = ["--nproc=4096:4096", "--pid", &child.id().to_string()];
    as_nobody("prlimit").args(allow).status().unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let has_ended = hears("ENDED");
    let _ = child.kill();
    child.wait().unwrap();
    assert_eq!((is_refused, has_ended), (true, true));
}

/// The child's part; nothing where it is run as a test.
#[test]
fn child() {
    let Ok(call) = env::var(CHILD) else {
        return;
    };
    assert!(thread::Builder::new().spawn(|| ()).is_err());
    if call == "join" {
        // A thread is called for this. Until it comes, no other one is called.
        rayon::spawn(|| ());
        say("REFUSED");
        io::stdin().read_line(&mut String::new()).unwrap();
        assert_eq!(rayon::join(|| 1, || 2), (1, 2));
    } else {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
        pool.use_current_thread().build_global().unwrap();
        say("REFUSED");
        // Waits from before threads are allowed until after.
        assert_eq!(rayon::broadcast(|context| context.index()), [0, 1]);
    }
    say("ENDED");
}

fn say(word: &str) {
    // A line of its own, after what the test harness has written.
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "\n{word}").unwrap();
}
