//! What published programs do with rayon, one benchmark or two for each.
//!
//! The variable `SPEED_FOLDERS` is a file that names a folder in each line. Files are read from these, which must not change
//! meanwhile.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

mod arrays;
mod files;
mod frames;
mod maps;
mod pictures;

fn main() -> ExitCode {
    speed::main(|all| {
        all.measure_with("tokei: lines of code", folders, |folders| {
            files::lines(folders)
        });
        all.measure_with("oxipng: a PNG, made smaller", pictures::raw, |picture| {
            pictures::smaller(picture)
        });
        all.measure("image: pixels", pictures::pixels);
        all.measure_with("image: OpenEXR, written", pictures::exr, |exr| {
            pictures::written(exr)
        });
        all.measure_with("ndarray: Zip of two arrays", arrays::numbers, |numbers| {
            arrays::zipped(numbers)
        });
        all.measure_with("ndarray: rows", arrays::numbers, |numbers| {
            arrays::rows(numbers)
        });
        all.measure_with("polars-core: sort of a column", frames::column, |column| {
            frames::sorted(column)
        });
        all.measure_with("polars-core: groups of rows", frames::frame, |frame| {
            frames::groups(frame)
        });
        all.measure_with("hashbrown: sum of a map", maps::filled, |map| {
            maps::sum(map)
        });
        all.measure_with("hashbrown: collect", maps::pairs, |pairs| {
            maps::collected(pairs)
        });
        all.measure_with("indexmap: sort", maps::indexed, maps::sorted);
    })
}

/// There is at least one.
fn folders() -> Vec<PathBuf> {
    let list = std::env::var_os("SPEED_FOLDERS").expect("SPEED_FOLDERS names a file");
    let text = std::fs::read_to_string(list).expect("the file can be read");
    assert!(!text.is_empty(), "the file names no folders");
    text.lines().map(PathBuf::from).collect()
}
