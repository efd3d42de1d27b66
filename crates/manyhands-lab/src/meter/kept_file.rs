//! A small file of the system that is kept open and read again from its start: half the cost of opening it each time.

use std::{
    fs::File,
    io::{Read, Seek},
};

/// An open file of which only the first bytes matter.
#[derive(Debug)]
pub(super) struct KeptFile(File);

/// Holds the first line of `/proc/stat` with ten numbers of twenty digits.
pub(super) type Buffer = [u8; 256];

impl KeptFile {
    pub(super) fn open(path: &str) -> Option<Self> {
        File::open(path).ok().map(Self)
    }

    /// The first bytes as text; `None` if the file can no longer be read.
    pub(super) fn read<'buffer>(&mut self, buffer: &'buffer mut Buffer) -> Option<&'buffer str> {
        self.0.rewind().ok()?;
        let len = self.0.read(buffer).ok()?;
        str::from_utf8(&buffer[..len]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    #[test]
    fn each_reading_sees_the_file_as_it_is_now() {
        let mut written = tempfile::NamedTempFile::new().unwrap();
        written.write_all(b"one").unwrap();
        let path = written.path().to_owned();
        let mut kept = KeptFile::open(path.to_str().unwrap()).unwrap();
        let mut buffer = [0; 256];
        assert_eq!(kept.read(&mut buffer), Some("one"));
        fs::write(path, "two and more").unwrap();
        assert_eq!(kept.read(&mut buffer), Some("two and more"));
    }

    #[test]
    fn an_absent_file_is_none() {
        assert!(KeptFile::open("/proc/no-such-file").is_none());
    }
}
