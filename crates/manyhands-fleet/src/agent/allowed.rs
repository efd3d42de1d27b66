//! The command lines that an agent may run: whole ones, from its own list. A plan fills named holes in them, and each hole
//! has a pattern for all that it may be filled with.

use crate::{FleetError, Name, wire::Text};
use regex::Regex;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The command lines an agent may run, by the names that plans use.
///
/// # Examples
/// ```
/// use manyhands_fleet::agent::Allowed;
///
/// let list = r#"
/// [commands.sort]
/// line = ["/usr/bin/sort", "-u", "{file}"]
/// holes.file = "/data/[a-z]+"
/// "#;
/// assert!(Allowed::parse(list).is_ok());
/// assert!(Allowed::parse(&list.replace("/usr/bin/sort", "sort")).is_err(), "a path is absolute");
/// assert!(Allowed::parse(&list.replace("holes.file", "holes.other")).is_err(), "a hole has a pattern");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    lines: BTreeMap<Name, Line>,
}

#[derive(Debug, Clone)]
struct Line {
    program: PathBuf,
    arguments: Vec<Vec<Piece>>,
    patterns: BTreeMap<Name, Regex>,
}

/// A part of an argument.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Hole(Name),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenList {
    #[serde(default)]
    commands: BTreeMap<Name, WrittenLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLine {
    line: Vec<String>,
    #[serde(default)]
    holes: BTreeMap<Name, String>,
}

impl Allowed {
    /// Reads a list: a table of each command, with its `line` as words and a pattern (a regular expression that the whole
    /// value matches) for each of its `holes`.
    ///
    /// # Errors
    /// [`FleetError::Arguments`] if it is no such list.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let wrong = |reason| FleetError::Arguments {
            reason: format!("the list of commands: {reason}"),
        };
        let written: WrittenList =
            toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
        let mut lines = BTreeMap::new();
        for (name, line) in written.commands {
            let read = read(line).map_err(|reason| wrong(format!("'{name}': {reason}")))?;
            lines.insert(name, read);
        }
        Ok(Self { lines })
    }

    /// The program and arguments of a command.
    ///
    /// # Errors
    /// [`FleetError::Unable`] if the list has none of this name, or not with these holes and values.
    pub(super) fn filled(
        &self,
        name: &Name,
        holes: &BTreeMap<Name, Text>,
    ) -> Result<(&Path, Vec<String>), FleetError> {
        let unable = |reason| FleetError::Unable { reason };
        let line = self
            .lines
            .get(name)
            .ok_or_else(|| unable(format!("this agent's list has no command '{name}'")))?;
        if !line.patterns.keys().eq(holes.keys()) {
            let reason = format!("the holes of '{name}' have other names in this agent's list");
            return Err(unable(reason));
        }
        for (hole, pattern) in &line.patterns {
            if !pattern.is_match(&holes[hole]) {
                let value = &*holes[hole];
                return Err(unable(format!(
                    "this agent's list does not let '{hole}' of '{name}' be '{value}'"
                )));
            }
        }
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(hole) => String::from(holes[hole].clone()),
        };
        let arguments = line.arguments.iter();
        let arguments = arguments.map(|pieces| pieces.iter().map(fill).collect());
        Ok((&line.program, arguments.collect()))
    }
}

fn read(written: WrittenLine) -> Result<Line, String> {
    let (program, arguments) = written.line.split_first().ok_or("it has no words")?;
    let program = PathBuf::from(program);
    if !program.is_absolute() {
        return Err(format!("'{}' is no absolute path", program.display()));
    }
    let mut patterns = BTreeMap::new();
    for (hole, pattern) in written.holes {
        // By itself first: a group that it closes would not be its own.
        let whole = Regex::new(&pattern).and_then(|_| Regex::new(&format!(r"\A(?:{pattern})\z")));
        let pattern = whole.map_err(|error| format!("the pattern of '{hole}': {error}"))?;
        patterns.insert(hole, pattern);
    }
    let arguments: Result<Vec<_>, _> = arguments.iter().map(|word| pieces(word)).collect();
    let arguments = arguments?;
    let used = |name: &Name| {
        let mut pieces = arguments.iter().flatten();
        pieces.any(|piece| matches!(piece, Piece::Hole(hole) if hole == name))
    };
    if let Some(unused) = patterns.keys().find(|hole| !used(hole)) {
        return Err(format!("the line has no hole '{unused}'"));
    }
    let mut pieces = arguments.iter().flatten();
    let open = pieces.find_map(|piece| match piece {
        Piece::Hole(hole) if !patterns.contains_key(hole) => Some(hole),
        _ => None,
    });
    match open {
        Some(hole) => Err(format!("the hole '{hole}' has no pattern")),
        None => Ok(Line {
            program,
            arguments,
            patterns,
        }),
    }
}

/// A word in its parts: `--file={file}` is a text and a hole.
fn pieces(word: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while let Some((text, behind)) = rest.split_once('{') {
        let (hole, behind) = behind
            .split_once('}')
            .ok_or_else(|| format!("'{word}' has a hole without an end"))?;
        let hole = hole.parse::<Name>();
        pieces.push(Piece::Text(text.to_owned()));
        pieces.push(Piece::Hole(
            hole.map_err(|error| format!("'{word}': {error}"))?,
        ));
        rest = behind;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SORT: &str = "[commands.sort]\nline = ['/usr/bin/sort', '--key={key}', '{file}']\n\
                        holes.file = '/data/[a-z]+'\nholes.key = '[0-9]'";

    fn holes(values: &[(&str, &str)]) -> BTreeMap<Name, Text> {
        let values = values.iter();
        values
            .map(|(hole, value)| (hole.parse().unwrap(), Text::of(value)))
            .collect()
    }

    fn filled(values: &[(&str, &str)]) -> Result<Vec<String>, FleetError> {
        let allowed = Allowed::parse(SORT).unwrap();
        let name = "sort".parse().unwrap();
        let filled = allowed.filled(&name, &holes(values));
        filled.map(|(_, arguments)| arguments)
    }

    #[test]
    fn holes_are_filled_within_their_words() {
        let arguments = filled(&[("file", "/data/words"), ("key", "2")]).unwrap();
        assert_eq!(arguments, ["--key=2", "/data/words"]);
    }

    #[test]
    fn nothing_else_than_the_patterns_allow_is_run() {
        for file in [
            "-o",
            "--compress-program=/evil",
            "/data/../etc/passwd",
            "/data/words\n",
            "/data/words {key}",
            "",
        ] {
            let refused = filled(&[("file", file), ("key", "2")]).unwrap_err();
            assert!(
                matches!(refused, FleetError::Unable { .. }),
                "{file}: {refused}"
            );
        }
        assert!(filled(&[("file", "/data/words")]).is_err());
        assert!(filled(&[("file", "/data/a"), ("key", "2"), ("more", "x")]).is_err());
    }

    #[test]
    fn a_list_whose_lines_are_not_whole_is_refused() {
        for (wrong, right) in [
            ("/usr/bin/sort", "sort"),
            ("{file}", "{other}"),
            ("{file}", "{file"),
            ("[a-z]+", "[a-z"),
            ("[a-z]+", "a)|(?:.*"),
            ("{file}", "words"),
            ("line", "lines"),
        ] {
            let list = SORT.replace(wrong, right);
            assert!(Allowed::parse(&list).is_err(), "{list}");
        }
        assert!(Allowed::parse("[commands]\nsort = '/usr/bin/sort'").is_err());
    }
}
