//! What many records share, kept once and named by a number of four bytes: the lines of the program, and what a task's
//! work is with its line of spawning and its priority.
//!
//! Nothing is taken out again. There are as many as the program's code has lines that spawn or wait, whatever the number of
//! its tasks.
//!
//! # Threads
//! Any thread adds and looks up, under one lock. Each remembers the last ones that it has named, so that it takes the lock
//! seldom. A shard of the table may be locked meanwhile, never the other way round.

use crate::inspect::work_type::WorkType;
use crate::priority::Priority;
use crate::sync::{Mutex, global, lock};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::panic::Location;
use std::ptr;

/// A line of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line(NonZeroU32);

/// What a task runs, where it was spawned, and its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin(NonZeroU32);

impl Line {
    /// The number of this line.
    pub(super) fn of(at: &'static Location<'static>) -> Self {
        let key = (ptr::from_ref(at).addr(), 0);
        Self(RECENT_LINES.with(|recent| recent.number(key, || lock(&LINES).add(key, at))))
    }

    /// The line that was named by this number.
    pub(super) fn of_number(number: NonZeroU32) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> NonZeroU32 {
        self.0
    }

    /// The line that has this number.
    pub(super) fn location(self) -> &'static Location<'static> {
        lock(&LINES).get(self.0)
    }
}

impl Origin {
    /// The number of these three.
    pub(super) fn of(
        work: &'static WorkType,
        spawned_at: &'static Location<'static>,
        priority: Priority,
    ) -> Self {
        // The lowest bits of an address of aligned words are free for the priority.
        let at = ptr::from_ref(spawned_at).addr();
        let key = (ptr::from_ref(work).addr(), at | priority as usize);
        let add = || lock(&ORIGINS).add(key, (work, spawned_at, priority));
        Self(RECENT_ORIGINS.with(|recent| recent.number(key, add)))
    }

    /// The one that was named by this number.
    pub(super) fn of_number(number: NonZeroU32) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> NonZeroU32 {
        self.0
    }

    pub(super) fn priority(self) -> Priority {
        lock(&ORIGINS).get(self.0).2
    }

    pub(super) fn work(self) -> &'static WorkType {
        lock(&ORIGINS).get(self.0).0
    }

    pub(super) fn spawned_at(self) -> &'static Location<'static> {
        lock(&ORIGINS).get(self.0).1
    }
}

/// Two addresses.
type Key = (usize, usize);

#[derive(Debug)]
struct Interned<T> {
    numbers: BTreeMap<Key, NonZeroU32>,
    /// By number, from 1.
    things: Vec<T>,
}

impl<T: Copy> Interned<T> {
    const fn nothing() -> Self {
        Self {
            numbers: BTreeMap::new(),
            things: Vec::new(),
        }
    }

    /// The number of `thing`, which `key` tells from all others.
    fn add(&mut self, key: Key, thing: T) -> NonZeroU32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.things.push(thing);
        let number = u32::try_from(self.things.len()).ok();
        let number = number.and_then(NonZeroU32::new);
        let number = number.expect("a program has fewer lines of code than that");
        self.numbers.insert(key, number);
        number
    }

    fn get(&self, number: NonZeroU32) -> T {
        self.things[number.get() as usize - 1]
    }
}

/// What a thread has named last.
struct Recent([Cell<(Key, Option<NonZeroU32>)>; RECENT_MAX]);

impl Recent {
    const fn nothing() -> Self {
        Self([const { Cell::new(((0, 0), None)) }; RECENT_MAX])
    }

    #[inline]
    fn number(&self, key: Key, find: impl FnOnce() -> NonZeroU32) -> NonZeroU32 {
        // Both are addresses of what is aligned to a word.
        let mixed = (key.0 >> 3) ^ (key.1 >> 3);
        let place = &self.0[(mixed ^ (mixed >> 4)) % RECENT_MAX];
        match place.get() {
            (known, Some(number)) if known == key => number,
            _ => {
                let number = find();
                place.set((key, Some(number)));
                number
            }
        }
    }
}

global! {
    static LINES: Mutex<Interned<&'static Location<'static>>> = Mutex::new(Interned::nothing());
}

global! {
    static ORIGINS: Mutex<Interned<(&'static WorkType, &'static Location<'static>, Priority)>> =
        Mutex::new(Interned::nothing());
}

crate::sync::thread_local! {
    static RECENT_LINES: Recent = const { Recent::nothing() };
    static RECENT_ORIGINS: Recent = const { Recent::nothing() };
}

/// A power of two.
const RECENT_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::{Interned, Line, Origin, RECENT_MAX, Recent};
    use crate::inspect::work_type::WorkType;
    use crate::priority::Priority;
    use std::panic::Location;

    #[test]
    fn the_same_has_the_same_number_however_often_it_is_named_and_others_have_others() {
        let mut interned = Interned::nothing();
        let first = interned.add((8, 8), 'a');
        let second = interned.add((8, 16), 'b');
        assert_ne!(first, second);
        for _ in 0..1000 {
            assert_eq!(interned.add((8, 8), 'a'), first);
        }
        assert_eq!((interned.get(first), interned.get(second)), ('a', 'b'));
        assert_eq!(interned.things.len(), 2);
    }

    #[test]
    fn what_a_thread_remembers_is_what_it_has_named_even_if_others_take_its_place() {
        let (recent, mut interned) = (Recent::nothing(), Interned::nothing());
        for _ in 0..2 {
            for key in (1..=RECENT_MAX * 3).map(|number| (number * 8, 8)) {
                let number = recent.number(key, || interned.add(key, key));
                assert_eq!(interned.get(number), key);
                let again = recent.number(key, || unreachable!("it was named just now"));
                assert_eq!(again, number);
            }
        }
        assert_eq!(interned.things.len(), RECENT_MAX * 3);
    }

    #[test]
    fn a_number_leads_back_to_the_line_and_to_the_work() {
        static WORK: WorkType = WorkType::closure::<u8>();
        let (here, there) = (Location::caller(), Location::caller());
        assert_eq!(Line::of(here).location(), here);
        assert_ne!(Line::of(here), Line::of(there));
        for priority in Priority::ALL {
            let origin = Origin::of(&WORK, there, priority);
            assert_eq!((origin.spawned_at(), origin.priority()), (there, priority));
            assert!(std::ptr::eq(origin.work(), &raw const WORK));
            assert_eq!(Origin::of(&WORK, there, priority), origin);
        }
    }
}
