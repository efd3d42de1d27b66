//! tokio tasks of one poll on the multi-thread runtime, their handles dropped.

use tokio::runtime::Runtime;

use crate::items::Items;
use crate::tally;

#[derive(Debug)]
pub(crate) struct Tokio(Runtime);

impl Items for Tokio {
    fn new() -> Result<Self, String> {
        let runtime = Runtime::new();
        runtime
            .map(Self)
            .map_err(|error| format!("the runtime could not be made: {error}"))
    }

    fn outside(&mut self, count: usize) {
        for _ in 0..count {
            self.0.spawn(async { tally::count() });
        }
        tally::all_handed_over();
    }

    fn inside(&mut self, count: usize) {
        self.0.spawn(async move {
            for _ in 0..count {
                tokio::spawn(async { tally::count() });
            }
            tally::all_handed_over();
        });
    }
}
