//! Objects of JSON. Each field of a line is written in one place: where it is added.
//!
//! Not written by `serde_json`: in every program that contains that crate a number can also be compared with its values,
//! so a line like `assert_eq!(6, numbers.iter().sum())` no longer has one meaning, and does not compile.

use miniserde::json;
use miniserde::ser::{Fragment, Map, Serialize};
use std::borrow::Cow;
use std::slice;

/// An object, up to its last field.
pub(super) struct Object(Vec<(&'static str, Box<dyn Serialize>)>);

impl Object {
    /// Without fields.
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a field.
    pub(super) fn with(mut self, name: &'static str, value: impl Serialize + 'static) -> Self {
        self.0.push((name, Box::new(value)));
        self
    }

    /// Adds a field that is a list.
    pub(super) fn with_list<V: Serialize + 'static>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.with(name, values.into_iter().collect::<Vec<V>>())
    }

    /// As a line.
    pub(super) fn line(self) -> String {
        json::to_string(&self)
    }
}

impl Serialize for Object {
    fn begin(&self) -> Fragment<'_> {
        Fragment::Map(Box::new(Fields(self.0.iter())))
    }
}

/// The fields of an object that have not been written yet.
struct Fields<'object>(slice::Iter<'object, (&'static str, Box<dyn Serialize>)>);

impl Map for Fields<'_> {
    fn next(&mut self) -> Option<(Cow<'_, str>, &dyn Serialize)> {
        let &(name, ref value) = self.0.next()?;
        Some((Cow::Borrowed(name), value.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn what_is_written_is_json() {
        let inner = Object::new().with("is", true).with("none", None::<u32>);
        let line = Object::new()
            .with("text", "a\"b\\c\n")
            .with_list("numbers", [(7_usize, "x"), (u32::MAX as usize, "")])
            .with_list("empty", [0_u64; 0])
            .with("inner", inner)
            .with("nothing", Object::new())
            .line();
        assert_eq!(
            line,
            r#"{"text":"a\"b\\c\n","numbers":[[7,"x"],[4294967295,""]],"empty":[],"inner":{"is":true,"none":null},"nothing":{}}"#
        );
    }
}
