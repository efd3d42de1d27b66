//! Values by key, for keys of which the same comes many times in a row: tasks that were spawned one after the other lie side by
//! side in the table, and are alike more often than not.

use std::collections::HashMap;
use std::hash::Hash;

/// A value for each key; what two rows of a key have gathered is added up.
#[derive(Debug)]
pub(in crate::inspect) struct Rows<K, V> {
    others: HashMap<K, V>,
    /// The present row.
    last: Option<(K, V)>,
    add: fn(&mut V, V),
}

impl<K: Eq + Hash, V: Default> Rows<K, V> {
    /// None yet.
    pub(in crate::inspect) fn new(add: fn(&mut V, V)) -> Self {
        Self {
            others: HashMap::new(),
            last: None,
            add,
        }
    }

    /// Calls `change` with what the present row of the key has gathered.
    pub(in crate::inspect) fn change(&mut self, key: K, change: impl FnOnce(&mut V)) {
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            self.end_row();
        }
        let (_, value) = self.last.get_or_insert_with(|| (key, V::default()));
        change(value);
    }

    /// What there is of each key.
    pub(in crate::inspect) fn done(mut self) -> HashMap<K, V> {
        self.end_row();
        self.others
    }

    fn end_row(&mut self) {
        if let Some((key, value)) = self.last.take() {
            (self.add)(self.others.entry(key).or_default(), value);
        }
    }
}
