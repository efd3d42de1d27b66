//! Looking at one program again and again, over one connection as long as it holds: after the first look only what has
//! changed is asked for.

use crate::client::Client;
use crate::error::Error;
use crate::groups::Groups;
use crate::reports::LoopReport;
#[cfg(feature = "page")]
use crate::sparing::Sparing;
use crate::tracked::Tracked;
#[cfg(feature = "page")]
use crate::wire::{Loop, Runtime, Task};
use crate::wire::{Troubles, View};
#[cfg(feature = "page")]
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Who looks.
#[derive(Debug)]
pub(crate) struct Looker {
    socket: PathBuf,
    tasks_max: usize,
    client: Option<Client>,
    /// What was seen over this connection.
    tracked: Tracked,
    process: u32,
    looks: u32,
    /// A search takes longer than a look at the rest, so it is not made in each.
    looks_per_search: u32,
    /// What the last search has found.
    troubles: Troubles,
    /// As they were at the last search.
    reports: Vec<LoopReport>,
    /// What times are counted from.
    begun: Instant,
    #[cfg(feature = "page")]
    sparing: Sparing,
    /// When everything was shown last.
    #[cfg(feature = "page")]
    whole: Option<Duration>,
}

/// What a look has shown to who has seen those before.
#[cfg(feature = "page")]
#[derive(Debug)]
pub(crate) enum Looked {
    /// Everything.
    Whole(View),
    /// What may have changed since everything was shown.
    Part(Part),
}

/// What may have changed since everything was shown. Channels are as they were then.
#[cfg(feature = "page")]
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    /// All of them.
    pub(crate) runtimes: Vec<Runtime>,
    /// All of them.
    pub(crate) loops: Vec<Loop>,
    /// Those that are new or have changed.
    pub(crate) tasks: Vec<Task>,
    /// The numbers of tasks that are not there any more.
    pub(crate) gone: Vec<String>,
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
            tracked: Tracked::default(),
            looks: 0,
            looks_per_search: u32::try_from(looks_per_search).unwrap_or(1).max(1),
            troubles: Troubles::default(),
            reports: Vec::new(),
            begun: now(),
            #[cfg(feature = "page")]
            sparing: Sparing::default(),
            #[cfg(feature = "page")]
            whole: None,
        })
    }

    /// The number of the process that answered first.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// What the program does now. Connects again if the connection is gone: the program closes one over which nothing
    /// was asked for a while.
    pub(crate) fn look(&mut self) -> Result<View, Error> {
        let groups = self.refresh()?;
        Ok(self.view(groups))
    }

    /// As [`look`](Self::look), for who has seen what was shown before: everything some times a second and when what cannot go
    /// on has changed, else what has changed since then. A program that takes long to answer is asked only so often that it
    /// does little else, and what its workers and loops do in between.
    #[cfg(feature = "page")]
    pub(crate) fn look_sparingly(&mut self) -> Result<Looked, Error> {
        let at = self.passed();
        let is_search = self.is_search();
        if !is_search
            && !self.sparing.allows(at)
            && let Some(mut connected) = self.client.take()
            && let Ok((runtimes, loops)) = connected.workers_and_loops()
        {
            self.looks = self.looks.wrapping_add(1);
            self.client = Some(connected);
            self.tracked.set_workers_and_loops(runtimes, loops);
            return Ok(Looked::Part(self.part()));
        }
        let before = self.troubles.clone();
        let refreshed = self.refresh();
        if refreshed.is_ok() {
            // A search waits in between.
            let took = (!is_search).then(|| self.passed() - at);
            self.sparing.asked(at, took);
        } else {
            // The next answer is to be a whole one, with a search.
            self.looks = 0;
            self.whole = None;
        }
        let groups = refreshed?;
        let is_due = |whole| at.saturating_sub(whole) >= WHOLE_EVERY;
        if self.whole.is_none_or(is_due) || before != self.troubles {
            self.whole = Some(at);
            self.tracked.forget_news();
            return Ok(Looked::Whole(self.view(groups)));
        }
        Ok(Looked::Part(self.part()))
    }

    fn is_search(&self) -> bool {
        self.looks.is_multiple_of(self.looks_per_search)
    }

    fn passed(&self) -> Duration {
        now() - self.begun
    }

    /// Everything that is known of the program.
    fn view(&self, groups: Groups) -> View {
        View {
            groups: groups.groups,
            groups_left_out: groups.groups_left_out,
            deadlocks: self.troubles.deadlocks.clone(),
            starvations: self.troubles.starvations.clone(),
            reports: self.reports.clone(),
            ..self.tracked.view(self.passed())
        }
    }

    #[cfg(feature = "page")]
    fn part(&self) -> Part {
        let (runtimes, loops) = self.tracked.workers_and_loops();
        let (tasks, gone) = self.tracked.news(self.passed());
        Part {
            runtimes: runtimes.to_vec(),
            loops: loops.to_vec(),
            tasks,
            gone,
        }
    }

    /// Asks the program, over another connection if this one is gone. Returns the groups of its tasks, if there are more of
    /// these than may be seen.
    fn refresh(&mut self) -> Result<Groups, Error> {
        if let Some(connected) = self.client.take()
            && let Ok(groups) = self.refresh_over(connected)
        {
            return Ok(groups);
        }
        let connected = Client::connect(&self.socket)?;
        // What it says next is not what has changed since this.
        self.tracked = Tracked::default();
        #[cfg(feature = "page")]
        {
            self.whole = None;
        }
        self.refresh_over(connected)
    }

    fn refresh_over(&mut self, mut connected: Client) -> Result<Groups, Error> {
        let changes = connected.changes(self.tasks_max)?;
        self.tracked.apply(changes, self.passed());
        if self.is_search() {
            self.troubles = connected.troubles()?;
            self.reports = connected.reports()?;
        }
        let groups = match self.tracked.tasks_left_out() {
            0 => Groups::default(),
            _ => connected.groups()?,
        };
        self.looks = self.looks.wrapping_add(1);
        self.client = Some(connected);
        Ok(groups)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long the program takes decides how often it is asked"
)]
fn now() -> Instant {
    Instant::now()
}

/// Between two searches for deadlocks.
const SEARCH_EVERY: Duration = Duration::from_millis(500);
/// Between two times that everything is shown. Drawing it takes far longer than drawing what has changed.
#[cfg(feature = "page")]
const WHOLE_EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::{Looker, SEARCH_EVERY};
    use crate::reports::tests::late;
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
                    let is_part = request.contains("snapshot");
                    let is_last = request.contains("reports");
                    if is_last {
                        let report = serde_json::to_string(&late()).unwrap();
                        writeln!(stream, "{{\"report\":{report}}}").unwrap();
                    }
                    writeln!(stream, "{{\"end\":\"it\"}}").unwrap();
                    if is_last && connections > 1 {
                        // Each connection is closed after one look.
                        break;
                    }
                    if is_last {
                        // After each search, so it is not noted.
                        continue;
                    }
                    asked.push(match (is_search, is_part) {
                        (true, _) => "deadlocks",
                        (_, true) => "part",
                        _ => "changes",
                    });
                }
                judge(&asked);
            }
        });
        (path, program)
    }

    #[test]
    fn a_connection_that_was_closed_is_made_again_and_a_program_that_is_gone_is_an_error() {
        let (path, program) = program("closes", 2, |asked| {
            assert_eq!(asked, ["changes", "deadlocks"]);
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
    fn a_program_that_is_slow_to_answer_is_asked_for_changes_only_with_a_search() {
        use super::{Duration, Looked};
        let (path, program) = program("slow", 1, |requests| {
            assert_eq!(
                requests,
                [
                    "changes",
                    "deadlocks",
                    "changes",
                    "part",
                    "changes",
                    "deadlocks"
                ]
            );
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY / 3).unwrap();
        let is_whole =
            |looker: &mut Looker| matches!(looker.look_sparingly().unwrap(), Looked::Whole(_));
        assert!(is_whole(&mut looker), "nothing was shown yet");
        let hour = Duration::from_secs(3_600);
        // Whether this one is whole depends on how long the program has taken.
        looker.look_sparingly().unwrap();
        looker.sparing.asked(Duration::ZERO, Some(hour));
        assert!(!is_whole(&mut looker));
        looker.whole = None;
        assert!(is_whole(&mut looker));
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
                    "changes",
                    "deadlocks",
                    "changes",
                    "changes",
                    "changes",
                    "deadlocks"
                ]
            );
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY / 3).unwrap();
        for _ in 0..4 {
            let view = looker.look().unwrap();
            assert_eq!(view.deadlocks.len(), 1, "what was found stays");
            assert_eq!(view.reports, [late()], "and so do reports");
        }
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
