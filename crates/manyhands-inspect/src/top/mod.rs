//! A live view in the terminal. Only with the feature `top`.
//!
//! One thread connects to the program and asks it, so that a program that answers late, or not at all, does not keep keys
//! waiting. Keys and looks change a [`State`], which is drawn after each change.
//!
//! Not here: what keys change (`state.rs`), the tables (`sheets.rs`), how they are drawn (`screen.rs`), and what of them has
//! room (`fitting.rs`).

mod fitting;
mod screen;
mod sheet;
mod sheets;
mod state;

use crate::error::Error;
use crate::looker::Looker;
use crate::top::state::{Next, State};
use crate::view::View;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How a program is looked at in the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopSettings {
    /// How often the program is asked.
    pub every: Duration,
    /// At most this number of tasks and of channels.
    pub tasks_max: usize,
    /// Whether it is in colour; `None` if the variable `NO_COLOR` decides.
    pub in_color: Option<bool>,
}

/// Shows the program that listens at `socket`, in the terminal of standard output, until a key ends it.
///
/// # Errors
/// When nobody listens at the socket, and when there is no terminal. A program that ends later is said so on the screen.
pub fn top(socket: PathBuf, settings: &TopSettings) -> Result<(), Error> {
    let asked = Asked::begin(socket, settings);
    let mut state = State::default();
    // Where nobody listens that is known at once, and no screen is needed.
    if let Ok(answer) = asked.answers.recv_timeout(KEY_WAIT) {
        handle(&mut state, answer)?;
    }
    if let Some(in_color) = settings.in_color {
        ratatui::crossterm::style::force_color_output(in_color);
    }
    let mut terminal = ratatui::try_init().map_err(Error::Terminal)?;
    let ended = go_on(&mut terminal, &mut state, &asked);
    ratatui::try_restore().map_err(Error::Terminal)?;
    ended
}

fn go_on(terminal: &mut DefaultTerminal, state: &mut State, asked: &Asked) -> Result<(), Error> {
    let mut was_paused = false;
    loop {
        let drawn = terminal.draw(|frame| screen::draw(frame, state)).map(drop);
        drawn.map_err(Error::Terminal)?;
        if let Some(Event::Key(key)) = next_event().map_err(Error::Terminal)?
            && state.handle_key(key) == Next::End
        {
            return Ok(());
        }
        if was_paused != state.is_paused {
            was_paused = state.is_paused;
            asked.order(if was_paused {
                Asking::Pause
            } else {
                Asking::GoOn
            });
        }
        while let Ok(answer) = asked.answers.try_recv() {
            handle(state, answer)?;
        }
    }
}

/// What the terminal says meanwhile.
fn next_event() -> io::Result<Option<Event>> {
    match event::poll(KEY_WAIT)? {
        true => event::read().map(Some),
        false => Ok(None),
    }
}

/// Without a connection there is nothing to show.
fn handle(state: &mut State, answer: Result<Answer, Error>) -> Result<(), Error> {
    let Answer { process, look } = answer?;
    state.process = Some(process);
    if !state.is_paused {
        state.handle_look(look);
    }
    Ok(())
}

/// The thread that asks the program. It ends with this.
struct Asked {
    orders: Sender<Asking>,
    /// An error is that of connecting, and the last one.
    answers: Receiver<Result<Answer, Error>>,
}

struct Answer {
    process: u32,
    look: Result<View, Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    GoOn,
    Pause,
}

impl Asked {
    fn begin(socket: PathBuf, settings: &TopSettings) -> Self {
        let (orders, ordered) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let TopSettings {
            every, tasks_max, ..
        } = *settings;
        thread::spawn(move || match Looker::connect(socket, tasks_max, every) {
            Ok(looker) => look(looker, every, &ordered, &answer),
            Err(error) => drop(answer.send(Err(error))),
        });
        Self { orders, answers }
    }

    fn order(&self, asking: Asking) {
        // The thread ends only after this, or with an error that is on its way.
        let _ = self.orders.send(asking);
    }
}

/// Looks at once and again and again, as it is ordered, as long as somebody takes the answers.
fn look(
    mut looker: Looker,
    every: Duration,
    ordered: &Receiver<Asking>,
    answer: &Sender<Result<Answer, Error>>,
) {
    let mut asking = Asking::GoOn;
    let mut order = Err(RecvTimeoutError::Timeout);
    loop {
        match order {
            Ok(order) => asking = order,
            Err(RecvTimeoutError::Timeout) => {
                let (look, process) = (looker.look(), looker.process());
                if answer.send(Ok(Answer { process, look })).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        order = match asking {
            Asking::GoOn => ordered.recv_timeout(every),
            Asking::Pause => ordered.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
    }
}

/// How long a key is waited for before answers are looked at again.
const KEY_WAIT: Duration = Duration::from_millis(50);

#[cfg(test)]
pub(crate) mod tests {
    use super::{Asked, State, TopSettings, handle};
    use crate::graph::tests::{orders, task};
    use crate::reports::tests::late;
    use crate::view::View;
    use manyhands_wire::{Loop, Runtime, Worker};
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    fn worker(index: Option<usize>, state: &str) -> Worker {
        Worker {
            index,
            state: state.to_owned(),
            queued: 1,
            forks: 2,
            completed: 3,
            steals: 4,
            parks: 5,
            ..Worker::default()
        }
    }

    /// Two workers, three tasks of which two wait, a loop, a loop that has ended, and a channel.
    pub(crate) fn busy_view() -> View {
        View {
            runtimes: vec![Runtime {
                number: 1,
                name: "office".to_owned(),
                limit: 2,
                workers: vec![worker(Some(0), "running"), worker(None, "idle")],
                ..Runtime::default()
            }],
            tasks: vec![
                task(1, "src/main.rs:1:1", &[]),
                task(2, "src/main.rs:2:1", &["1"]),
                task(3, "src/main.rs:3:1", &["@7f01"]),
            ],
            loops: vec![Loop {
                body: "office::price::{{closure}}".to_owned(),
                called_at: Some("src/office.rs:31:5".to_owned()),
                items: Some(200),
                done: 100,
                runners: 2,
                threads: 2,
                task: Some("1".to_owned()),
                age_us: 2_500,
            }],
            channels: vec![orders()],
            reports: vec![late()],
            ..View::default()
        }
    }

    #[test]
    fn keys_do_not_wait_for_a_program_that_does_not_answer() {
        let name = format!("manyhands-top-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let settings = TopSettings {
            in_color: None,
            every: LIMIT,
            tasks_max: 1,
        };
        let asked = Asked::begin(path.clone(), &settings);
        assert!(asked.answers.try_recv().is_err(), "it has said nothing");
        let (mut program, _) = listener.accept().unwrap();
        let hello = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
        writeln!(program, "{hello}").unwrap();
        let mut state = State::default();
        drop((program, listener));
        handle(&mut state, asked.answers.recv_timeout(LIMIT).unwrap()).unwrap();
        assert!(state.process == Some(7) && state.error.is_some());
        std::fs::remove_file(&path).unwrap();
        let nobody = Asked::begin(path, &settings);
        let answer = nobody.answers.recv_timeout(LIMIT).unwrap();
        assert!(handle(&mut state, answer).is_err(), "and there is no view");
    }

    /// Longer than anything here takes.
    const LIMIT: Duration = Duration::from_secs(60);
}
