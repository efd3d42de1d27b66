//! A process that runs one case, and its parent's part.

use crate::cases::{CASES, Refusal};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write, stderr, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Whether the parent can refuse threads to a child; reports if not, also where the output of tests is captured.
pub(crate) fn can_be_refused() -> bool {
    let is_root = Command::new("id").arg("-u").output();
    let is_root = is_root.is_ok_and(|output| output.stdout == b"0\n");
    let why = if !is_root {
        "only root can run a program as a user without threads"
    } else if Command::new("prlimit").arg("--version").output().is_err() {
        "there is no `prlimit` (Debian's package util-linux has it)"
    } else {
        return true;
    };
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(stderr(), "\nSKIPPED {name}: {why}");
    false
}

/// Runs a case in a child; returns what went wrong.
pub(crate) fn run(name: &str, refusal: Refusal) -> Result<(), String> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CASE, name)
        .env(REFUSAL, format!("{refusal:?}"))
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if name == "broken error stream" {
        drop(child.stderr.take());
    }
    let (say, heard) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    let listener = thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if say.send(line).is_err() {
                break;
            }
        }
    });
    let result = converse(&mut child, &heard);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    listener.join().unwrap();
    result.map_err(|what| format!("{what}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Does what the child requests until it reports its end.
fn converse(child: &mut Child, heard: &mpsc::Receiver<String>) -> Result<(), String> {
    loop {
        let line = heard
            .recv_timeout(LIMIT)
            .map_err(|error| format!("not ended: {error}"))?;
        let limit = match line.rsplit(' ').next() {
            Some("REFUSE") => "--nproc=0:4096".to_owned(),
            Some("ALLOW") => "--nproc=4096:4096".to_owned(),
            Some("FILES") => "--nofile=3:3".to_owned(),
            Some("MEMORY") => format!("--as={}:unlimited", memory_of(child) + MEMORY_LEFT),
            Some("MORE") => "--as=unlimited:unlimited".to_owned(),
            Some("ENDED") => return Ok(()),
            _ => continue,
        };
        let pid = child.id().to_string();
        let set = Command::new("prlimit")
            .args(["--pid", &pid, &limit])
            .uid(NOBODY)
            .gid(NOBODY)
            .status();
        assert!(set.unwrap().success(), "prlimit works on one's own");
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
}

/// How much address space the child uses, in bytes.
fn memory_of(child: &Child) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.unwrap().parse::<usize>().unwrap() * 1024
}

/// Child: requests something of the parent.
pub(crate) fn ask(what: &str) {
    say(what);
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
}

fn say(what: &str) {
    // A line of its own, after what the test harness has written.
    let mut stdout = stdout().lock();
    writeln!(stdout, "\n{what}").unwrap();
    stdout.flush().unwrap();
}

/// Child: runs its case.
pub(crate) fn play() {
    let (Ok(name), Ok(refusal)) = (env::var(CASE), env::var(REFUSAL)) else {
        return;
    };
    let case = CASES.iter().find(|(known, _)| *known == name).unwrap().1;
    let refusal = if refusal == "Always" {
        Refusal::Always
    } else {
        Refusal::AtFirst
    };
    case(refusal);
    say("ENDED");
}

const CASE: &str = "MANYHANDS_SCARCE_CASE";
const REFUSAL: &str = "MANYHANDS_SCARCE_REFUSAL";
/// Enough for everything but the stack of a worker of [`STACK`](crate::cases::STACK) bytes.
const MEMORY_LEFT: usize = 64 << 20;
const NOBODY: u32 = 65_534;
const LIMIT: Duration = Duration::from_secs(30);
