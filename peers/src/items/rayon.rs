//! `rayon::spawn` on the global pool.

use crate::items::Items;
use crate::tally;

#[derive(Debug)]
pub(crate) struct Rayon;

impl Items for Rayon {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn outside(&mut self, count: usize) {
        spawn(count);
    }

    fn inside(&mut self, count: usize) {
        rayon::spawn(move || spawn(count));
    }
}

fn spawn(count: usize) {
    for _ in 0..count {
        rayon::spawn(tally::count);
    }
    tally::all_handed_over();
}
