//! What the runners of one loop have made, until it is put together. How that is done is the loop's own matter.

/// What runners have made. Where there was only one, without a vector.
pub(crate) struct Done<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Done<T> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, value: T) {
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.more.push(value),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.more)
    }

    /// The only one, or all.
    pub(crate) fn into_one(self) -> Result<T, Self> {
        match self.first {
            Some(only) if self.more.is_empty() => Ok(only),
            first => Err(Self {
                first,
                more: self.more,
            }),
        }
    }

    /// What becomes of each.
    pub(crate) fn filter_map<R>(self, map: impl Fn(T) -> Option<R>) -> Done<R> {
        Done {
            first: self.first.and_then(&map),
            more: self.more.into_iter().filter_map(map).collect(),
        }
    }
}

impl<T> IntoIterator for Done<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}
