//! What published programs do with rayon, one benchmark for each: `programs FOLDER`.
//!
//! Files are read from the folder, which must not change meanwhile.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use speed::{measure, measure_with};

mod arrays;
mod files;
mod maps;
mod pictures;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: programs FOLDER");
        return ExitCode::from(2);
    };
    let folder = Path::new(&folder);
    measure("tokei: lines of code", || files::lines(folder));
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
    let map = maps::filled();
    measure("hashbrown: sum of a map", || maps::sum(&map));
    measure_with("hashbrown: collect", maps::pairs, |pairs| {
        maps::collected(pairs)
    });
    measure_with("indexmap: sort", maps::indexed, maps::sorted);
    ExitCode::SUCCESS
}
