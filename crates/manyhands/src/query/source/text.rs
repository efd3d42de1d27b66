//! Pieces of a text: characters, lines, words, fields.
//!
//! A text is shared out by its bytes; a piece belongs to the block in which it begins. So nobody looks for
//! the ends of lines ahead of the others.

use crate::query::Query;
use crate::query::items::Pieces;
use crate::query::source::partitioned::{ByPartition, Partitioned, from_partitioned};
use std::ops::Range;

/// Pieces of a text as queries.
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// let text = "to be\nor not to be";
/// assert_eq!(text.par_lines().map(str::len).to_vec(), [5, 12]);
/// assert_eq!(text.par_split_whitespace().filter(|word| *word == "be").count(), 2);
/// let upper: String = text.par_chars().flat_map(char::to_uppercase).collect();
/// assert_eq!(upper, text.to_uppercase());
/// ```
pub trait ParText {
    /// The text.
    #[doc(hidden)]
    fn text(&self) -> &str;

    /// Its characters.
    fn par_chars(&self) -> Query<'static, Pieces<ByPartition<Chars<'_>>>> {
        from_partitioned(Chars(self.text()))
    }

    /// Its lines, without their ends, as [`str::lines`].
    fn par_lines(&self) -> Query<'static, Pieces<ByPartition<Lines<'_>>>> {
        from_partitioned(Lines(self.text()))
    }

    /// Its words, as [`str::split_whitespace`].
    fn par_split_whitespace(&self) -> Query<'static, Pieces<ByPartition<Words<'_>>>> {
        from_partitioned(Words(self.text()))
    }

    /// Its parts between the separators, as [`str::split`] with a character.
    fn par_split(&self, separator: char) -> Query<'static, Pieces<ByPartition<Fields<'_>>>> {
        let text = self.text();
        from_partitioned(Fields { text, separator })
    }
}

impl ParText for str {
    fn text(&self) -> &str {
        self
    }
}

/// See [`ParText::par_chars`].
#[derive(Debug)]
pub struct Chars<'a>(&'a str);

impl<'a> Partitioned for Chars<'a> {
    type Item = char;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = char> {
        characters(self.0, positions).map(|(_, character)| character)
    }
}

/// See [`ParText::par_lines`].
#[derive(Debug)]
pub struct Lines<'a>(&'a str);

impl<'a> Partitioned for Lines<'a> {
    type Item = &'a str;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = &'a str> {
        let text = self.0;
        // A line ends with its line feed, so no piece begins at the text's end.
        let pieces = pieces(text, positions, '\n').filter(|(start, _)| *start < text.len());
        pieces.map(|(start, line)| {
            let has_end = start + line.len() < text.len();
            match line.strip_suffix('\r') {
                Some(bare) if has_end => bare,
                _ => line,
            }
        })
    }
}

/// See [`ParText::par_split`].
#[derive(Debug)]
pub struct Fields<'a> {
    text: &'a str,
    separator: char,
}

impl<'a> Partitioned for Fields<'a> {
    type Item = &'a str;

    fn len(&self) -> usize {
        // A field may begin at the text's end.
        self.text.len() + 1
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = &'a str> {
        pieces(self.text, positions, self.separator).map(|(_, field)| field)
    }
}

/// See [`ParText::par_split_whitespace`].
#[derive(Debug)]
pub struct Words<'a>(&'a str);

impl<'a> Partitioned for Words<'a> {
    type Item = &'a str;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = &'a str> {
        let text = self.0;
        let start = text.ceil_char_boundary(positions.start);
        let mut next = start;
        if !text[..start].ends_with(char::is_whitespace) {
            // In the middle of a word, which began before.
            let rest = &text[start..];
            let tail = if start == 0 {
                0
            } else {
                rest.find(char::is_whitespace).unwrap_or(rest.len())
            };
            next += tail;
        }
        std::iter::from_fn(move || {
            let rest = &text[next..];
            let begin = next + rest.find(|c: char| !c.is_whitespace())?;
            if begin >= positions.end {
                return None;
            }
            let word = &text[begin..];
            let word = &word[..word.find(char::is_whitespace).unwrap_or(word.len())];
            next = begin + word.len();
            Some(word)
        })
    }
}

/// The characters that begin at these bytes, with where they do.
fn characters(text: &str, bytes: Range<usize>) -> impl Iterator<Item = (usize, char)> {
    let start = text.ceil_char_boundary(bytes.start);
    let end = text.ceil_char_boundary(bytes.end);
    text[start..end].char_indices()
}

/// The pieces between separators that begin at these bytes, with where they do.
fn pieces(text: &str, bytes: Range<usize>, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let start = text.ceil_char_boundary(bytes.start);
    // One that begins just here follows a separator, or the text's beginning.
    let mut next = if start == 0 || text[..start].ends_with(separator) {
        Some(start)
    } else {
        let rest = &text[start..];
        rest.find(separator)
            .map(|at| start + at + separator.len_utf8())
    };
    std::iter::from_fn(move || {
        let begin = next.filter(|begin| *begin < bytes.end)?;
        let rest = &text[begin..];
        let len = rest.find(separator);
        next = len.map(|len| begin + len + separator.len_utf8());
        Some((begin, &rest[..len.unwrap_or(rest.len())]))
    })
}
