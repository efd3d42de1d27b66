//! A runtime with tokio where the system refuses a resource. Each test also runs in a process of its own, with limits,
//! because the limits and tokio's resources belong to the process.

use crate::support::in_time;
use manyhands::{BuildError, Runtime, task};
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::iter::from_fn;
use std::process::Command;

/// Marks the process that has limits.
const LIMITED: &str = "MANYHANDS_LIMITED";

/// Whether this process has limits. Otherwise runs `test` in a process whose limits are set by `limit`.
fn is_limited(test: &str, limit: &str) -> bool {
    if env::var_os(LIMITED).is_some() {
        return true;
    }
    let program = env::current_exe().unwrap();
    let run = Command::new("sh")
        .args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")])
        .arg(program)
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(LIMITED, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{output}");
    assert!(output.contains("1 passed"), "{output}");
    false
}

fn refused() -> BuildError {
    let built = Runtime::builder().workers(1).tokio().build();
    built.expect_err("the system refuses")
}

fn system_s_number(error: &BuildError) -> Option<i32> {
    let source = error.source().unwrap().downcast_ref::<io::Error>();
    source.unwrap().raw_os_error()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until the process has no more than `most` threads, beside the one that waits.
fn wait_for_threads(most: usize) {
    in_time(move || {
        while fs::read_dir("/proc/self/task").unwrap().count() > most + 1 {
            std::thread::yield_now();
        }
    });
}

#[test]
#[cfg(target_os = "linux")]
fn refused_descriptors_are_the_source_of_the_error_and_later_there_may_be_some() {
    if !is_limited(
        "refused::refused_descriptors_are_the_source_of_the_error_and_later_there_may_be_some",
        "ulimit -n 64",
    ) {
        return;
    }
    // One is left for counting them, which is not enough.
    let mut files: Vec<File> = from_fn(|| File::open("/dev/null").ok()).collect();
    files.truncate(files.len() - 1);
    let before = descriptors();
    for _ in 0..50 {
        let error = refused();
        assert_eq!(
            system_s_number(&error),
            Some(24),
            "{error}: too many open files"
        );
        assert_eq!(error, refused());
        assert!(error.to_string().contains("tokio"), "{error}");
    }
    assert_eq!(descriptors(), before);
    drop(files);
    // This test's and its harness's.
    wait_for_threads(2);
    let runtime = Runtime::builder().workers(1).tokio().build().unwrap();
    assert_eq!(runtime.install(|| task::run(|| 1)).join().unwrap(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_refused_thread_is_the_source_of_the_error_and_leaves_no_descriptors() {
    // Room for the program, but not for the stack of another thread.
    if !is_limited(
        "refused::a_refused_thread_is_the_source_of_the_error_and_leaves_no_descriptors",
        "ulimit -v 4000000 && export RUST_MIN_STACK=8000000000",
    ) {
        return;
    }
    let before = descriptors();
    for _ in 0..50 {
        let error = refused();
        assert_eq!(system_s_number(&error), Some(11), "{error}: try again");
    }
    assert_eq!(descriptors(), before);
}
