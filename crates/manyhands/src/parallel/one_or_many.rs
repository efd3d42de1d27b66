//! The partial results of one loop's runners, until they are combined. How, is up to the loop.

/// What runners have made, in no particular order. A single value needs no vector.
pub(crate) struct OneOrMany<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> OneOrMany<T> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.more.push(value),
        }
    }

    /// The only one, or all.
    #[inline]
    pub(crate) fn into_one(self) -> Result<T, Self> {
        match self.first {
            Some(only) if self.more.is_empty() => Ok(only),
            first => Err(Self {
                first,
                more: self.more,
            }),
        }
    }

    /// All of them.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut all = self.more;
        all.extend(self.first);
        all
    }
}
