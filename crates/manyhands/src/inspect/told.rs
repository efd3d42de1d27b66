//! What the other side of a connection was told last, so that it is told only what has changed.
//!
//! What there is now comes in the order of its keys, as what was told before is kept. So one pass over both finds what is
//! new, what has changed, and what is gone.
//!
//! Not here: what is compared (`changes.rs`).

use std::iter::Peekable;
use std::vec;

/// What was told last: keys in rising order, each with what was said of it.
#[derive(Debug)]
pub(super) struct Told<K, V>(Vec<(K, V)>);

/// The next telling.
#[derive(Debug)]
pub(super) struct Telling<K, V> {
    before: Peekable<vec::IntoIter<(K, V)>>,
    now: Vec<(K, V)>,
    gone: Vec<K>,
}

impl<K: Copy + Ord, V: PartialEq> Told<K, V> {
    /// Nothing.
    pub(super) fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Begins to tell what there is now.
    pub(super) fn begin(&mut self) -> Telling<K, V> {
        let before = std::mem::take(&mut self.0);
        Telling {
            now: Vec::with_capacity(before.len()),
            before: before.into_iter().peekable(),
            gone: Vec::new(),
        }
    }

    /// Keeps what was told, and returns what was there before and is not now.
    pub(super) fn end(&mut self, telling: Telling<K, V>) -> Vec<K> {
        let Telling {
            before,
            now,
            mut gone,
        } = telling;
        gone.extend(before.map(|(key, _)| key));
        self.0 = now;
        gone
    }
}

impl<K: Copy + Ord, V: PartialEq> Telling<K, V> {
    /// There is this now. Returns whether it is new or has changed. Keys come in rising order.
    pub(super) fn is_news(&mut self, key: K, value: V) -> bool {
        while let Some((earlier, _)) = self.before.next_if(|(known, _)| *known < key) {
            self.gone.push(earlier);
        }
        let known = self.before.next_if(|(known, _)| *known == key);
        let is_news = known.is_none_or(|(_, known)| known != value);
        self.now.push((key, value));
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn each_telling_finds_what_is_new_what_has_changed_and_what_is_gone() {
        let mut told = Told::nothing();
        let mut tell = |now: &[(u32, char)]| {
            let mut telling = told.begin();
            let mut is_news = |(key, value): &&(u32, char)| telling.is_news(*key, *value);
            let news: Vec<u32> = now
                .iter()
                .filter(&mut is_news)
                .map(|(key, _)| *key)
                .collect();
            (news, told.end(telling))
        };
        assert_eq!(tell(&[]), (vec![], vec![]));
        let first = [(2, 'a'), (4, 'a'), (6, 'a')];
        assert_eq!(tell(&first), (vec![2, 4, 6], vec![]));
        assert_eq!(tell(&first), (vec![], vec![]));
        let second = [(1, 'a'), (2, 'a'), (4, 'b'), (5, 'a')];
        assert_eq!(tell(&second), (vec![1, 4, 5], vec![6]));
        assert_eq!(tell(&[(5, 'a')]), (vec![], vec![1, 2, 4]));
        assert_eq!(tell(&[(9, 'a')]), (vec![9], vec![5]));
        assert_eq!(tell(&[]), (vec![], vec![9]));
    }
}
