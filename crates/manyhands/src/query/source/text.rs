//! Pieces of a text: characters, lines, words, fields.
//!
//! A text is divided by its bytes; a piece belongs to the block in which it begins. So no thread searches for the ends
//! of lines ahead of the others.

use crate::query::Query;
use crate::query::source::partitioned::{ByPartition, Partitioned, Pieces};
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
#[doc(alias("ParallelString", "par_bytes"))]
pub trait ParText {
    /// The text.
    #[doc(hidden)]
    fn text(&self) -> &str;

    /// Its characters.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!("many hands".par_chars().filter(|c| c.is_alphabetic()).count(), 9);
    /// ```
    fn par_chars(&self) -> Query<'static, Pieces<ByPartition<Chars<'_>>>> {
        Chars(self.text()).into_par_query()
    }

    /// Its lines, without their ends, as [`str::lines`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!("a\nb\n".par_lines().to_vec(), ["a", "b"]);
    /// ```
    fn par_lines(&self) -> Query<'static, Pieces<ByPartition<Lines<'_>>>> {
        Lines(self.text()).into_par_query()
    }

    /// Its words, as [`str::split_whitespace`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!("many  hands".par_split_whitespace().to_vec(), ["many", "hands"]);
    /// ```
    fn par_split_whitespace(&self) -> Query<'static, Pieces<ByPartition<Words<'_>>>> {
        Words(self.text()).into_par_query()
    }

    /// Its parts between the separators, as [`str::split`] with a character.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!("many,hands".par_split(',').to_vec(), ["many", "hands"]);
    /// ```
    fn par_split(&self, separator: char) -> Query<'static, Pieces<ByPartition<Fields<'_>>>> {
        let text = self.text();
        Fields { text, separator }.into_par_query()
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
        let start = self.0.ceil_char_boundary(positions.start);
        let end = self.0.ceil_char_boundary(positions.end);
        self.0[start..end].chars()
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
        let pieces =
            pieces(text, positions, finding('\n')).filter(|(start, _)| *start < text.len());
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
        pieces(self.text, positions, finding(self.separator)).map(|(_, field)| field)
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
        let pieces = pieces(self.0, positions, |part| {
            let blank = part.char_indices().find(|(_, c)| c.is_whitespace());
            blank.map(|(at, c)| (at, c.len_utf8()))
        });
        pieces.map(|(_, word)| word).filter(|word| !word.is_empty())
    }
}

/// Gives where the first such separator is in a part of a text, and its length.
fn finding(separator: char) -> impl Fn(&str) -> Option<(usize, usize)> {
    move |part| part.find(separator).map(|at| (at, separator.len_utf8()))
}

/// The pieces between separators that begin at these bytes, with where they do. `find` gives where the first separator is in a part
/// of the text, and its length.
fn pieces(
    text: &str,
    bytes: Range<usize>,
    find: impl Fn(&str) -> Option<(usize, usize)>,
) -> impl Iterator<Item = (usize, &str)> {
    let find = move |part| examined(part, find(part));
    let start = text.ceil_char_boundary(bytes.start);
    let before = text[..start].char_indices().next_back();
    // One that begins exactly here follows a separator, or the text's beginning.
    let mut next = if before.is_none_or(|(at, _)| find(&text[at..start]).is_some()) {
        Some(start)
    } else {
        // Only as far as one may begin, or every block would search through long pieces.
        let found = find(&text[start..text.ceil_char_boundary(bytes.end)]);
        found.map(|(at, len)| start + at + len)
    };
    std::iter::from_fn(move || {
        let begin = next.filter(|begin| *begin < bytes.end)?;
        let rest = &text[begin..];
        let found = find(rest);
        next = found.map(|(at, len)| begin + at + len);
        Some((begin, &rest[..found.map_or(rest.len(), |(at, _)| at)]))
    })
}

/// A match in a part of the text; tests count how much of it was searched.
#[inline]
fn examined(part: &str, found: Option<(usize, usize)>) -> Option<(usize, usize)> {
    #[cfg(test)]
    tests::EXAMINED.set(tests::EXAMINED.get() + found.map_or(part.len(), |(at, _)| at + 1));
    let _ = part;
    found
}

#[cfg(test)]
mod tests {
    use super::{Fields, Lines, Words};
    use crate::query::source::partitioned::Partitioned;
    use std::cell::Cell;

    thread_local!(pub(super) static EXAMINED: Cell<usize> = const { Cell::new(0) });

    fn texts(len: usize) -> Vec<String> {
        let half = "ab cd,é\n".repeat(len / 20);
        let long = ["a", " ", "\n", ",", "é", "\u{2003}"].map(|piece| piece.repeat(len / 2));
        let mixed = long.each_ref().map(|long| format!("{half}{long}{half}"));
        mixed.into_iter().chain(long).collect()
    }

    /// The pieces of blocks of these lengths, and how many bytes were searched for all of them.
    fn pieces<'a, S: Partitioned<Item = &'a str>>(
        source: &S,
        block: usize,
        growth: usize,
    ) -> (Vec<&'a str>, usize) {
        EXAMINED.set(0);
        let (mut start, mut len, mut pieces) = (0, block, Vec::new());
        while start < source.len() {
            let end = source.len().min(start + len);
            pieces.extend(source.items(start..end));
            (start, len) = (end, len * growth);
        }
        (pieces, EXAMINED.get())
    }

    #[test]
    fn no_text_is_searched_more_than_a_few_times_however_long_its_pieces_are() {
        let len = 20_000;
        for text in texts(len) {
            let separators = [',', 'é', 'x'];
            for (block, growth) in [(1, 1), (1, 8), (2, 1), (7, 1), (64, 1), (1_000, 1)] {
                let blocks = text.len() / block + 1;
                let check = |found: (Vec<&str>, usize), expected: Vec<&str>| {
                    assert!(found.0 == expected, "blocks of {block}");
                    // Once for its beginning and once for its end, and a character more in each block.
                    let most = 2 * text.len() + 4 * blocks + 16;
                    assert!(found.1 <= most, "{} bytes of {}", found.1, text.len());
                };
                check(pieces(&Lines(&text), block, growth), text.lines().collect());
                check(
                    pieces(&Words(&text), block, growth),
                    text.split_whitespace().collect(),
                );
                for separator in separators {
                    let fields = Fields {
                        text: &text,
                        separator,
                    };
                    check(
                        pieces(&fields, block, growth),
                        text.split(separator).collect(),
                    );
                }
            }
        }
    }
}
