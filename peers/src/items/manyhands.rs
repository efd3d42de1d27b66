//! manyhands on its default runtime: tasks whose handles are dropped, closures that never had one, and
//! spawns into one scope.

use manyhands::task;

use crate::items::Items;
use crate::tally;

/// `task::run`, detached.
#[derive(Debug)]
pub(crate) struct Run;

impl Items for Run {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn outside(&mut self, count: usize) {
        run(count);
    }

    fn inside(&mut self, count: usize) {
        drop(task::run(move || run(count)));
    }
}

fn run(count: usize) {
    for _ in 0..count {
        drop(task::run(tally::count));
    }
    tally::all_handed_over();
}

/// `task::run_detached`.
#[derive(Debug)]
pub(crate) struct Detached;

impl Items for Detached {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn outside(&mut self, count: usize) {
        detach(count);
    }

    fn inside(&mut self, count: usize) {
        task::run_detached(move || detach(count));
    }
}

fn detach(count: usize) {
    for _ in 0..count {
        task::run_detached(tally::count);
    }
    tally::all_handed_over();
}

/// `Scope::spawn`; the end of the scope waits for the closures, and may help.
#[derive(Debug)]
pub(crate) struct Scope;

impl Items for Scope {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn outside(&mut self, count: usize) {
        spawn(count);
    }

    fn inside(&mut self, count: usize) {
        drop(task::run(move || spawn(count)));
    }
}

fn spawn(count: usize) {
    manyhands::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|_| tally::count());
        }
        tally::all_handed_over();
    });
}
