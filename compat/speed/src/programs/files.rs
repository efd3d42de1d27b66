//! tokei: all files of some folders, read and counted, whatever their lists of what to ignore say.

use std::path::PathBuf;
use tokei::{Config, Languages};

/// Lines of code, of comments, and blank ones. There is at least one folder.
pub(crate) fn lines(folders: &[PathBuf]) -> [usize; 3] {
    let mut languages = Languages::new();
    let config = Config {
        no_ignore: Some(true),
        ..Config::default()
    };
    languages.get_statistics(folders, &[], &config);
    let total = languages.total();
    [total.code, total.comments, total.blanks]
}
