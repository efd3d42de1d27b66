//! What was last sent over a connection, so that only what has changed is sent next.
//!
//! What there is now comes in the order of its keys, as what was sent before is kept. So one pass over both finds what is
//! new, what has changed, and what is gone.
//!
//! Not here: what is compared (`inspect/serve/changes.rs` of the library).

use std::iter::Peekable;
use std::{mem, vec};

/// What was sent last and what is sent next: keys in rising order, each with what was said of it.
#[derive(Debug)]
pub struct Sent<K, V> {
    before: Peekable<vec::IntoIter<(K, V)>>,
    now: Vec<(K, V)>,
    gone: Vec<K>,
}

/// Nothing.
impl<K, V> Default for Sent<K, V> {
    fn default() -> Self {
        Self {
            before: Vec::new().into_iter().peekable(),
            now: Vec::new(),
            gone: Vec::new(),
        }
    }
}

impl<K: Copy + Ord, V: PartialEq> Sent<K, V> {
    /// There is this now. Returns whether it is new or has changed. Keys come in rising order.
    pub fn is_news(&mut self, key: K, value: V) -> bool {
        while let Some((earlier, _)) = self.before.next_if(|(known, _)| *known < key) {
            self.gone.push(earlier);
        }
        let known = self.before.next_if(|(known, _)| *known == key);
        let is_news = known.is_none_or(|(_, known)| known != value);
        self.now.push((key, value));
        is_news
    }

    /// That is all, and the next time is compared with it. Returns what was there before and is not now.
    pub fn end(&mut self) -> Vec<K> {
        let next = Vec::with_capacity(self.now.len());
        let now = mem::replace(&mut self.now, next).into_iter().peekable();
        let before = mem::replace(&mut self.before, now);
        self.gone.extend(before.map(|(key, _)| key));
        mem::take(&mut self.gone)
    }
}

#[cfg(test)]
mod tests {
    use super::Sent;

    #[test]
    fn each_time_it_finds_what_is_new_what_has_changed_and_what_is_gone() {
        let mut sent = Sent::default();
        let mut send = |now: &[(u32, char)]| {
            let mut is_news = |(key, value): &&(u32, char)| sent.is_news(*key, *value);
            let news: Vec<u32> = now
                .iter()
                .filter(&mut is_news)
                .map(|(key, _)| *key)
                .collect();
            (news, sent.end())
        };
        assert_eq!(send(&[]), (vec![], vec![]));
        let first = [(2, 'a'), (4, 'a'), (6, 'a')];
        assert_eq!(send(&first), (vec![2, 4, 6], vec![]));
        assert_eq!(send(&first), (vec![], vec![]));
        let second = [(1, 'a'), (2, 'a'), (4, 'b'), (5, 'a')];
        assert_eq!(send(&second), (vec![1, 4, 5], vec![6]));
        assert_eq!(send(&[(5, 'a')]), (vec![], vec![1, 2, 4]));
        assert_eq!(send(&[(9, 'a')]), (vec![9], vec![5]));
        assert_eq!(send(&[]), (vec![], vec![9]));
    }
}
