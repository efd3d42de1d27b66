//! A process that does not outlive its test.

#[cfg(any(feature = "fleet", feature = "page"))]
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};
use std::{
    process::{Child, Command},
    sync::mpsc,
    thread,
    time::Duration,
};

pub(crate) struct Ended(pub(crate) Child);

impl Ended {
    /// The binary, which goes on, and the first line that it prints.
    #[cfg(any(feature = "fleet", feature = "page"))]
    pub(crate) fn printing(arguments: &[&str]) -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
        command.args(arguments).stdout(Stdio::piped());
        let mut process = Self(command.spawn().expect("the binary starts"));
        let mut lines = BufReader::new(process.0.stdout.take().expect("its output")).lines();
        let (tell, heard) = mpsc::channel();
        thread::spawn(move || {
            let _ = tell.send(lines.next());
            // It is not to fail because nobody reads on.
            lines.for_each(drop);
        });
        let first = heard.recv_timeout(DEADLINE).expect("in time");
        let first = first.expect("it prints").expect("in UTF-8");
        (process, first)
    }

    pub(crate) fn is_sent(&self, signal: &str) {
        let killed = Command::new("kill")
            .args(["-s", signal, &self.0.id().to_string()])
            .status();
        assert!(killed.expect("kill is there").success());
    }

    /// Waits for its end; the answer is its exit code.
    pub(crate) fn code(mut self) -> Option<i32> {
        let (ended, is_ended) = mpsc::channel();
        thread::spawn(move || ended.send(self.0.wait().expect("a status").code()));
        is_ended.recv_timeout(DEADLINE).expect("an end")
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
