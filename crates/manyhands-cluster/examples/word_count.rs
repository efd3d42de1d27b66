//! Counts the words of all Rust files below a folder: each worker reads and counts its part of the files.
//!
//! ```text
//! cargo run --release -p manyhands-cluster --example word_count
//! MANYHANDS_CLUSTER=local:4 cargo run --release -p manyhands-cluster --example word_count -- crates
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use manyhands::query::prelude::*;
use manyhands_cluster::{Total, remote};
use std::{
    collections::BTreeMap,
    error::Error,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let cluster = manyhands_cluster::init()?;

    let folder = std::env::args().nth(1);
    let folder = folder.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/src").to_owned());
    let mut files = Vec::new();
    find(Path::new(&folder), &mut files)?;
    files.sort();

    let count = files.len() as u64;
    let words_here = count_here(&files)?;
    let words = cluster.query(
        0..count,
        remote!([files: Vec<PathBuf>] |part: Range<u64>| -> BTreeMap<String, Total<u64>> {
            // An ordinary query over the files of this part, on all threads of the worker.
            let texts = part
                .into_par_query()
                .map(|i| fs::read_to_string(&files[usize::try_from(i).expect("it is an index")]))
                .map(|text| text.expect("the file is text"))
                .to_vec();
            let words = texts.par_query().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
            let counts = words.filter(|word| !word.is_empty()).count_by(|&word| word);
            let counts = counts.to_vec().into_iter();
            counts.map(|(word, count)| (word.to_owned(), Total(count as u64))).collect()
        }),
    )?;

    let mut most: Vec<(&String, u64)> = words.iter().map(|(word, count)| (word, count.0)).collect();
    most.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
    for (word, count) in most.iter().take(5) {
        println!("{count:6} {word}");
    }
    let all: u64 = words.values().map(|count| count.0).sum();
    println!("{all} words, {} different, in {count} files", words.len());
    assert!(all > 0, "no words in '{folder}'");
    assert_eq!(all, words_here, "as many as one loop finds");
    Ok(())
}

fn count_here(files: &[PathBuf]) -> io::Result<u64> {
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(file)?;
        let words = text.split(|c: char| !c.is_alphanumeric());
        count += words.filter(|word| !word.is_empty()).count() as u64;
    }
    Ok(count)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
