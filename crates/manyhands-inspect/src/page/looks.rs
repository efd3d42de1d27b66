//! Looking at the program while somebody looks at the page: one look at a time, whose result all pages get. The first look
//! is made as soon as there is a page.
//!
//! A look at everything is followed by some that show what has changed since. A page that has not seen the last one gets
//! that first, and what is shown after it is complete without what was shown in between.
//!
//! While they are held, all pages stay on the present picture, and the program is not asked.

use crate::error::Error;
use crate::graph::Graph;
use crate::looker::{Looked, Part};
use crate::page::hold::Hold;
use crate::page::methods::Methods;
use crate::svg;
use crate::view::View;
use futures_util::future::select;
use manyhands_wire::Task;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

/// What a look has shown, as JSON.
type Shown = Arc<str>;

/// What the last looks have shown.
#[derive(Debug, Default)]
struct Last {
    /// How many looks at everything there were.
    number: u64,
    /// The last one of them, if the program has answered since.
    whole: Option<Shown>,
    /// What was shown after it: a part, or why there is nothing.
    after: Option<Shown>,
}

/// The looks at one program.
pub(super) struct Looks {
    last: watch::Sender<Last>,
    /// What `last` was made of, if the program has answered.
    seen: Mutex<Option<Look>>,
    hold: Hold,
    pages: Arc<Semaphore>,
    /// Notified when a page wants a look and there may be none under way.
    wanted: Notify,
}

/// One page that looks.
pub(super) struct Seen {
    last: watch::Receiver<Last>,
    /// Of the look at everything that it has seen last.
    number: u64,
    _place: OwnedSemaphorePermit,
}

#[derive(Serialize)]
struct Look {
    process: u32,
    view: View,
    graph: String,
    /// Null if this page may not be held.
    held: Option<bool>,
}

#[derive(Serialize)]
struct AfterWhole<'look> {
    part: &'look Part,
}

#[derive(Serialize)]
struct Failed {
    error: String,
}

impl Looks {
    /// Calls `look` as often as `every` says, on a thread for blocking calls, while there are pages. It passes on what it
    /// sees as soon as it does.
    pub(super) fn begin(
        every: Duration,
        process: u32,
        hold: Hold,
        look: impl FnMut(&mut dyn FnMut(Looked)) -> Result<(), Error> + Send + 'static,
    ) -> Arc<Self> {
        let looks = Arc::new(Self {
            last: watch::Sender::new(Last::default()),
            seen: Mutex::new(None),
            hold,
            pages: Arc::new(Semaphore::new(PAGES_MAX)),
            wanted: Notify::new(),
        });
        tokio::spawn(Arc::clone(&looks).go_on(every, process, Arc::new(Mutex::new(look))));
        looks
    }

    async fn go_on<F>(self: Arc<Self>, every: Duration, process: u32, look: Arc<Mutex<F>>)
    where
        F: FnMut(&mut dyn FnMut(Looked)) -> Result<(), Error> + Send + 'static,
    {
        loop {
            if self.last.receiver_count() == 0 || self.holds_still() {
                self.wanted.notified().await;
                continue;
            }
            let until_next = pin!(tokio::time::sleep(every.max(EVERY_MIN)));
            let (looks, look) = (Arc::clone(&self), Arc::clone(&look));
            let looked = tokio::task::spawn_blocking(move || {
                let mut look = look.lock().unwrap_or_else(PoisonError::into_inner);
                look(&mut |looked| match looked {
                    Looked::Whole(view) => looks.show(process, svg::draw(&Graph::of(&view)), view),
                    Looked::Part(part) => looks.show_part(part),
                })
            });
            if let Ok(Err(error)) = looked.await {
                self.complain(&error);
            }
            select(until_next, pin!(self.wanted.notified())).await;
        }
    }

    /// Whether there is a picture, and it stays.
    fn holds_still(&self) -> bool {
        self.hold.is_held() && self.seen().is_some()
    }

    fn show(&self, process: u32, graph: String, view: View) {
        let mut seen = self.seen();
        if self.hold.is_held() && seen.is_some() {
            // Held while the program was asked.
            return;
        }
        let look = seen.insert(Look {
            process,
            view,
            graph,
            held: self.hold.state(),
        });
        self.show_whole(look);
    }

    fn show_whole(&self, look: &Look) {
        let whole = as_json(look);
        self.last.send_modify(|last| {
            last.number += 1;
            last.whole = Some(whole);
            last.after = None;
        });
    }

    fn show_part(&self, part: Part) {
        let mut seen = self.seen();
        let Some(look) = seen.as_mut().filter(|_| !self.hold.is_held()) else {
            return;
        };
        let shown = as_json(&AfterWhole { part: &part });
        // So it is there if somebody holds it.
        take_in(&mut look.view, part);
        self.last.send_if_modified(|last| {
            let is_after_whole = last.whole.is_some();
            if is_after_whole {
                last.after = Some(shown);
            }
            is_after_whole
        });
    }

    fn complain(&self, error: &Error) {
        let seen = self.seen();
        if self.hold.is_held() && seen.is_some() {
            return;
        }
        let error = as_json(&Failed {
            error: error.to_string(),
        });
        self.last.send_modify(|last| {
            last.whole = None;
            last.after = Some(error);
        });
    }

    /// Makes all pages hold still on the present picture, or the next one if there is none yet.
    pub(super) fn hold(&self) {
        self.change(Hold::hold);
    }

    /// Makes all pages go on.
    pub(super) fn release(&self) {
        self.change(Hold::release);
    }

    fn change(&self, what: impl FnOnce(&Hold)) {
        let mut seen = self.seen();
        what(&self.hold);
        if let Some(look) = &mut *seen {
            look.held = self.hold.state();
            self.show_whole(look);
        }
        self.wanted.notify_one();
    }

    /// The functions that tasks were in at the last look, as JSON.
    pub(super) fn methods(&self) -> Shown {
        let seen = self.seen();
        let methods = seen.as_ref().map(|look| Methods::of_tasks(&look.view));
        as_json(&methods.unwrap_or_default())
    }

    fn seen(&self) -> MutexGuard<'_, Option<Look>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For one more page; `None` if there are too many.
    pub(super) fn subscribe(&self) -> Option<Seen> {
        let place = Arc::clone(&self.pages).try_acquire_owned().ok()?;
        // While nobody looks, what was seen last grows old.
        let is_new = self.last.receiver_count() > 0 && self.seen().is_some();
        let mut last = self.last.subscribe();
        if is_new || self.holds_still() {
            last.mark_changed();
        } else {
            self.wanted.notify_one();
        }
        Some(Seen {
            last,
            number: 0,
            _place: place,
        })
    }
}

impl Seen {
    /// What the next look shows: everything, if this page has not seen the last look at everything. At first that is the
    /// present one, if the looks are held or another page looks.
    pub(super) async fn next(&mut self) -> Shown {
        if self.last.changed().await.is_err() {
            // The looks have ended with the server.
            std::future::pending::<()>().await;
        }
        let last = self.last.borrow_and_update();
        let is_new = self.number != last.number;
        self.number = last.number;
        let shown = match &last.after {
            Some(after) if !is_new || last.whole.is_none() => Some(after),
            _ => last.whole.as_ref(),
        };
        shown.cloned().unwrap_or_default()
    }
}

/// Brings a view up to date. Tasks keep their places; new ones come last.
fn take_in(view: &mut View, part: Part) {
    let gone: HashSet<&String> = part.gone.iter().collect();
    view.tasks.retain(|task| !gone.contains(&task.number));
    let changed = part.tasks.into_iter();
    let mut changed: BTreeMap<String, Task> =
        changed.map(|task| (task.number.clone(), task)).collect();
    for task in &mut view.tasks {
        if let Some(now) = changed.remove(&task.number) {
            *task = now;
        }
    }
    view.tasks.extend(changed.into_values());
    view.runtimes = part.runtimes;
    view.loops = part.loops;
}

fn as_json(what: &impl Serialize) -> Shown {
    // Texts and numbers can always be written.
    serde_json::to_string(what).unwrap_or_default().into()
}

/// Pages that look at the same time.
const PAGES_MAX: usize = 8;
const EVERY_MIN: Duration = Duration::from_millis(10);
