//! Values that are within their bounds once they exist: whatever made them, also a message of somebody who is not to be
//! trusted, has checked them. Nothing behind the wire looks at them again.

use manyhands_lab::plain::{is_harmful, plain};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::Deref, str::FromStr};

/// A name that can stand in a path, in an address of the engine and in a page: of an agent, a plan, a job, a run.
///
/// Letters, digits, `-` and `_`, and `.` between others; at most 100 of them. So none leads out of a folder.
///
/// # Examples
/// ```
/// use manyhands_fleet::Name;
///
/// let name: Name = "agent-7.example".parse()?;
/// assert_eq!(&*name, "agent-7.example");
/// for wrong in ["", "..", "../x", "/x", "a b", "a.", "\u{1b}[31m"] {
///     assert!(wrong.parse::<Name>().is_err(), "{wrong}");
/// }
/// # Ok::<(), manyhands_fleet::OutOfBounds>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Why a value is refused.
///
/// Example: see [`Name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfBounds(&'static str);

impl fmt::Display for OutOfBounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for OutOfBounds {}

impl TryFrom<String> for Name {
    type Error = OutOfBounds;

    fn try_from(text: String) -> Result<Self, OutOfBounds> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let is_part = |part: &str| !part.is_empty() && part.chars().all(is_plain);
        if text.len() <= NAME_MAX && text.split('.').all(is_part) {
            Ok(Self(text))
        } else {
            Err(OutOfBounds(
                "a name has 1 to 100 letters, digits, '-' and '_', with '.' between them",
            ))
        }
    }
}

impl FromStr for Name {
    type Err = OutOfBounds;

    fn from_str(text: &str) -> Result<Self, OutOfBounds> {
        text.to_owned().try_into()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A name that this program makes of letters, digits and `-`.
pub(crate) fn made(text: String) -> Name {
    Name(text)
}

/// A line for people: nothing in it steers a terminal, and it has at most 1,000 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Text(String);

impl Text {
    /// A text as far as it fits, with what steers written as escapes.
    pub(crate) fn of(text: &str) -> Self {
        let plain = plain(text);
        let end = plain.floor_char_boundary(TEXT_MAX);
        Self(plain[..end].to_owned())
    }
}

impl TryFrom<String> for Text {
    type Error = OutOfBounds;

    fn try_from(text: String) -> Result<Self, OutOfBounds> {
        match text.len() <= TEXT_MAX && !text.chars().any(is_harmful) {
            true => Ok(Self(text)),
            false => Err(OutOfBounds(
                "a text has at most 1,000 bytes and no control characters",
            )),
        }
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Lines of a run that are sent together: at least one, not too many, none of them empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub(crate) struct Texts(Vec<String>);

impl Texts {
    /// Lines that a message may have.
    pub(crate) const COUNT_MAX: usize = 4_096;
}

impl TryFrom<Vec<String>> for Texts {
    type Error = OutOfBounds;

    fn try_from(texts: Vec<String>) -> Result<Self, OutOfBounds> {
        let is_bounded = (1..=Self::COUNT_MAX).contains(&texts.len());
        match is_bounded && texts.iter().all(|text| !text.is_empty()) {
            true => Ok(Self(texts)),
            false => Err(OutOfBounds(
                "1 to 4,096 lines come together, and none is empty",
            )),
        }
    }
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Self {
        texts.0
    }
}

impl Deref for Texts {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// A whole number with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub(crate) struct Within<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// The nearest number that is within the bounds.
    pub(crate) fn nearest(number: u64) -> Self {
        Self(number.clamp(MIN, MAX))
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u64, const MAX: u64> TryFrom<u64> for Within<MIN, MAX> {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        match (MIN..=MAX).contains(&number) {
            true => Ok(Self(number)),
            false => Err(format!("{number} is not within {MIN} and {MAX}")),
        }
    }
}

impl<const MIN: u64, const MAX: u64> From<Within<MIN, MAX>> for u64 {
    fn from(number: Within<MIN, MAX>) -> Self {
        number.0
    }
}

const NAME_MAX: usize = 100;
const TEXT_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_shows_what_it_hides() {
        assert_eq!(
            &*Text::of("a\x1b]8;;http://evil\n"),
            "a\\u{1b}]8;;http://evil\\n"
        );
        let cut = Text::of(&"ß".repeat(501));
        assert_eq!(cut.len(), 1_000);
        assert!(Text::try_from(format!("{}x", &*cut)).is_err());
        assert!(Text::try_from("\u{202e}".to_owned()).is_err());
    }

    #[test]
    fn lines_that_come_together_are_some_and_none_is_empty() {
        let texts = |count: usize, text: &str| Texts::try_from(vec![text.to_owned(); count]);
        assert_eq!(
            texts(Texts::COUNT_MAX, "x").unwrap().len(),
            Texts::COUNT_MAX
        );
        for wrong in [
            texts(0, "x"),
            texts(1, ""),
            texts(Texts::COUNT_MAX + 1, "x"),
        ] {
            assert!(wrong.is_err());
        }
    }

    #[test]
    fn a_number_outside_its_bounds_is_no_number() {
        type Launches = Within<3, 64>;
        let read = |text| serde_json::from_str::<Launches>(text);
        assert_eq!(read("64").unwrap().get(), 64);
        for wrong in ["2", "65", "4294967295", "-1", "3.5", "1e99", "\"3\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
