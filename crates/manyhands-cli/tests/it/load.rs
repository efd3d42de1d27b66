//! The processes that make a machine busy.

use std::{
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

#[test]
fn a_process_that_computes_ends_when_nobody_holds_its_input() {
    let busy = Command::new(env!("CARGO_BIN_EXE_manyhands"))
        .args(["lab", "busy"])
        .stdin(Stdio::piped())
        .spawn();
    let mut busy = busy.expect("the binary starts");
    assert!(busy.try_wait().expect("a status").is_none(), "it computes");
    drop(busy.stdin.take());
    let (end, ended) = mpsc::channel();
    let wait = |mut busy: Child| busy.wait().expect("a status").code();
    thread::spawn(move || end.send(wait(busy)).expect("somebody listens"));
    let code = ended.recv_timeout(Duration::from_secs(60));
    assert_eq!(code.expect("it ends"), Some(0));
}
