//! Runs tests by name, each within a limit of time.

use crate::children::kill_all;
use std::{env, process, sync::mpsc, thread, time::Duration};

/// Runs a test if its name contains what was asked for.
pub(crate) fn test(name: &str, body: impl FnOnce()) {
    let is_wanted = |word: String| word.starts_with('-') || name.contains(&word);
    if env::args().skip(1).all(is_wanted) {
        println!("test {name} ...");
        let watch = Watch::over(name);
        body();
        drop(watch);
        println!("test {name} ... ok");
    }
}

/// Ends the program where a test does not end.
struct Watch(Option<mpsc::Sender<()>>, Option<thread::JoinHandle<()>>);

impl Watch {
    fn over(name: &str) -> Self {
        let (done, is_done) = mpsc::channel::<()>();
        let name = name.to_owned();
        let thread = thread::spawn(move || {
            if is_done.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                println!("test {name} has not ended within {LIMIT:?}");
                kill_all();
                process::abort();
            }
        });
        Self(Some(done), Some(thread))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.0.take());
        if let Some(thread) = self.1.take() {
            drop(thread.join());
        }
    }
}

const LIMIT: Duration = Duration::from_secs(180);
