//! Looking at one program again and again, over one connection as long as it holds: after the first look only what has
//! changed is asked for.

use crate::client::Client;
use crate::error::Error;
use crate::groups::Groups;
#[cfg(feature = "page")]
use crate::sparing::Sparing;
use crate::tracked::Tracked;
use crate::view::{Troubles, View};
use manyhands_wire::LoopReport;
#[cfg(feature = "page")]
use manyhands_wire::{Loop, Runtime, Task};
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
    /// As they were asked for last, with the last search.
    reports: Vec<LoopReport>,
    /// Of its tasks, if there are more than may be seen.
    groups: Groups,
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
            groups: Groups::default(),
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
        let is_search = self.is_search();
        self.refresh()?;
        self.count_groups()?;
        if is_search {
            self.search()?;
        }
        Ok(self.view())
    }

    /// As [`look`](Self::look), for who has seen what was shown before: everything some times a second and when what cannot go
    /// on has changed, else what has changed since then. A program that takes long to answer is asked only so often that it
    /// does little else, and what its workers and loops do in between.
    ///
    /// `show` gets what there is before a search, which takes longer, and then what the search has found, if that is new. Who has
    /// just begun to look need not wait for the groups of a million tasks either.
    #[cfg(feature = "page")]
    pub(crate) fn look_sparingly(&mut self, show: &mut dyn FnMut(Looked)) -> Result<(), Error> {
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
            show(Looked::Part(self.part()));
            return Ok(());
        }
        let looked = self.look_and_search(at, is_search, show);
        if looked.is_err() {
            // The next answer is to be a whole one, with a search.
            self.looks = 0;
            self.whole = None;
        }
        looked
    }

    #[cfg(feature = "page")]
    fn look_and_search(
        &mut self,
        at: Duration,
        is_search: bool,
        show: &mut dyn FnMut(Looked),
    ) -> Result<(), Error> {
        self.refresh()?;
        let mut took = self.passed() - at;
        let has_passed = |since| move |whole| at.saturating_sub(whole) >= since;
        let is_first = self.whole.is_none_or(has_passed(LOOKED_AT));
        let is_due = self.whole.is_none_or(has_passed(WHOLE_EVERY));
        if is_first {
            show(self.whole(at));
        }
        let counted = self.passed();
        self.count_groups()?;
        took += self.passed() - counted;
        self.sparing.asked(at, took);
        if is_due && !is_first {
            show(self.whole(at));
        } else if !is_due {
            show(Looked::Part(self.part()));
        }
        let mut is_news = is_first && !self.groups.groups.is_empty();
        if is_search {
            let before = self.troubles.clone();
            self.search()?;
            is_news |= before != self.troubles;
        }
        if is_news {
            show(self.whole(at));
        }
        Ok(())
    }

    fn is_search(&self) -> bool {
        self.looks.is_multiple_of(self.looks_per_search)
    }

    fn passed(&self) -> Duration {
        now() - self.begun
    }

    /// Everything that is known of the program.
    fn view(&self) -> View {
        View {
            groups: self.groups.groups.clone(),
            groups_left_out: self.groups.groups_left_out,
            deadlocks: self.troubles.deadlocks.clone(),
            starvations: self.troubles.starvations.clone(),
            reports: self.reports.clone(),
            ..self.tracked.view(self.passed())
        }
    }

    /// The same, to who sees what has changed after it.
    #[cfg(feature = "page")]
    fn whole(&mut self, at: Duration) -> Looked {
        self.whole = Some(at);
        self.tracked.forget_news();
        Looked::Whole(self.view())
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

    /// Asks the program what it does, over another connection if this one is gone.
    fn refresh(&mut self) -> Result<(), Error> {
        if let Some(connected) = self.client.take()
            && self.refresh_over(connected).is_ok()
        {
            return Ok(());
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

    fn refresh_over(&mut self, mut connected: Client) -> Result<(), Error> {
        let changes = connected.changes(self.tasks_max)?;
        self.tracked.apply(changes, self.passed());
        if self.tracked.len() > self.tasks_max {
            // Each answer is short enough, and all of them together would have no end. It is begun anew.
            let message = "more tasks or channels than it was asked for stay";
            return Err(Error::Protocol(message.to_owned()));
        }
        if self.is_search() {
            self.reports = connected.reports()?;
        }
        self.looks = self.looks.wrapping_add(1);
        self.client = Some(connected);
        Ok(())
    }

    /// Asks the program for the groups of its tasks, if there are more of these than may be seen.
    fn count_groups(&mut self) -> Result<(), Error> {
        self.groups = match &mut self.client {
            Some(connected) if self.tracked.tasks_left_out() > 0 => connected.groups()?,
            _ => Groups::default(),
        };
        Ok(())
    }

    /// Asks the program what cannot go on.
    fn search(&mut self) -> Result<(), Error> {
        if let Some(mut connected) = self.client.take() {
            self.troubles = connected.troubles()?;
            self.client = Some(connected);
        }
        Ok(())
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
/// A page that was shown everything so long ago does not look any more.
#[cfg(feature = "page")]
const LOOKED_AT: Duration = Duration::from_secs(3);
/// Between two times that everything is shown. Drawing it takes far longer than drawing what has changed.
#[cfg(feature = "page")]
const WHOLE_EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::{Looker, SEARCH_EVERY};
    use crate::reports::tests::late;
    use crate::view::tests::clerk;
    use manyhands_wire::Task;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::thread;

    /// A program in a deadlock, with more tasks than it says, for this number of connections; what each asks for is judged when
    /// it ends.
    fn program(
        name: &str,
        tasks_left_out: usize,
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
                    // Asked for before each search, so it is not noted.
                    let is_report = request.contains("reports");
                    if is_report {
                        let report = serde_json::to_string(&late()).unwrap();
                        writeln!(stream, "{{\"report\":{report}}}").unwrap();
                    }
                    let is_groups = request.contains("groups");
                    if is_groups {
                        let group = r#"{"kind":"future","type":"x","state":"waiting","tasks":9,"examples":[],"longest_us":1}"#;
                        writeln!(stream, "{{\"group\":{group}}}").unwrap();
                    }
                    let end = format!("{{\"end\":\"it\",\"tasks_left_out\":{tasks_left_out}}}");
                    writeln!(stream, "{end}").unwrap();
                    if is_report {
                        continue;
                    }
                    asked.push(match (is_search, is_part) {
                        (true, _) => "deadlocks",
                        (_, true) => "part",
                        _ if is_groups => "groups",
                        _ => "changes",
                    });
                    if is_search && connections > 1 {
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
        let (path, program) = program("closes", 0, 2, |asked| {
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
        let (path, program) = program("slow", 0, 1, |requests| {
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
        // Of what is shown, how many deadlocks there are where it is everything.
        let shown = |looker: &mut Looker| {
            let mut shown = Vec::new();
            let mut show = |looked| {
                shown.push(match looked {
                    Looked::Whole(view) => Some(view.deadlocks.len()),
                    Looked::Part(_) => None,
                });
            };
            looker.look_sparingly(&mut show).unwrap();
            shown
        };
        assert_eq!(
            shown(&mut looker),
            [Some(0), Some(1)],
            "what is there, and then what the search has found"
        );
        looker.sparing.asked(Duration::ZERO, Duration::ZERO);
        // Whether this one is whole depends on how long the program has taken.
        shown(&mut looker);
        let hour = Duration::from_secs(3_600);
        looker.sparing.asked(Duration::ZERO, hour);
        assert_eq!(shown(&mut looker), [None]);
        looker.whole = None;
        assert_eq!(shown(&mut looker), [Some(1)], "nothing new was found");
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }

    #[cfg(feature = "page")]
    #[test]
    fn who_begins_to_look_sees_tasks_before_they_are_counted() {
        use super::Looked;
        let (path, program) = program("many", 9, 1, |requests| {
            let first = ["changes", "groups", "deadlocks"];
            assert_eq!(requests, [&first[..], &["changes", "groups"]].concat());
        });
        let mut looker = Looker::connect(path.clone(), 1, SEARCH_EVERY / 3).unwrap();
        let shown = |looker: &mut Looker| {
            let mut groups = Vec::new();
            let mut show = |looked| {
                if let Looked::Whole(view) = looked {
                    groups.push(view.groups.len());
                }
            };
            looker.look_sparingly(&mut show).unwrap();
            groups
        };
        assert_eq!(shown(&mut looker), [0, 1]);
        looker
            .sparing
            .asked(super::Duration::ZERO, super::Duration::ZERO);
        looker.whole = Some(looker.passed());
        looker.begun -= super::WHOLE_EVERY;
        assert_eq!(shown(&mut looker), [1], "who goes on sees it once");
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn of_tasks_without_end_that_never_go_no_more_are_kept_than_were_asked_for() {
        let path = std::env::temp_dir().join(format!("manyhands-endless-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let program = thread::spawn(move || {
            let mut number = 0;
            for _ in 0..3 {
                let (mut stream, _) = listener.accept().unwrap();
                let hello = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
                writeln!(stream, "{hello}").unwrap();
                let requests = BufReader::new(stream.try_clone().unwrap()).lines();
                for _ in requests.map_while(Result::ok) {
                    number += 1;
                    let number = number.to_string();
                    let task = Task { number, ..clerk() };
                    let task = serde_json::to_string(&task).unwrap();
                    // Where it is a task too many, nobody reads on.
                    let _ = writeln!(stream, "{{\"task\":{task}}}\n{{\"end\":\"it\"}}");
                }
            }
        });
        let mut looker = Looker::connect(path.clone(), 3, SEARCH_EVERY / 300).unwrap();
        let kept: Vec<usize> = (0..9).map(|_| looker.look().unwrap().tasks.len()).collect();
        assert_eq!(kept, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        drop(looker);
        program.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn deadlocks_are_searched_for_less_often_than_the_program_is_looked_at() {
        let (path, program) = program("searches", 0, 1, |requests| {
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
