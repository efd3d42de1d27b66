//! For tests: code that ends the process is tested in a process of its own.

use std::env;
use std::process::Command;

const CHILD: &str = "MANYHANDS_TEST_ENDS";

/// Runs `work` in another process, which it must end with the message `sentence`. `test` is the full name of the
/// test that calls this.
pub(crate) fn assert_ends_process(test: &str, sentence: &str, work: impl FnOnce()) {
    if env::var_os(CHILD).is_some() {
        return work();
    }
    let program = env::current_exe().expect("a test has a program");
    let child = Command::new(program)
        .args(["--exact", "--nocapture", test])
        .env(CHILD, "1")
        .output()
        .expect("the program can be started again");
    let said = String::from_utf8_lossy(&child.stderr);
    let ran = String::from_utf8_lossy(&child.stdout);
    assert!(ran.contains("running 1 test"), "there is no test {test}");
    assert!(!child.status.success(), "it has not ended the process");
    assert!(said.contains(sentence), "{said}");
}
