//! How to run: `cargo run --release --example 13_word_frequencies -- FOLDER`
//!
//! Counts the words of all text files of a folder. Without a folder it writes some texts of its own.

use manyhands::query::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

const WORDS: [&str; 6] = ["many", "hands", "make", "light", "work", "quickly"];

fn main() -> io::Result<()> {
    if let Some(folder) = env::args().nth(1) {
        return report(&frequencies(&read_all(Path::new(&folder))?));
    }
    let folder = env::temp_dir().join(format!("word_frequencies_{}", process::id()));
    write_texts(&folder)?;
    let texts = read_all(&folder);
    fs::remove_dir_all(&folder)?;
    let (found, texts) = (frequencies(texts.as_deref().unwrap_or_default()), texts?);

    // What one thread finds.
    let mut expected = HashMap::<String, usize>::new();
    for word in texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()))
    {
        *expected.entry(word.to_lowercase()).or_default() += 1;
    }
    expected.remove("");
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().all(|(word, count)| expected[word] == *count));
    assert!(found.is_sorted_by(|a, b| a.1 > b.1 || a.1 == b.1 && a.0 < b.0));
    report(&found)
}

/// The words, the most frequent first, those of the same frequency by name.
fn frequencies(texts: &[String]) -> Vec<(String, usize)> {
    texts
        .par_query()
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()))
        .filter(|word| !word.is_empty())
        .count_by(|word| word.to_lowercase())
        .order_by_descending(|(_, count)| *count)
        .then_with(|left, right| left.0.cmp(&right.0))
        .to_vec()
}

/// The texts of all files of a folder, read at the same time.
fn read_all(folder: &Path) -> io::Result<Vec<String>> {
    let paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    let texts = paths
        .par_query()
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned()))
        .to_vec();
    texts.into_iter().collect()
}

fn write_texts(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for file in 0..40_usize {
        let words = (0..20_000_usize).map(|i| WORDS[(i * i + file * i) % (file % 6 + 1)]);
        let text: Vec<&str> = words.collect();
        fs::write(
            folder.join(format!("{file}.txt")),
            text.join(if file % 2 == 0 { " " } else { ", " }),
        )?;
    }
    Ok(())
}

fn report(words: &[(String, usize)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (word, count) in words.iter().take(10) {
        io::Write::write_fmt(&mut out, format_args!("{count:>9} {word}\n"))?;
    }
    Ok(())
}
