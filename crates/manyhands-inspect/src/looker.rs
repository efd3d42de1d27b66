//! Looking at one program again and again, over one connection as long as it holds.

use crate::client::Client;
use crate::error::Error;
#[cfg(feature = "page")]
use crate::sparing::Sparing;
use crate::wire::{Deadlock, View};
#[cfg(feature = "page")]
use crate::wire::{Loop, Runtime};
use std::path::PathBuf;
use std::time::Duration;
#[cfg(feature = "page")]
use std::time::Instant;

/// Who looks.
#[derive(Debug)]
pub(crate) struct Looker {
    socket: PathBuf,
    tasks_max: usize,
    client: Option<Client>,
    process: u32,
    looks: u32,
    /// A search takes longer than a look at the rest, so it is not made in each.
    looks_per_search: u32,
    /// What the last search has found.
    deadlocks: Vec<Deadlock>,
    #[cfg(feature = "page")]
    begun: Instant,
    #[cfg(feature = "page")]
    sparing: Sparing,
}

/// What a look that spares the program has shown.
#[cfg(feature = "page")]
#[derive(Debug)]
pub(crate) enum Looked {
    /// Everything.
    Whole(View),
    /// What workers and loops do. The tasks and channels are those that were seen a moment ago.
    Part(Vec<Runtime>, Vec<Loop>),
}

impl Looker {
    /// Connects to the program that listens at `socket`; of its tasks and channels at most `tasks_max` will be seen. It
    /// will be looked at again after each `every`.
    pub(crate) fn connect(
        socket: PathBuf,
        tasks_max: usize,
        every: Duration,
    ) -> Result<Self, Error> {
        let client = Client::connect(&socket)?;
        let looks_per_search = SEARCH_EVERY.as_millis() / every.as_millis().max(1);
        Ok(Self {
            socket,
            tasks_max,
            process: client.hello().process,
            client: Some(client),
            looks: 0,
            looks_per_search: u32::try_from(looks_per_search).unwrap_or(1).max(1),
            deadlocks: Vec::new(),
            #[cfg(feature = "page")]
            begun: now(),
            #[cfg(feature = "page")]
            sparing: Sparing::default(),
        })
    }

    /// The number of the process that answered first.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// What the program does now. Connects again if the connection is gone: the program closes one over which nothing
    /// was asked for a while.
    pub(crate) fn look(&mut self) -> Result<View, Error> {
        if let Some(connected) = self.client.take()
            && let Ok(view) = self.look_over(connected)
        {
            return Ok(view);
        }
        let connected = Client::connect(&self.socket)?;
        self.look_over(connected)
    }

    /// What the program does now: everything, if that costs it little or nobody has searched for deadlocks for a while,
    /// else only what workers and loops do.
    #[cfg(feature = "page")]
    pub(crate) fn look_sparingly(&mut self) -> Result<Looked, Error> {
        let at = now() - self.begun;
        let is_search = self.is_search();
        if !is_search
            && !self.sparing.allows(at)
            && let Some(mut connected) = self.client.take()
            && let Ok((runtimes, loops)) = connected.workers_and_loops()
        {
            self.looks = self.looks.wrapping_add(1);
            self.client = Some(connected);
            return Ok(Looked::Part(runtimes, loops));
        }
        let looked = self.look();
        if looked.is_ok() {
            // A search waits in between.
            let took = (!is_search).then(|| now() - self.begun - at);
            self.sparing.asked(at, took);
        } else {
            // The next answer is to be a whole one.
            self.looks = 0;
        }
        looked.map(Looked::Whole)
    }

    fn is_search(&self) -> bool {
        self.looks.is_multiple_of(self.looks_per_search)
    }

    fn look_over(&mut self, mut connected: Client) -> Result<View, Error> {
        let view = if self.is_search() {
            let view = connected.view(self.tasks_max)?;
            self.deadlocks.clone_from(&view.deadlocks);
            view
        } else {
            let mut view = connected.snapshot(self.tasks_max)?;
            view.deadlocks.clone_from(&self.deadlocks);
            view
        };
        self.looks = self.looks.wrapping_add(1);
        self.client = Some(connected);
        Ok(view)
    }
}

#[cfg(feature = "page")]
#[expect(
    clippy::disallowed_methods,
    reason = "how long the program takes decides how often it is asked"
)]
fn now() -> Instant {
    Instant::now()
}

/// Between two searches for deadlocks.
const SEARCH_EVERY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::{Looker, SEARCH_EVERY};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::thread;

    /// A program in a deadlock, for this number of connections; what each asks for is judged when it ends.
    fn program(
        name: &str,
        connections: usize,
        judge: fn(&[&str]),
    ) -> (PathBuf, thread::JoinHandle<()>) {
        let name = format!("manyhands-{name}-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let program = thread::spawn(move || {
            for _ in 0..connections {
                let (mut stream, _) = listener.accept().unwrap();
                let hello = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
                writeln!(stream, "{hello}").unwrap();
                let mut asked = Vec::new();
                for request in BufReader::new(stream.try_clone().unwrap()).lines() {
                    let request = request.unwrap();
                    let is_search = request.contains("deadlocks");
                    if is_search {
                        let ring = r#"{"certain":true,"behind":0,"tasks":[],"text":"x"}"#;
                        writeln!(stream, "{{\"deadlock\":{ring}}}").unwrap();
                    }
                    let is_part = request.ends_with("\"tasks_max\":0}");
                    asked.push(match (is_search, is_part) {
                        (true, _) => "deadlocks",
                        (_, true) => "part",
                        _ => "snapshot",
                    });
                    writeln!(stream, "{{\"end\":\"it\"}}").unwrap();
                    if connections > 1 && asked.len() == 2 {
                        // Each connection is closed after one look.
                        break;
                    }
                }
                judge(&asked);
            }
        });
        (path, program)
    }

    #[test]
    fn a_connection_that_was_closed_is_made_again_and_a_program_that_is_gone_is_an_error() {
        let (path, program) = program("closes", 2, |asked| {
            assert_eq!(asked, ["snapshot", "deadlocks"]);
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY).unwrap();
        assert_eq!(looker.process(), 7);
        assert!(looker.look().is_ok());
        assert!(looker.look().is_ok(), "over another connection");
        program.join().unwrap();
        assert!(looker.look().is_err(), "nobody listens any more");
        std::fs::remove_file(&path).unwrap();
    }

    #[cfg(feature = "page")]
    #[test]
    fn a_program_that_is_slow_to_answer_is_asked_for_everything_only_with_a_search() {
        use super::{Duration, Looked};
        let (path, program) = program("slow", 1, |requests| {
            assert_eq!(
                requests,
                [
                    "snapshot",
                    "deadlocks",
                    "snapshot",
                    "part",
                    "snapshot",
                    "deadlocks"
                ]
            );
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY / 3).unwrap();
        let mut is_whole = || matches!(looker.look_sparingly().unwrap(), Looked::Whole(_));
        assert!(is_whole() && is_whole());
        let hour = Duration::from_secs(3_600);
        looker.sparing.asked(Duration::ZERO, Some(hour));
        let mut is_whole = || matches!(looker.look_sparingly().unwrap(), Looked::Whole(_));
        assert!(!is_whole() && is_whole());
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn deadlocks_are_searched_for_less_often_than_the_program_is_looked_at() {
        let (path, program) = program("searches", 1, |requests| {
            assert_eq!(
                requests,
                [
                    "snapshot",
                    "deadlocks",
                    "snapshot",
                    "snapshot",
                    "snapshot",
                    "deadlocks"
                ]
            );
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY / 3).unwrap();
        for _ in 0..4 {
            let view = looker.look().unwrap();
            assert_eq!(view.deadlocks.len(), 1, "what was found stays");
        }
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
