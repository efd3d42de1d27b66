//! tokei: all files of a folder, read and counted. The folder is part of a build's output, which is in the
//! lists of what to ignore.

use std::path::Path;
use tokei::{Config, Languages};

/// Lines of code, of comments, and blank ones.
pub(crate) fn lines(folder: &Path) -> [usize; 3] {
    let mut languages = Languages::new();
    let config = Config {
        no_ignore: Some(true),
        ..Config::default()
    };
    languages.get_statistics(&[folder], &[], &config);
    let total = languages.total();
    [total.code, total.comments, total.blanks]
}
