//! Objects of JSON as text. Each field of a line is written in one place: where it is added.
//!
//! Not written by `serde_json`: in every program that contains that crate a number can also be compared with its values,
//! so a line like `assert_eq!(6, numbers.iter().sum())` no longer has one meaning, and does not compile.

use miniserde::json;
use std::fmt::Write;

/// What a field can be.
pub(super) trait Json {
    fn write(self, to: &mut String);
}

/// An object, up to its last field.
#[derive(Debug)]
pub(super) struct Object(String);

impl Object {
    /// Without fields.
    pub(super) fn new() -> Self {
        Self(String::from("{"))
    }

    /// Adds a field. The name is one of the protocol, in which there is nothing to escape.
    pub(super) fn with(mut self, name: &str, value: impl Json) -> Self {
        value.write(self.begin(name));
        self
    }

    /// Adds a field that is a list.
    pub(super) fn with_list<V: Json>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let to = self.begin(name);
        to.push('[');
        for (place, value) in values.into_iter().enumerate() {
            if place > 0 {
                to.push(',');
            }
            value.write(to);
        }
        to.push(']');
        self
    }

    fn begin(&mut self, name: &str) -> &mut String {
        let to = &mut self.0;
        if to.len() > 1 {
            to.push(',');
        }
        to.push('"');
        to.push_str(name);
        to.push_str("\":");
        to
    }

    /// As a line.
    pub(super) fn line(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

impl Json for Object {
    fn write(self, to: &mut String) {
        to.push_str(&self.0);
        to.push('}');
    }
}

impl Json for bool {
    fn write(self, to: &mut String) {
        to.push_str(if self { "true" } else { "false" });
    }
}

impl Json for &str {
    fn write(self, to: &mut String) {
        to.push_str(&json::to_string(self));
    }
}

impl Json for String {
    fn write(self, to: &mut String) {
        self.as_str().write(to);
    }
}

impl<T: Json> Json for Option<T> {
    fn write(self, to: &mut String) {
        match self {
            Some(value) => value.write(to),
            None => to.push_str("null"),
        }
    }
}

impl<A: Json, B: Json> Json for (A, B) {
    fn write(self, to: &mut String) {
        to.push('[');
        self.0.write(to);
        to.push(',');
        self.1.write(to);
        to.push(']');
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Json for $number {
            fn write(self, to: &mut String) {
                let _never_fails = write!(to, "{self}");
            }
        })*
    };
}

numbers!(i32 u32 u64 usize);

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
