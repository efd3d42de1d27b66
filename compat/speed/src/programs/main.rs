//! What published programs do with rayon, one benchmark or two for each: `programs LIST`.
//!
//! The list is a file that names a folder in each line. Files are read from these, which must not change meanwhile.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use speed::{measure, measure_with};

mod arrays;
mod files;
mod frames;
mod maps;
mod pictures;

fn main() -> ExitCode {
    let Some(list) = std::env::args_os().nth(1) else {
        eprintln!("usage: programs LIST");
        return ExitCode::from(2);
    };
    let folders: Vec<PathBuf> = match std::fs::read_to_string(&list) {
        Ok(text) if !text.is_empty() => text.lines().map(PathBuf::from).collect(),
        Ok(_) => {
            eprintln!("programs: {} is empty", list.display());
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("programs: cannot read {}: {error}", list.display());
            return ExitCode::from(2);
        }
    };
    measure("tokei: lines of code", || files::lines(&folders));
    let picture = pictures::raw();
    measure("oxipng: a PNG, made smaller", || {
        pictures::smaller(&picture)
    });
    measure("image: pixels", pictures::pixels);
    let exr = pictures::exr();
    measure("image: OpenEXR, written", || pictures::written(&exr));
    let numbers = arrays::numbers();
    measure("ndarray: Zip of two arrays", || arrays::zipped(&numbers));
    measure("ndarray: rows", || arrays::rows(&numbers));
    let column = frames::column();
    measure("polars-core: sort of a column", || frames::sorted(&column));
    let frame = frames::frame();
    measure("polars-core: groups of rows", || frames::groups(&frame));
    let map = maps::filled();
    measure("hashbrown: sum of a map", || maps::sum(&map));
    measure_with("hashbrown: collect", maps::pairs, |pairs| {
        maps::collected(pairs)
    });
    measure_with("indexmap: sort", maps::indexed, maps::sorted);
    ExitCode::SUCCESS
}
