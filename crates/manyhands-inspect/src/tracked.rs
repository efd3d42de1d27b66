//! What a program was last seen to do, kept up to date by what has changed since.
//!
//! What has not changed is not sent again, so its times are counted on here.
//!
//! Not here: who asks for changes (`client.rs`), and how often (`looker.rs`).

use crate::answer::Answer;
use crate::view::View;
use manyhands_wire::{Channel, Task};
#[cfg(feature = "page")]
use manyhands_wire::{Loop, Runtime};
use std::collections::BTreeMap;
#[cfg(feature = "page")]
use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

/// The program, as it was last seen. All moments are times since the same one.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    tasks: BTreeMap<Number, Seen<Task>>,
    channels: BTreeMap<u64, Seen<Channel>>,
    /// Neither tasks nor channels.
    rest: View,
    #[cfg(feature = "page")]
    news: News,
}

/// What was seen, and when.
#[derive(Debug)]
struct Seen<T> {
    what: T,
    at: Duration,
}

/// Orders tasks as the program does: by how often their place was used, and by the place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    uses: u32,
    low: u32,
    text: String,
}

/// Tasks that have changed, or are gone, since these were taken last.
#[cfg(feature = "page")]
#[derive(Debug, Default)]
struct News {
    changed: BTreeSet<Number>,
    gone: BTreeSet<Number>,
}

impl Number {
    fn of(text: &str) -> Self {
        let (low, uses) = text.split_once('.').unwrap_or((text, "1"));
        Self {
            uses: uses.parse().unwrap_or(0),
            low: low.parse().unwrap_or(0),
            text: text.to_owned(),
        }
    }
}

impl Tracked {
    /// Takes in all runtimes and loops, and the tasks and channels that are new or have changed, as they were at the moment `at`.
    pub(crate) fn apply(&mut self, changes: Answer, at: Duration) {
        let Answer { mut view, gone, .. } = changes;
        for text in &gone.tasks {
            let number = Number::of(text);
            self.tasks.remove(&number);
            #[cfg(feature = "page")]
            self.news.gone(number);
        }
        for channel in &gone.channels {
            self.channels.remove(channel);
        }
        for what in mem::take(&mut view.tasks) {
            let number = Number::of(&what.number);
            #[cfg(feature = "page")]
            self.news.changed(&number);
            self.tasks.insert(number, Seen { what, at });
        }
        for what in mem::take(&mut view.channels) {
            self.channels.insert(what.number, Seen { what, at });
        }
        self.rest = view;
    }

    /// Everything, as far as it is known at the moment `at`; without groups and deadlocks.
    pub(crate) fn view(&self, at: Duration) -> View {
        View {
            tasks: self.tasks.values().map(|seen| seen.task(at)).collect(),
            channels: self
                .channels
                .values()
                .map(|seen| seen.channel(at))
                .collect(),
            ..self.rest.clone()
        }
    }

    /// How many tasks are kept, or channels if these are more.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len().max(self.channels.len())
    }

    /// How many tasks there are that are not shown.
    pub(crate) fn tasks_left_out(&self) -> usize {
        self.rest.tasks_left_out
    }
}

#[cfg(feature = "page")]
impl News {
    fn gone(&mut self, number: Number) {
        self.changed.remove(&number);
        self.gone.insert(number);
    }

    fn changed(&mut self, number: &Number) {
        self.gone.remove(number);
        self.changed.insert(number.clone());
    }
}

#[cfg(feature = "page")]
impl Tracked {
    /// Tasks that have changed since the [news were forgotten](Self::forget_news), as they are known at the moment `at`, and
    /// the numbers of those that are gone since.
    pub(crate) fn news(&self, at: Duration) -> (Vec<Task>, Vec<String>) {
        let changed = self.news.changed.iter();
        let changed = changed.filter_map(|number| Some(self.tasks.get(number)?.task(at)));
        let gone = self.news.gone.iter().map(|number| number.text.clone());
        (changed.collect(), gone.collect())
    }

    /// What is known now is news to nobody.
    pub(crate) fn forget_news(&mut self) {
        self.news = News::default();
    }

    /// These are its runtimes and loops now.
    pub(crate) fn set_workers_and_loops(&mut self, runtimes: Vec<Runtime>, loops: Vec<Loop>) {
        self.rest.runtimes = runtimes;
        self.rest.loops = loops;
    }

    /// Its runtimes and loops.
    pub(crate) fn workers_and_loops(&self) -> (&[Runtime], &[Loop]) {
        (&self.rest.runtimes, &self.rest.loops)
    }
}

impl Seen<Task> {
    fn task(&self, at: Duration) -> Task {
        let passed = micros(at.saturating_sub(self.at));
        let mut task = self.what.clone();
        let count_on = |micros: &mut u64| *micros = micros.saturating_add(passed);
        count_on(&mut task.in_state_us);
        count_on(&mut task.age_us);
        if task.state == "running" {
            count_on(&mut task.busy_us);
        }
        for wait in &mut task.waits {
            count_on(&mut wait.waiting_us);
        }
        task
    }
}

impl Seen<Channel> {
    fn channel(&self, at: Duration) -> Channel {
        let mut channel = self.what.clone();
        let passed = micros(at.saturating_sub(self.at));
        channel.age_us = channel.age_us.saturating_add(passed);
        channel
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(all(test, feature = "page"))]
mod tests {
    use super::{Answer, Duration, Tracked};
    use crate::graph::tests::{orders, task};
    use crate::view::View;
    use manyhands_wire::{Gone, Task};

    const BEGIN: Duration = Duration::from_secs(1);

    fn changes(tasks: Vec<Task>, gone: &[&str]) -> Answer {
        Answer {
            view: View {
                tasks,
                ..View::default()
            },
            gone: Gone {
                tasks: gone.iter().map(|&number| number.to_owned()).collect(),
                channels: Vec::new(),
            },
            ..Answer::default()
        }
    }

    fn numbered(number: &str) -> Task {
        Task {
            number: number.to_owned(),
            ..task(1, "src/main.rs:1:1", &["2"])
        }
    }

    fn numbers(view: &View) -> Vec<&str> {
        view.tasks.iter().map(|task| task.number.as_str()).collect()
    }

    #[test]
    fn tasks_come_in_the_order_of_the_program_and_go() {
        let mut tracked = Tracked::default();
        let all = ["3.2", "16", "4", "100"].map(numbered).to_vec();
        tracked.apply(changes(all, &[]), BEGIN);
        assert_eq!(numbers(&tracked.view(BEGIN)), ["4", "16", "100", "3.2"]);
        tracked.apply(changes(vec![numbered("5")], &["16", "7"]), BEGIN);
        assert_eq!(numbers(&tracked.view(BEGIN)), ["4", "5", "100", "3.2"]);
        let mut ended = changes(Vec::new(), &["4", "5", "100", "3.2"]);
        ended.view.tasks_left_out = 9;
        tracked.apply(ended, BEGIN);
        let view = tracked.view(BEGIN);
        assert_eq!((view.tasks.len(), view.tasks_left_out), (0, 9));
    }

    #[test]
    fn times_of_what_is_not_sent_again_go_on() {
        let mut tracked = Tracked::default();
        let running = Task {
            state: "running".to_owned(),
            ..numbered("2")
        };
        let sent = vec![numbered("1"), running];
        let mut first = changes(sent.clone(), &[]);
        first.view.channels = vec![orders()];
        tracked.apply(first, BEGIN);
        let view = tracked.view(BEGIN + Duration::from_millis(5));
        for (before, now) in sent.iter().zip(&view.tasks) {
            assert_eq!(now.age_us, before.age_us + 5_000);
            assert_eq!(now.in_state_us, before.in_state_us + 5_000);
            assert_eq!(now.waits[0].waiting_us, before.waits[0].waiting_us + 5_000);
        }
        assert_eq!(view.tasks[0].busy_us, sent[0].busy_us, "it waits");
        assert_eq!(view.tasks[1].busy_us, sent[1].busy_us + 5_000);
        assert_eq!(view.channels[0].age_us, orders().age_us + 5_000);
    }

    #[test]
    fn news_add_up_until_they_are_forgotten() {
        let mut tracked = Tracked::default();
        let news = |tracked: &Tracked| {
            let (tasks, gone) = tracked.news(BEGIN);
            let numbers = tasks.into_iter().map(|task| task.number);
            (numbers.collect::<Vec<_>>(), gone)
        };
        let of = |numbers: &[&str]| {
            numbers
                .iter()
                .map(|&one| one.to_owned())
                .collect::<Vec<_>>()
        };
        let three = ["1", "2", "3"].map(numbered).to_vec();
        tracked.apply(changes(three, &[]), BEGIN);
        tracked.forget_news();
        assert_eq!(news(&tracked), (of(&[]), of(&[])));
        tracked.apply(changes(vec![numbered("2")], &["1"]), BEGIN);
        tracked.apply(changes(vec![numbered("3"), numbered("1.2")], &[]), BEGIN);
        assert_eq!(news(&tracked), (of(&["2", "3", "1.2"]), of(&["1"])));
        tracked.apply(changes(vec![], &["2", "1.2"]), BEGIN);
        assert_eq!(news(&tracked), (of(&["3"]), of(&["1", "2", "1.2"])));
        tracked.forget_news();
        assert_eq!(news(&tracked), (of(&[]), of(&[])));
    }

    #[test]
    fn times_that_no_program_has_stay_the_longest_that_can_be() {
        let mut tracked = Tracked::default();
        let mut old = numbered("1");
        old.state = "running".to_owned();
        (old.in_state_us, old.age_us, old.busy_us) = (u64::MAX, u64::MAX, u64::MAX);
        old.waits[0].waiting_us = u64::MAX;
        let mut channel = orders();
        channel.age_us = u64::MAX;
        let mut first = changes(vec![old.clone()], &[]);
        first.view.channels = vec![channel.clone()];
        tracked.apply(first, BEGIN);
        let view = tracked.view(2 * BEGIN);
        assert_eq!((view.tasks, view.channels), (vec![old], vec![channel]));
    }
}
